package source

import (
	"slices"
	"strings"
	"sync"
)

// walker goes through the tokens of a language with braces, once, and keeps what
// is open around it. A language adds what it takes for a definition.
type walker struct {
	lexer
	entities []Entity
	refs     []Ref
	opens    []int // brackets around the token
	scopes   []scope
	closed   scope          // the last one left
	owners   map[string]int // types by name, for methods defined elsewhere

	// Annotations just read: those from token annotated on, whose references begin
	// at annotatedRefs, belong to the definition that begins at token declared.
	annotated, declared, annotatedRefs int

	// The value that begins at token valueAt is given to valueName by the
	// declaration that begins at token valueFirst.
	valueAt, valueFirst int
	valueName           string

	budget int // tokens that may still be looked at out of turn

	pending []int // references of a type that may come later, named by As

	comma int // between the declarators of variables

	head int // a parenthesis that opens the parameters of a definition
}

// scope is an entity that tokens belong to, or a body without one of its own.
type scope struct {
	entity int // -1: the file
	body   int // its opening brace, -1: none
	close  int // the scope ends behind this token
	kind   scopeKind
	name   string   // of its type
	tail   tailKind // what may follow its closing brace
}

// tailKind says what the names behind the body of a type in C are.
type tailKind uint8

const (
	noTail tailKind = iota
	variableTail
	typedefTail
)

type scopeKind uint8

const (
	fileScope scopeKind = iota // also of a namespace
	classScope
	functionScope
	enumScope // constants first
)

// maxAhead bounds how many tokens of one level are looked at ahead of or behind a
// token. All looks together are bounded by budget, so that the time stays linear.
const maxAhead = 500

// budgetPerToken is far more than real sources need.
const budgetPerToken = 100

// spend counts one token looked at ahead or behind; false: no more.
func (w *walker) spend() bool {
	w.budget--
	return w.budget > 0
}

var walkers = sync.Pool{New: func() any { return new(walker) }}

// walk scans src. next takes the token at i and gives the index to go on with,
// which is beyond i and has the same brackets around it, or is inside the bracket
// at i.
func walk(language, src string, how dialect, next func(*walker, int) int) *File {
	w := walkers.Get().(*walker)
	defer w.release()
	w.reset(strings.TrimPrefix(src, "\ufeff"), how)
	w.run()
	w.budget = 1000 + budgetPerToken*len(w.toks)
	w.annotated, w.declared, w.valueAt, w.head, w.comma = -1, -1, -1, -1, -1
	w.closed = scope{close: -2}
	w.scopes = append(w.scopes[:0], scope{entity: -1, body: -1, close: len(w.toks)})
	for i := 0; i < len(w.toks); {
		w.leave(i)
		if w.toks[i].kind == opening {
			w.opens = append(w.opens, i)
		}
		i = max(next(w, i), i+1)
	}
	w.adopt()
	f := &File{
		Language: language, Entities: slices.Clone(w.entities), Refs: slices.Clone(w.refs),
		Doc: w.fileDoc(), Broken: w.broken,
	}
	f.order()
	return f
}

func (w *walker) release() {
	clear(w.entities)
	clear(w.refs)
	clear(w.owners)
	w.entities, w.refs, w.opens, w.pending = w.entities[:0], w.refs[:0], w.opens[:0], w.pending[:0]
	w.reset("", dialect{})
	if cap(w.toks) < 1<<20 {
		walkers.Put(w)
	}
}

// leave drops the brackets and scopes that ended before token i.
func (w *walker) leave(i int) {
	for n := len(w.opens); n > 0 && int(w.toks[w.opens[n-1]].mate) <= i; n-- {
		w.opens = w.opens[:n-1]
	}
	for n := len(w.scopes); n > 1 && w.scopes[n-1].close < i; n-- {
		w.closed = w.scopes[n-1]
		w.scopes = w.scopes[:n-1]
	}
}

// scope is the innermost one.
func (w *walker) scope() *scope { return &w.scopes[len(w.scopes)-1] }

// direct says that the token being read stands in the innermost scope's own body,
// not in brackets inside of it.
func (w *walker) direct() bool {
	s := w.scope()
	if len(w.opens) == 0 {
		return s.body < 0
	}
	return s.body == w.opens[len(w.opens)-1]
}

func (w *walker) text(i int) string {
	if i < 0 || i >= len(w.toks) {
		return ""
	}
	return w.src[w.toks[i].start:w.toks[i].end]
}

func (w *walker) kind(i int) tokenKind {
	if i < 0 || i >= len(w.toks) {
		return 0
	}
	return w.toks[i].kind
}

// char is the punctuation or bracket at i, 0 for other tokens.
func (w *walker) char(i int) byte {
	switch w.kind(i) {
	case punct, opening, closing:
		return w.toks[i].char
	}
	return 0
}

// is says that the word at i is one of words.
func (w *walker) is(i int, words ...string) bool {
	return w.kind(i) == word && slices.Contains(words, w.text(i))
}

// pair says that the two characters of op stand at i, side by side.
func (w *walker) pair(i int, op string) bool {
	return w.char(i) == op[0] && w.char(i+1) == op[1] && w.toks[i].end == w.toks[i+1].start
}

// after is the index behind the bracket that opens at i.
func (w *walker) after(i int) int { return int(w.toks[i].mate) + 1 }

// before is the index of the bracket that closes at i, or i itself.
func (w *walker) before(i int) int {
	if w.kind(i) == closing && w.toks[i].mate >= 0 {
		return int(w.toks[i].mate)
	}
	return i
}

// angles is the index behind the "<…>" that opens at i, i if there is none.
func (w *walker) angles(i int) int {
	if w.char(i) != '<' {
		return i
	}
	depth := 0
	for k, n := i, 0; k < len(w.toks) && n < maxAhead && w.spend(); n++ {
		switch w.char(k) {
		case '<':
			depth++
		case '>':
			if w.char(k-1) == '-' || w.char(k-1) == '=' {
				break // an arrow
			}
			depth--
			if depth == 0 {
				return k + 1
			}
		case '(', '[', '{':
			k = w.after(k)
			continue
		case ';', ')', ']', '}':
			return i
		}
		k++
	}
	return i
}

// anglesBack is the index of the "<" whose ">" is at i, -1 if there is none.
func (w *walker) anglesBack(i int) int {
	depth := 0
	for n := 0; i >= 0 && n < 64 && w.spend(); n++ {
		switch w.char(i) {
		case '>':
			if c := w.char(i - 1); c != '=' && c != '-' {
				depth++
			}
		case '<':
			depth--
			if depth == 0 {
				return i
			}
		case ')', ']':
			i = w.before(i)
		case ';', '{', '}', '(':
			return -1
		}
		i--
	}
	return -1
}

// annotate notes the annotations that begin at i and end before token end; they
// belong to the definition that begins there.
func (w *walker) annotate(i, end int) {
	if i != w.declared || w.annotated < 0 {
		w.annotated, w.annotatedRefs = i, len(w.refs)
	}
	w.declared = end
}

// add notes an entity from token first to token last, whose head ends before
// token head.
func (w *walker) add(kind Kind, name string, first, head, last int) int {
	last = min(max(last, first), len(w.toks)-1)
	e := Entity{
		Kind: kind, Name: name, Parent: w.scope().entity,
		Start: int(w.toks[first].line), End: int(w.toks[last].last),
		Signature: w.signature(first, head), Doc: w.doc(first),
	}
	if w.annotated >= 0 && w.declared == first {
		e.Decorated = int(w.toks[w.annotated].line)
		if doc := w.doc(w.annotated); doc != "" {
			e.Doc = doc
		}
		for i := w.annotatedRefs; i < len(w.refs); i++ {
			w.refs[i].From = len(w.entities)
		}
		w.annotated = -1
	}
	w.entities = append(w.entities, e)
	return len(w.entities) - 1
}

// enter opens the scope of an entity; last is its last token.
func (w *walker) enter(kind scopeKind, entity, body, last int, name string) {
	w.scopes = append(w.scopes, scope{entity: entity, body: body, close: last, kind: kind, name: name})
}

func (w *walker) signature(first, head int) string {
	head = min(head, len(w.toks))
	if head <= first {
		return ""
	}
	return w.src[w.toks[first].start:w.toks[head-1].end]
}

// refer notes a reference from the innermost entity.
func (w *walker) refer(kind RefKind, name string, at int) {
	if name != "" {
		w.refs = append(w.refs, Ref{Kind: kind, From: w.scope().entity, Name: name, Line: int(w.toks[at].line)})
	}
}

// adopt gives methods their types, where those are in the file.
func (w *walker) adopt() {
	if w.owners == nil {
		w.owners = map[string]int{}
	}
	for i, e := range w.entities {
		if e.Kind == Class {
			if _, known := w.owners[e.Name]; !known {
				w.owners[e.Name] = i
			}
		}
	}
	for _, inherits := range w.pending {
		r := &w.refs[inherits]
		if id, ok := w.owners[lastPart(r.As)]; ok {
			r.From, r.As = id, ""
		}
	}
	for i := range w.entities {
		e := &w.entities[i]
		if e.Receiver == "" {
			continue
		}
		if parent, ok := w.owners[lastPart(e.Receiver)]; ok && parent != i {
			e.Parent = parent
		}
	}
}

// lastPart is what follows the last "::" of a path.
func lastPart(path string) string { return path[strings.LastIndexByte(path, ':')+1:] }
