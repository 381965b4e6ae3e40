package ui

import "sort"

// tokenMost is the widest cell: a token may be a hundred spaces.
const tokenMost = 32

// cell is what a token shows; its text is "" for an id that is not known.
func (v *tokenView) cell(id int32) (text string, known bool) {
	if t, ok := v.texts[id]; ok {
		return cut(visibleCell(t), tokenMost), true
	}
	return "#" + thousandless(id), false
}

// lay the rows of a chunk. Each cell has a column before it, for its shade.
func (v *tokenView) lay(span, chunk int) []tokenRow {
	at := chunkAt{span, chunk}
	if rows, ok := v.rows[at]; ok {
		return rows
	}
	if len(v.rows) > 512 {
		clear(v.rows)
	}
	s := &v.spans[span]
	from, to := s.chunks[chunk], len(s.ids)
	if chunk+1 < len(s.chunks) {
		to = s.chunks[chunk+1]
	}
	var rows []tokenRow
	row, used := tokenRow{from, from}, 0
	for i := from; i < to; i++ {
		text, _ := v.cell(s.ids[i])
		cols := 1 + width(text)
		if used+cols > v.width && row.to > row.from {
			rows, row, used = append(rows, row), tokenRow{i, i}, 0
		}
		row.to, used = i+1, used+cols
		if v.endsLine(s.ids[i]) {
			rows, row, used = append(rows, row), tokenRow{i + 1, i + 1}, 0
		}
	}
	if row.to > row.from {
		rows = append(rows, row)
	}
	v.rows[at] = rows
	return rows
}

// endsLine keeps the lines of a text where they are.
func (v *tokenView) endsLine(id int32) bool {
	t := v.texts[id]
	return t != "" && t[len(t)-1] == '\n'
}

// divide a span into chunks of about tokenChunk tokens, at the ends of lines
// where there are some.
func (v *tokenView) divide(s *tokenSpan) {
	s.chunks = nil
	for i := range s.ids {
		n := 0
		if last := len(s.chunks) - 1; last >= 0 {
			n = i - s.chunks[last]
		}
		if i == 0 || n >= 4*tokenChunk || n >= tokenChunk && v.endsLine(s.ids[i-1]) {
			s.chunks = append(s.chunks, i)
		}
	}
}

// rowsAt is how many rows a chunk has; a heading has one.
func (v *tokenView) rowsAt(span, chunk int) int {
	if chunk < 0 {
		return 1
	}
	return len(v.lay(span, chunk))
}

// next is the row below; ok is false at the end.
func (v *tokenView) next(p tokenPlace) (tokenPlace, bool) {
	switch {
	case p.row+1 < v.rowsAt(p.span, p.chunk):
		return tokenPlace{p.span, p.chunk, p.row + 1}, true
	case p.chunk+1 < len(v.spans[p.span].chunks):
		return tokenPlace{p.span, p.chunk + 1, 0}, true
	case p.span+1 < len(v.spans):
		return tokenPlace{p.span + 1, -1, 0}, true
	}
	return p, false
}

// before is the row above; ok is false at the start.
func (v *tokenView) before(p tokenPlace) (tokenPlace, bool) {
	switch {
	case p.row > 0:
		return tokenPlace{p.span, p.chunk, p.row - 1}, true
	case p.chunk > -1:
		return tokenPlace{p.span, p.chunk - 1, v.rowsAt(p.span, p.chunk-1) - 1}, true
	case p.span > 0:
		last := len(v.spans[p.span-1].chunks) - 1
		return tokenPlace{p.span - 1, last, v.rowsAt(p.span-1, last) - 1}, true
	}
	return p, false
}

func (p tokenPlace) less(q tokenPlace) bool {
	if p.span != q.span {
		return p.span < q.span
	}
	if p.chunk != q.chunk {
		return p.chunk < q.chunk
	}
	return p.row < q.row
}

// place of the cursor.
func (v *tokenView) place() tokenPlace {
	if v.n == 0 {
		return tokenPlace{0, -1, 0}
	}
	span := v.spanOf(v.at)
	i := v.at - v.spans[span].start
	starts := v.spans[span].chunks
	p := tokenPlace{span, sort.SearchInts(starts, i+1) - 1, 0}
	for n, r := range v.lay(p.span, p.chunk) {
		if i >= r.from && i < r.to {
			p.row = n
		}
	}
	return p
}

// settle what is drawn around the cursor, in h rows of w columns.
func (v *tokenView) settle(w, h int) {
	w, h = max(w, 2), max(h, 1)
	if v.width != w {
		v.width = w
		clear(v.rows)
	}
	if len(v.spans) == 0 {
		return
	}
	v.top.span = min(v.top.span, len(v.spans)-1)
	v.top.chunk = min(v.top.chunk, len(v.spans[v.top.span].chunks)-1)
	v.top.row = min(v.top.row, v.rowsAt(v.top.span, v.top.chunk)-1)
	cursor := v.place()
	if cursor.less(v.top) {
		v.top = cursor
	}
	if v.at == v.spans[cursor.span].start && cursor.chunk == 0 && v.top == cursor {
		v.top = tokenPlace{cursor.span, -1, 0} // its heading says what it is
	}
	p, seen := v.top, false
	for n := 0; n < h && !seen; n++ {
		seen = p == cursor
		next, more := v.next(p)
		if !more {
			seen = true // it lies on the way
		}
		p = next
	}
	if !seen {
		v.top = v.back(cursor, h-1)
	}
	// Leave no empty rows below while there is something above.
	last := len(v.spans) - 1
	end := tokenPlace{last, len(v.spans[last].chunks) - 1, 0}
	end.row = v.rowsAt(end.span, end.chunk) - 1
	if floor := v.back(end, h-1); floor.less(v.top) {
		v.top = floor
	}
}

// back goes n rows up.
func (v *tokenView) back(p tokenPlace, n int) tokenPlace {
	for more := true; n > 0 && more; n-- {
		p, more = v.before(p)
	}
	return p
}

// step moves the cursor n rows on, to the cell below or above it.
func (v *tokenView) step(n int) {
	if v.n == 0 || v.width == 0 {
		return
	}
	p := v.place()
	col := v.column(p)
	move := v.next
	if n < 0 {
		n, move = -n, v.before
	}
	for q := p; n > 0; {
		next, more := move(q)
		if !more {
			break
		}
		q = next
		if q.chunk >= 0 {
			p = q
			n--
		}
	}
	s := &v.spans[p.span]
	r, used := v.lay(p.span, p.chunk)[p.row], 0
	for i := r.from; i < r.to; i++ {
		v.at = s.start + i
		text, _ := v.cell(s.ids[i])
		if used += 1 + width(text); used > col {
			break
		}
	}
}

// column of the cursor in its row.
func (v *tokenView) column(p tokenPlace) int {
	s := &v.spans[p.span]
	r, used := v.lay(p.span, p.chunk)[p.row], 0
	for i := r.from; i < v.at-s.start; i++ {
		text, _ := v.cell(s.ids[i])
		used += 1 + width(text)
	}
	return used + 1
}
