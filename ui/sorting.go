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
	// has: the trajectory has a value. Those without come last both ways: absent is
	// neither high nor low. nil: all have.
	has func(t sessions.Trajectory) bool
}{
	{name: "queue order"},
	{name: "#", less: func(a, b sessions.Trajectory, _ time.Time) int { return cmp.Compare(a.ID, b.ID) }},
	{name: "instance", less: func(a, b sessions.Trajectory, _ time.Time) int { return strings.Compare(a.Instance, b.Instance) }},
	{name: "state", less: func(a, b sessions.Trajectory, _ time.Time) int { return cmp.Compare(stateRank(a), stateRank(b)) }},
	{name: "turn", down: true, less: func(a, b sessions.Trajectory, _ time.Time) int { return cmp.Compare(a.Turn, b.Turn) }},
	{name: "tokens", down: true, less: func(a, b sessions.Trajectory, _ time.Time) int { return cmp.Compare(a.Tokens, b.Tokens) }},
	{name: "time", down: true, less: func(a, b sessions.Trajectory, now time.Time) int { return cmp.Compare(spent(a, now), spent(b, now)) }},
	{name: "last/finish", less: func(a, b sessions.Trajectory, now time.Time) int {
		x, _, _ := lastOf(a, now)
		y, _, _ := lastOf(b, now)
		return strings.Compare(x, y)
	}},
	{name: "reward", down: true, less: func(a, b sessions.Trajectory, _ time.Time) int { return cmp.Compare(*a.Reward, *b.Reward) },
		has: func(t sessions.Trajectory) bool { return t.Reward != nil }},

	// What has no column of its own: in marks, in the title of the transcript.
	{name: "budget", down: true, less: func(a, b sessions.Trajectory, _ time.Time) int { return cmp.Compare(budgetShare(a), budgetShare(b)) },
		has: func(t sessions.Trajectory) bool { return t.Budget > 0 }},
	{name: "tool", less: func(a, b sessions.Trajectory, _ time.Time) int { return strings.Compare(a.Tool, b.Tool) },
		has: func(t sessions.Trajectory) bool { return t.Tool != "" }},
	{name: "finish reason", less: func(a, b sessions.Trajectory, _ time.Time) int { return strings.Compare(a.Finish, b.Finish) },
		has: func(t sessions.Trajectory) bool { return t.Finish != "" }},
	{name: "drift", down: true, less: func(a, b sessions.Trajectory, _ time.Time) int { return cmp.Compare(a.Breaks, b.Breaks) }},
	{name: "intervened", down: true, less: func(a, b sessions.Trajectory, _ time.Time) int { return compareBools(a.Intervened, b.Intervened) }},
	{name: "tag", less: func(a, b sessions.Trajectory, _ time.Time) int { return slices.Compare(a.Tags, b.Tags) },
		has: func(t sessions.Trajectory) bool { return len(t.Tags) > 0 }},
}

// budgetShare is how much of its token budget a trajectory has used.
func budgetShare(t sessions.Trajectory) float64 { return float64(t.Tokens) / float64(max(t.Budget, 1)) }

// compareBools has false first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

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

// compare two trajectories.
func (s sorting) compare(a, b sessions.Trajectory, now time.Time) int {
	c := sortColumns[s.by]
	if c.less == nil {
		return 0
	}
	if c.has != nil && !(c.has(a) && c.has(b)) {
		return -compareBools(c.has(a), c.has(b))
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
