package ui

import (
	"cmp"
	"context"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
	"rollbench/sessions/compare"
)

const matrixKey = "M"

// matrixView is the members of a group as rows, what they did with each tool as
// columns.
type matrixView struct {
	instance string
	log      *compare.Log // of a job while loading
	use      map[sessions.Key]compare.Use
	reading
	began bool

	by   int // of matrixColumns
	down bool
	left int // first tool shown
}

// matrixMsg brings the tool use of the members.
type matrixMsg struct {
	view *matrixView
	use  map[sessions.Key]compare.Use
	err  error
}

func canMatrix(w *Workbench) string {
	if _, some := w.list.chosenGroup(); !some {
		return "choose a group or a trajectory first"
	}
	return ""
}

func doMatrix(w *Workbench) tea.Cmd {
	g, _ := w.list.chosenGroup()
	v := &matrixView{instance: g.instance, log: &compare.Log{}, reading: reading{old: true}}
	w.openSheet(&sheet{opener: matrixKey, scope: inMatrix, side: v,
		head: func() line {
			return line{{strong, "matrix"}, {plain, " " + cleanLine(v.instance)}, {call, " by " + matrixColumns[v.by].name}}
		},
		page: func(cols, _ int) document { return v.page(w, cols) }})
	return nil
}

func (v *matrixView) stale(e sessions.Event) {
	v.old = v.old || e.Key.Instance == v.instance || e.Kind == sessions.KindRunStarted
}

func (v *matrixView) load(w *Workbench) tea.Cmd {
	if !v.begins() {
		return nil
	}
	r, log := w.opt.Reader, v.log
	var keys []sessions.Key
	for _, t := range v.members(w) {
		keys = append(keys, t.Key)
	}
	return w.job(func(ctx context.Context) tea.Msg {
		m := matrixMsg{view: v, use: map[sessions.Key]compare.Use{}}
		if m.err = log.Follow(ctx, r); m.err == nil {
			for _, k := range keys {
				m.use[k] = log.Use(k)
			}
		}
		return m
	})
}

func (m matrixMsg) applyTo(w *Workbench) tea.Cmd {
	v := m.view
	if !v.brought(w, v, m.err) {
		return nil
	}
	v.use = m.use
	if !v.began { // on the trajectory that was chosen
		v.began = true
		t, one := w.list.chosen()
		for i, m := range v.sorted(w) {
			if one && m.Key == t.Key {
				w.sheet.scroll.cursor = place{matrixRows, i}
			}
		}
	}
	return nil
}

// difference: a matrix has none.
func (v *matrixView) difference(place, int) (place, bool) { return place{}, false }

// members as the list has them now.
func (v *matrixView) members(w *Workbench) []sessions.Trajectory {
	for i := range w.list.groups {
		if g := &w.list.groups[i]; g.instance == v.instance {
			return g.members
		}
	}
	return nil
}

// matrixColumns can be sorted by. The first is the order of the group.
var matrixColumns = []struct {
	name string
	down bool
	of   func(t sessions.Trajectory, u compare.Use) float64
}{
	{name: "queue order"},
	{"reward", true, func(t sessions.Trajectory, _ compare.Use) float64 {
		if t.Reward == nil {
			return -1e308 // comes last, see sorted
		}
		return *t.Reward
	}},
	{"turns", true, func(t sessions.Trajectory, _ compare.Use) float64 { return float64(t.Turn) }},
	{"tokens", true, func(t sessions.Trajectory, _ compare.Use) float64 { return float64(t.Tokens) }},
	{"calls", true, func(_ sessions.Trajectory, u compare.Use) float64 { return float64(u.All().Made) }},
	{"errors", true, func(_ sessions.Trajectory, u compare.Use) float64 { return float64(failedOf(u.All())) }},
	{"timeouts", true, func(_ sessions.Trajectory, u compare.Use) float64 { return float64(u.All().Timeouts) }},
	{"tool time", true, func(_ sessions.Trajectory, u compare.Use) float64 { return u.All().Wall.Seconds() }},
}

// failedOf counts the calls that did not do what was asked, but for those that ran
// out of time.
func failedOf(t compare.ToolUse) int { return t.Errors + t.NotRun() }

// sorted members. One without a reward comes last both ways: absent is neither high
// nor low.
func (v *matrixView) sorted(w *Workbench) []sessions.Trajectory {
	list := slices.Clone(v.members(w))
	c := matrixColumns[v.by]
	if c.of == nil {
		if v.down {
			slices.Reverse(list)
		}
		return list
	}
	slices.SortStableFunc(list, func(a, b sessions.Trajectory) int {
		if c.name == "reward" && (a.Reward == nil || b.Reward == nil) {
			return cmp.Compare(boolInt(a.Reward == nil), boolInt(b.Reward == nil))
		}
		n := cmp.Compare(c.of(a, v.use[a.Key]), c.of(b, v.use[b.Key]))
		if v.down {
			return -n
		}
		return n
	})
	return list
}

// tools of the group, the one called most first.
func (v *matrixView) tools() []string {
	calls := map[string]int{}
	var names []string
	for _, u := range v.use {
		for _, t := range u {
			if _, there := calls[t.Name]; !there {
				names = append(names, t.Name)
			}
			calls[t.Name] += max(t.Made, 1)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(calls[b], calls[a]), strings.Compare(a, b))
	})
	return names
}

// memberHere is the trajectory under the cursor.
func (w *Workbench) memberHere() (t sessions.Trajectory, ok bool) {
	v, open := w.side().(*matrixView)
	if !open {
		return t, false
	}
	w.sheetPage()
	list := v.sorted(w)
	if at := w.sheet.scroll.cursor; at.section == matrixRows && at.row < len(list) {
		return list[at.row], true
	}
	return t, false
}

func canGoMember(w *Workbench) string {
	if _, ok := w.memberHere(); !ok && w.side() != nil {
		return "put the cursor on a trajectory"
	}
	return ""
}

func doGoMember(w *Workbench) tea.Cmd {
	t, _ := w.memberHere()
	w.closeSheet()
	if w.list.show(t.Key) {
		w.focus = viewFocus
	}
	return nil
}

func doTools(step int) func(*Workbench) tea.Cmd {
	return func(w *Workbench) tea.Cmd {
		v := w.sheet.side.(*matrixView)
		v.left = max(min(v.left+step, len(v.tools())-1), 0)
		return nil
	}
}

// doSortMatrix keeps the cursor on its trajectory.
func doSortMatrix(step int) func(*Workbench) tea.Cmd {
	return func(w *Workbench) tea.Cmd {
		v := w.sheet.side.(*matrixView)
		n := len(matrixColumns)
		by := (v.by + step + n) % n
		v.resort(w, by, matrixColumns[by].down)
		return nil
	}
}

func doTurnMatrix(w *Workbench) tea.Cmd {
	v := w.sheet.side.(*matrixView)
	v.resort(w, v.by, !v.down)
	return nil
}

func (v *matrixView) resort(w *Workbench, by int, down bool) {
	t, on := w.memberHere()
	v.by, v.down = by, down
	if i := slices.IndexFunc(v.sorted(w), func(m sessions.Trajectory) bool { return m.Key == t.Key }); on && i >= 0 {
		w.sheet.scroll.cursor = place{matrixRows, i}
	}
}
