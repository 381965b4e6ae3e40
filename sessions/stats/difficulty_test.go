package stats

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rollbench/sessions"
)

// Cuts at a third and two thirds, both still of the harder level.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		n, solved int
		want      Level
	}{
		{0, 0, Untried}, {1, 0, Impossible}, {1, 1, Perfect}, {2, 1, Medium}, {3, 1, Hard}, {3, 2, Medium}, {4, 1, Hard}, {4, 2, Medium},
		{4, 3, Easy}, {4, 4, Perfect}, {6, 2, Hard}, {6, 3, Medium}, {6, 4, Medium}, {6, 5, Easy}, {8, 0, Impossible}, {8, 7, Easy},
	} {
		if got := (Tries{c.n, c.solved}).Level(); got != c.want {
			t.Errorf("%d of %d is %s, want %s", c.solved, c.n, got, c.want)
		}
	}
}

// Two runs add up. No tries: an absent reward, a person's change, what was dropped,
// a fork, what goes on. A reward of 0.5 is a try that did not solve it.
func TestRate(t *testing.T) {
	one, half := 1.0, 0.5
	row := func(id int, reward *float64, change func(*sessions.Trajectory)) sessions.Trajectory {
		x := sessions.Trajectory{Key: sessions.Key{Instance: "a", ID: id}, State: sessions.Done, Reward: reward}
		if change != nil {
			change(&x)
		}
		return x
	}
	first := []sessions.Trajectory{row(0, &one, nil), row(1, &half, nil), row(2, nil, nil),
		row(3, &one, func(x *sessions.Trajectory) { x.Intervened = true }), row(4, &one, func(x *sessions.Trajectory) { x.Dropped = true }),
		row(5, &one, func(x *sessions.Trajectory) { x.State = sessions.Running }), row(6, &one, func(x *sessions.Trajectory) { x.Fork = &sessions.Fork{} })}
	rated := Rate(nil, first, 7)
	other := row(0, nil, nil)
	other.Instance = "b"
	rated = Rate(rated, []sessions.Trajectory{row(0, &half, nil), other}, 1)
	if want := "[{a {3 1}} {b {0 0}}]"; fmt.Sprint(rated) != want {
		t.Errorf("%v, want %s", rated, want)
	}
	if by := ByLevel(rated); !slices.Equal(by[Hard], []string{"a"}) || !slices.Equal(by[Untried], []string{"b"}) {
		t.Errorf("levels %v", by)
	}
}

var paper = Shares{Easy: 25, Medium: 30, Hard: 30, Impossible: 15}

func pool(impossible, hard, medium, easy, perfect int) map[Level][]string {
	by := map[Level][]string{}
	for i, n := range []int{impossible, hard, medium, easy, perfect} {
		l := Levels()[i]
		for k := range n {
			by[l] = append(by[l], fmt.Sprintf("%s-%02d", l, k))
		}
	}
	return by
}

// Of 20: 3, 6, 6, 5. Of 10: 1.5, 3, 3, 2.5: the one left goes to the harder of the
// two equal remainders. Of 7: 1.05, 2.1, 2.1, 1.75: to easy.
func TestQuotas(t *testing.T) {
	for n, want := range map[int][4]int{20: {3, 6, 6, 5}, 10: {2, 3, 3, 2}, 7: {1, 2, 2, 2}, 0: {}} {
		q := paper.quotas(n)
		if got := [4]int{q[Impossible], q[Hard], q[Medium], q[Easy]}; got != want || q[Perfect] != 0 {
			t.Errorf("of %d: %v and %d perfect ones, want %v", n, got, q[Perfect], want)
		}
	}
}

// 21 are 3.15, 6.3, 6.3, 5.25: the one left over is hard. 2 are 0.3, 0.6, 0.6, 0.5:
// one hard, one medium; 3 are 0.45, 0.9, 0.9, 0.75: one easy too. 6 are 0.9, 1.8,
// 1.8, 1.5: the three left over go to the others, and one is easy; of 7 (1.75) two are.
func TestFits(t *testing.T) {
	for _, c := range []struct {
		by    map[Level][]string
		size  int
		limit Level
	}{
		{pool(3, 6, 6, 5, 9), 20, Hard},
		{pool(9, 9, 9, 1, 0), 6, Easy},
		{pool(9, 9, 9, 0, 0), 0, Easy},
		{pool(0, 0, 0, 0, 5), 0, Impossible},
	} {
		if size, limit := paper.Fits(c.by); size != c.size || limit != c.limit {
			t.Errorf("%d for want of %s, want %d for %s", size, limit, c.size, c.limit)
		}
	}
}

// The shares are met, what is short is not made up for, and a seed is a set.
func TestMix(t *testing.T) {
	by := pool(3, 10, 4, 10, 10)
	counts := func(all []Drawn) (out []string) {
		for _, d := range all {
			out = append(out, fmt.Sprintf("%d/%d", len(d.IDs), d.Wanted))
		}
		return out
	}
	got := paper.Mix(by, 20, 1, nil)
	if want := "3/3 6/6 4/6 5/5 0/0"; strings.Join(counts(got), " ") != want {
		t.Errorf("%v, want %s", counts(got), want)
	}
	if again := paper.Mix(by, 20, 1, nil); fmt.Sprint(again) != fmt.Sprint(got) {
		t.Error("the same seed drew another set")
	}
	if other := paper.Mix(by, 20, 2, nil); fmt.Sprint(other) == fmt.Sprint(got) {
		t.Error("another seed drew the same set")
	}
	for _, d := range got {
		for i, id := range d.IDs {
			if !strings.HasPrefix(id, string(d.Level)) || i > 0 && d.IDs[i-1] == id {
				t.Errorf("%s is in %s, or twice", id, d.Level)
			}
		}
	}
}

// Of 10 hard ones 8 are of x and 2 of y: a balanced draw of 6 has both of y.
func TestMixBalanced(t *testing.T) {
	by := pool(0, 10, 0, 0, 0)
	repo := func(id string) string {
		if id >= "hard-08" {
			return "y"
		}
		return "x"
	}
	for seed := range uint64(20) {
		got := Shares{Hard: 100}.Mix(by, 6, seed, repo)[1].IDs
		if !slices.Contains(got, "hard-08") || !slices.Contains(got, "hard-09") || len(got) != 6 {
			t.Fatalf("seed %d drew %v", seed, got)
		}
	}
}
