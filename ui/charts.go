package ui

import (
	"fmt"
	"strings"
	"time"

	"rollbench/engine"
)

// chart is one quantity of the series over the whole run.
type chart struct {
	name  string
	get   quantity
	limit quantity // what fills the chart, nil: its peak
	show  func(float64) string
}

func count1(n func(*engine.Point) int) quantity {
	return func(p *engine.Point) (float64, bool) { return float64(n(p)), true }
}

// limit1 is a limit of a stage; 0 is none.
func limit1(stage int) quantity {
	return func(p *engine.Point) (float64, bool) { return float64(p.Limit[stage]), p.Limit[stage] > 0 }
}

func gauge1(v func(*engine.Point) *float64) quantity {
	return func(p *engine.Point) (float64, bool) {
		if x := v(p); x != nil {
			return *x, true
		}
		return 0, false
	}
}

func whole(*engine.Point) (float64, bool) { return 1, true }

func asPercent(v float64) string { return percent(&v) }

// charts in the order a trajectory goes, then what it loads.
var charts = []chart{
	{"init busy", count1(func(p *engine.Point) int { return p.Busy[0] }), limit1(0), short},
	{"ready", count1(func(p *engine.Point) int { return p.Ready }), nil, short},
	{"run busy", count1(func(p *engine.Point) int { return p.Busy[1] }), limit1(1), short},
	{"eval busy", count1(func(p *engine.Point) int { return p.Busy[2] }), limit1(2), short},
	{"sandboxes", count1(func(p *engine.Point) int { return p.Live }), nil, short},
	{"req. running", gauge1(func(p *engine.Point) *float64 { return p.Requests }), nil, short},
	{"req. queued", gauge1(func(p *engine.Point) *float64 { return p.Queued }), nil, short},
	{"KV cache", gauge1(func(p *engine.Point) *float64 { return p.KVUse }), whole, asPercent},
	{"tokens/s", gauge1(func(p *engine.Point) *float64 { return p.Tokens }), nil, short},
	{"GPU", gauge1(func(p *engine.Point) *float64 { return p.GPU }), whole, asPercent},
}

// The columns beside a chart: its name, and its last value, peak and full height.
const (
	chartName = 14
	chartCell = 6
)

// chartRows is the height of a chart on a sheet of so many rows.
func chartRows(rows int) int {
	if rows >= 48 {
		return 2
	}
	return 1
}

// drawnSeries keeps the charts as they were drawn last: thousands of points
// need not be gone through for every frame.
type drawnSeries struct {
	of               *series
	maxLive, cols, h int
	section          *section
}

func (d *drawnSeries) view(s *series, maxLive, cols, h int) *section {
	if d.section == nil || d.of != s || d.maxLive != maxLive || d.cols != cols || d.h != h {
		*d = drawnSeries{s, maxLive, cols, h, viewSeries(s, maxLive, cols, h)}
	}
	return d.section
}

// viewSeries draws the run over time, each chart h rows high.
func viewSeries(s *series, maxLive, cols, h int) *section {
	sec := &section{}
	sec.add(block{id: "series", kind: heading, title: line{{strong, "over the run"}}, right: line{{dim, "  last"}, {dim, padLeft("peak", chartCell)}, {dim, padLeft("full", chartCell)}}})
	if s == nil {
		sec.note("The session has no time series yet; one of an older version keeps none.")
		return sec
	}
	w := max(cols-2-chartName-3*chartCell-1, 4)
	for _, c := range charts {
		for _, l := range c.draw(s, maxLive, w, h) {
			sec.cells(l)
		}
	}
	sec.cells(s.axis(w))
	if len(s.breaks) > 0 {
		sec.note(fmt.Sprintf("┊ the engine was away, %s in all: that time is left out.", span(s.away)))
	}
	return sec
}

// draw a chart in h rows, its numbers in the last one.
func (c chart) draw(s *series, maxLive, w, h int) []line {
	name := line{{plain, pad(c.name, chartName)}}
	peak, last, known := s.peak(c.get)
	if !known {
		return []line{append(name, seg{dim, pad("N/A", w)})}
	}
	full := peak
	if c.limit != nil {
		if most, _, limited := s.peak(c.limit); limited {
			full = max(full, most)
		}
	}
	if c.name == "sandboxes" { // the points do not hold their limit
		full = max(full, float64(maxLive))
	}
	rows := bars(s.columns(c.get, 0, s.end, w), full, h)
	for i := range rows {
		left := line{{plain, spaces(chartName)}}
		if i == h-1 {
			left = name
			rows[i].add(strong, padLeft(c.show(last), chartCell))
			rows[i].add(plain, padLeft(c.show(peak), chartCell))
			rows[i].add(dim, padLeft(c.show(full), chartCell))
		}
		rows[i] = append(left, s.mark(rows[i], w)...)
	}
	return rows
}

// mark the columns where the engine was away.
func (s *series) mark(l line, w int) line {
	for _, b := range s.breaks {
		if at := int(float64(b) * float64(w) / float64(s.end)); at < w {
			l = spliceLine(l, at, seg{dim, "┊"})
		}
	}
	return l
}

// spliceLine replaces the column at by a piece one column wide. The line is of
// narrow characters.
func spliceLine(l line, at int, piece seg) line {
	out := line{}
	for _, s := range l {
		text := []rune(s.text)
		if at < 0 || at >= len(text) {
			out = append(out, s)
		} else {
			out = append(out, seg{s.r, string(text[:at])}, piece, seg{s.r, string(text[at+1:])})
		}
		at -= len(text)
	}
	return out
}

// axis names the start and the end, and how long the run was worked on.
func (s *series) axis(w int) line {
	start, end := wallClock(s.points[0].At), wallClock(s.points[len(s.points)-1].At)
	middle := " " + span(s.end) + " "
	room := w - width(start) - width(end) - width(middle) - 2
	l := line{{plain, spaces(chartName)}}
	if room < 2 {
		return append(l, seg{dim, cut(start+"–"+end, w)})
	}
	return append(l, seg{dim, start + " " + strings.Repeat("─", room/2) + middle + strings.Repeat("─", room-room/2) + " " + end})
}

// span writes how long something took, to the second: 12m41s, 3h05m.
func span(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return took(d)
}
