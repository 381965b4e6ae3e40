package ui

import (
	"fmt"
	"strconv"
	"strings"

	"rollbench/sessions"
	"rollbench/sessions/compare"
)

// calls are the rows of the alignment. A difference begins where rows differ in
// another way than the one before.
func (v *compareView) calls(g grid) (s *section, refs []int, differs []bool) {
	s = &section{labels: 1}
	add := func(row int, begins bool, l line) {
		refs, differs = append(refs, row), append(differs, begins)
		s.add(block{id: "c" + strconv.Itoa(len(s.blocks)), kind: cells, title: l})
	}
	right := line{{dim, "≠ other calls  + not all  ~ other answers"}}
	s.add(block{id: "calls", kind: heading, title: line{{strong, "calls"}}, right: right})
	refs, differs = append(refs, -1), append(differs, false)
	if !v.read.exact {
		add(-1, false, line{{warn, "too many calls to align: what has no counterpart is laid in its order"}})
	}
	if len(v.read.rows) == 0 {
		add(-1, false, line{{dim, "no calls yet"}})
	}
	before := alike
	for row := range v.read.rows {
		k, saw := v.read.compareRow(row)
		begins := k != alike && k != before
		before = k
		add(row, begins, g.lay(k.glyph(), func(col int) line { return v.cell(row, col, g.w, k) }, saw))
		if v.open[v.idOf(row)] {
			for _, l := range v.opened(row, g) {
				add(row, false, l)
			}
		}
	}
	return s, refs, differs
}

// likeness of the calls in a row.
type likeness uint8

const (
	alike    likeness = iota
	answered          // the same call, answered otherwise
	lacking           // the same call, but not all have made it
	differ
)

func (k likeness) glyph() seg {
	switch k {
	case answered:
		return seg{warn, "~"}
	case lacking:
		return seg{warn, "+"}
	case differ:
		return seg{warn, "≠"}
	}
	return seg{plain, ""}
}

// compareRow says how alike its calls are, and how what they saw compares.
func (b *beside) compareRow(row int) (k likeness, saw seg) {
	var first *compare.Step
	var worst seg
	for col, at := range b.rows[row] {
		if at < 0 {
			k = lacking
			continue
		}
		s := &b.traces[col].Steps[at]
		if first == nil {
			first = s
			continue
		}
		if s.Sign != first.Sign {
			return differ, seg{dim, ""}
		}
		if worst.text == "" {
			worst = sawOther(first, s)
		}
	}
	switch {
	case first == nil || first.Call < 0 || k == lacking && worst.text == "":
		return k, seg{dim, ""}
	case worst.text == "":
		return k, seg{dim, "same"}
	case worst.r == warn && k == alike:
		k = answered
	}
	return k, worst
}

// sawOther says how what two equal calls saw differs, "" where it does not.
func sawOther(a, b *compare.Step) seg {
	switch {
	case a.Call < 0 || compare.SameSaw(a, b):
		return seg{}
	case !a.Answered || !b.Answered:
		return seg{dim, "…"}
	case a.Status != b.Status:
		return seg{warn, "≠ status"}
	}
	if line := compare.SawLine(a, b); line > 0 {
		return seg{warn, "≠ line " + strconv.Itoa(line)}
	}
	return seg{warn, "≠ later"}
}

// cell is a call in its column: its turn, its tool, what it says, how it went.
func (v *compareView) cell(row, col, w int, k likeness) line {
	at := v.read.rows[row][col]
	if at < 0 {
		return line{{dim, "    ·"}}
	}
	s := &v.read.traces[col].Steps[at]
	label, text := "text", s.Args
	if s.Call >= 0 {
		c := viewCall(sessions.Call{Name: s.Tool, Arguments: s.Args})
		label, text = c.label, c.text
	}
	if label == "editor" {
		text = editOnly(text, w < wideColumn)
	}
	if label == "" {
		label = noName
	}
	how, r := wentHow(s)
	body := plain
	if k == differ {
		body = strong
	}
	if s.Changed {
		body = person
		how = "✎" + strings.TrimPrefix(how, "✎")
	}
	room := max(w-4-7-1-width(how), 0)
	return line{{dim, padLeft(strconv.Itoa(s.Turn), 3) + " "}, {call, pad(label, 6) + " "}, {body, pad(oneLine(text), room) + " "}, {r, how}}
}

// wideColumn has room for whole paths.
const wideColumn = 60

// noName stands for the tool of a call that could not be read.
const noName = "?"

// editOnly is the first line of an editor's call and the first line that it changes;
// base leaves the folders of its path away.
func editOnly(text string, base bool) string {
	first, rest, _ := strings.Cut(text, "\n")
	if command, path, two := strings.Cut(first, " "); two && base {
		end := strings.IndexByte(path+" ", ' ')
		first = command + " " + path[strings.LastIndexByte(path[:end], '/')+1:]
	}
	for line := range strings.SplitSeq(rest, "\n") {
		if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "+ ") {
			return first + "  " + line
		}
	}
	return first
}

// oneLine is the start of a text on one line, each space once: it need not be cleaned
// to its end.
func oneLine(text string) string {
	const enough = 1000
	return strings.Join(strings.Fields(cleanLine(strings.TrimSpace(text[:min(len(text), enough)]))), " ")
}

// wentHow is how a call went, in little room.
func wentHow(s *compare.Step) (string, role) {
	exit := ""
	if s.Exit != nil && *s.Exit != 0 {
		exit = strconv.Itoa(*s.Exit)
	}
	switch {
	case s.Call < 0:
		return "", dim
	case !s.Answered:
		return "…", live
	case s.Status == "ok":
		return "✔" + exit, good
	case s.Status == "error":
		return "✘" + exit, warn
	case s.Status == "rejected", s.Status == "cancelled":
		return "✎", person
	case s.Status == "timeout":
		return "✘time", warn
	}
	return "✘" + cut(cleanLine(s.Status), 7), warn
}

// Rows of a row that is open, in each column.
const (
	openCall = 12
	openSaw  = 14
	sawAhead = 2 // lines before the first one that differs
)

// opened is what each called, and what it saw from shortly before the first line that
// is not the same.
func (v *compareView) opened(row int, g grid) []line {
	columns := make([][]line, len(v.keys))
	rows := 0
	from := v.read.sawFrom(row)
	for i := range g.n {
		col := g.from + i
		if at := v.read.rows[row][col]; at >= 0 {
			columns[col] = openedCell(&v.read.traces[col].Steps[at], from, g.w)
			rows = max(rows, len(columns[col]))
		}
	}
	var out []line
	for n := range rows {
		out = append(out, g.lay(seg{dim, "│"}, func(col int) line {
			if n < len(columns[col]) {
				return columns[col][n]
			}
			return nil
		}, seg{dim, ""}))
	}
	return out
}

// sawFrom is the first line in which what the same calls saw differs, 0 for none.
func (b *beside) sawFrom(row int) (from int) {
	var first *compare.Step
	for col, at := range b.rows[row] {
		if at < 0 {
			return 0
		}
		s := &b.traces[col].Steps[at]
		switch {
		case first == nil:
			first = s
		case s.Sign != first.Sign:
			return 0
		default:
			if n := compare.SawLine(first, s); n > 0 && (from == 0 || n < from) {
				from = n
			}
		}
	}
	return from
}

func openedCell(s *compare.Step, differs, w int) (out []line) {
	text := s.Args
	if s.Call >= 0 {
		text = viewCall(sessions.Call{Name: s.Tool, Arguments: s.Args}).text
	}
	out = wrapped(out, trim(text), w, openCall, strong)
	if s.Problem != "" {
		out = wrapped(out, "✘ "+trim(s.Problem), w, 3, warn)
	}
	if !s.Answered {
		return out
	}
	saw, from := s.Saw, 0
	if differs > 0 {
		from = max(differs-1-sawAhead, 0)
	}
	lines := strings.Split(saw, "\n")
	note := fmt.Sprintf("saw %s bytes", thousands(int64(s.SawBytes)))
	if from > 0 {
		note += fmt.Sprintf(", from line %d", from+1)
	}
	out = append(out, line{{dim, cut("── "+note+" ", w)}})
	return wrapped(out, trim(strings.Join(lines[min(from, len(lines)):], "\n")), w, openSaw, plain)
}

// wrapped adds at most so many rows of a text.
func wrapped(out []line, text string, w, most int, r role) []line {
	rows := wrap(text, w)
	for i, row := range rows {
		if i == most-1 && len(rows) > most {
			return append(out, line{{dim, foldNote(len(rows) - i)}})
		}
		out = append(out, line{{r, text[row.from:row.to]}})
	}
	return out
}

// idOf a row: its first step, which keeps its name whatever rows there are.
func (v *compareView) idOf(row int) stepID {
	for col, at := range v.read.rows[row] {
		if at >= 0 {
			s := &v.read.traces[col].Steps[at]
			return stepID{col, s.Turn, s.Call}
		}
	}
	return stepID{}
}

// callsAt is the section of the calls.
const callsAt = 1

// rowAt is the row of the alignment at a place of the page.
func (v *compareView) rowAt(p place) (int, bool) {
	if p.section != callsAt || p.row < 0 || p.row >= len(v.drawn.refs) || v.drawn.refs[p.row] < 0 {
		return 0, false
	}
	return v.drawn.refs[p.row], true
}

// placeOf the first line of a row.
func (v *compareView) placeOf(row int) place {
	for i, ref := range v.drawn.refs {
		if ref == row {
			return place{callsAt, i}
		}
	}
	return place{}
}

// anchor is the step at a place, and how many lines below its row's first the place is.
func (v *compareView) anchor(p place) (stepID, int) {
	if v.read == nil {
		return stepID{}, 0
	}
	row, ok := v.rowAt(p)
	if !ok {
		return stepID{}, 0
	}
	return v.idOf(row), p.row - v.placeOf(row).row
}

// find the first line of the row that has a step now.
func (v *compareView) find(id stepID) (int, bool) {
	for row, cells := range v.read.rows {
		if at := cells[id.col]; at >= 0 {
			if s := &v.read.traces[id.col].Steps[at]; id.turn > 0 && s.Turn == id.turn && s.Call == id.call {
				return v.placeOf(row).row, true
			}
		}
	}
	return 0, false
}

func (v *compareView) difference(from place, step int) (place, bool) {
	if v.read == nil {
		return place{}, false
	}
	return jumpSections(v.drawn.differs, from, step)
}
