package ui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A token's shade stands in the column before it, so that it is told without
// colour, too. Its role is one of these, underlined where it trains.
var shades = [...]struct {
	under float64
	glyph string
	plain role
	line  role
}{
	{-3, "▓", fail, failTrains},
	{-1, "▒", warn, warnTrains},
	{-0.1, "░", live, liveTrains},
	{math.Inf(1), " ", plain, plainTrains},
}

// look of token i of a span.
func (s *tokenSpan) look(i int, trains bool) (glyph string, shade, text role) {
	switch s.kind {
	case firstPrompt, observed:
		return " ", dim, dim
	case written:
		if i == 0 {
			return "[", person, dim
		}
		return " ", dim, dim
	}
	p, ok := s.logprob(i)
	if !ok {
		if trains {
			return "–", dim, plainTrains
		}
		return "–", dim, dim
	}
	for _, sh := range shades {
		if p < sh.under || math.IsInf(sh.under, 1) {
			if trains {
				return sh.glyph, sh.plain, sh.line
			}
			return sh.glyph, sh.plain, sh.plain
		}
	}
	return " ", plain, plain
}

// infoRows at the bottom of h rows.
func infoRows(h int) int {
	switch {
	case h >= 8:
		return 3
	case h >= 4:
		return 1
	}
	return 0
}

// render h rows of w columns.
func (v *tokenView) render(t *theme, w, h int, cursor bool) []string {
	out := make([]string, 0, h)
	info := infoRows(h)
	switch {
	case v.turn == 0:
		out = append(out, t.fit(line{{dim, "  no turn yet"}}, w))
	case !v.shows():
		out = append(out, t.fit(line{{dim, "  …"}}, w))
	case v.problem != "":
		out = append(out, t.fit(line{{fail, "  ✘ " + v.problem}}, w))
	default:
		v.settle(w-2, h-info)
		p, more := v.top, len(v.spans) > 0
		for more && len(out) < h-info {
			out = append(out, t.fit(v.row(p, w, cursor), w))
			p, more = v.next(p)
		}
	}
	for len(out) < h-info {
		out = append(out, spaces(w))
	}
	for _, l := range v.info(info, w) {
		out = append(out, t.fit(l, w))
	}
	return out
}

// row of cells, or a heading.
func (v *tokenView) row(p tokenPlace, w int, cursor bool) line {
	s := &v.spans[p.span]
	if p.chunk < 0 {
		return append(line{{plain, " "}}, headingLine(&block{title: s.title, right: s.right}, w-1)...)
	}
	trains, _ := v.trains(s)
	r := v.lay(p.span, p.chunk)[p.row]
	l := line{{plain, " "}}
	if at := v.at - s.start; cursor && at >= r.from && at < r.to {
		l[0] = seg{focused, "▌"}
	}
	for i := r.from; i < r.to; i++ {
		glyph, shade, text := s.look(i, trains)
		cell, known := v.cell(s.ids[i])
		if !known && text == plain {
			text = dim
		}
		if cursor && s.start+i == v.at {
			text = chosen
		}
		l.add(shade, glyph)
		l.add(text, cell)
	}
	if s.kind == written && r.to == len(s.ids) {
		l.add(person, "]")
	}
	return l
}

// info on the token with the cursor: n rows, the first a rule.
func (v *tokenView) info(n, w int) []line {
	if n == 0 {
		return nil
	}
	if !v.shows() || v.n == 0 {
		return append(make([]line, 0, n), make([]line, n)...)
	}
	s := &v.spans[v.spanOf(v.at)]
	i := v.at - s.start
	l := line{{dim, " id "}, {plain, thousandless(s.ids[i])}}
	text, known := v.texts[s.ids[i]]
	if known {
		l = append(l, seg{dim, "  "}, seg{strong, `"` + cut(visibleCell(text), 24) + `"`})
	} else {
		l.add(warn, "  text not known")
	}
	l = append(l, logprobText(s, i)...)
	l.add(dim, "  rank N/A  "+hexOf(text)) // no endpoint is asked for the tokens beside it
	if n == 1 {
		return []line{l}
	}
	trains, why := v.trains(s)
	m := line{{dim, " does not train: "}, {plain, why}}
	if trains {
		m = line{{plain, " "}, {plainTrains, "trains"}, {dim, ": "}, {plain, why}}
	}
	at := fmt.Sprintf("%s/%s ", thousands(int64(i+1)), thousands(int64(len(s.ids))))
	if gap := w - m.width() - width(at); gap > 0 {
		m.add(dim, spaces(gap)+at)
	}
	return []line{{{dim, " " + strings.Repeat("─", max(w-2, 0))}}, l, m}
}

// logprobText of a token: absent is said so, never a number.
func logprobText(s *tokenSpan, i int) line {
	p, ok := s.logprob(i)
	switch {
	case s.kind == firstPrompt || s.kind == observed:
		return line{{dim, "  not sampled"}}
	case !ok:
		return line{{dim, "  logprob "}, {warn, "absent"}}
	case p <= -9999:
		return line{{dim, "  logprob "}, {fail, number(p)}, {dim, " (the server's floor)"}}
	}
	_, r, _ := s.look(i, false)
	return line{{dim, "  logprob "}, {r, number(p)}, {dim, " = " + chance(p)}}
}

// number of a logprob, with a sign of its own width.
func number(p float64) string {
	s := strconv.FormatFloat(p, 'f', 2, 64)
	if p == math.Trunc(p) {
		s = strconv.FormatFloat(p, 'f', -1, 64)
	}
	return strings.Replace(s, "-", "−", 1)
}

// chance is the probability of a logprob.
func chance(p float64) string {
	share := math.Exp(p) * 100
	switch {
	case share >= 99.95:
		return "100 %"
	case share >= 1:
		return strconv.FormatFloat(share, 'f', 1, 64) + " %"
	case share < 0.001:
		return "<0.001 %"
	}
	return strconv.FormatFloat(share, 'g', 2, 64) + " %"
}

func thousandless(id int32) string { return strconv.FormatInt(int64(id), 10) }

// hexOf the bytes of a text: "72 6d".
func hexOf(s string) string {
	if len(s) > 16 {
		s = s[:16]
	}
	return fmt.Sprintf("% x", s)
}

// copied is the token with the cursor: its id, and its text where that is known.
func (v *tokenView) copied() string {
	s := &v.spans[v.spanOf(v.at)]
	id := s.ids[v.at-s.start]
	if text, known := v.texts[id]; known {
		return thousandless(id) + " " + visibleCell(text)
	}
	return thousandless(id)
}
