package search

import (
	"strings"

	"rollbench/search/source"
)

// unit is what the bytes of one file hold: immutable, and shared by every index with
// a file of these bytes. Its texts are parts of src.
type unit struct {
	src      string
	language string // "": plain text, no entities
	doc      string // of the module
	broken   bool
	ents     []source.Entity
	refs     []ref
	docs     []document
	// The words of document i are terms[docs[i].at:docs[i+1].at], the last one's go to
	// the end. counts has packed counts for each.
	terms  []term
	counts []uint16
}

// ref is a source.Ref of less size; what only imports need is in imp.
type ref struct {
	name string
	from int32
	line int32
	kind source.RefKind
	imp  *imported
}

type imported struct {
	target, as string
	level      int
}

// document is one thing that ranking can find: the file's own text (entity -1), a class
// without its methods, or a function with everything in it.
type document struct {
	ent     int32
	at      uint32
	length  uint32 // words of the body
	nameLen uint16 // parts of the name
	docLen  uint16 // words of the docstring
}

// Shifts of the four fields in a packed count: two bits of name, three of signature,
// four of docstring, seven of body.
const (
	shiftName, maxName = 14, 3
	shiftSig, maxSig   = 11, 7
	shiftDoc, maxDoc   = 7, 15
	maxBody            = 127
)

func packCount(name, sig, doc, body uint32) uint16 {
	return uint16(min(name, maxName)<<shiftName | min(sig, maxSig)<<shiftSig |
		min(doc, maxDoc)<<shiftDoc | min(body, maxBody))
}

// newUnit reads a file. path only tells the language.
func newUnit(path, src string, w *words) *unit {
	u := &unit{src: src}
	f := source.Scan(path, src)
	u.language, u.doc, u.broken, u.ents = f.Language, f.Doc, f.Broken, f.Entities
	if len(f.Refs) > 0 {
		u.refs = make([]ref, len(f.Refs))
		for i, r := range f.Refs {
			u.refs[i] = ref{name: r.Name, from: int32(r.From), line: int32(r.Line), kind: r.Kind}
			if r.Kind == source.Imports {
				u.refs[i].imp = &imported{target: r.Target, as: r.As, level: r.Level}
			}
		}
	}
	if u.language != "" {
		w.read(u)
	}
	return u
}

// The kinds of entities, as the scanners name them.
const (
	kindClass    = source.Class
	kindFunction = source.Function
	kindVariable = source.Variable
)

func isScope(k source.Kind) bool { return k == kindClass || k == kindFunction }

// words counts the words of the documents of a file. One goroutine has one.
type words struct {
	keys   []term
	counts []uint32 // name<<24 | sig<<16 | doc<<8 | body
	stamp  []uint32 // the document that the slot was last used for
	now    uint32
	used   []uint32 // slots of this document
	buf    []term
	lines  []int // offset of each line of the file, and its end
	length uint32
}

func newWords() *words {
	const slots = 1 << 13
	return &words{keys: make([]term, slots), counts: make([]uint32, slots), stamp: make([]uint32, slots)}
}

// read adds the documents of u and their words.
func (w *words) read(u *unit) {
	w.lines = appendLineStarts(w.lines[:0], u.src)
	children := scopesByLines(u.ents)
	w.begin()
	w.gaps(u, 1, len(w.lines)-1, children[len(u.ents)])
	w.flush(u, -1, 0, w.text(u.doc, 8))
	for i := range u.ents {
		e := &u.ents[i]
		if !isScope(e.Kind) {
			continue
		}
		w.begin()
		if e.Kind == source.Class {
			w.gaps(u, firstLine(e), e.End, children[i])
		} else {
			w.span(u, firstLine(e), e.End)
		}
		nameLen := w.name(e.Name)
		w.text(e.Signature, 16)
		docLen := w.text(e.Doc, 8)
		if e.Parent < 0 && e.Receiver != "" {
			w.text(e.Receiver, 16)
			w.add(hashMarked(markOwner, e.Receiver), 24)
		}
		w.owners(u, e.Parent)
		w.flush(u, int32(i), nameLen, docLen)
	}
}

// firstLine is the line of the first decorator, or of the definition.
func firstLine(e *source.Entity) int {
	if e.Decorated > 0 {
		return e.Decorated
	}
	return e.Start
}

// scopesByLines lists for each entity, and at the end for the file, the classes and
// functions whose lines are directly within its own. That is not what they are defined
// in: a method of Go stands outside its type.
func scopesByLines(ents []source.Entity) [][]int32 {
	out := make([][]int32, len(ents)+1)
	var around []int32 // the scopes that the line is in, outermost first
	for i := range ents {
		e := &ents[i]
		if !isScope(e.Kind) {
			continue
		}
		for len(around) > 0 && ents[around[len(around)-1]].End < firstLine(e) {
			around = around[:len(around)-1]
		}
		p := len(ents)
		if len(around) > 0 {
			p = int(around[len(around)-1])
		}
		out[p] = append(out[p], int32(i))
		around = append(around, int32(i))
	}
	return out
}

// appendLineStarts appends the offset of each line and the length of the text: line n
// is text[starts[n-1]:starts[n]].
func appendLineStarts(starts []int, text string) []int {
	for at := 0; at < len(text); {
		starts = append(starts, at)
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
	}
	return append(starts, len(text))
}

func (w *words) begin() {
	w.now++
	w.used = w.used[:0]
	w.length = 0
}

// gaps counts the lines first to last but those of the children.
func (w *words) gaps(u *unit, first, last int, children []int32) {
	for _, c := range children {
		e := &u.ents[c]
		w.span(u, first, firstLine(e)-1)
		first = max(first, e.End+1)
	}
	w.span(u, first, last)
}

// span counts the words of lines first to last as body.
func (w *words) span(u *unit, first, last int) {
	first, last = max(first, 1), min(last, len(w.lines)-1)
	if first > last {
		return
	}
	w.length += uint32(w.text(u.src[w.lines[first-1]:w.lines[last]], 0))
}

// text counts the words of a text in the field at shift; it returns how many.
func (w *words) text(text string, shift uint) int {
	n := 0
	for start, end := nextWord(text, 0); start < len(text); start, end = nextWord(text, end) {
		w.buf = appendTerms(w.buf[:0], text[start:end])
		for _, t := range w.buf {
			w.add(t, shift)
		}
		n++
	}
	return n
}

// name counts the parts of a name and the name as a whole.
func (w *words) name(name string) int {
	w.buf = appendTerms(w.buf[:0], name)
	for _, t := range w.buf {
		w.add(t, 24)
	}
	w.add(hashMarked(markName, name), 24)
	return len(w.buf)
}

// owners counts the names of what an entity is defined in.
func (w *words) owners(u *unit, parent int) {
	for range 8 {
		if parent < 0 || parent >= len(u.ents) {
			return
		}
		e := &u.ents[parent]
		w.text(e.Name, 16)
		w.add(hashMarked(markOwner, e.Name), 24)
		parent = e.Parent
	}
}

func (w *words) add(t term, shift uint) {
	mask := uint32(len(w.keys) - 1)
	i := (t * 0x9E3779B1) >> 7 & mask
	for w.stamp[i] == w.now {
		if w.keys[i] == t {
			if w.counts[i]>>shift&0xff < 0xff {
				w.counts[i] += 1 << shift
			}
			return
		}
		i = (i + 1) & mask
	}
	w.stamp[i], w.keys[i], w.counts[i] = w.now, t, 1<<shift
	w.used = append(w.used, i)
	if len(w.used)*2 > len(w.keys) {
		w.grow()
	}
}

func (w *words) grow() {
	keys, counts, used := w.keys, w.counts, w.used
	n := 2 * len(keys)
	w.keys, w.counts, w.stamp = make([]term, n), make([]uint32, n), make([]uint32, n)
	w.now, w.used = 1, make([]uint32, 0, n/2)
	mask := uint32(n - 1)
	for _, slot := range used {
		i := (keys[slot] * 0x9E3779B1) >> 7 & mask
		for w.stamp[i] == w.now {
			i = (i + 1) & mask
		}
		w.stamp[i], w.keys[i], w.counts[i] = w.now, keys[slot], counts[slot]
		w.used = append(w.used, i)
	}
}

// flush ends a document.
func (w *words) flush(u *unit, ent int32, nameLen, docLen int) {
	u.docs = append(u.docs, document{
		ent: ent, at: uint32(len(u.terms)), length: w.length,
		nameLen: uint16(min(nameLen, 1<<16-1)), docLen: uint16(min(docLen, 1<<16-1)),
	})
	for _, i := range w.used {
		c := w.counts[i]
		u.terms = append(u.terms, w.keys[i])
		u.counts = append(u.counts, packCount(c>>24, c>>16&0xff, c>>8&0xff, c&0xff))
	}
}

// wordsOf is the span of the words of document i.
func (u *unit) wordsOf(i int) (from, to uint32) {
	if i+1 < len(u.docs) {
		return u.docs[i].at, u.docs[i+1].at
	}
	return u.docs[i].at, uint32(len(u.terms))
}
