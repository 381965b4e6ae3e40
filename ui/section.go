package ui

import (
	"strings"

	"rollbench/sessions"
)

// kind says how the rows of a block are drawn.
type kind uint8

const (
	prose   kind = iota // text in the role of its block
	diff                // text with coloured + and - rows
	heading             // one row: the title of a turn
	cells               // one row in several roles, cut to the width
)

// block is a labelled piece of a document: a thought, a call, an observation.
type block struct {
	id    string // stable across reloads: what is unfolded is remembered by it
	label string // in the gutter of its first row
	labelRole,
	body role
	kind kind
	text string // clean
	// fold is how many rows are shown while folded; 0 never folds.
	fold int
	// title and right are the two ends of a heading; title is a row of cells.
	title, right line
	// raw is what copying yields when it differs from text.
	raw  string
	call *sessions.Call // that the block shows, nil in others
	out  *outputRef     // what the call of the block printed, nil where text is all
	tool string         // whose answer the block is, "" in others

	lang  lang     // its words are in roles of their own
	spans []lexeme // of them, once it was drawn
}

// gutter is the width of the label column with its margin; helpGutter that of
// pages whose labels are keys.
const (
	gutter     = 11
	helpGutter = 16
)

// section is a part of a document that is loaded and laid out as one: a turn,
// a patch. It is immutable but for the layout, which is cached by width.
type section struct {
	blocks []block
	bytes  int    // of text, for the bound on what is kept in memory
	labels int    // width of the label column, 0: gutter
	find   string // marked where it stands; "": nothing

	laid     int // width of the layout, 0: none
	openLaid int // revision of the open set of the layout
	rows     [][]row
	starts   []int // first row of each block
	total    int
}

// folds remembers which blocks are open. rev changes with it.
type folds struct {
	open map[string]bool
	rev  int
}

func (f *folds) toggle(id string, open bool) {
	if f.open == nil {
		f.open = map[string]bool{}
	}
	f.open[id] = open
	f.rev++
}

// layout the section at a width; it costs nothing when nothing changed.
func (s *section) layout(w int, f *folds) {
	w = max(w, 1)
	if s.laid == w && s.openLaid == f.rev+1 {
		return
	}
	if s.laid != w {
		s.rows = make([][]row, len(s.blocks))
	}
	s.starts = s.starts[:0]
	s.total = 0
	for i := range s.blocks {
		b := &s.blocks[i]
		if s.rows[i] == nil {
			s.rows[i] = b.wrap(w - s.gutter() - 2) // the mark and a margin
		}
		s.starts = append(s.starts, s.total)
		s.total += b.shown(len(s.rows[i]), f)
	}
	s.laid, s.openLaid = w, f.rev+1
}

func (s *section) gutter() int {
	if s.labels > 0 {
		return s.labels
	}
	return gutter
}

// wrap leaves what is one row alone: it is cut to the width as it is drawn.
func (b *block) wrap(w int) []row {
	if b.kind == heading || b.kind == cells {
		return []row{{0, 0}}
	}
	return wrap(b.text, max(w, 1))
}

// shown is the number of rows drawn of n, with the row that says how many are
// folded away.
func (b *block) shown(n int, f *folds) int {
	if b.fold == 0 || n <= b.fold+1 || f.open[b.id] {
		return n
	}
	return b.fold + 1
}

// foldable leaves a single hidden row unfolded: the note would take as much.
func (b *block) foldable(n int) bool { return b.fold > 0 && n > b.fold+1 }

// at finds the block of a row, and the row within it.
func (s *section) at(n int) (blockAt, rowAt int) {
	for i := len(s.starts) - 1; i >= 0; i-- {
		if n >= s.starts[i] {
			return i, n - s.starts[i]
		}
	}
	return 0, 0
}

// draw row n of the section, w columns wide. mark is drawn in the first column.
func (s *section) draw(t *theme, n, w int, f *folds, mark bool) string {
	var l line
	if mark {
		l.add(focused, "▌")
	} else {
		l.add(plain, " ")
	}
	if len(s.blocks) == 0 {
		return t.fit(l, w)
	}
	bi, ri := s.at(n)
	b, rows := &s.blocks[bi], s.rows[bi]
	switch b.kind {
	case heading:
		return t.fit(append(l, headingLine(b, w-1)...), w)
	case cells:
		return t.fit(append(append(l, seg{plain, " "}), b.title...), w)
	}
	label := ""
	if ri == 0 {
		label = b.label
	}
	l.add(b.labelRole, pad(label, s.gutter()-1)+" ")
	if b.foldable(len(rows)) && !f.open[b.id] && ri == b.fold {
		l.add(dim, foldNote(len(rows)-b.fold))
		return t.fit(l, w)
	}
	if ri < len(rows) {
		l = append(l, b.row(rows[ri], s.find)...)
	}
	return t.fit(l, w)
}

// row of a block's text, with what is looked for standing out.
func (b *block) row(r row, find string) line {
	text := b.text[r.from:r.to]
	if b.kind == diff || b.lang == noLang || b.body == dim {
		return marked(text, find, b.rowRole(r, text))
	}
	return markedLine(b.pieces(r.from, r.to), find)
}

// marked is a text with what is looked for standing out.
func marked(text, find string, r role) line { return markedLine(line{{r, text}}, find) }

// markedLine is marked for a text in several roles.
func markedLine(l line, find string) line {
	if find == "" {
		return l
	}
	whole := ""
	for _, s := range l {
		whole += s.text
	}
	f := newFinder(find)
	folded, out := f.text(whole), line{}
	at, from, to := 0, 0, 0 // of the segment in whole; of the place that is found
	next := func() {
		if i := strings.Index(folded[to:], f.query); i >= 0 {
			from, to = to+i, to+i+len(f.query)
		} else {
			from, to = len(whole), len(whole)
		}
	}
	next()
	for _, s := range l {
		for text := s.text; text != ""; {
			n, r := min(len(text), from-at), s.r
			if n <= 0 {
				n, r = min(len(text), to-at), chosen
			}
			out.add(r, text[:n])
			text, at = text[n:], at+n
			if at == to && to < len(whole) {
				next()
			}
		}
	}
	return out
}

func foldNote(n int) string {
	if n == 1 {
		return "⋯ 1 more row"
	}
	return "⋯ " + thousands(int64(n)) + " more rows"
}

// headingLine is title ── right, filled with a rule. Parts of right that have no room
// are left out, the last one first.
func headingLine(b *block, w int) line {
	l, right := append(line{}, b.title...), append(line{}, b.right...)
	for right.width() > 0 && w-l.width()-right.width() < 3 {
		right = shorter(right)
	}
	rule := w - l.width() - right.width() - 3
	if rule < 0 {
		return l
	}
	l.add(dim, " "+strings.Repeat("─", rule)+" ")
	return append(l, right...)
}

// shorter is a line without its last part.
func shorter(l line) line {
	last := &l[len(l)-1]
	if i := strings.LastIndex(last.text, " · "); i >= 0 {
		last.text = last.text[:i]
		return l
	}
	return l[:len(l)-1]
}

// rowRole colours diff rows by the line they belong to.
func (b *block) rowRole(r row, text string) role {
	if b.kind != diff {
		return b.body
	}
	start := strings.LastIndexByte(b.text[:r.from], '\n') + 1
	first := b.text[start:min(start+4, len(b.text))]
	switch {
	case strings.HasPrefix(first, "+++"), strings.HasPrefix(first, "---"), strings.HasPrefix(first, "diff"):
		return strong
	case strings.HasPrefix(first, "@@"):
		return hunk
	case strings.HasPrefix(first, "+"):
		return added
	case strings.HasPrefix(first, "-"):
		return removed
	}
	return b.body
}
