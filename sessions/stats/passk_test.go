package stats

import (
	"fmt"
	"math"
	"testing"

	"rollbench/sessions"
)

// Worked out by hand: of n = 4 with c = 1 two are drawn in 6 ways, 3 of them without
// the one.
func TestPassAt(t *testing.T) {
	for _, c := range []struct {
		k    int
		of   []Tries
		want float64
		over int
	}{
		{1, []Tries{{4, 1}}, 0.25, 1},
		{2, []Tries{{4, 1}}, 0.5, 1},
		{3, []Tries{{4, 1}}, 0.75, 1},
		{4, []Tries{{4, 1}}, 1, 1},
		{2, []Tries{{5, 2}}, 0.7, 1}, // 1 − C(3,2)/C(5,2) = 1 − 3/10
		{3, []Tries{{4, 2}}, 1, 1},   // two that fail are no three
		{2, []Tries{{4, 0}}, 0, 1},
		{2, []Tries{{4, 1}, {5, 2}, {1, 1}, {0, 0}}, 0.6, 2}, // those with too few tries are left out
		{1, []Tries{{4, 1}, {1, 1}}, 0.625, 2},
		{4, []Tries{{3, 3}}, math.NaN(), 0},
		{1, nil, math.NaN(), 0},
		{0, []Tries{{3, 3}}, math.NaN(), 0},
	} {
		got, over := PassAt(c.k, c.of)
		if math.Abs(got-c.want) > 1e-12 || math.IsNaN(got) != math.IsNaN(c.want) || over != c.over {
			t.Errorf("pass@%d of %v: %v over %d, want %v over %d", c.k, c.of, got, over, c.want, c.over)
		}
	}
}

// Groups count once all their members have ended; absent rewards, people's changes
// and forks are no tries.
func TestWholeGroups(t *testing.T) {
	one, half := 1.0, 0.5
	row := func(instance string, id int, s sessions.State, reward *float64, change func(*sessions.Trajectory)) sessions.Trajectory {
		r := sessions.Trajectory{Key: sessions.Key{Instance: instance, ID: id}, State: s, Reward: reward}
		if change != nil {
			change(&r)
		}
		return r
	}
	rows := []sessions.Trajectory{
		row("a", 0, sessions.Done, &one, nil), row("a", 1, sessions.Done, &half, nil),
		row("a", 2, sessions.Failed, nil, nil), row("a", 3, sessions.Done, &one, func(r *sessions.Trajectory) { r.Intervened = true }),
		row("b", 0, sessions.Done, &one, nil), row("b", 1, sessions.Running, nil, nil),
		row("c", 0, sessions.Cancelled, nil, nil), row("c", 1, sessions.Done, &one, func(r *sessions.Trajectory) { r.Dropped = true }),
		row("d", 0, sessions.Done, &half, func(r *sessions.Trajectory) { r.Finish = string(sessions.ContextWindowExceeded) }),
		row("d", 4, sessions.Running, nil, nil), // a fork: the group is whole without it
	}
	whole, all := WholeGroups(rows, 4)
	if got := fmt.Sprint(whole, all); got != "[{2 1} {0 0} {1 0}] 4" {
		t.Error(got)
	}
	if whole, all := WholeGroups(nil, 4); len(whole) != 0 || all != 0 {
		t.Error(whole, all)
	}
}

// Forks are no tries, also of a run that does not say how many are in a group.
func TestForksAreNoTries(t *testing.T) {
	one := 1.0
	rows := []sessions.Trajectory{{Key: sessions.Key{Instance: "a"}, State: sessions.Done, Reward: &one}, {Key: sessions.Key{Instance: "a", ID: 1}, State: sessions.Running, Fork: &sessions.Fork{}}}
	if whole, all := WholeGroups(rows, 0); all != 1 || len(whole) != 1 || whole[0] != (Tries{1, 1}) {
		t.Errorf("%v of %d", whole, all)
	}
}
