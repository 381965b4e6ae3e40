package search

import "strings"

// token is one token of code for patterns: a word, a string, an operator, or the end of
// a line outside brackets.
type token struct {
	text string
	at   int32 // offset
	line int32
	// indent is that of the line that begins after a line end, in columns.
	indent int32
	kind   tokenKind
}

type tokenKind uint8

const (
	tokWord tokenKind = iota
	tokString
	tokOperator
	tokLineEnd
	tokHole  // $NAME
	tokHoles // $$$
	tokBlock // … or ..., only in patterns
)

// tokenize cuts code into tokens. hash says that # begins a comment (else // and /* do).
func tokenize(into []token, src string, hash bool) []token {
	depth := 0
	line := int32(1)
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\n':
			line++
			i++
			if depth == 0 {
				into = appendLineEnd(into, src, i, line)
			}
		case c == ' ' || c == '\t' || c == '\r' || c == '\f':
			i++
		case c == '\\' && i+1 < len(src) && src[i+1] == '\n':
			line++
			i += 2
		case hash && c == '#', !hash && strings.HasPrefix(src[i:], "//"):
			if n := strings.IndexByte(src[i:], '\n'); n >= 0 {
				i += n
			} else {
				i = len(src)
			}
		case !hash && strings.HasPrefix(src[i:], "/*"):
			end := len(src)
			if n := strings.Index(src[i+2:], "*/"); n >= 0 {
				end = i + n + 4
			}
			line += int32(strings.Count(src[i:end], "\n"))
			i = end
		case c == '"' || c == '\'' || c == '`' && !hash:
			end := stringEnd(src, i)
			into = append(into, token{text: src[i:end], at: int32(i), line: line, kind: tokString})
			line += int32(strings.Count(src[i:end], "\n"))
			i = end
		case byteClass[c] != byteOther:
			_, end := nextWord(src, i)
			if end < len(src) && (src[end] == '"' || src[end] == '\'') && end-i <= 2 && isStringPrefix(src[i:end]) {
				end = stringEnd(src, end)
				into = append(into, token{text: src[i:end], at: int32(i), line: line, kind: tokString})
				line += int32(strings.Count(src[i:end], "\n"))
			} else {
				into = append(into, token{text: src[i:end], at: int32(i), line: line})
			}
			i = end
		default:
			n := operatorLength(src[i:])
			switch c {
			case '(', '[', '{':
				if c != '{' || hash {
					depth++
				}
			case ')', ']', '}':
				if c != '}' || hash {
					depth = max(depth-1, 0)
				}
			}
			into = append(into, token{text: src[i : i+n], at: int32(i), line: line, kind: tokOperator})
			i += n
		}
	}
	return into
}

// appendLineEnd notes the indent of the next line; blank lines and rows of ends are one.
func appendLineEnd(into []token, src string, at int, line int32) []token {
	indent := int32(0)
	i := at
	for ; i < len(src) && (src[i] == ' ' || src[i] == '\t'); i++ {
		indent++
		if src[i] == '\t' {
			indent += 7
		}
	}
	if i < len(src) && (src[i] == '\n' || src[i] == '\r' || src[i] == '#') {
		return into // a blank line or a comment ends nothing
	}
	if n := len(into); n > 0 && into[n-1].kind == tokLineEnd {
		into[n-1].indent, into[n-1].line = indent, line
		return into
	}
	return append(into, token{text: "\n", at: int32(at), line: line, indent: indent, kind: tokLineEnd})
}

func isStringPrefix(s string) bool {
	for i := range len(s) {
		switch lower(s[i]) {
		case 'r', 'b', 'u', 'f', 't':
		default:
			return false
		}
	}
	return true
}

// stringEnd is where the string that begins at i ends.
func stringEnd(src string, i int) int {
	quote := src[i]
	if quote != '`' && strings.HasPrefix(src[i:], strings.Repeat(string(quote), 3)) {
		for j := i + 3; j < len(src); j++ {
			if src[j] == '\\' {
				j++
			} else if src[j] == quote && strings.HasPrefix(src[j:], src[i:i+3]) {
				return j + 3
			}
		}
		return len(src)
	}
	for j := i + 1; j < len(src); j++ {
		switch {
		case src[j] == '\\':
			j++
		case src[j] == quote:
			return j + 1
		case src[j] == '\n' && quote != '`':
			return j
		}
	}
	return len(src)
}

func operatorLength(s string) int {
	if len(s) > 1 {
		switch s[:2] {
		case "==", "!=", "<=", ">=", "->", ":=", "**", "//", "+=", "-=", "*=", "/=", "=>", "::", "&&", "||":
			return 2
		}
	}
	return 1
}
