package source

import (
	"strings"
	"unicode/utf8"
)

// lifetime takes 'a where it is no character; false: it is one.
func (l *lexer) lifetime() bool {
	first := l.at(l.pos + 1)
	if first == '\\' || !startsWord(first) {
		return false
	}
	_, size := utf8.DecodeRuneInString(l.src[l.pos+1:])
	if l.at(l.pos+1+size) == '\'' {
		return false
	}
	start := l.pos
	l.pos = wordEnd(l.src, l.pos+1)
	l.emit(lifetime, start, l.line)
	return true
}

// rawRust takes r"…", r#"…"#, br… and cr…, whose prefix ends at pos, and r#name.
func (l *lexer) rawRust(start int) bool {
	switch l.src[start:l.pos] {
	case "r", "br", "cr":
	default:
		return false
	}
	n := l.pos
	for l.at(n) == '#' {
		n++
	}
	hashes := l.src[l.pos:n]
	if l.at(n) != '"' {
		if len(hashes) == 1 && startsWord(l.at(n)) {
			l.pos = wordEnd(l.src, n)
			l.emit(word, n, l.line)
			return true
		}
		return false
	}
	l.raw(start, n+1, "\""+hashes)
	return true
}

// raw takes the string from start on, whose text begins at from and ends before
// the first end.
func (l *lexer) raw(start, from int, end string) {
	line := l.line
	n := strings.Index(l.src[from:], end)
	if n < 0 {
		// It would swallow the rest of the file: take the line for it.
		l.broken = true
		if n = strings.IndexByte(l.src[from:], '\n'); n < 0 {
			n = len(l.src) - from
		}
		l.pos = from + n
		l.emit(text, start, line)
		return
	}
	l.line += int32(strings.Count(l.src[from:from+n], "\n"))
	l.pos = from + n + len(end)
	l.emit(text, start, line)
}
