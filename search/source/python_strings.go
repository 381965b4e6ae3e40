package source

import "strings"

// fstring is an f-string that is being read: since Python 3.12 its fields hold
// any expression, with the same quotes and line ends.
type fstring struct {
	quote  byte
	triple bool
	open   int // brackets open around it
}

// snapshot is what must come back when an f-string turns out to be none.
type snapshot struct {
	pos, line, last, refs, open, lambdas int
}

// maxFailures bounds how many f-strings are read twice: reading one can go to
// the end of the file before it fails.
const maxFailures = 8

// text takes the string whose first quote is at quote.
func (p *python) text(quote int, format bool) {
	q := p.src[quote]
	triple := quote+2 < len(p.src) && p.src[quote+1] == q && p.src[quote+2] == q
	if !format || p.failures >= maxFailures {
		p.plain(quote, triple)
		return
	}
	if len(p.formats) == 0 {
		p.outer = snapshot{quote, p.line, p.last, len(p.refs), len(p.open), len(p.lambdas)}
	}
	p.formats = append(p.formats, fstring{q, triple, len(p.open)})
	p.pos = quote + 1
	if triple {
		p.pos = quote + 3
	}
	p.literal(false)
}

// literal goes through the text of the innermost f-string, or through the format
// of a field of it, up to the next field or the end.
func (p *python) literal(format bool) {
	src := p.src
	f := p.formats[len(p.formats)-1]
	for p.pos < len(src) {
		c := src[p.pos]
		switch c {
		case '\\':
			p.backslash(format)
			continue
		case '\n':
			if !f.triple {
				p.unformat()
				return
			}
			p.line++
		case '{':
			if !format && p.pos+1 < len(src) && src[p.pos+1] == '{' {
				p.pos++
				break
			}
			field := byte(formatField)
			if format {
				field = nestedField
			}
			p.open = append(p.open, field)
			p.pos++
			return
		case '}':
			if format {
				n := len(p.open) - 1
				format = p.open[n] == nestedField
				p.open = p.open[:n]
			}
		case f.quote:
			n := 1
			if f.triple {
				n = 3
				if p.pos+2 >= len(src) || src[p.pos+1] != c || src[p.pos+2] != c {
					break
				}
			}
			if len(p.open) != f.open {
				p.unformat()
				return
			}
			p.pos += n
			p.last = p.line
			p.formats = p.formats[:len(p.formats)-1]
			return
		}
		p.pos++
	}
	p.unformat()
}

// backslash skips an escape in an f-string. Braces are never escaped by one, but
// \N{…} holds a pair that is no field.
func (p *python) backslash(format bool) {
	p.pos++
	if p.pos >= len(p.src) {
		return
	}
	switch p.src[p.pos] {
	case '{', '}':
		return
	case '\n':
		p.line++
	case 'N':
		if p.pos+1 < len(p.src) && p.src[p.pos+1] == '{' && !format {
			n := 2
			for p.pos+n < len(p.src) && (isWord[p.src[p.pos+n]] || p.src[p.pos+n] == ' ' || p.src[p.pos+n] == '-') {
				n++
			}
			if p.pos+n < len(p.src) && p.src[p.pos+n] == '}' {
				p.pos += n
			}
		}
	}
	p.pos++
}

// unformat goes back to the outermost f-string and takes it as a plain string:
// what Python before 3.12 did.
func (p *python) unformat() {
	s := p.outer
	p.failures++
	p.line, p.last = s.line, s.last
	p.refs, p.open, p.lambdas = p.refs[:s.refs], p.open[:s.open], p.lambdas[:s.lambdas]
	p.formats = p.formats[:0]
	q := p.src[s.pos]
	p.plain(s.pos, s.pos+2 < len(p.src) && p.src[s.pos+1] == q && p.src[s.pos+2] == q)
}

// plain takes a string without fields and gives the bounds of its text.
func (p *python) plain(quote int, triple bool) (from, to int) {
	if triple {
		return p.triple(quote)
	}
	src, q := p.src, p.src[quote]
	from = quote + 1
	for i := from; i < len(src); i++ {
		switch src[i] {
		case q:
			p.pos, p.last = i+1, p.line
			return from, i
		case '\\':
			i++
			if i < len(src) && src[i] == '\n' {
				p.line++
			}
		case '\n':
			p.pos, p.last, p.broken = i, p.line, true
			return from, i
		}
	}
	p.pos, p.last, p.broken = len(src), p.line, true
	return from, len(src)
}

// triple takes a string in three quotes. One that never ends makes the whole
// scan start again with rescue set.
func (p *python) triple(quote int) (from, to int) {
	if p.rescue {
		return p.tripleOrDefinition(quote)
	}
	src, three := p.src, p.src[quote:quote+3]
	from = quote + 3
	for i := from; ; {
		n := strings.Index(src[i:], three)
		if n < 0 {
			p.pos, p.unclosed = len(src), true
			return from, len(src)
		}
		i += n
		if escaped(src, from, i) {
			i++
			continue
		}
		p.line += strings.Count(src[from:i], "\n")
		p.pos, p.last = i+3, p.line
		return from, i
	}
}

// escaped says that an odd number of backslashes, from on, stands before at.
func escaped(src string, from, at int) bool {
	n := 0
	for at-n > from && src[at-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

// tripleOrDefinition is triple for a file in which some string has no end. Then
// the quotes further down are the wrong way round, text is taken for code and
// code for text. So a string also ends before a line that looks like a
// definition and stands no deeper than the line the string began on.
func (p *python) tripleOrDefinition(quote int) (from, to int) {
	src, q := p.src, p.src[quote]
	from = quote + 3
	for i := from; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
			if i < len(src) && src[i] == '\n' {
				p.line++
			}
		case q:
			if i+2 < len(src) && src[i+1] == q && src[i+2] == q {
				p.pos, p.last = i+3, p.line
				return from, i
			}
		case '\n':
			if looksDefined(src[i+1:], p.col) {
				if len(p.formats) > 0 {
					p.unformat()
					return from, i
				}
				p.open, p.lambdas = p.open[:0], p.lambdas[:0]
				p.pos, p.last = i, p.line
				return from, i
			}
			p.line++
		}
	}
	p.pos, p.last = len(src), p.line
	return from, len(src)
}

// looksDefined says that src begins with a definition at most col columns in.
func looksDefined(src string, col int) bool {
	n := 0
	for n < len(src) && n <= col && (src[n] == ' ' || src[n] == '\t') {
		n++
	}
	if n > col || n >= len(src) {
		return false
	}
	src = src[n:]
	for _, start := range []string{"def ", "class ", "async def "} {
		if strings.HasPrefix(src, start) && len(src) > len(start) && startsWord(src[len(start)]) {
			end := wordEnd(src, len(start))
			return end < len(src) && strings.IndexByte("([:", src[end]) >= 0
		}
	}
	return len(src) > 1 && src[0] == '@' && startsWord(src[1])
}
