package ui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// sorting is the column that the list is sorted by. Groups stay together: their
// members are sorted, and the groups by the first of theirs.
type sorting struct {
	by   int  // of sortColumns
	down bool // the largest first
}

// sortColumns in the order of the list's. The first is the order of the queue.
var sortColumns = []struct {
	name string
	down bool // what one wants to see first
	less func(a, b sessions.Trajectory, now time.Time) int
}{
	{name: "queue order"},
	{"#", false, func(a, b sessions.Trajectory, _ time.Time) int { return cmp.Compare(a.ID, b.ID) }},
	{"instance", false, func(a, b sessions.Trajectory, _ time.Time) int { return strings.Compare(a.Instance, b.Instance) }},
	{"state", false, func(a, b sessions.Trajectory, _ time.Time) int { return cmp.Compare(stateRank(a), stateRank(b)) }},
	{"turn", true, func(a, b sessions.Trajectory, _ time.Time) int { return cmp.Compare(a.Turn, b.Turn) }},
	{"tokens", true, func(a, b sessions.Trajectory, _ time.Time) int { return cmp.Compare(a.Tokens, b.Tokens) }},
	{"time", true, func(a, b sessions.Trajectory, now time.Time) int { return cmp.Compare(spent(a, now), spent(b, now)) }},
	{"last/finish", false, func(a, b sessions.Trajectory, now time.Time) int {
		x, _, _ := lastOf(a, now)
		y, _, _ := lastOf(b, now)
		return strings.Compare(x, y)
	}},
	{"reward", true, func(a, b sessions.Trajectory, _ time.Time) int { return cmp.Compare(*a.Reward, *b.Reward) }},
}

const rewardColumn = 8

// stateRank puts what wants a person first, then what goes on, then what is over.
func stateRank(t sessions.Trajectory) int {
	order := []sessions.State{sessions.Held, sessions.Running, stopped, sessions.Evaluating, sessions.Init, sessions.Ran, sessions.Ready, sessions.Queued, sessions.Failed, sessions.Done, sessions.Cancelled}
	return slices.Index(order, t.State)
}

// spent is what the column time shows.
func spent(t sessions.Trajectory, now time.Time) time.Duration {
	switch {
	case !t.State.Ended() && !t.Since.IsZero():
		return now.Sub(t.Since)
	case t.State.Ended() && !t.Started.IsZero() && !t.Ended.IsZero():
		return t.Ended.Sub(t.Started)
	}
	return 0
}

// compare two trajectories. One without a reward comes last both ways: absent is
// neither high nor low.
func (s sorting) compare(a, b sessions.Trajectory, now time.Time) int {
	c := sortColumns[s.by]
	if c.less == nil {
		return 0
	}
	if s.by == rewardColumn && (a.Reward == nil || b.Reward == nil) {
		switch {
		case a.Reward != nil:
			return -1
		case b.Reward != nil:
			return 1
		}
		return 0
	}
	n := c.less(a, b, now)
	if s.down {
		n = -n
	}
	return n
}

// arrange the members that are shown, and the groups that have some. What is equal
// stays in the order of the queue.
func (p *listPane) arrange(now time.Time) (order []int) {
	for gi := range p.groups {
		g := &p.groups[gi]
		if len(g.shown) > 0 {
			order = append(order, gi)
		}
		if p.sort.by > 0 {
			slices.SortStableFunc(g.shown, func(a, b int) int { return p.sort.compare(g.members[a], g.members[b], now) })
		}
	}
	if p.sort.by > 0 {
		first := func(gi int) sessions.Trajectory { g := &p.groups[gi]; return g.members[g.shown[0]] }
		slices.SortStableFunc(order, func(a, b int) int { return p.sort.compare(first(a), first(b), now) })
	}
	return order
}

// sortNote says how the list is sorted, nil when it is as it was queued.
func (p *listPane) sortNote() line {
	if p.sort.by == 0 {
		return nil
	}
	arrow := " ▲"
	if p.sort.down {
		arrow = " ▼"
	}
	return line{{call, "by " + sortColumns[p.sort.by].name + arrow}}
}

// doSort by the next column.
func doSort(step int) func(*Workbench) tea.Cmd {
	return func(w *Workbench) tea.Cmd {
		n := len(sortColumns)
		by := (w.list.sort.by + step + n) % n
		w.list.sort = sorting{by, sortColumns[by].down}
		w.list.rebuild()
		return nil
	}
}

func canTurn(w *Workbench) string {
	if w.list.sort.by == 0 {
		return "the list is in the order of the queue: > sorts it by a column"
	}
	return ""
}

func doTurnSort(w *Workbench) tea.Cmd {
	w.list.sort.down = !w.list.sort.down
	w.list.rebuild()
	return nil
}
