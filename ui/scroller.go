package ui

import "rollbench/sessions"

// document is what a scroller shows: sections that may not be loaded yet.
type document interface {
	count() int
	// section i, nil while it is not loaded.
	section(i int) *section
}

// place is a row of a document. A negative row counts from the section's end.
type place struct{ section, row int }

// scroller is a window on a document. It is anchored to a place rather than to
// a row number of the whole, so only what is on the screen has to be loaded
// and laid out: a trajectory of 100 MB opens like a short one.
type scroller struct {
	top    place // first row drawn
	cursor place
	follow bool // stay at the end as it grows
	// pinned: the cursor's row is to be the first. A section that is not loaded has
	// one row only, so that it could not be yet.
	pinned bool
	folds  folds
}

// rowsOf section i; one that is not loaded takes one row.
func (s *scroller) rowsOf(d document, i, w int) int {
	sec := d.section(i)
	if sec == nil {
		return 1
	}
	sec.layout(w, &s.folds)
	return max(sec.total, 1)
}

// clamp brings a place into the document.
func (s *scroller) clamp(d document, p place, w int) place {
	n := d.count()
	if n == 0 {
		return place{}
	}
	if p.section < 0 {
		return place{}
	}
	if p.section >= n {
		return place{n - 1, s.rowsOf(d, n-1, w) - 1}
	}
	rows := s.rowsOf(d, p.section, w)
	if p.row < 0 {
		p.row = max(rows+p.row, 0)
	}
	p.row = min(p.row, rows-1)
	return p
}

// move a place by n rows, stopping at either end.
func (s *scroller) move(d document, p place, n, w int) place {
	p = s.clamp(d, p, w)
	for n < 0 {
		if p.row+n >= 0 {
			return place{p.section, p.row + n}
		}
		if p.section == 0 {
			return place{}
		}
		n += p.row + 1
		p.section--
		p.row = s.rowsOf(d, p.section, w) - 1
	}
	for n > 0 {
		rest := s.rowsOf(d, p.section, w) - 1 - p.row
		if n <= rest {
			return place{p.section, p.row + n}
		}
		if p.section >= d.count()-1 {
			return place{p.section, p.row + rest}
		}
		n -= rest + 1
		p.section++
		p.row = 0
	}
	return p
}

// before orders places; both have to be clamped.
func before(a, b place) bool {
	return a.section < b.section || a.section == b.section && a.row < b.row
}

// settle puts cursor and top where they can be drawn in h rows.
func (s *scroller) settle(d document, w, h int) {
	h = max(h, 1)
	if d.count() == 0 {
		s.top, s.cursor = place{}, place{}
		return
	}
	if s.follow {
		s.cursor = place{d.count() - 1, -1}
	}
	s.cursor = s.clamp(d, s.cursor, w)
	s.top = s.clamp(d, s.top, w)
	if before(s.cursor, s.top) || s.pinned {
		s.top = s.cursor
		s.pinned = s.pinned && d.section(s.cursor.section) == nil
	}
	if last := s.move(d, s.top, h-1, w); before(last, s.cursor) {
		s.top = s.move(d, s.cursor, -(h - 1), w)
	}
	// Leave no empty rows below while there is something above.
	end := s.clamp(d, place{d.count() - 1, -1}, w)
	if floor := s.move(d, end, -(h - 1), w); before(floor, s.top) {
		s.top = floor
	}
}

// key moves the cursor; it reports whether the key was its own.
func (s *scroller) key(d document, k string, w, h int) bool {
	s.settle(d, w, h)
	if d.count() == 0 {
		return false
	}
	s.pinned = k == "{" || k == "}"
	switch k {
	case "up", "k":
		s.cursor = s.move(d, s.cursor, -1, w)
	case "down", "j":
		s.cursor = s.move(d, s.cursor, 1, w)
	case "pgup":
		s.cursor = s.move(d, s.cursor, -max(h-1, 1), w)
		s.top = s.move(d, s.top, -max(h-1, 1), w)
	case "pgdown":
		s.cursor = s.move(d, s.cursor, max(h-1, 1), w)
		s.top = s.move(d, s.top, max(h-1, 1), w)
	case "g", "home":
		s.cursor = place{}
	case "G", "end":
		s.cursor = place{d.count() - 1, -1}
	case "{":
		s.cursor = s.toSection(d, -1)
		s.top = s.cursor
	case "}":
		s.cursor = s.toSection(d, 1)
		s.top = s.cursor
	default:
		return false
	}
	s.follow = k == "G" || k == "end"
	return true
}

// toSection is the start of the section before or after the cursor.
func (s *scroller) toSection(d document, step int) place {
	to := s.cursor.section + step
	if step < 0 && s.cursor.row > 0 {
		to = s.cursor.section
	}
	return place{max(min(to, d.count()-1), 0), 0}
}

// block under the cursor, nil when it is not loaded.
func (s *scroller) block(d document, w int) *block {
	if s.cursor.section >= d.count() {
		return nil
	}
	sec := d.section(s.cursor.section)
	if sec == nil || len(sec.blocks) == 0 {
		return nil
	}
	sec.layout(w, &s.folds)
	i, _ := sec.at(s.cursor.row)
	return &sec.blocks[i]
}

// rowText is the row of the block's text that the cursor is on; "" on what is no
// text, such as the note on what is folded.
func (s *scroller) rowText(d document, w int) string {
	b := s.block(d, w)
	if b == nil {
		return ""
	}
	sec := d.section(s.cursor.section)
	bi, ri := sec.at(s.cursor.row)
	rows := sec.rows[bi]
	if ri >= len(rows) || b.foldable(len(rows)) && !s.folds.open[b.id] && ri == b.fold {
		return ""
	}
	return b.text[rows[ri].from:rows[ri].to]
}

// call of the section under the cursor: the last one down to the cursor, as an answer
// is to the call above it, else the first; nil where there is none.
func (s *scroller) call(d document, w int) (c *sessions.Call) {
	under := s.block(d, w)
	if under == nil {
		return nil
	}
	passed := false
	for i, blocks := 0, d.section(s.cursor.section).blocks; i < len(blocks); i++ {
		if passed && c != nil {
			return c
		}
		if !passed && blocks[i].kind == heading { // of another reply to the same prompt
			c = nil
		}
		if blocks[i].call != nil {
			c = blocks[i].call
		}
		passed = passed || &blocks[i] == under
	}
	return c
}

// fold opens or closes the block under the cursor; open nil toggles it. It
// reports whether there was something to fold.
func (s *scroller) fold(d document, w int, open *bool) bool {
	b := s.block(d, w)
	if !s.canFold(d, w) {
		return false
	}
	sec := d.section(s.cursor.section)
	i, _ := sec.at(s.cursor.row)
	to := !s.folds.open[b.id]
	if open != nil {
		to = *open
	}
	s.folds.toggle(b.id, to)
	if !to {
		s.cursor.row = sec.starts[i]
	}
	s.follow = false
	return true
}

// canFold reports whether the block under the cursor is long enough to fold.
func (s *scroller) canFold(d document, w int) bool {
	b := s.block(d, w)
	if b == nil {
		return false
	}
	sec := d.section(s.cursor.section)
	i, _ := sec.at(s.cursor.row)
	return b.foldable(len(sec.rows[i]))
}

// render h rows of w columns. What is not loaded is said so.
func (s *scroller) render(t *theme, d document, w, h int, cursor bool) []string {
	out := make([]string, 0, h)
	s.settle(d, w, h)
	for i, r := s.top.section, s.top.row; len(out) < h && i < d.count(); i++ {
		sec := d.section(i)
		if sec == nil {
			out = append(out, t.fit(line{{dim, "  …"}}, w))
			r = 0
			continue
		}
		for n := s.rowsOf(d, i, w); r < n && len(out) < h; r++ {
			mark := cursor && s.cursor == place{i, r}
			out = append(out, sec.draw(t, r, w, &s.folds, mark))
		}
		r = 0
	}
	for len(out) < h {
		out = append(out, spaces(w))
	}
	return out
}
