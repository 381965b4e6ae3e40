package stats

import (
	"math"

	"rollbench/sessions"
)

// Tries are the members of a group that count for pass@k: how many, and how many of
// them solved the instance (reward ≥ 1).
type Tries struct{ N, Solved int }

// WholeGroups are the tries of the groups whose members have all ended, of so many
// groups. A member without a reward is no try (absent is not 0), and neither is one
// that a person changed or dropped; one that is masked is, by its reward. Members are
// those of the set fixed at the start, numbered below n: forks are no tries.
func WholeGroups(rows []sessions.Trajectory, n int) (whole []Tries, all int) {
	type group struct {
		Tries
		open bool
	}
	var groups []group
	index := map[string]int{}
	for _, t := range rows {
		if t.Fork != nil || n > 0 && t.ID >= n {
			continue
		}
		i, known := index[t.Instance]
		if !known {
			i = len(groups)
			index[t.Instance] = i
			groups = append(groups, group{})
		}
		g := &groups[i]
		switch {
		case !t.State.Ended():
			g.open = true
		case t.Counts():
			g.N++
			if *t.Reward >= 1 {
				g.Solved++
			}
		}
	}
	for _, g := range groups {
		if !g.open {
			whole = append(whole, g.Tries)
		}
	}
	return whole, len(groups)
}

// PassAt is pass@k over groups: the mean of the chance that one of k tries drawn from
// a group's solves it, 1 − C(n−c,k)/C(n,k), which is unbiased (Chen et al. 2021).
// over is how many groups have k tries; without one the mean is NaN.
func PassAt(k int, groups []Tries) (mean float64, over int) {
	sum := 0.0
	for _, g := range groups {
		if g.N >= k && k > 0 {
			sum += Pass(g.N, g.Solved, k)
			over++
		}
	}
	if over == 0 {
		return math.NaN(), 0
	}
	return sum / float64(over), over
}

// Pass is pass@k of one instance of whose n tries c solved it; it needs n ≥ k. As a
// product nothing overflows: C(n−c,k)/C(n,k) = ∏ (1 − k/i) over i from n−c+1 to n.
func Pass(n, c, k int) float64 {
	if n-c < k {
		return 1
	}
	none := 1.0
	for i := n - c + 1; i <= n; i++ {
		none *= 1 - float64(k)/float64(i)
	}
	return 1 - none
}
