package ui

import (
	"fmt"
	"time"

	"rollbench/sessions"
)

// listPane is the list of trajectories, grouped by instance.
type listPane struct {
	trajs  []sessions.Trajectory
	groups []group
	folded map[string]bool
	filter string
	sort   sorting
	now    time.Time // of the newest frame or state: the column time is sorted by it
	rows   []listRow
	at     int // chosen row
	top    int // first row drawn
	marks  rowMarks
	built  string // the filter that the rows were made with
	kept   bool   // the chosen trajectory no longer passes it, and is shown
}

// group is the trajectories of one instance, in queue order.
type group struct {
	instance string
	members  []sessions.Trajectory
	shown    []int // members that pass the filter
}

// listRow is a group's heading (member < 0) or one of its members.
type listRow struct{ group, member int }

// apply new trajectories; the chosen row stays the same trajectory.
func (p *listPane) apply(ts []sessions.Trajectory) {
	instance, id := p.identity()
	p.trajs = ts
	index := map[string]int{}
	p.groups = p.groups[:0]
	for _, t := range ts {
		i, ok := index[t.Instance]
		if !ok {
			i = len(p.groups)
			index[t.Instance] = i
			p.groups = append(p.groups, group{instance: t.Instance})
		}
		p.groups[i].members = append(p.groups[i].members, t)
	}
	for i := range p.groups {
		p.groups[i].members = placeForks(p.groups[i].members)
	}
	p.rebuildFor(instance, id, p.filter == p.built)
}

// rebuild the rows from groups, folds and filter, on the same row.
func (p *listPane) rebuild() {
	instance, id := p.identity()
	p.rebuildFor(instance, id, p.filter == p.built)
}

// rebuildAt makes the rows and then looks for the row it stood on.
func (p *listPane) rebuildAt(instance string, id int) { p.rebuildFor(instance, id, false) }

// rebuildFor makes the rows. What was chosen and changed stays until another row is
// chosen or the filter is another one (keep): else the next key would act on a
// trajectory that nobody chose.
func (p *listPane) rebuildFor(instance string, id int, keep bool) {
	terms := parseTerms(p.filter)
	p.built, p.kept = p.filter, false
	p.rows = p.rows[:0]
	for gi := range p.groups {
		g := &p.groups[gi]
		g.shown = g.shown[:0]
		for mi, t := range g.members {
			switch {
			case matches(t, terms, p.now):
				g.shown = append(g.shown, mi)
			case keep && g.instance == instance && t.ID == id:
				g.shown, p.kept = append(g.shown, mi), true
			}
		}
	}
	for _, gi := range p.arrange(p.now) {
		g := &p.groups[gi]
		p.rows = append(p.rows, listRow{gi, -1})
		if !p.folded[g.instance] {
			for _, mi := range g.shown {
				p.rows = append(p.rows, listRow{gi, mi})
			}
		}
	}
	p.find(instance, id)
}

// matching is how many trajectories pass the filter.
func (p *listPane) matching() (n int) {
	for _, g := range p.groups {
		n += len(g.shown)
	}
	if p.kept {
		n--
	}
	return n
}

// identity of the chosen row: its instance, and its trajectory id (-1: the group).
func (p *listPane) identity() (string, int) {
	if p.at < 0 || p.at >= len(p.rows) {
		return "", 0
	}
	r := p.rows[p.at]
	g := p.groups[r.group]
	if r.member < 0 {
		return g.instance, -1
	}
	return g.instance, g.members[r.member].ID
}

// find the row of a trajectory, else of its group, else stay near.
func (p *listPane) find(instance string, id int) {
	near := -1
	for i, r := range p.rows {
		g := p.groups[r.group]
		if g.instance != instance {
			continue
		}
		if r.member < 0 {
			near = i
		}
		if r.member < 0 && id < 0 || r.member >= 0 && g.members[r.member].ID == id {
			p.at = i
			return
		}
	}
	if near >= 0 {
		p.at = near
		if id >= 0 && near+1 < len(p.rows) && p.rows[near+1].group == p.rows[near].group {
			p.at++ // filtered out: a sibling that is shown
		}
		return
	}
	p.at = max(min(p.at, len(p.rows)-1), 0)
	if p.at+1 < len(p.rows) && p.rows[p.at].member < 0 && p.rows[p.at+1].member >= 0 {
		p.at++ // a trajectory rather than its group
	}
}

// show a trajectory: a filter or a fold that hides it is taken away.
func (p *listPane) show(k sessions.Key) bool {
	on := func() bool { t, one := p.chosen(); return one && t.Key == k }
	for _, reveal := range []func(){func() {}, func() { delete(p.folded, k.Instance) }, func() { p.filter = "" }} {
		reveal()
		p.rebuildAt(k.Instance, k.ID)
		if on() {
			return true
		}
	}
	return false
}

// chosen trajectory; ok is false while a group is chosen or there is none.
func (p *listPane) chosen() (sessions.Trajectory, bool) {
	if p.at >= len(p.rows) || p.rows[p.at].member < 0 {
		return sessions.Trajectory{}, false
	}
	r := p.rows[p.at]
	return p.groups[r.group].members[r.member], true
}

// chosenGroup is the group of the chosen row.
func (p *listPane) chosenGroup() (group, bool) {
	if p.at >= len(p.rows) {
		return group{}, false
	}
	return p.groups[p.rows[p.at].group], true
}

// key moves in the list; it reports whether the key was its own.
func (p *listPane) key(k string, h int) bool {
	page := max(h-2, 1)
	switch k {
	case "up", "k":
		p.at--
	case "down", "j":
		p.at++
	case "pgup":
		p.at -= page
	case "pgdown":
		p.at += page
	case "g", "home":
		p.at = 0
	case "G", "end":
		p.at = len(p.rows) - 1
	case "left":
		p.foldHere(true)
	case "right":
		p.foldHere(false)
	case "-":
		p.foldAll(true)
	case "+", "=":
		p.foldAll(false)
	default:
		return false
	}
	p.at = max(min(p.at, len(p.rows)-1), 0)
	return true
}

// foldHere folds the chosen group; from a member it goes to its heading first.
func (p *listPane) foldHere(fold bool) {
	if p.at >= len(p.rows) {
		return
	}
	r := p.rows[p.at]
	if r.member >= 0 {
		if fold {
			p.find(p.groups[r.group].instance, -1)
		}
		return
	}
	if p.folded == nil {
		p.folded = map[string]bool{}
	}
	p.folded[p.groups[r.group].instance] = fold
	p.rebuild()
}

func (p *listPane) foldAll(fold bool) {
	p.folded = map[string]bool{}
	if fold {
		for _, g := range p.groups {
			p.folded[g.instance] = true
		}
	}
	p.rebuild()
}

// scroll keeps the chosen row in sight of h rows.
func (p *listPane) scroll(h int) {
	p.top = min(p.top, p.at)
	if p.at >= p.top+h {
		p.top = p.at - h + 1
	}
	p.top = max(min(p.top, len(p.rows)-h), 0)
}

// render h rows of w columns, the first of which names the columns.
func (p *listPane) render(t *theme, w, h int, now time.Time, hasFocus bool) []string {
	out := make([]string, 0, h)
	cols := columnsFor(w)
	out = append(out, t.fit(cols.names(), w))
	p.scroll(h - 1)
	for i := p.top; i < len(p.rows) && len(out) < h; i++ {
		l, base := p.row(p.rows[i], cols, now), plain
		if i == p.at {
			if hasFocus {
				base = chosen
			} else {
				l[0] = seg{focused, "▌"}
			}
		}
		out = append(out, t.fitOn(l, w, base))
	}
	if len(p.rows) == 0 {
		out = append(out, t.fit(line{{dim, "  " + p.empty()}}, w))
	}
	for len(out) < h {
		out = append(out, spaces(w))
	}
	return out[:h]
}

// empty says why there is nothing, and how to see something.
func (p *listPane) empty() string {
	if len(p.trajs) > 0 {
		return fmt.Sprintf("none of %d matches %q: esc clears the filter", len(p.trajs), cleanLine(p.filter))
	}
	return "no trajectories yet"
}
