package ui

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// lang is what a block's text is written in.
type lang uint8

const (
	noLang lang = iota
	shellLang
	pythonLang
	jsonLang
)

// lexMost bounds what is highlighted of a text, in bytes: the rest is drawn as it
// is. One pass over that much takes some milliseconds, once.
const lexMost = 128 << 10

// lexeme is a piece of a text in one role; it begins where the one before it ends.
type lexeme struct {
	end int
	r   role
}

// lex cuts a text into pieces, which together are its first lexMost bytes. What is
// plain keeps the role of its block.
func lex(l lang, text string) []lexeme {
	if len(text) > lexMost {
		n := lexMost
		for !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	x := lexer{text: text}
	switch l {
	case shellLang:
		s := shellLexer{lexer: x, first: true}
		s.run()
		return s.spans
	case pythonLang:
		x.python()
	case jsonLang:
		x.json()
	}
	return x.spans
}

// lexer goes through a text once, from piece to piece.
type lexer struct {
	text  string
	at    int
	spans []lexeme
}

// put the text up to there in a role. It joins the span before where it can.
func (x *lexer) put(to int, r role) {
	to = min(to, len(x.text))
	if to <= x.at {
		return
	}
	if n := len(x.spans); n > 0 && x.spans[n-1].r == r {
		x.spans[n-1].end = to
	} else {
		x.spans = append(x.spans, lexeme{to, r})
	}
	x.at = to
}

// peek is the byte n further on, 0 behind the end.
func (x *lexer) peek(n int) byte {
	if x.at+n < len(x.text) {
		return x.text[x.at+n]
	}
	return 0
}

// past is behind the character at i, which may have several bytes.
func (x *lexer) past(i int) int {
	if i >= len(x.text) {
		return len(x.text)
	}
	_, n := utf8.DecodeRuneInString(x.text[i:])
	return i + n
}

// lineEnd is where the line of i ends.
func (x *lexer) lineEnd(i int) int {
	if n := strings.IndexByte(x.text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(x.text)
}

// while the bytes from i on are such; it returns where they end.
func (x *lexer) while(i int, such func(byte) bool) int {
	for i < len(x.text) && such(x.text[i]) {
		i++
	}
	return i
}

// wordByte reports whether a byte may be in a name: all of other scripts may.
func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func wordSet(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

var pythonWords = wordSet("False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield")

// python by its words, strings, comments and decorators; what def and class name
// stands out.
func (x *lexer) python() {
	named, bol := false, true
	for x.at < len(x.text) {
		switch c := x.text[x.at]; {
		case c == '#':
			x.put(x.lineEnd(x.at), comment)
		case c == '"' || c == '\'':
			x.put(x.pythonString(), quoted)
		case c == '@' && bol:
			x.put(x.while(x.at+1, func(c byte) bool { return wordByte(c) || c == '.' }), variable)
		case wordByte(c):
			end := x.while(x.at, wordByte)
			w := x.text[x.at:end]
			switch {
			case named:
				x.put(end, strong)
			case pythonWords[w]:
				x.put(end, keyword)
			default:
				x.put(end, plain)
			}
			named = w == "def" || w == "class"
		case c == '\n' || c == ' ':
			bol = bol && c == ' ' || c == '\n'
			x.put(x.at+1, plain)
			continue
		default:
			named = false
			x.put(x.past(x.at), plain)
		}
		bol = false
	}
}

// pythonString is where the string that begins here ends: at its quotes, or, of a
// short one, at the end of its line.
func (x *lexer) pythonString() int {
	q := x.text[x.at]
	long := x.peek(1) == q && x.peek(2) == q
	i := x.at + 1
	if long {
		i += 2
	}
	for i < len(x.text) {
		switch c := x.text[i]; {
		case c == '\\':
			i = x.past(i + 1)
			continue
		case c == '\n' && !long:
			return i
		case c == q && !long:
			return i + 1
		case c == q && i+2 < len(x.text) && x.text[i+1] == q && x.text[i+2] == q:
			return i + 3
		}
		i++
	}
	return i
}

// json tells keys and literals from texts, which stay as they are: most of them are
// long, and read by a person.
func (x *lexer) json() {
	for x.at < len(x.text) {
		switch c := x.text[x.at]; {
		case c == '"':
			end := x.jsonString()
			if after := x.while(end, func(c byte) bool { return c == ' ' }); after < len(x.text) && x.text[after] == ':' {
				x.put(end, variable)
			} else {
				x.put(end, plain)
			}
		case wordByte(c) || c == '-':
			x.put(x.while(x.at+1, func(c byte) bool { return wordByte(c) || c == '.' || c == '+' || c == '-' }), keyword)
		default:
			x.put(x.past(x.at), plain)
		}
	}
}

func (x *lexer) jsonString() int {
	for i := x.at + 1; i < len(x.text); {
		switch x.text[i] {
		case '\\':
			i = x.past(i + 1)
		case '"':
			return i + 1
		default:
			i++
		}
	}
	return len(x.text)
}

// pieces of text[from:to] of a block, in their roles. They are worked out when the
// block is drawn first.
func (b *block) pieces(from, to int) line {
	if b.lang != noLang && b.spans == nil {
		b.spans = lex(b.lang, b.text)
	}
	l := line{}
	i := sort.Search(len(b.spans), func(i int) bool { return b.spans[i].end > from })
	for ; from < to && i < len(b.spans); i++ {
		end := min(b.spans[i].end, to)
		r := b.spans[i].r
		if r == plain {
			r = b.body
		}
		l.add(r, b.text[from:end])
		from = end
	}
	if from < to {
		l.add(b.body, b.text[from:to])
	}
	return l
}
