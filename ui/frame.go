package ui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// caption is the text in the horizontal sides of a frame.
type caption struct{ title, note, foot, footNote line }

// frame draws rows inside a rounded box. rows are already inner-wide.
func (t *theme) frame(b box, edge role, c caption, rows []string) []string {
	out := make([]string, 0, b.h)
	out = append(out, t.edge(b.w, edge, "╭", "╮", c.title, c.note))
	side := t.text(edge, "│")
	for i := 0; i < b.h-2; i++ {
		mid := spaces(b.w - 2)
		if i < len(rows) {
			mid = rows[i]
		}
		out = append(out, side+mid+side)
	}
	return append(out, t.edge(b.w, edge, "╰", "╯", c.foot, c.footNote))
}

// edge is a horizontal side with text in it: ╭ title ──── note ╮
func (t *theme) edge(w int, r role, left, right string, title, note line) string {
	l := line{{r, left}}
	room := w - 2
	if len(title) > 0 && room > 6 {
		title = clip(title, room-4)
		l.add(r, " ")
		l = append(l, title...)
		l.add(r, " ")
		room -= title.width() + 2
	}
	if len(note) > 0 && note.width()+3 <= room {
		l.add(r, strings.Repeat("─", room-note.width()-3)+" ")
		l = append(l, note...)
		l.add(r, " ─"+right)
	} else {
		l.add(r, strings.Repeat("─", max(room, 0))+right)
	}
	return t.fit(l, w)
}

// clip cuts a line to w columns, keeping its roles.
func clip(l line, w int) line {
	if l.width() <= w {
		return l
	}
	out := line{}
	for _, s := range l {
		sw := width(s.text)
		if sw >= w {
			return append(out, seg{s.r, cutForced(s.text, max(w, 1))})
		}
		out = append(out, s)
		w -= sw
	}
	return out
}

// clipParts cuts a line before the first part that has no room, and in it where it is the
// only one. Two spaces stand between parts.
func clipParts(l line, w int) line {
	text := l.text()
	if width(text) <= w {
		return l
	}
	end := strings.LastIndex(text, "  ")
	for end > 0 && width(text[:end]) > w {
		end = strings.LastIndex(text[:end], "  ")
	}
	if end <= 0 {
		return clip(l, w)
	}
	out := line{}
	for _, s := range l {
		n := min(len(s.text), end)
		if n == 0 {
			break
		}
		out, end = append(out, seg{s.r, s.text[:n]}), end-n
	}
	return out
}

// overlay puts top over the screen's rows with its first cell at x, y.
func overlay(rows, top []string, x, y, w int) {
	for i, piece := range top {
		if n := y + i; n >= 0 && n < len(rows) {
			rows[n] = splice(rows[n], piece, x, w)
		}
	}
}

// splice replaces the columns of row from x on by piece. A wide character cut
// in half becomes a space, so the row keeps its width.
func splice(row, piece string, x, w int) string {
	pw := ansi.StringWidth(piece)
	left := ansi.Truncate(row, x, "")
	left += spaces(x - ansi.StringWidth(left))
	right := ""
	if rest := w - x - pw; rest > 0 {
		right = ansi.TruncateLeft(row, x+pw, "")
		if rw := ansi.StringWidth(right); rw > rest {
			right = " " + ansi.TruncateLeft(row, x+pw+1, "")
		} else {
			right = spaces(rest-rw) + right
		}
	}
	return left + piece + right
}
