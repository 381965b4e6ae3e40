package source

import "strings"

// template takes the text of a template up to its end or its next field; first:
// pos is at its backquote, else behind the brace of a field.
func (l *lexer) template(first bool) {
	start, line := l.pos, l.line
	if first {
		l.pos++
	}
	for ; l.pos < len(l.src); l.pos++ {
		switch l.src[l.pos] {
		case '\\':
			l.pos++
			if l.at(l.pos) == '\n' {
				l.line++
			}
		case '\n':
			l.line++
		case '`':
			l.pos++
			l.emit(text, start, line)
			return
		case '$':
			if l.at(l.pos+1) == '{' {
				l.pos++
				l.emit(text, start, line)
				l.pos++
				l.push(templateField)
				return
			}
		}
	}
	l.pos = len(l.src)
	l.broken = true
	if start < len(l.src) {
		l.emit(text, start, line)
	}
}

// maxRegexp bounds a regular expression, in bytes.
const maxRegexp = 4096

// regexp takes a regular expression, if one can begin at pos.
func (l *lexer) regexp() bool {
	if l.pos < l.regex || !l.valueNext(true) {
		return false
	}
	class := false
	for i := l.pos + 1; i < len(l.src) && i < l.pos+maxRegexp; i++ {
		switch l.src[i] {
		case '\\':
			i++
			if l.at(i) == '\n' {
				l.regex = i
				return false
			}
		case '[':
			class = true
		case ']':
			class = false
		case '\n':
			l.regex = i
			return false
		case '/':
			if class {
				continue
			}
			start := l.pos
			l.pos = i + 1
			for l.pos < len(l.src) && isWord[l.src[l.pos]] {
				l.pos++
			}
			l.emit(text, start, l.line)
			return true
		}
	}
	l.regex = l.pos + maxRegexp
	return false
}

// valueNext says that a value comes next, not an operator. A closing brace ends
// a block more often than a value; for JSX it is taken as a value.
func (l *lexer) valueNext(afterBrace bool) bool {
	n := len(l.toks)
	if n == 0 {
		return true
	}
	t := l.toks[n-1]
	switch t.kind {
	case punct, opening:
		return true
	case closing:
		if t.char == ')' && t.mate > 0 {
			before := l.toks[t.mate-1]
			if before.kind == word {
				switch l.src[before.start:before.end] {
				case "if", "while", "for", "with":
					return true
				}
			}
		}
		return t.char == '}' && afterBrace
	case word:
		switch l.src[t.start:t.end] {
		case "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else",
			"do", "instanceof", "yield", "await", "default", "extends":
			// A member may have such a name: x.of / 2.
			return n < 2 || l.toks[n-2].kind != punct || l.toks[n-2].char != '.'
		}
	}
	return false
}

// beginsElement says that the "<" at pos opens a JSX element.
func (l *lexer) beginsElement() bool {
	next := l.at(l.pos + 1)
	if next != '>' && !startsWord(next) || !l.valueNext(false) {
		return false
	}
	if l.pos > 0 && l.src[l.pos-1] == '<' {
		return false // 1<<x
	}
	if next == '>' {
		return true
	}
	end := wordEnd(l.src, l.pos+1)
	// The head of a generic arrow function: <T,>(x: T) => x
	rest := strings.TrimLeft(l.src[end:min(len(l.src), end+16)], " ")
	return !strings.HasPrefix(rest, ",") && !strings.HasPrefix(rest, "extends ")
}

// element goes on with JSX: inside a tag, or between the tags of an element. It
// comes back at a brace, or when the outermost element has ended.
func (l *lexer) element(inTag bool) {
	for l.pos < len(l.src) {
		if inTag {
			more, done := l.tag()
			if done {
				return
			}
			inTag = more
			continue
		}
		switch l.src[l.pos] {
		case '\n':
			l.line++
		case '{':
			l.pos++
			l.push(childField)
			return
		case '<':
			next := l.at(l.pos + 1)
			if next == '/' {
				n := strings.IndexByte(l.src[l.pos:], '>')
				if n < 0 {
					l.broken = true
					l.pos = len(l.src)
					return
				}
				l.line += int32(strings.Count(l.src[l.pos:l.pos+n], "\n"))
				l.pos += n + 1
				if l.endElement() {
					return
				}
				continue
			}
			if next == '>' || startsWord(next) {
				inTag = true
				continue
			}
		}
		l.pos++
	}
}

// endElement takes the innermost element off; true: it stood in no other.
func (l *lexer) endElement() bool {
	if n := len(l.stack); n > 0 && l.stack[n-1].mark == element {
		l.pop(-1)
	}
	return l.endTag()
}

// endTag notes the end of an element as a value.
func (l *lexer) endTag() bool {
	l.emit(text, l.pos-1, l.line)
	n := len(l.stack)
	return n == 0 || l.stack[n-1].mark != element
}

// tag goes through a tag. inTag: another one begins right away; done: back to
// tokens.
func (l *lexer) tag() (inTag, done bool) {
	if l.src[l.pos] == '<' {
		l.pos++
		start := l.pos
		for l.pos < len(l.src) && (isWord[l.src[l.pos]] || strings.IndexByte(".-:$", l.src[l.pos]) >= 0) {
			l.pos++
		}
		if l.pos > start {
			l.emit(tag, start, l.line)
		}
		l.typeArguments()
	}
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; c {
		case '\n':
			l.line++
		case '"', '\'':
			n := strings.IndexByte(l.src[l.pos+1:], c)
			if n < 0 {
				n = len(l.src) - l.pos - 1
				l.broken = true
			}
			l.line += int32(strings.Count(l.src[l.pos:l.pos+1+n], "\n"))
			l.pos = min(l.pos+1+n, len(l.src)-1)
		case '{':
			l.pos++
			l.push(tagField)
			return false, true
		case '>':
			l.pos++
			if l.src[l.pos-2] == '/' {
				return false, l.endTag()
			}
			l.stack = append(l.stack, bracket{-1, element})
			return false, false
		}
		l.pos++
	}
	l.broken = true
	return false, true
}

// typeArguments skips "<A<B>>" behind the name of a tag.
func (l *lexer) typeArguments() {
	if l.at(l.pos) != '<' {
		return
	}
	depth := 0
	for i := l.pos; i < len(l.src) && i < l.pos+256; i++ {
		switch l.src[i] {
		case '<':
			depth++
		case '>':
			depth--
		case '\n', '{', '"':
			return
		}
		if depth == 0 {
			l.pos = i + 1
			return
		}
	}
}
