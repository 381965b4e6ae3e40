package source

import "strings"

// dialect says how a language with braces writes its tokens.
type dialect struct {
	dollar     bool // in identifiers
	nested     bool // comments
	lines      bool // strings may go over lines
	textBlocks bool // strings in three quotes
	chars      bool // 'x' is a character, no string
	lifetimes  bool // 'x is one
	rust       bool // r#"…"#
	cpp        bool // R"x(…)x", 1'000, lines that begin with "#"
	script     bool // templates and regular expressions
	jsx        bool
}

type tokenKind uint8

const (
	word tokenKind = iota + 1
	number
	text      // string, character, regular expression, part of a template
	punct     // one byte
	opening   // bracket
	closing   // bracket
	directive // line of the C preprocessor
	tag       // name of a JSX element
	lifetime
)

// lexeme is a piece of source. Comments are none.
type lexeme struct {
	start, end int32
	line, last int32 // first and last
	mate       int32 // of a bracket: index of its counterpart; what never closes has the
	// last token inside the brace around it, or one past the end; what never opened -1
	notes int32 // comments before it in the file
	kind  tokenKind
	char  byte // the first
}

// note is a comment.
type note struct{ start, end, line, last int32 }

// lexer splits a source into tokens and pairs its brackets, in one pass. Wrong
// brackets never lose a brace: a brace closes whatever else is open inside.
type lexer struct {
	src    string
	how    dialect
	pos    int
	line   int32
	fresh  bool // nothing but white space on the line so far
	broken bool

	toks   []lexeme
	notes  []note
	stack  []bracket
	braces int // on the stack
	floor  int // of the stack: what may not be closed in this branch of an #if
	conds  []condition
	regex  int // no regular expression ends before here
}

// bracket is an open bracket, or an open JSX element, which has no token.
type bracket struct {
	tok  int32
	mark byte
}

// Marks on the stack beside the brackets themselves.
const (
	templateField = 't' // ${ in a template
	tagField      = 'x' // { in a JSX tag
	childField    = 'c' // { between JSX tags
	element       = 'e'
)

func (l *lexer) reset(src string, how dialect) {
	*l = lexer{
		src: src, how: how, line: 1, fresh: true,
		toks: l.toks[:0], notes: l.notes[:0], stack: l.stack[:0], conds: l.conds[:0],
	}
}

func (l *lexer) at(i int) byte {
	if i < len(l.src) {
		return l.src[i]
	}
	return 0
}

// run reads all tokens.
func (l *lexer) run() {
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case c == '\n':
			l.pos++
			l.line++
			l.fresh = true
		case c <= ' ':
			l.pos++
		case c >= '0' && c <= '9':
			l.number()
		case isWord[c] || c == '$' && l.how.dollar:
			l.word()
		default:
			l.other(c)
		}
	}
	for _, b := range l.stack {
		l.broken = true
		if b.tok >= 0 {
			l.toks[b.tok].mate = int32(len(l.toks))
		}
	}
	l.stack = l.stack[:0]
}

func (l *lexer) other(c byte) {
	switch c {
	case '(', '[', '{':
		l.open(c)
	case ')', ']', '}':
		l.close(c)
	case '"':
		l.quote(c)
	case '\'':
		if l.how.lifetimes && l.lifetime() {
			return
		}
		l.quote(c)
	case '`':
		if l.how.script {
			l.template(true)
			return
		}
		l.one()
	case '/':
		l.slash()
	case '#':
		if l.how.cpp && l.fresh {
			l.directive()
			return
		}
		l.one()
	case '<':
		if l.how.jsx && l.beginsElement() {
			l.element(true)
			return
		}
		l.one()
	default:
		l.one()
	}
}

// emit appends the token from start to pos, which began on line.
func (l *lexer) emit(kind tokenKind, start int, line int32) {
	l.fresh = false
	l.toks = append(l.toks, lexeme{
		start: int32(start), end: int32(l.pos), line: line, last: l.line,
		mate: -1, notes: int32(len(l.notes)), kind: kind, char: l.src[start],
	})
}

// one takes a single byte of punctuation.
func (l *lexer) one() {
	l.pos++
	l.emit(punct, l.pos-1, l.line)
}

func (l *lexer) word() {
	start := l.pos
	for l.pos < len(l.src) && (isWord[l.src[l.pos]] || l.src[l.pos] == '$' && l.how.dollar) {
		l.pos++
	}
	next := l.at(l.pos)
	if l.how.rust && (next == '"' || next == '#') && l.rawRust(start) {
		return
	}
	if l.how.cpp && next == '"' && l.src[l.pos-1] == 'R' && l.rawCpp(start) {
		return
	}
	l.emit(word, start, l.line)
}

func (l *lexer) number() {
	start := l.pos
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case isWord[c]:
		case c == '.' && l.at(l.pos+1) != '.' && !startsWord(l.at(l.pos+1)):
		case (c == '+' || c == '-') && l.src[l.pos-1]|0x20 == 'e' && l.src[start] != '0':
		case c == '\'' && l.how.cpp && isWord[l.at(l.pos+1)]:
		default:
			l.emit(number, start, l.line)
			return
		}
		l.pos++
	}
	l.emit(number, start, l.line)
}

func (l *lexer) open(c byte) {
	l.pos++
	l.push(c)
}

// push notes the bracket before pos as open.
func (l *lexer) push(mark byte) {
	l.emit(opening, l.pos-1, l.line)
	l.stack = append(l.stack, bracket{int32(len(l.toks) - 1), mark})
	if mark != '(' && mark != '[' {
		l.braces++
	}
}

// pop takes the innermost bracket off; closer is the index of what closes it.
func (l *lexer) pop(closer int) bracket {
	b := l.stack[len(l.stack)-1]
	l.stack = l.stack[:len(l.stack)-1]
	if b.tok >= 0 {
		l.toks[b.tok].mate = int32(closer)
		if b.mark != '(' && b.mark != '[' {
			l.braces--
		}
	}
	return b
}

func (l *lexer) close(c byte) {
	start := l.pos
	l.pos++
	l.emit(closing, start, l.line)
	at := len(l.toks) - 1
	if c != '}' {
		n := len(l.stack)
		if n <= l.floor || l.stack[n-1].mark != '(' && l.stack[n-1].mark != '[' {
			l.broken = true
			return
		}
		b := l.pop(at)
		l.toks[at].mate = b.tok
		if (b.mark == '(') != (c == ')') {
			l.broken = true
		}
		return
	}
	if l.braces == 0 {
		l.broken = true
		return
	}
	for len(l.stack) > l.floor {
		b := l.pop(at)
		if b.mark == '(' || b.mark == '[' || b.mark == element {
			l.broken = true
			if b.tok >= 0 {
				l.toks[b.tok].mate = int32(at - 1) // it ends inside the brace
			}
			continue
		}
		l.toks[at].mate = b.tok
		switch b.mark {
		case templateField:
			l.template(false)
		case tagField:
			l.element(true)
		case childField:
			l.element(false)
		}
		return
	}
}

// slash takes a comment, a regular expression or a plain slash.
func (l *lexer) slash() {
	switch l.at(l.pos + 1) {
	case '/':
		start, line := l.pos, l.line
		for {
			n := strings.IndexByte(l.src[l.pos:], '\n')
			if n < 0 {
				l.pos = len(l.src)
				break
			}
			l.pos += n
			if !l.how.cpp || l.pos == 0 || l.src[l.pos-1] != '\\' {
				break
			}
			l.pos++
			l.line++
		}
		l.notes = append(l.notes, note{int32(start), int32(l.pos), line, l.line})
		return
	case '*':
		l.comment()
		return
	}
	if l.how.script && l.regexp() {
		return
	}
	l.one()
}

// comment takes "/* … */".
func (l *lexer) comment() {
	start, line := l.pos, l.line
	depth := 1
	l.pos += 2
	for l.pos < len(l.src) && depth > 0 {
		switch l.src[l.pos] {
		case '\n':
			l.line++
		case '*':
			if l.at(l.pos+1) == '/' {
				depth--
				l.pos++
			}
		case '/':
			if l.how.nested && l.at(l.pos+1) == '*' {
				depth++
				l.pos++
			}
		}
		l.pos++
	}
	l.broken = l.broken || depth > 0
	l.notes = append(l.notes, note{int32(start), int32(l.pos), line, l.line})
}

// quote takes a string or character with escapes. One that has no end stops at
// the end of its line.
func (l *lexer) quote(q byte) {
	start, line := l.pos, l.line
	if l.how.textBlocks && q == '"' && l.at(l.pos+1) == q && l.at(l.pos+2) == q {
		l.block(start)
		return
	}
	for l.pos++; l.pos < len(l.src); l.pos++ {
		switch l.src[l.pos] {
		case q:
			l.pos++
			l.emit(text, start, line)
			return
		case '\\':
			l.pos++
			if l.at(l.pos) == '\r' && l.at(l.pos+1) == '\n' {
				l.pos++
			}
			if l.at(l.pos) == '\n' {
				l.line++
			}
		case '\n':
			if !l.how.lines || q == '\'' {
				l.broken = true
				l.emit(text, start, line)
				return
			}
			l.line++
		}
	}
	l.pos = len(l.src)
	l.broken = true
	l.emit(text, start, line)
}

// block takes a text block of Java.
func (l *lexer) block(start int) {
	line := l.line
	for l.pos += 3; l.pos < len(l.src); l.pos++ {
		switch c := l.src[l.pos]; {
		case c == '\\':
			l.pos++
			if l.at(l.pos) == '\n' {
				l.line++
			}
		case c == '\n':
			l.line++
		case c == '"' && l.at(l.pos+1) == c && l.at(l.pos+2) == c:
			l.pos += 3
			l.emit(text, start, line)
			return
		}
	}
	l.pos = len(l.src)
	l.broken = true
	l.emit(text, start, line)
}
