package ui

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"rollbench/sessions"
	"rollbench/sessions/compare"
)

// patchLines bounds what is compared of each patch, and shown.
const patchLines = 4000

// patchColumn is the width from which patches stand side by side; below it the first
// and the chosen one are shown as one diff.
const patchColumn = 44

// patches of the trajectories, their lines aligned.
type patches struct {
	taken []bool // else there is none (yet)
	cut   []int  // lines left out
	lines [][]string
	rows  [][]int
	exact bool
}

func readPatches(ctx context.Context, r patchReader, attempts []compare.Attempt) (p patches, err error) {
	for _, a := range attempts {
		data, err := r.Patch(ctx, a.Key)
		if err != nil {
			return p, err
		}
		lines := textLines(string(data))
		over := max(len(lines)-patchLines, 0)
		p.taken, p.cut, p.lines = append(p.taken, data != nil), append(p.cut, over), append(p.lines, lines[:len(lines)-over])
	}
	p.rows, p.exact = compare.Align(p.lines, nil)
	return p, nil
}

// likeness of the lines in a row.
func (p *patches) likeness(row int) likeness {
	k, first := alike, -1
	for col, at := range p.rows[row] {
		switch {
		case at < 0:
			k = lacking
		case first < 0:
			first = col
		case p.lines[col][at] != p.lines[first][p.rows[row][first]]:
			return differ
		}
	}
	return k
}

// patchState is what there is of a patch, in a few words.
func (p *patches) state(col int) string {
	switch {
	case !p.taken[col]:
		return "none taken"
	case len(p.lines[col]) == 0:
		return "empty"
	}
	plus, minus := 0, 0
	for _, l := range p.lines[col] {
		switch {
		case strings.HasPrefix(l, "+++"), strings.HasPrefix(l, "---"):
		case strings.HasPrefix(l, "+"):
			plus++
		case strings.HasPrefix(l, "-"):
			minus++
		}
	}
	return fmt.Sprintf("+%d −%d", plus, minus)
}

// patchSection lays the patches beside each other, or shows how the chosen one
// differs from the first.
func (v *compareView) patchSection(g grid) (s *section, differs []bool) {
	s = &section{labels: 1}
	p := &v.read.patches
	add := func(begins bool, b block) {
		b.id = "p" + strconv.Itoa(len(s.blocks))
		differs = append(differs, begins)
		s.add(b)
	}
	note := func(r role, text string) { add(false, block{kind: cells, title: line{{r, text}}}) }
	besides := g.w >= patchColumn && g.n > 1
	other := max(v.col, 1)
	right := line{{dim, fmt.Sprintf("#%d against #%d: - the one, + the other", v.members[0].ID, v.members[other].ID)}}
	if besides {
		right = nil
	}
	add(false, block{kind: heading, title: line{{strong, "patches"}}, right: right})
	states := func(col int) line {
		return line{{strong, fmt.Sprintf("#%d ", v.members[col].ID)}, {dim, p.state(col)}}
	}
	if besides {
		add(false, block{kind: cells, title: g.lay(seg{plain, ""}, states, seg{dim, ""})})
	} else {
		add(false, block{kind: cells, title: append(append(append(line{{plain, "  "}}, states(0)...), seg{dim, "   "}), states(other)...)})
	}
	if !p.exact {
		note(warn, "too long to align: what has no counterpart is laid in its order")
	}
	before := alike
	for row := range p.rows {
		k := p.likeness(row)
		begins := k != alike && before == alike // a hunk, whatever its lines
		before = k
		if besides {
			add(begins, block{kind: cells, title: p.besideRow(g, row, k)})
			continue
		}
		for _, l := range p.unified(row, other) {
			add(begins, block{kind: cells, title: l})
			begins = false
		}
	}
	for col, n := range p.cut {
		if n > 0 {
			note(warn, fmt.Sprintf("#%d: %s more lines are not shown here: 3 shows the whole patch", v.members[col].ID, thousands(int64(n))))
		}
	}
	return s, differs
}

func (p *patches) besideRow(g grid, row int, k likeness) line {
	return g.lay(k.glyph(), func(col int) line {
		at := p.rows[row][col]
		if at < 0 {
			return nil
		}
		return line{{patchRole(p.lines[col][at]), oneLinePatch(p.lines[col][at])}}
	}, seg{dim, ""})
}

// unified shows a row as lines of a diff of two patches: what stands in the first, then
// what stands in its place in the other.
func (p *patches) unified(row, other int) (out []line) {
	a, b := p.rows[row][0], p.rows[row][other]
	if a >= 0 && b >= 0 && p.lines[0][a] == p.lines[other][b] {
		text := p.lines[0][a]
		return []line{{{dim, "    "}, {patchRole(text), oneLinePatch(text)}}}
	}
	if a >= 0 {
		out = append(out, line{{removed, "  - " + oneLinePatch(p.lines[0][a])}})
	}
	if b >= 0 {
		out = append(out, line{{added, "  + " + oneLinePatch(p.lines[other][b])}})
	}
	return out
}

// oneLinePatch keeps the indent that oneLine would trim.
func oneLinePatch(text string) string {
	const enough = 1000
	return cleanLine(text[:min(len(text), enough)])
}

func patchRole(text string) role {
	b := block{kind: diff, text: text}
	return b.rowRole(row{0, len(text)}, text)
}

type patchReader interface {
	Patch(ctx context.Context, key sessions.Key) ([]byte, error)
}
