package ui

import "strings"

// shellLexer highlights shell text as bash reads it, as far as a person reading it
// needs: one pass, no parse tree, and what is cut off in the middle is no error.
type shellLexer struct {
	lexer
	open  []byte    // what has begun and not ended, the innermost last
	docs  []heredoc // whose bodies begin with the next line
	first bool      // a word here is the name of a command
	in    bool      // a word "in" here belongs to for, case or select
}

// What may be open.
const (
	inQuotes = '"'
	inTicks  = '`'
	inParens = '('
	inBraces = '{' // ${…}
	inSum    = '=' // $((…))
)

// deepest bounds what is open at once; what is deeper is not told apart.
const deepest = 64

// heredoc ends at a line that is its word; with indent that line may be indented.
type heredoc struct {
	word   string
	indent bool
}

var (
	shellWords = wordSet("if then else elif fi for while until do done case esac select function time coproc ! { } [ [[")
	// openers are those behind which no command stands.
	shellOpeners = wordSet("for case select function [ [[")
)

func (s *shellLexer) run() {
	for s.at < len(s.text) {
		switch s.top() {
		case inQuotes:
			s.quoted()
		case inBraces, inSum:
			s.parameter()
		default:
			s.code()
		}
	}
}

func (s *shellLexer) top() byte {
	if n := len(s.open); n > 0 {
		return s.open[n-1]
	}
	return 0
}

func (s *shellLexer) push(what byte) {
	if len(s.open) < deepest {
		s.open = append(s.open, what)
	}
}

func (s *shellLexer) pop(what byte) {
	if s.top() == what {
		s.open = s.open[:len(s.open)-1]
	}
}

// quoted is a piece within double quotes.
func (s *shellLexer) quoted() {
	switch s.text[s.at] {
	case '"':
		s.pop(inQuotes)
		s.put(s.at+1, quoted)
	case '\\':
		s.put(s.past(s.at+1), quoted)
	case '$':
		s.dollar(quoted)
	case '`':
		s.ticks()
	default:
		s.put(s.while(s.at, func(c byte) bool { return c != '"' && c != '\\' && c != '$' && c != '`' }), quoted)
	}
}

// parameter is a piece within ${…} or $((…)).
func (s *shellLexer) parameter() {
	switch c := s.text[s.at]; {
	case c == '}' && s.top() == inBraces:
		s.pop(inBraces)
		s.put(s.at+1, variable)
	case c == ')' && s.peek(1) == ')' && s.top() == inSum:
		s.pop(inSum)
		s.put(s.at+2, variable)
	case c == '\\':
		s.put(s.past(s.at+1), variable)
	case c == '"':
		s.push(inQuotes)
		s.put(s.at+1, quoted)
	case c == '$':
		s.dollar(variable)
	case c == '`':
		s.ticks()
	default:
		s.put(s.past(s.at), variable)
	}
}

// dollar is what follows a $; alone it is in the role of what is around it.
func (s *shellLexer) dollar(around role) {
	switch c := s.peek(1); {
	case c == '(' && s.peek(2) == '(':
		s.push(inSum)
		s.put(s.at+3, variable)
	case c == '(':
		s.push(inParens)
		s.put(s.at+2, operator)
		s.first = true
	case c == '{':
		s.push(inBraces)
		s.put(s.at+2, variable)
	case c >= '0' && c <= '9', c != 0 && strings.IndexByte("?!@*#$-", c) >= 0:
		s.put(s.at+2, variable)
	case wordByte(c) && c < 0x80:
		s.put(s.while(s.at+1, func(c byte) bool { return wordByte(c) && c < 0x80 }), variable)
	default:
		s.put(s.at+1, around)
	}
}

// ticks begin or end a command between backquotes.
func (s *shellLexer) ticks() {
	if s.top() == inTicks {
		s.pop(inTicks)
		s.first = false
	} else {
		s.push(inTicks)
		s.first = true
	}
	s.put(s.at+1, operator)
}

// code is a piece outside of quotes.
func (s *shellLexer) code() {
	switch c := s.text[s.at]; c {
	case '\n':
		s.put(s.at+1, plain)
		s.first = true
		s.bodies()
	case ' ', '\t':
		s.put(s.at+1, plain)
	case '#':
		s.remark()
	case '\\':
		s.put(s.past(s.at+1), plain)
	case '\'':
		s.put(s.single(s.at+1, false), quoted)
		s.first = false
	case '"':
		s.push(inQuotes)
		s.put(s.at+1, quoted)
		s.first = false
	case '$':
		if s.peek(1) == '\'' {
			s.put(s.single(s.at+2, true), quoted)
		} else {
			s.dollar(plain)
		}
		s.first = s.first && s.top() == inParens
	case '`':
		s.ticks()
	case '(', ')', '|', '&', ';':
		s.joint(c)
	case '<', '>':
		s.redirect()
	default:
		s.word()
	}
}

// remark is a comment where a word may begin, else a character of a word.
func (s *shellLexer) remark() {
	if s.at == 0 || strings.IndexByte(" \t\n;&|()", s.text[s.at-1]) >= 0 {
		s.put(s.lineEnd(s.at), comment)
		return
	}
	s.put(s.at+1, plain)
}

// single is where the text in single quotes that begins at i ends.
func (s *shellLexer) single(i int, escapes bool) int {
	for i < len(s.text) {
		switch {
		case s.text[i] == '\'':
			return i + 1
		case s.text[i] == '\\' && escapes:
			i = s.past(i + 1)
		default:
			i++
		}
	}
	return i
}

// joint ends a command, or groups some.
func (s *shellLexer) joint(c byte) {
	switch c {
	case '(':
		s.push(inParens)
	case ')':
		s.pop(inParens)
	}
	s.first = c != ')' || s.top() != inQuotes
	s.put(s.at+1, operator)
}

// redirect is < or > with what belongs to it; << announces a body.
func (s *shellLexer) redirect() {
	from := s.at
	s.put(s.while(s.at, func(c byte) bool { return c == '<' || c == '>' || c == '&' || c == '|' }), operator)
	if s.text[from:s.at] != "<<" {
		return
	}
	d := heredoc{}
	if s.peek(0) == '-' {
		d.indent = true
		s.put(s.at+1, operator)
	}
	s.put(s.while(s.at, func(c byte) bool { return c == ' ' }), plain)
	end := s.while(s.at, func(c byte) bool { return strings.IndexByte(" \t\n;&|()<>", c) < 0 })
	d.word = strings.NewReplacer(`'`, "", `"`, "", `\`, "").Replace(s.text[s.at:end])
	if d.word != "" && len(s.docs) < deepest {
		s.docs = append(s.docs, d)
	}
	s.put(end, operator)
}

// bodies of the here-documents that the line before announced.
func (s *shellLexer) bodies() {
	for _, d := range s.docs {
		for s.at < len(s.text) {
			end := s.lineEnd(s.at)
			l := s.text[s.at:end]
			if d.indent {
				l = strings.TrimLeft(l, " \t")
			}
			if l == d.word {
				s.put(end, operator)
				s.put(end+1, plain)
				break
			}
			s.put(end+1, dim)
		}
	}
	s.docs = nil
}

// word of a command: its name, a keyword, an assignment, an argument.
func (s *shellLexer) word() {
	end := s.while(s.at, func(c byte) bool { return strings.IndexByte(" \t\n'\"\\$`();|&<>", c) < 0 })
	w := s.text[s.at:end]
	name, _, assigns := strings.Cut(w, "=")
	switch {
	case s.in && w == "in":
		s.in = false
		s.put(end, keyword)
	case s.first && shellWords[w]:
		s.in = w == "for" || w == "case" || w == "select"
		s.first = !shellOpeners[w]
		s.put(end, keyword)
	case s.first && assigns && isName(strings.TrimSuffix(name, "+")):
		s.put(s.at+len(name), variable)
		s.put(s.at+1, operator)
		s.put(end, plain)
	case s.first:
		s.first = false
		s.put(end, strong)
	default:
		s.put(end, plain)
	}
}

func isName(w string) bool {
	for i := range len(w) {
		if !wordByte(w[i]) || i == 0 && w[i] >= '0' && w[i] <= '9' {
			return false
		}
	}
	return w != ""
}
