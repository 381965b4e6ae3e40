package compare

import (
	"context"
	"slices"

	"rollbench/sessions"
)

// Parting is where two trajectories part: the first turn in which the reply differs
// by its text, the first in which its calls do, the first in which the same calls
// were answered otherwise. 0: in none so far.
type Parting struct {
	Text, Call, Saw int
	// Alone says that one had ended before that turn, and the other went on.
	Alone bool
}

// Part compares the replies in effect, turn by turn. A trajectory that has not ended
// has not parted by having fewer turns.
func Part(a, b Trace, aEnded, bEnded bool) (p Parting) {
	set := func(to *int, turn int) {
		if *to == 0 {
			*to = turn
		}
	}
	for i := range min(len(a.Heads), len(b.Heads)) {
		x, y := &a.Heads[i], &b.Heads[i]
		if x.hasRaw && y.hasRaw && x.raw != y.raw || !(x.hasRaw && y.hasRaw) && x.parts != y.parts {
			set(&p.Text, i+1)
		}
		s, t := a.Steps[x.First:x.Last], b.Steps[y.First:y.Last]
		if !slices.EqualFunc(s, t, func(u, v Step) bool { return u.Sign == v.Sign }) {
			set(&p.Call, i+1)
			return p
		}
		if x.Complete && y.Complete && !slices.EqualFunc(s, t, func(u, v Step) bool { return SameSaw(&u, &v) }) {
			set(&p.Saw, i+1)
		}
	}
	n := min(len(a.Heads), len(b.Heads))
	if len(a.Heads) == n && aEnded && len(b.Heads) > n || len(b.Heads) == n && bEnded && len(a.Heads) > n {
		p.Alone = true
		set(&p.Text, n+1)
		set(&p.Call, n+1)
	}
	return p
}

// TokenPart is where the sampled ids of two trajectories part. Known is false where
// the endpoint reported none before that; Turn 0 then, and where they are the same.
type TokenPart struct {
	Known bool
	Turn  int // from 1
	At    int // position in the reply, from 0
}

// Attempt names what is compared: an attempt of a trajectory, and its turns.
type Attempt struct {
	Key     sessions.Key
	N       int
	Turns   int
	IsEnded bool
}

// PartTokens finds where the ids of each trajectory part from the first one's. It
// reads no more turns than it takes to find that, twice as many each time.
func PartTokens(ctx context.Context, r Turns, list []Attempt) ([]TokenPart, error) {
	out := make([]TokenPart, len(list))
	open := make([]bool, len(list)) // not parted yet
	for i := range list {
		out[i].Known, open[i] = true, i > 0
	}
	for from, n := 1, 1; slices.Contains(open, true); from, n = from+n, 2*n {
		first, err := replies(ctx, r, list[0], from, n)
		if err != nil {
			return nil, err
		}
		for i := 1; i < len(list); i++ {
			if !open[i] {
				continue
			}
			other, err := replies(ctx, r, list[i], from, n)
			if err != nil {
				return nil, err
			}
			open[i] = out[i].step(first, other, list[0], list[i], from, n)
		}
	}
	out[0] = TokenPart{}
	return out, nil
}

// replies are the ids of the replies in effect of n turns from one on.
func replies(ctx context.Context, r Turns, a Attempt, from, n int) ([][]int32, error) {
	if from > a.Turns {
		return nil, nil
	}
	turns, err := r.Turns(ctx, a.Key, a.N, from, min(from+n-1, a.Turns), true)
	if err != nil {
		return nil, err
	}
	var ids [][]int32
	for i := range turns {
		if !turns[i].Superseded {
			ids = append(ids, turns[i].OutputIDs)
		}
	}
	return ids, nil
}

// step compares the replies of n turns from one on, and reports whether the next
// ones have to be looked at.
func (p *TokenPart) step(a, b [][]int32, x, y Attempt, from, n int) bool {
	for i := range min(len(a), len(b)) {
		if a[i] == nil || b[i] == nil {
			p.Known = false
			return false
		}
		if !slices.Equal(a[i], b[i]) {
			p.Turn = from + i
			for p.At < len(a[i]) && p.At < len(b[i]) && a[i][p.At] == b[i][p.At] {
				p.At++
			}
			return false
		}
	}
	m := min(len(a), len(b))
	if m == n {
		return true
	}
	if len(a) == m && x.IsEnded && len(b) > m || len(b) == m && y.IsEnded && len(a) > m {
		p.Turn = from + m
	}
	return false
}
