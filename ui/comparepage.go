package ui

import (
	"fmt"
	"strconv"
	"time"

	"rollbench/sessions"
	"rollbench/sessions/compare"
)

// drawnBeside is the page of a comparison, as long as nothing it is made of changes.
type drawnBeside struct {
	width, col int
	read       *beside
	members    int64 // see memberPrint
	page       *page
	refs       []int // the row of the alignment of each row of calls, −1 for none
	differs    [][]bool
}

// grid is where the columns of a comparison stand.
type grid struct{ from, n, w, saw int }

// Widths: the least of a column, what stands between two, the glyph before them, and
// what says whether they saw the same.
const (
	leastColumn = 26
	sawColumn   = 10
	glyphColumn = 2
)

const columnGap = " │ "

// gridFor n columns of which one is chosen, in cols columns of the screen.
func gridFor(cols, n, chosen int) grid {
	g := grid{saw: sawColumn}
	if cols < 70 {
		g.saw = 0
	}
	room := max(cols-glyphColumn-g.saw, leastColumn)
	gap := width(columnGap)
	if g.saw > 0 {
		room -= gap
	}
	g.n = max(min((room+gap)/(leastColumn+gap), n), 1)
	g.w = (room - gap*(g.n-1)) / g.n
	g.from = max(min(chosen-g.n/2, n-g.n), 0)
	if chosen < g.n {
		g.from = 0
	}
	return g
}

// lay cells of the columns that are shown beside each other, then the last one.
func (g grid) lay(glyph seg, cell func(col int) line, saw seg) line {
	l := line{{glyph.r, pad(glyph.text, glyphColumn)}}
	for i := range g.n {
		if i > 0 {
			l.add(dim, columnGap)
		}
		l = append(l, padded(cell(g.from+i), g.w)...)
	}
	if g.saw > 0 {
		l.add(dim, columnGap)
		l.add(saw.r, saw.text)
	}
	return l
}

// padded is a line of exactly w columns.
func padded(l line, w int) line {
	l = clip(l, w)
	if rest := w - l.width(); rest > 0 {
		l = append(l[:len(l):len(l)], seg{plain, spaces(rest)})
	}
	return l
}

// top names the columns: which trajectory, how it stands.
func (v *compareView) top(_ *Workbench, cols int) []line {
	if len(v.members) < len(v.keys) {
		return []line{{{dim, "…"}}}
	}
	g := gridFor(cols-2, len(v.keys), v.col)
	head := func(col int) line {
		t := v.members[col]
		look := looks(t)
		l := line{{dim, "  "}}
		if col == v.col {
			l = line{{focused, "▸ "}}
		}
		l.add(strong, "#"+strconv.Itoa(t.ID))
		l.add(look.role, " "+look.glyph+" ")
		if t.State.Ended() {
			l.add(plain, reward(t.Reward))
		} else {
			l.add(look.role, look.word)
		}
		l.add(dim, fmt.Sprintf("  %d turns", t.Turn))
		return append(append(l, seg{plain, " "}), marks(t)...)
	}
	more := seg{dim, "saw"}
	if g.n < len(v.keys) {
		more.text = fmt.Sprintf("%d–%d of %d", g.from+1, g.from+g.n, len(v.keys))
	}
	return []line{g.lay(seg{plain, ""}, head, more)}
}

// page lays out outcomes, calls and patches.
func (v *compareView) page(cols int) document {
	if v.read == nil {
		text := "…"
		if v.failed != "" {
			text = "✘ " + v.failed
		}
		return textPage(text, prose, dim)
	}
	print := memberPrint(v.members)
	if d := &v.drawn; d.width != cols || d.col != v.col || d.read != v.read || d.members != print {
		*d = drawnBeside{width: cols, col: v.col, read: v.read, members: print}
		g := gridFor(cols-2, len(v.keys), v.col)
		outcomes := v.outcomes(cols - 2)
		calls, refs, differs := v.calls(g)
		diffs, patchDiffers := v.patchSection(g)
		d.refs = refs
		d.page = &page{sections: []*section{outcomes, calls, diffs}}
		d.differs = [][]bool{make([]bool, len(outcomes.blocks)), differs, patchDiffers}
	}
	return v.drawn.page
}

// memberPrint changes with what the outcomes show.
func memberPrint(list []sessions.Trajectory) (sum int64) {
	for _, t := range list {
		sum = sum*31 + t.Since.UnixNano() + int64(t.Turn)*7 + int64(t.Tokens)
		if t.Reward != nil {
			sum++
		}
	}
	return sum
}

// outcomes are how each ended, what it used, and where it parts from the first.
func (v *compareView) outcomes(cols int) *section {
	s := &section{labels: 1}
	s.add(block{id: "outcomes", kind: heading, title: line{{strong, "outcomes"}}, right: line{{dim, fmt.Sprintf("parts from #%d: in which turn", v.members[0].ID)}}})
	wide := cols >= 100
	names := pad("  #", 4) + pad("ended by", howWide(wide)) + "    " + padLeft("reward", 7) + padLeft("turns", 6) + padLeft("tokens", 7)
	if wide {
		names += padLeft("sampled", 8)
	}
	names += padLeft("calls", 6) + padLeft("✘", 4) + padLeft("time", 8) + "  parts"
	s.cells(line{{dim, names}})
	for i, t := range v.members {
		look := looks(t)
		how := look.glyph + " " + look.word
		if t.State.Ended() && t.Finish != "" {
			how = look.glyph + " " + cleanLine(t.Finish)
		}
		calls, failed, wall := usedBy(v.read.traces[i])
		l := line{{strong, padLeft(strconv.Itoa(t.ID), 3) + " "}, {look.role, pad(how, howWide(wide))}, {plain, " "}}
		l = append(append(l, marks(t)...), seg{strong, padLeft(reward(t.Reward), 7)}, seg{plain, padLeft(strconv.Itoa(t.Turn), 6) + padLeft(short(float64(t.Tokens)), 7)})
		if wide {
			l.add(plain, padLeft(short(float64(t.Sampled)), 8))
		}
		l.add(plain, padLeft(strconv.Itoa(calls), 6))
		r := dim
		if failed > 0 {
			r = warn
		}
		l.add(r, padLeft(strconv.Itoa(failed), 4))
		l.add(dim, padLeft(lasted(t, wall), 8)+"  ")
		if i == 0 {
			l.add(dim, "–")
		} else {
			l = append(l, clipParts(parted(v.read.parts[i], v.read.tokens[i]), cols-l.width())...)
		}
		s.add(block{id: "o" + strconv.Itoa(i), kind: cells, title: l, raw: t.Key.String()})
	}
	return s
}

// howWide is the width of how it ended.
func howWide(wide bool) int {
	if wide {
		return 24
	}
	return 13
}

// usedBy counts the calls of a trajectory, those that did not end well, and the time
// of its tools.
func usedBy(t compare.Trace) (calls, failed int, wall time.Duration) {
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Call >= 0 {
			calls++
			wall += s.Wall
			if s.Answered && s.Status != "ok" {
				failed++
			}
		}
	}
	return calls, failed, wall
}

// lasted is how long it took; while it goes on, what its tools took.
func lasted(t sessions.Trajectory, tools time.Duration) string {
	if t.State.Ended() && !t.Started.IsZero() && !t.Ended.IsZero() {
		return took(t.Ended.Sub(t.Started))
	}
	return "≥" + took(tools)
}

// parted says where a trajectory parts from the first one: by its calls, by the ids
// that were sampled, by what the same calls answered, by its text.
func parted(p compare.Parting, ids compare.TokenPart) line {
	l := line{}
	turn := func(n int) string {
		if n == 0 {
			return "–"
		}
		return strconv.Itoa(n)
	}
	r := warn
	if p.Call == 0 {
		r = dim
	}
	l.add(r, "calls "+turn(p.Call))
	at := turn(ids.Turn)
	switch {
	case !ids.Known:
		at = "N/A"
	case ids.Turn > 0:
		at += ":" + strconv.Itoa(ids.At)
	}
	l.add(dim, "  ids "+at+"  text "+turn(p.Text)+"  saw "+turn(p.Saw))
	if p.Alone {
		l.add(dim, "  (one ended)")
	}
	return l
}
