package stats

import (
	"slices"

	"rollbench/sessions"
)

// Level is how hard an instance was for a policy, by how many of its tries solved it.
type Level string

// The levels, hardest first. Between none and all the cuts are at a third and two
// thirds of the tries.
const (
	Impossible Level = "impossible" // none of the tries
	Hard       Level = "hard"       // some, at most a third
	Medium     Level = "medium"     // more, at most two thirds
	Easy       Level = "easy"       // more, but not all
	Perfect    Level = "perfect"    // all
	Untried    Level = "untried"    // there is no try
)

// Levels of instances that were tried, hardest first.
func Levels() []Level { return []Level{Impossible, Hard, Medium, Easy, Perfect} }

// Level of the tries.
func (t Tries) Level() Level {
	switch {
	case t.N == 0:
		return Untried
	case t.Solved == 0:
		return Impossible
	case t.Solved == t.N:
		return Perfect
	case 3*t.Solved <= t.N:
		return Hard
	case 3*t.Solved <= 2*t.N:
		return Medium
	}
	return Easy
}

// Rated is an instance with its tries, of one run or several.
type Rated struct {
	Instance string
	Tries
}

// Rate adds the tries of a run with n trajectories for each instance to those of
// other runs. What is no try is as in WholeGroups; a group that goes on counts
// with what has ended.
func Rate(rated []Rated, rows []sessions.Trajectory, n int) []Rated {
	at := map[string]int{}
	for i, r := range rated {
		at[r.Instance] = i
	}
	for _, t := range rows {
		if t.Fork != nil || n > 0 && t.ID >= n {
			continue
		}
		i, known := at[t.Instance]
		if !known {
			i = len(rated)
			at[t.Instance] = i
			rated = append(rated, Rated{Instance: t.Instance})
		}
		if !t.State.Ended() || t.Reward == nil || t.Intervened || t.Dropped {
			continue
		}
		rated[i].N++
		if *t.Reward >= 1 {
			rated[i].Solved++
		}
	}
	return rated
}

// ByLevel sorts instances by level, those of a level by id.
func ByLevel(rated []Rated) map[Level][]string {
	by := map[Level][]string{}
	for _, r := range rated {
		by[r.Level()] = append(by[r.Level()], r.Instance)
	}
	for _, ids := range by {
		slices.Sort(ids)
	}
	return by
}
