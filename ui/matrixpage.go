package ui

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"rollbench/sessions"
	"rollbench/sessions/compare"
)

// matrixRows is the section of the members.
const matrixRows = 1

// matrixGrid is what a matrix has room for.
type matrixGrid struct {
	how   int // width of how it ended
	wide  bool
	tools int  // of them, after all together
	timed bool // each with its time
}

// Widths of a tool's numbers: calls, errors, timeouts; and its time.
const (
	toolCounts = 1 + 5 + 4 + 4
	toolTime   = 8
)

// matrixGridFor drops the times of single tools before it lets one of them scroll.
func matrixGridFor(cols, tools int) matrixGrid {
	g := matrixGrid{how: 14, timed: true}
	fixed := 4 + 7 + 4 + 6 + 7 + toolCounts + toolTime
	if cols >= 110 {
		g.how, g.wide = 20, true
		fixed += 8
	}
	room := cols - fixed - g.how
	if room < tools*(toolCounts+toolTime) {
		g.timed = false
	}
	g.tools = max(min(room/g.group(), tools), 0)
	return g
}

// group is the width of one tool.
func (g matrixGrid) group() int {
	if g.timed {
		return toolCounts + toolTime
	}
	return toolCounts
}

// top names the columns: the tools, then their numbers.
func (v *matrixView) top(_ *Workbench, cols int) []line {
	tools := v.tools()
	g := matrixGridFor(cols-2, len(tools))
	names := pad("  #", 4) + pad("ended by", g.how) + padLeft("reward", 7) + "    " + padLeft("turns", 6) + padLeft("tokens", 7)
	if g.wide {
		names += padLeft("sampled", 8)
	}
	over := line{{plain, spaces(width(names))}}
	group := func(name string, r role, timed bool) {
		w := toolCounts
		names += " " + padLeft("calls", 5) + padLeft("✘", 4) + padLeft("⊘t", 4)
		if timed {
			w += toolTime
			names += padLeft("time", toolTime)
		}
		name = cut(name, w-3)
		over.add(plain, "  ")
		over.add(r, name)
		over.add(dim, " "+strings.Repeat("─", w-3-width(name)))
	}
	group("all tools", strong, true)
	for _, name := range v.shownTools(tools, g) {
		group(cmp.Or(toolLabel(name), noName), call, g.timed)
	}
	if more := len(tools) - g.tools; more > 0 {
		over.add(dim, fmt.Sprintf(" ←→ +%d", more))
	}
	return []line{over, {{dim, names}}}
}

func (v *matrixView) shownTools(tools []string, g matrixGrid) []string {
	from := max(min(v.left, len(tools)-g.tools), 0)
	return tools[from : from+g.tools]
}

// page is the group's rewards, then a row a member, then their mean.
func (v *matrixView) page(w *Workbench, cols int) document {
	top := &section{labels: 1}
	members := v.sorted(w)
	top.add(block{id: "rewards", kind: cells, title: baseline(members)})
	switch {
	case v.failed != "":
		top.add(block{id: "failed", kind: cells, title: line{{fail, "✘ " + v.failed}}})
	case v.use == nil:
		top.add(block{id: "reading", kind: cells, title: line{{dim, "reading what they called…"}}})
	}
	tools := v.tools()
	g := matrixGridFor(cols-2, len(tools))
	rows := &section{labels: 1}
	var sum mean
	for _, t := range members {
		u := v.use[t.Key]
		rows.add(block{id: t.Key.String(), kind: cells, title: v.memberCells(t, u, tools, g), raw: t.Key.String()})
		if t.Turn > 0 {
			sum.add(t, u)
		}
	}
	foot := &section{labels: 1}
	foot.add(block{id: "mean", kind: cells, title: sum.cells(v.shownTools(tools, g), g)})
	foot.add(block{id: "legend", kind: cells, title: line{{dim, "✘ failed or did not run · ⊘t timed out · ⊘ masked ✎ intervened ≠ prefix broke"}}})
	return &page{sections: []*section{top, rows, foot}}
}

// baseline is the rewards that the group is measured by, and who is left out of them.
func baseline(members []sessions.Trajectory) line {
	var values []float64
	out := map[string][]string{}
	var order []string
	for _, t := range members {
		why := compare.Unrated(t, false)
		if why == "" {
			values = append(values, *t.Reward)
			continue
		}
		if out[why] == nil {
			order = append(order, why)
		}
		out[why] = append(out[why], "#"+strconv.Itoa(t.ID))
	}
	l := line{{dim, "baseline "}}
	if len(values) == 0 {
		l.add(dim, "none: no reward counts yet")
	} else {
		total, squares := 0.0, 0.0
		for _, r := range values {
			total += r
		}
		m := total / float64(len(values))
		for _, r := range values {
			squares += (r - m) * (r - m)
		}
		l.add(strong, "mean "+reward2(m))
		text := fmt.Sprintf(" of %d", len(values))
		if n := len(values); n > 1 {
			text += fmt.Sprintf(", deviation %.2f", math.Sqrt(squares/float64(n-1)))
			if squares == 0 {
				text += ": all alike, it teaches nothing"
			}
		}
		l.add(plain, text)
	}
	for _, why := range order {
		l.add(dim, " · "+strings.ReplaceAll(why, "_", " ")+" "+strings.Join(out[why], " "))
	}
	return l
}

func (v *matrixView) memberCells(t sessions.Trajectory, u compare.Use, tools []string, g matrixGrid) line {
	look := looks(t)
	how := look.word
	if t.State.Ended() && t.Finish != "" {
		how = cleanLine(t.Finish)
	}
	rr := plain
	if t.Reward == nil {
		rr = dim
	} else if *t.Reward >= 1 {
		rr = good
	}
	l := line{{plain, padLeft(strconv.Itoa(t.ID), 3) + " "}, {look.role, pad(look.glyph+" "+how, g.how)}, {rr, padLeft(reward(t.Reward), 7)}, {plain, " "}}
	l = append(l, marks(t)...)
	l.add(plain, padLeft(strconv.Itoa(t.Turn), 6)+padLeft(short(float64(t.Tokens)), 7))
	if g.wide {
		l.add(dim, padLeft(short(float64(t.Sampled)), 8))
	}
	l = append(l, useCells(u.All(), v.use != nil, true)...)
	for _, name := range v.shownTools(tools, g) {
		l = append(l, useCells(u.Of(name), v.use != nil, g.timed)...)
	}
	return l
}

// useCells are the numbers of one tool; a tool that was not called is a dot.
func useCells(t compare.ToolUse, known, timed bool) line {
	if !known || t == (compare.ToolUse{Name: t.Name}) {
		l := line{{dim, pad("     ·", toolCounts)}}
		if timed {
			l.add(plain, spaces(toolTime))
		}
		return l
	}
	count := func(n int, w int, r role) seg {
		if n == 0 {
			return seg{dim, padLeft("0", w)}
		}
		return seg{r, padLeft(strconv.Itoa(n), w)}
	}
	l := line{{plain, " "}, count(t.Made, 5, plain), count(failedOf(t), 4, warn), count(t.Timeouts, 4, fail)}
	if timed {
		l.add(dim, padLeft(took(t.Wall), toolTime))
	}
	return l
}

// mean of the members that made a turn.
type mean struct {
	n                      int
	turns, tokens, sampled float64
	use                    []compare.Use
}

func (m *mean) add(t sessions.Trajectory, u compare.Use) {
	m.n++
	m.turns, m.tokens, m.sampled = m.turns+float64(t.Turn), m.tokens+float64(t.Tokens), m.sampled+float64(t.Sampled)
	m.use = append(m.use, u)
}

func (m *mean) cells(tools []string, g matrixGrid) line {
	if m.n == 0 {
		return line{{dim, "no member has made a turn yet"}}
	}
	n := float64(m.n)
	l := line{{strong, pad("    mean", 4+g.how)}, {plain, spaces(7 + 4)}, {plain, padLeft(mean1(m.turns/n), 6) + padLeft(short(m.tokens/n), 7)}}
	if g.wide {
		l.add(dim, padLeft(short(m.sampled/n), 8))
	}
	of := func(timed bool, tool func(compare.Use) compare.ToolUse) {
		var sum compare.ToolUse
		for _, u := range m.use {
			sum.Add(tool(u))
		}
		l.add(plain, " "+padLeft(mean1(float64(sum.Made)/n), 5)+padLeft(mean1(float64(failedOf(sum))/n), 4)+padLeft(mean1(float64(sum.Timeouts)/n), 4))
		if timed {
			l.add(dim, padLeft(took(sum.Wall/time.Duration(m.n)), toolTime))
		}
	}
	of(true, compare.Use.All)
	for _, name := range tools {
		of(g.timed, func(u compare.Use) compare.ToolUse { return u.Of(name) })
	}
	return l
}

// mean1 is a mean with one place, without it where it has none.
func mean1(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}
