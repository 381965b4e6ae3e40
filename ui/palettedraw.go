package ui

import (
	"fmt"
	"slices"
	"strings"
)

// paletteRows is how many rows are offered at once, where there is room.
const paletteRows = 14

// Widths of the columns of verbs; keys are left out where there is little room.
const (
	paletteName = 16
	paletteKeys = 12
	paletteWide = 110
)

// draw the palette over the lowest rows, the prompt right above the bottom line.
func (p *palette) draw(t *theme, rows []string, w int) {
	bw := w
	if w > paletteWide+30 { // else slivers of what is below would stay beside it
		bw = paletteWide
	}
	body := p.render(t, bw-2, len(rows)-2)
	if len(body) == 0 {
		return
	}
	note := line{{dim, "esc closes"}}
	if n := len(p.rows); n > 0 {
		note = line{{dim, fmt.Sprintf("%d/%d", p.at+1, n)}}
	}
	framed := t.frame(box{w: bw, h: len(body) + 2}, focused, caption{title: line{{strong, "palette"}}, note: note, foot: p.foot()}, body)
	y := len(rows) - len(framed)
	p.drawn = box{1, y + 1, bw - 2, min(len(p.rows)-p.top, len(body))}
	overlay(rows, framed, 0, y, w)
}

// rowAt is the row at a cell of the screen.
func (p *palette) rowAt(x, y int) (row int, inside bool) {
	row = p.top + y - p.drawn.y
	return row, p.drawn.in(x, y) && row < len(p.rows)
}

// foot says what the keys do here.
func (p *palette) foot() line {
	return line{{strong, "enter"}, {dim, " runs  "}, {strong, "tab"}, {dim, " completes  "}, {strong, "↑"}, {dim, " the last ones  "}, {strong, "esc"}, {dim, " closes"}}
}

// render the rows and the prompt in at most h rows of w columns.
func (p *palette) render(t *theme, w, h int) []string {
	tail := []string{}
	if p.failed != "" {
		for _, row := range Wrap(p.failed, max(w-4, 1)) {
			mark := " ✘ "
			if len(tail) > 0 {
				mark = "   "
			}
			if len(tail) < 3 {
				tail = append(tail, t.fit(line{{fail, mark}, {plain, row}}, w))
			}
		}
	}
	tail = append(tail, t.fit(p.prompt(w), w))
	n := max(min(h-len(tail), paletteRows), 0)
	p.top = max(min(p.top, p.at), p.at-n+1)
	p.top = max(min(p.top, len(p.rows)-n), 0)
	out := []string{}
	for i := p.top; i < len(p.rows) && len(out) < n; i++ {
		out = append(out, p.row(t, p.rows[i], i == p.at, w))
	}
	if len(p.rows) == 0 && n > 0 {
		out = append(out, t.fit(line{{dim, "  " + p.nothing()}}, w))
	}
	return append(out, tail...)
}

// nothing says why no row is offered.
func (p *palette) nothing() string {
	name, _, begun := p.split()
	if !begun {
		return "no verb fits"
	}
	switch v := p.verbNamed(name); {
	case v == nil:
		return "no verb " + cleanLine(name)
	case v.arg == nil:
		return v.name + " takes no argument"
	case v.why != "":
		return cleanLine(v.why)
	default:
		return v.name + " " + v.arg.name + ": " + v.help
	}
}

// prompt with the line that is typed.
func (p *palette) prompt(w int) line {
	l := append(line{{plain, " "}}, inputLine(windowed(p.input, w-4))...)
	l[1] = seg{strong, ":"}
	if name, arg, begun := p.split(); begun && arg == "" {
		if v := p.verbNamed(name); v != nil && v.arg != nil {
			l.add(dim, " "+v.arg.name)
		}
	}
	return l
}

// row of the list: name, keys, help or why not.
func (p *palette) row(t *theme, o offered, at bool, w int) string {
	r, helpRole, help := strong, plain, o.help
	if o.why != "" {
		r, helpRole, help = dim, dim, o.why
	}
	l := line{{focused, " "}}
	if at {
		l[0].text = "▌"
	}
	name := paletteName
	if o.verb == nil {
		name = min(max(w/2, paletteName), max(p.widest(), paletteName))
	}
	l = append(l, p.named(o, r, name)...)
	if o.verb != nil && w >= 70 {
		l.add(call, pad(someKeys(o.keys, paletteKeys), paletteKeys)+" ")
	}
	if o.why != "" {
		l.add(warn, "– ")
	}
	l.add(helpRole, cleanLine(help))
	base := plain
	if at {
		base = chosen
	}
	return t.fitOn(l, w, base)
}

// someKeys is as many of the keys as fit into n columns.
func someKeys(keys string, n int) string {
	for width(keys) > n && strings.Contains(keys, " ") {
		keys = keys[:strings.LastIndexByte(keys, ' ')]
	}
	return keys
}

// widest value that is offered.
func (p *palette) widest() int {
	n := 0
	for _, o := range p.rows {
		n = max(n, width(cleanLine(o.name)))
	}
	return n
}

// named is the name in n columns and a space, what fits of it in another colour.
func (p *palette) named(o offered, r role, n int) line {
	text := cleanLine(o.name)
	if len(o.marks) == 0 || text != o.name || width(text) > n || o.why != "" {
		return line{{r, pad(text, n) + " "}}
	}
	l := line{}
	for i, c := range []rune(text) {
		if slices.Contains(o.marks, i) {
			l.add(focused, string(c))
		} else {
			l.add(r, string(c))
		}
	}
	l.add(r, spaces(n-width(text)+1))
	return l
}
