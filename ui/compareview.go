package ui

import (
	"context"
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
	"rollbench/sessions/compare"
)

const compareKey = "v"

// compareMost bounds the trajectories laid side by side.
const compareMost = 16

// compareView lays trajectories of a group side by side. The first one is what the
// others are compared with.
type compareView struct {
	keys    []sessions.Key
	left    int // siblings that were left out: too many
	members []sessions.Trajectory
	read    *beside // nil until it is read
	reading

	col    int             // chosen
	open   map[stepID]bool // rows that are open
	scroll scroller        // where it was left
	began  bool            // it has shown its first difference
	drawn  drawnBeside
}

// stepID names a step of one of the trajectories whatever rows there are.
type stepID struct{ col, turn, call int }

// beside is what was read of the trajectories. It does not change.
type beside struct {
	attempts []compare.Attempt
	traces   []compare.Trace
	parts    []compare.Parting // from the first
	tokens   []compare.TokenPart
	rows     [][]int
	exact    bool
	patches  patches
}

// besideMsg brings it.
type besideMsg struct {
	view *compareView
	read *beside
	err  error
}

// compared says which trajectories are to be compared, or why there are none.
func (w *Workbench) compared() (keys []sessions.Key, left int, why string) {
	marks := w.list.marks.of(w.list.trajs)
	chosen, one := w.list.chosen()
	if len(marks) == 1 && one && chosen.Key != marks[0].Key {
		marks = append(marks, chosen)
	}
	switch {
	case len(marks) == 1:
		return nil, 0, "mark another trajectory of " + cleanLine(marks[0].Instance) + " too, or choose it"
	case len(marks) > 1:
		for _, t := range marks {
			if t.Instance != marks[0].Instance {
				return nil, 0, "the marked trajectories are of more than one instance: compare those of one (esc clears the marks)"
			}
		}
	default:
		g, some := w.list.chosenGroup()
		if !some {
			return nil, 0, "choose a trajectory first"
		}
		if one {
			marks = append(marks, chosen)
		}
		for _, t := range g.members {
			if t.Turn > 0 && (!one || t.Key != chosen.Key) {
				marks = append(marks, t)
			}
		}
		if len(marks) < 2 {
			return nil, 0, "none of its siblings has made a turn yet"
		}
	}
	left = max(len(marks)-compareMost, 0)
	for _, t := range marks[:len(marks)-left] {
		keys = append(keys, t.Key)
	}
	return keys, left, ""
}

func canCompare(w *Workbench) string {
	_, _, why := w.compared()
	return why
}

// doCompare opens the comparison, where it was left if it is the same.
func doCompare(w *Workbench) tea.Cmd {
	keys, left, _ := w.compared()
	v := w.compare
	if v == nil || !sameKeys(v.keys, keys) {
		v = &compareView{keys: keys, left: left, open: map[stepID]bool{}}
		w.compare = v
	}
	v.old = true
	if t, one := w.list.chosen(); one {
		v.col = max(slices.Index(v.keys, t.Key), 0)
	}
	w.openSheet(&sheet{opener: compareKey, scope: inCompare, side: v, scroll: v.scroll, head: func() line { return v.head() },
		page: func(cols, _ int) document { return v.page(cols) }})
	return nil
}

// sameKeys: in any order, since going to another's turn chooses that one.
func sameKeys(a, b []sessions.Key) bool {
	if len(a) != len(b) {
		return false
	}
	for _, k := range a {
		if !slices.Contains(b, k) {
			return false
		}
	}
	return true
}

func (v *compareView) stale(e sessions.Event) {
	switch e.Kind {
	case sessions.KindReply, sessions.KindPicked, sessions.KindTurnDone, sessions.KindAttempt, sessions.KindState, sessions.KindPatch, sessions.KindIntervention:
		v.old = v.old || slices.Contains(v.keys, e.Key)
	}
}

// load what has come since it was read.
func (v *compareView) load(w *Workbench) tea.Cmd {
	v.members = v.members[:0]
	for _, k := range v.keys {
		if i := slices.IndexFunc(w.list.trajs, func(t sessions.Trajectory) bool { return t.Key == k }); i >= 0 {
			v.members = append(v.members, w.list.trajs[i])
		}
	}
	if len(v.members) < len(v.keys) || !v.begins() {
		return nil
	}
	had, r := v.read, w.opt.Reader
	var attempts []compare.Attempt
	for _, t := range v.members {
		attempts = append(attempts, compare.Attempt{Key: t.Key, N: t.Attempt, Turns: t.Turn, IsEnded: t.State.Ended()})
	}
	return w.job(func(ctx context.Context) tea.Msg {
		read, err := readBeside(ctx, r, had, attempts)
		return besideMsg{v, read, err}
	})
}

// readBeside goes on from what was read before, nil for nothing.
func readBeside(ctx context.Context, r sessions.Reader, had *beside, attempts []compare.Attempt) (*beside, error) {
	b := &beside{attempts: attempts, traces: make([]compare.Trace, len(attempts)), parts: make([]compare.Parting, len(attempts))}
	var signs, like [][]string
	for i, a := range attempts {
		var before compare.Trace
		if had != nil {
			before = had.traces[i]
		}
		var err error
		if b.traces[i], err = compare.Follow(ctx, r, before, a.Key, a.N, a.Turns); err != nil {
			return nil, err
		}
		sign, coarse := b.traces[i].Signs()
		signs, like = append(signs, sign), append(like, coarse)
		if i > 0 {
			b.parts[i] = compare.Part(b.traces[0], b.traces[i], attempts[0].IsEnded, a.IsEnded)
		}
	}
	b.rows, b.exact = compare.Align(signs, like)
	if had != nil && had.partedFor(attempts) {
		b.tokens = had.tokens
	} else {
		var err error
		if b.tokens, err = compare.PartTokens(ctx, r, attempts); err != nil {
			return nil, err
		}
	}
	var err error
	b.patches, err = readPatches(ctx, r, attempts)
	return b, err
}

// partedFor reports whether the ids of the same attempts have parted already.
func (b *beside) partedFor(attempts []compare.Attempt) bool {
	for i, a := range attempts {
		if b.attempts[i].Key != a.Key || b.attempts[i].N != a.N || i > 0 && b.tokens[i].Known && b.tokens[i].Turn == 0 {
			return false
		}
	}
	return true
}

// applyTo shows what was read, with the cursor on the same step as before; the first
// time on the first difference.
func (m besideMsg) applyTo(w *Workbench) tea.Cmd {
	v := m.view
	if !v.brought(w, v, m.err) {
		return nil
	}
	_, in := w.sheetPage()
	at, below := v.anchor(w.sheet.scroll.cursor)
	v.read = m.read
	s := &w.sheet.scroll
	page := v.page(in.w)
	switch row, there := v.find(at); {
	case !v.began:
		v.began = true
		if to, differs := v.difference(place{-1, 0}, 1); differs {
			s.top, s.cursor = place{}, to
			if last := s.move(page, s.top, in.h-1, in.w); before(last, to) {
				s.top = s.move(page, to, -in.h/3, in.w)
			}
		}
	case there:
		moved := row + below - s.cursor.row
		s.cursor.row += moved
		if s.top.section == s.cursor.section {
			s.top.row += moved
		}
	}
	s.settle(page, in.w, in.h)
	return nil
}

// doColumn chooses another trajectory.
func doColumn(step int) func(*Workbench) tea.Cmd {
	return func(w *Workbench) tea.Cmd {
		v := w.sheet.side.(*compareView)
		v.col = max(min(v.col+step, len(v.keys)-1), 0)
		return nil
	}
}

// rowHere is the row of the alignment under the cursor.
func (w *Workbench) rowHere() (v *compareView, row int, ok bool) {
	v, open := w.side().(*compareView)
	if !open || v.read == nil {
		return v, 0, false
	}
	w.sheetPage()
	row, ok = v.rowAt(w.sheet.scroll.cursor)
	return v, row, ok
}

func canOpenRow(w *Workbench) string {
	if _, _, ok := w.rowHere(); !ok && w.side() != nil {
		return "put the cursor on a call"
	}
	return ""
}

func doOpenRow(w *Workbench) tea.Cmd {
	v, row, _ := w.rowHere()
	id, at := v.idOf(row), v.placeOf(row)
	v.open[id] = !v.open[id]
	v.drawn.width = 0
	w.sheet.scroll.cursor = at
	return nil
}

// stepHere is the step of the chosen trajectory in the row under the cursor, else
// that of the first one that has one there.
func (w *Workbench) stepHere() (sessions.Key, int, bool) {
	v, row, ok := w.rowHere()
	if !ok {
		return sessions.Key{}, 0, false
	}
	cells := v.read.rows[row]
	col := v.col
	if cells[col] < 0 {
		col = slices.IndexFunc(cells, func(at int) bool { return at >= 0 })
	}
	return v.keys[col], v.read.traces[col].Steps[cells[col]].Turn, true
}

func canGoTurn(w *Workbench) string {
	if _, _, ok := w.stepHere(); !ok && w.side() != nil {
		return "put the cursor on a call"
	}
	return ""
}

// doGoTurn shows the turn in its transcript.
func doGoTurn(w *Workbench) tea.Cmd {
	key, turn, _ := w.stepHere()
	w.closeSheet()
	if !w.list.show(key) {
		w.toasts.add(w.now, caution, cleanLine(key.String())+" is not in the list any more")
		return nil
	}
	w.focus, w.tab = viewFocus, textTab
	w.settle()
	w.goTurn(turn, false)
	return nil
}

// head is what is compared.
func (v *compareView) head() line {
	l := line{{strong, "compare"}, {plain, " " + cleanLine(v.keys[0].Instance)}, {dim, fmt.Sprintf(" · %d trajectories", len(v.keys))}}
	if v.left > 0 {
		l.add(warn, fmt.Sprintf(" of %d: mark some to compare others", len(v.keys)+v.left))
	}
	if v.read == nil && v.failed == "" {
		l.add(dim, " · reading…")
	}
	return l
}
