package source

import (
	"slices"
	"strings"
	"sync"
)

// python scans one Python file in a single pass over its bytes. It knows no
// grammar beyond what definitions need: logical lines, brackets, strings, where
// a statement begins. So it reads every version of the language, and files that
// no version would accept.
type python struct {
	src  string
	pos  int
	line int // of pos
	last int // line of the last token that is neither white space nor comment
	col  int // indentation of the logical line, tabs to multiples of 8

	open    []byte // brackets open at pos, see bracket constants
	lambdas []int  // len(open) at each "lambda" whose colon is still to come
	blocks  []block
	current int // innermost entity at pos, -1: the file

	formats  []fstring // f-strings open at pos
	outer    snapshot  // where the outermost of them began
	failures int       // f-strings that did not read as such

	rescue   bool // second try: strings end where a definition seems to begin
	unclosed bool // first try failed: a triple-quoted string has no end

	commas int  // len(open) at which a comma is of interest, -1: none
	bases  bool // in the header of a class
	doc    int  // entity whose docstring may come next, -1: the file's, -2: none

	decorated int // line of the first of the decorators just read, 0: none
	decorator int // index of the first reference in them
	pattern   int // references when a "case" began, -1: in no pattern
	guard     int // references when the pattern's guard began, -1: none

	broken   bool
	entities []Entity
	refs     []Ref
	names    []string // targets of the assignment being read
	docs     string
}

// block is an entity whose body may go on: it ends before the next logical line
// that stands at col or to the left of it.
type block struct{ entity, col int }

// Brackets on the stack, beside the characters themselves.
const (
	superCall   = 's' // the parenthesis of super(…)
	formatField = 'f' // a field in the text of an f-string
	nestedField = 'F' // a field in the format of another field
)

var pythons = sync.Pool{New: func() any { return new(python) }}

func scanPython(src string) *File {
	src = decodePython(unify(src))
	p := pythons.Get().(*python)
	defer p.release()
	p.reset(src)
	p.run()
	if p.unclosed {
		p.reset(src)
		p.rescue, p.broken = true, true
		p.run()
	}
	return &File{
		Language: "python",
		Entities: slices.Clone(p.entities),
		Refs:     slices.Clone(p.refs),
		Doc:      p.docs,
		Broken:   p.broken,
	}
}

func (p *python) reset(src string) {
	*p = python{
		src: src, line: 1, last: 1, current: -1, commas: -1, doc: -1, pattern: -1, guard: -1,
		open: p.open[:0], lambdas: p.lambdas[:0], blocks: p.blocks[:0], formats: p.formats[:0],
		entities: p.entities[:0], refs: p.refs[:0], names: p.names[:0],
	}
}

// release gives the buffers back without what they point to.
func (p *python) release() {
	clear(p.entities)
	clear(p.refs)
	clear(p.names)
	p.reset("")
	pythons.Put(p)
}

func (p *python) run() {
	for !p.unclosed && p.indent() {
		p.leave(p.col)
		p.open, p.lambdas, p.formats = p.open[:0], p.lambdas[:0], p.formats[:0]
		for more := true; more; {
			ev := p.statement()
			more = ev == atSemicolon || ev == atColon
			if ev == atSemicolon {
				p.last = p.line
			}
		}
	}
	if len(p.open) > 0 {
		p.broken = true
	}
	p.leave(0)
}

// leave ends the blocks at col and to the right of it.
func (p *python) leave(col int) {
	n := len(p.blocks)
	for n > 0 && p.blocks[n-1].col >= col {
		n--
		p.entities[p.blocks[n].entity].End = p.last
	}
	p.blocks = p.blocks[:n]
	p.current = -1
	if n > 0 {
		p.current = p.blocks[n-1].entity
	}
}

// indent skips empty lines and comments and measures the indentation of the
// logical line that follows; false: there is none.
func (p *python) indent() bool {
	col, first := 0, -1
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; c {
		case ' ':
			col++
		case '\t':
			col = (col/8 + 1) * 8
		case '\f':
			col = 0
		case '\n':
			col, first = 0, -1
			p.line++
		case '#':
			p.comment()
			continue
		case '\\':
			// The indentation is what stands before the first continuation.
			if !p.continues() {
				p.col = col
				return true
			}
			if first < 0 {
				first = col
			}
			continue
		default:
			p.col = col
			if first >= 0 {
				p.col = first
			}
			return true
		}
		p.pos++
	}
	return false
}

// comment skips to the end of the line.
func (p *python) comment() {
	n := strings.IndexByte(p.src[p.pos:], '\n')
	if n < 0 {
		n = len(p.src) - p.pos
	}
	p.pos += n
}

// continues skips a backslash at the end of a line.
func (p *python) continues() bool {
	if p.pos+1 < len(p.src) && p.src[p.pos+1] == '\n' {
		p.pos += 2
		p.line++
		return true
	}
	return false
}

// space skips white space, comments and, inside brackets, line ends.
func (p *python) space(inBrackets bool) {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\f':
			p.pos++
		case '#':
			p.comment()
		case '\n':
			if !inBrackets {
				return
			}
			p.pos++
			p.line++
		case '\\':
			if !p.continues() {
				return
			}
		default:
			return
		}
	}
}

// identifier reads a name at pos, "" if there is none.
func (p *python) identifier() string {
	start := p.pos
	if start < len(p.src) && startsWord(p.src[start]) {
		p.pos = wordEnd(p.src, start)
		p.last = p.line
	}
	return p.src[start:p.pos]
}

// wordEnd is where the identifier that begins at start ends.
func wordEnd(src string, start int) int {
	end := start + 1
	for end < len(src) && isWord[src[end]] {
		end++
	}
	return end
}
