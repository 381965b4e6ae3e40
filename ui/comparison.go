package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// comparison is a sheet that lays things beside each other: trajectories, the members
// of a group, two runs. It reads on its own and follows a run that goes on.
type comparison interface {
	// top are rows above the page that do not scroll, for a sheet of cols columns.
	top(w *Workbench, cols int) []line
	// load asks for what is lacking or out of date, nil for nothing.
	load(w *Workbench) tea.Cmd
	// stale takes note of an event that may change what is shown.
	stale(e sessions.Event)
	// difference is the place of the next one after (step 1) or before a place.
	difference(from place, step int) (place, bool)
}

// comparisonMsg brings what a comparison read.
type comparisonMsg interface {
	applyTo(w *Workbench) tea.Cmd
}

// reading is what a comparison reads of the session: one read at a time, and again
// once what it brought is out of date.
type reading struct {
	loading bool
	old     bool
	failed  string // why the last one brought nothing, "" when it did
}

// begins reports whether it is to be read now.
func (r *reading) begins() bool {
	if r.loading || !r.old {
		return false
	}
	r.loading, r.old = true, false
	return true
}

// brought reports whether what came is to be shown: not what came too late, for a
// comparison that is not open any more, and not an error, which is said.
func (r *reading) brought(w *Workbench, by comparison, err error) bool {
	r.loading = false
	if w.side() != by {
		return false
	}
	if r.failed = ""; err != nil {
		r.failed = cleanLine(err.Error())
		w.complain(err)
	}
	return err == nil
}

// compareKeys are the rows of the key table that concern comparing.
func compareKeys() []binding {
	return []binding{
		{Binding: on("mark the trajectory, or take its mark away; on a heading all of its group", " "), verb: "select", scope: inList, can: canMarkRow, do: doMarkRow},
		{Binding: on("compare the marked trajectories side by side, else the chosen one with its siblings", compareKey), name: "compare", scope: anywhere, can: canCompare, do: doCompare},
		{Binding: on("the group's matrix: what each member did and how it ended", matrixKey), name: "matrix", scope: anywhere, can: canMatrix, do: doMatrix},
		{Binding: on("compare this run with another one", versusKey), name: "other run", scope: anywhere, can: canVersus, do: doVersus},

		{Binding: on("to the next difference", "n"), name: "next", scope: inCompare, can: canDiffer, do: doDiffer(1)},
		{Binding: on("to the one before", "N"), name: "before", scope: inCompare, can: canDiffer, do: doDiffer(-1)},
		{Binding: on("choose the trajectory to the left; columns scroll where there is no room for all", "left"), verb: "left", scope: inCompare, do: doColumn(-1)},
		{Binding: on("choose the one to the right", "right"), verb: "right", scope: inCompare, do: doColumn(1)},
		{Binding: on("what each called and saw there, in full; and close that", " "), name: "open", scope: inCompare, can: canOpenRow, do: doOpenRow},
		{Binding: on("go to the turn in the transcript of the chosen trajectory; "+compareKey+" comes back", "enter"), name: "go there", scope: inCompare, can: canGoTurn, do: doGoTurn},

		{Binding: on("go to the trajectory", "enter"), name: "go there", scope: inMatrix, can: canGoMember, do: doGoMember},
		{Binding: on("further tools to the left", "left"), verb: "left", scope: inMatrix, do: doTools(-1)},
		{Binding: on("further tools to the right", "right"), verb: "right", scope: inMatrix, do: doTools(1)},
		{Binding: on("sort by the next column", ">"), name: "sort", scope: inMatrix, do: doSortMatrix(1)},
		{Binding: on("sort by the column before", "<"), verb: "sort-before", scope: inMatrix, do: doSortMatrix(-1)},
		{Binding: on("sort the other way round", "~"), verb: "sort-turn", scope: inMatrix, do: doTurnMatrix},

		{Binding: on("to the next difference: a setting, a number known to differ, a flip", "n"), name: "next", scope: inVersus, can: canDiffer, do: doDiffer(1)},
		{Binding: on("to the one before", "N"), name: "before", scope: inVersus, can: canDiffer, do: doDiffer(-1)},
		{Binding: on("go to the instance in this run's list", "enter"), name: "go there", scope: inVersus, can: canGoFlip, do: doGoFlip},
		{Binding: on("count trajectories that a person changed, or leave them out", "a"), name: "intervened", scope: inVersus, do: doIntervened},
	}
}

// side is the comparison that is open, nil for none.
func (w *Workbench) side() comparison {
	if w.sheet == nil {
		return nil
	}
	return w.sheet.side
}

func (w *Workbench) loadComparison() tea.Cmd {
	if c := w.side(); c != nil {
		return c.load(w)
	}
	return nil
}

func (w *Workbench) staleComparison(e sessions.Event) {
	if c := w.side(); c != nil {
		c.stale(e)
	}
}

// canDiffer keeps n and N honest.
func canDiffer(w *Workbench) string {
	if c := w.side(); c != nil {
		w.sheetPage()
		if _, next := c.difference(place{-1, 0}, 1); !next {
			return "there is no difference"
		}
	}
	return ""
}

// doDiffer goes to the next difference; behind the last one it stays and says so.
func doDiffer(step int) func(*Workbench) tea.Cmd {
	return func(w *Workbench) tea.Cmd {
		page, in := w.sheetPage()
		s := &w.sheet.scroll
		to, there := w.sheet.side.difference(s.cursor, step)
		if !there {
			w.toasts.add(w.now, note, map[int]string{1: "that was the last difference", -1: "that was the first difference"}[step])
			return nil
		}
		s.follow, s.cursor = false, to
		s.top = s.move(page, to, -in.h/3, in.w)
		return nil
	}
}

// sheetPage is what the sheet shows, with its scroller settled in it.
func (w *Workbench) sheetPage() (document, box) {
	in := w.sheetBox()
	d := w.sheet.page(in.w, in.h)
	w.sheet.scroll.settle(d, in.w, in.h)
	return d, in
}

// jump to the next true of a section's marks after a row, or before it.
func jump(marks []bool, from, step int) (int, bool) {
	for i := from + step; i >= 0 && i < len(marks); i += step {
		if marks[i] {
			return i, true
		}
	}
	return 0, false
}

// jumpSections is jump over sections; from a negative section it begins at the start.
func jumpSections(marks [][]bool, from place, step int) (place, bool) {
	if from.section < 0 {
		from = place{0, -1}
	}
	for i := from.section; i >= 0 && i < len(marks); i += step {
		row := from.row
		if i != from.section {
			if row = -1; step < 0 {
				row = len(marks[i])
			}
		}
		if to, there := jump(marks[i], row, step); there {
			return place{i, to}, true
		}
	}
	return place{}, false
}
