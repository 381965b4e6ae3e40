package ui

import (
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// Rows around those of the turns: the whole and the axis above, the sums below. Where
// there is little room there are fewer.
func timelineExtras(h int) (above, below int) {
	switch {
	case h >= 10:
		return 2, 2
	case h >= 6:
		return 1, 1
	}
	return 0, 0
}

// timelineCols are the widths of a row: turn, bar, model, tools, and what was called.
type timelineCols struct{ bar, names int }

// timelineFixed is the width of all but the bar and the names: mark and turn 6, the
// times 7 each, blanks.
const timelineFixed = 6 + 1 + 7 + 7 + 2

func timelineColsFor(w int) timelineCols {
	rest := max(w-timelineFixed, 8)
	bar := rest * 54 / 100
	return timelineCols{bar, rest - bar}
}

// timelineDoc is the turns of a timeline, a row each. Turns that are in sight share one
// axis.
type timelineDoc struct {
	line     *timeline
	now      time.Time
	cols     timelineCols
	from, to time.Time // of the axis
	model    int       // slowest turns
	tool     int
	drawn    map[int]*section
}

func (d *timelineDoc) count() int { return len(d.line.turns) }

func (d *timelineDoc) section(i int) *section {
	s := d.drawn[i]
	if s == nil {
		s = &section{}
		row := d.row(i)
		s.add(block{id: fmt.Sprint(i), kind: cells, title: row, text: "turn " + plainOf(row)})
		d.drawn[i] = s
	}
	return s
}

func plainOf(l line) string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return strings.TrimSpace(b.String())
}

// row of a turn: its number, its bar on the axis, how long model and tools took, what
// was called.
func (d *timelineDoc) row(i int) line {
	t := &d.line.turns[i]
	var s sums
	s.add(t.spans, d.now)
	for k, v := range t.lost {
		s[k] += v
	}
	l := line{{strong, padLeft(fmt.Sprint(i+1), 4) + " "}}
	l = append(l, bar(t.spans, d.from, d.to, d.now, d.cols.bar, true)...)
	l.add(plain, padLeft(tookOr(s[useModel]), 8)+padLeft(tookOr(s[useTool]), 7)+"  ")
	return append(l, clip(d.names(i, s), max(d.cols.names, 1))...)
}

// tookOr is a time, or – for none.
func tookOr(d time.Duration) string {
	if d <= 0 {
		return "–"
	}
	return took(d)
}

// names of the calls of a turn with how they ended, after what stands out: the
// slowest, a hold, a wait.
func (d *timelineDoc) names(i int, s sums) line {
	l := line{}
	switch {
	case i == d.model && i == d.tool:
		l.add(warn, "▲model+tool ")
	case i == d.model:
		l.add(warn, "▲model ")
	case i == d.tool:
		l.add(warn, "▲tool ")
	}
	held, waits := "", ""
	for _, p := range d.line.turns[i].spans {
		name := cut(toolLabel(p.name), 16)
		switch {
		case p.kind == useHeld:
			held = " " + cleanLine(p.name)
		case p.kind == useQueue:
			waits = " for " + cleanLine(p.name)
		case p.kind == useAway:
			l.add(dim, "away ")
		case p.kind != useTool:
		case p.status == "":
			l.add(live, name+"… ")
		case p.status == "error":
			l.add(warn, name+"✘ ")
		case p.bad():
			l.add(warn, name+"✘"+cleanLine(p.status)+" ")
		default:
			l.add(plain, name+" ")
		}
	}
	if s[useHeld] > 0 {
		l.add(warn, "◇ held "+took(s[useHeld])+held+" ")
	}
	if s[useQueue] > 0 {
		l.add(dim, "░ waits "+took(s[useQueue])+waits)
	}
	return l
}

// above the rows: the whole trajectory, and the axis that the turns in sight share.
func (d *timelineDoc) above(n, top, h int) []line {
	from, _, some := bounds(d.line.before, d.now)
	if !some {
		from = d.from
	}
	end := d.line.until(d.now, false)
	var all []stretch
	all = append(all, d.line.before...)
	for i := range d.line.turns {
		all = append(all, d.line.turns[i].spans...)
	}
	all = append(all, d.line.after...)
	whole := line{{dim, "  all "}}
	whole = append(whole, bar(all, from, end, d.now, d.cols.bar, false)...)
	whole.add(plain, padLeft("model", 8)+padLeft("tools", 7))
	whole.add(plain, "  "+span1(end.Sub(from)))
	bad := 0
	for i := range all {
		if all[i].bad() {
			bad++
		}
	}
	if bad > 0 {
		whole.add(warn, "  "+plural(bad, "call", "calls")+" ✘")
	}
	rows := []line{whole}
	if n > 1 {
		last := min(top+h, len(d.line.turns))
		start, stop := span1(d.from.Sub(from)), span1(d.to.Sub(from))
		axis := line{{dim, "      " + start + " " + strings.Repeat("─", max(d.cols.bar-width(start)-width(stop)-2, 0)) + " " + stop}}
		axis.add(dim, fmt.Sprintf("%s turns %d to %d of %d", spaces(7), top+1, last, len(d.line.turns)))
		rows = append(rows, axis)
	}
	return rows[:min(n, len(rows))]
}

// span1 is a moment on the axis, from its start.
func span1(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", max(d, 0).Seconds())
	}
	return span(d)
}

// below the rows: what the time went to, which is what the patterns mean; with its
// shares where they fit.
func (d *timelineDoc) below(n, w int) []line {
	if n == 0 {
		return nil
	}
	rows := d.legend(n, w, true)
	if rows[len(rows)-1].width() > w {
		rows = d.legend(n, w, false)
	}
	return rows
}

// legend in at most n rows of w columns, of which the last may be too long.
func (d *timelineDoc) legend(n, w int, shares bool) []line {
	total := d.line.total(d.now)
	var all time.Duration
	for _, v := range total {
		all += v
	}
	parts := []line{}
	for _, k := range []use{useModel, useTool, useHeld, useQueue, useInit, useEval, useOther, useAway} {
		if total[k] <= 0 {
			continue
		}
		share := float64(total[k]) / float64(max(all, 1))
		look := useLooks[k]
		p := line{{look.r, " " + string(look.glyph) + " "}, {dim, look.name + " "}, {plain, took(total[k]) + " "}}
		if shares {
			p.add(dim, percent(&share)+" ")
		}
		parts = append(parts, p)
	}
	rows, l := []line{}, line{}
	for _, p := range parts {
		if l.width()+p.width() > w && len(rows)+1 < n {
			rows, l = append(rows, l), line{}
		}
		l = append(l, p...)
	}
	if note := (line{{warn, " ▲ "}, {dim, "slowest"}}); l.width()+note.width() <= w && len(d.line.turns) > 1 {
		l = append(l, note...)
	}
	return append(rows, l)
}

// timelineOf the chosen trajectory with the axis of the turns that will be drawn; nil
// where there is none to show.
func (w *Workbench) timelineOf() *timelineDoc {
	t, one := w.list.chosen()
	l := w.timelines.all[t.Key]
	if !one || w.tab != timelineTab || l == nil || len(l.turns) == 0 {
		return nil
	}
	box := w.viewBox()
	d := &timelineDoc{line: l, now: l.until(w.now, w.gauges.gone), cols: timelineColsFor(box.w), drawn: map[int]*section{}}
	s := w.scroller()
	s.settle(blankDoc(len(l.turns)), box.w, box.h)
	for i := s.top.section; i < min(s.top.section+box.h, len(l.turns)); i++ {
		from, to, some := bounds(l.turns[i].spans, d.now)
		if !some {
			continue
		}
		if d.from.IsZero() || from.Before(d.from) {
			d.from = from
		}
		if to.After(d.to) {
			d.to = to
		}
	}
	d.model, d.tool = l.slowest(d.now)
	return d
}

// blankDoc is so many rows, to find out which will be in sight.
type blankDoc int

var blankRow = &section{blocks: []block{{id: "row", kind: cells}}}

func (d blankDoc) count() int           { return int(d) }
func (d blankDoc) section(int) *section { return blankRow }

// timelineNote is said where there is no turn to show.
func (w *Workbench) timelineNote() *page {
	switch l := w.timelines.all[w.turns.key]; {
	case w.timelines.failed != "":
		return textPage(w.timelines.failed, prose, fail)
	case w.timelines.all == nil || w.timelines.loading && l == nil:
		return textPage("…", prose, dim)
	}
	return textPage("No model call yet.", prose, dim)
}

// drawTimeline puts what stands above and below around the rows of the turns.
func (w *Workbench) drawTimeline(in box, rows []string) []string {
	d := w.timelineOf()
	above, below := timelineExtras(in.h)
	if d == nil {
		return rows
	}
	out := make([]string, 0, in.h)
	for _, l := range d.above(above, w.scroller().top.section, in.h-above-below) {
		out = append(out, w.th.fit(l, in.w))
	}
	out = append(out, rows...)
	for _, l := range d.below(below, in.w-1) {
		out = append(out, w.th.fit(l, in.w))
	}
	for len(out) < in.h {
		out = append(out, spaces(in.w))
	}
	return out[:in.h]
}

// viewBox is where the rows of the document go.
func (w *Workbench) viewBox() box {
	a := w.arrange()
	in := a.inner(a.view)
	if _, one := w.list.chosen(); one && w.tab == timelineTab {
		above, below := timelineExtras(in.h)
		in.y, in.h = in.y+above, in.h-above-below
	}
	return in
}

func canGoTimed(w *Workbench) string {
	if w.timelineOf() == nil {
		return "there is no turn to go to"
	}
	return ""
}

// doGoTimed opens the turn under the cursor in the transcript.
func doGoTimed(w *Workbench) tea.Cmd {
	w.toTab(textTab)
	return nil
}
