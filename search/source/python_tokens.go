package source

import "strings"

// event is why scan came back.
type event uint8

const (
	atEnd       event = iota // of the file
	atLine                   // the logical line ended
	atSemicolon              // between statements of a line
	atColon                  // outside brackets and lambdas
	atAssign                 // "=" outside brackets
	atComma                  // at p.commas open brackets
	atOpen                   // of the bases of a class
)

// Classes of bytes, as the scanner tells them apart.
const (
	pyOther uint8 = iota
	pySpace
	pyLetter
	pyDigit
	pyQuote
	pyOpen
	pyClose
	pyRare // what has a case of its own in scan
)

var pyClass = func() (t [256]uint8) {
	for c := range t {
		if isWord[c] {
			t[c] = pyLetter
		}
		if c >= '0' && c <= '9' {
			t[c] = pyDigit
		}
	}
	for class, chars := range map[uint8]string{
		pySpace: " \t\f", pyQuote: `"'`, pyOpen: "([{", pyClose: ")]}", pyRare: "\n#\\.:;=,",
	} {
		for i := range len(chars) {
			t[chars[i]] = class
		}
	}
	return t
}()

// scan goes through tokens until one ends a part of the statement. It notes
// calls on the way.
func (p *python) scan() event {
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		switch pyClass[c] {
		case pySpace:
			p.pos++
		case pyLetter:
			if p.word() {
				return atLine
			}
		case pyDigit:
			p.number()
		case pyQuote:
			p.text(p.pos, false)
		case pyOpen:
			p.pos++
			p.last = p.line
			p.open = append(p.open, c)
			if p.bases && c == '(' && len(p.open) == 1 {
				return atOpen
			}
		case pyClose:
			p.close(c)
		case pyRare:
			if ev, stop := p.rare(c); stop {
				return ev
			}
		default:
			p.pos++
			p.last = p.line
		}
		if p.unclosed {
			return atEnd
		}
	}
	return atEnd
}

// rare handles the characters that can end a part of a statement.
func (p *python) rare(c byte) (event, bool) {
	switch c {
	case '\n':
		p.pos++
		p.line++
		return atLine, len(p.open) == 0
	case '#':
		p.comment()
		return 0, false
	case '\\':
		if !p.continues() {
			p.broken = true
			p.pos++
		}
		return 0, false
	case ';':
		p.pos++
		if len(p.open) == 0 {
			return atSemicolon, true // last is the caller's: the statement ends before it
		}
		p.broken = true
	case '.':
		p.last = p.line
		p.member()
		return 0, false
	case ':':
		p.pos++
		p.last = p.line
		return atColon, p.colon()
	case '=':
		p.last = p.line
		return atAssign, p.equals()
	case ',':
		p.pos++
		p.last = p.line
		return atComma, len(p.open) == p.commas
	}
	p.last = p.line
	return 0, false
}

// colon says whether the colon just read is the statement's own.
func (p *python) colon() bool {
	n := len(p.open)
	if n > 0 && (p.open[n-1] == formatField || p.open[n-1] == nestedField) {
		p.literal(true)
		return false
	}
	if k := len(p.lambdas); k > 0 && p.lambdas[k-1] == n {
		p.lambdas = p.lambdas[:k-1]
		return false
	}
	if p.pos < len(p.src) && p.src[p.pos] == '=' {
		p.pos++ // a walrus outside brackets is an error, but no annotation
		return false
	}
	return n == 0
}

// equals skips what begins with "=" and says whether it is an assignment.
func (p *python) equals() bool {
	at := p.pos
	p.pos++
	if p.pos < len(p.src) && p.src[p.pos] == '=' {
		p.pos++
		return false
	}
	if len(p.open) > 0 || len(p.lambdas) > 0 || at == 0 {
		return false
	}
	return strings.IndexByte("!<>+-*/%&|^@:", p.src[at-1]) < 0
}

// close takes a closing bracket.
func (p *python) close(c byte) {
	n := len(p.open)
	if n == 0 {
		p.broken = true
		p.pos++
		p.last = p.line
		return
	}
	top := p.open[n-1]
	if !closes(top, c) {
		if len(p.formats) > 0 {
			p.unformat()
			return
		}
		p.broken = true
	}
	p.pos++
	p.last = p.line
	p.open = p.open[:n-1]
	for k := len(p.lambdas); k > 0 && p.lambdas[k-1] >= n; k-- {
		p.lambdas = p.lambdas[:k-1]
	}
	switch top {
	case superCall:
		p.afterSuper()
	case formatField, nestedField:
		p.literal(top == nestedField)
	}
}

func closes(open, c byte) bool {
	switch c {
	case ')':
		return open == '(' || open == superCall
	case ']':
		return open == '['
	}
	return open == '{' || open == formatField || open == nestedField
}

// number skips a number: "1_000", "0x1f", "1e-5", ".5j" after its dot. A second
// dot is not part of it.
func (p *python) number() {
	src, i, dot := p.src, p.pos, false
	for ; i < len(src); i++ {
		c := src[i]
		switch {
		case c == '.' && !dot:
			dot = true
		case (c == 'e' || c == 'E') && i+1 < len(src) && (src[i+1] == '-' || src[i+1] == '+'):
			dot = true
			i++
		case !isWord[c]:
			p.pos, p.last = i, p.line
			return
		}
	}
	p.pos, p.last = i, p.line
}
