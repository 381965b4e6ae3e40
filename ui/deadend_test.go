package ui

import (
	"testing"
)

// A key that does nothing says why, and what to do instead.
func TestDeadEnds(t *testing.T) {
	for _, c := range []struct{ name, keys, says string }{
		{"no key at all", "%", "%: no key of the workbench; ? shows them all"},
		{"a key of another place", "J", "J: acts in the tokens only"},
		{"nothing to go back from", "<esc>", "esc: there is nothing to go back from; q leaves"},
		{"a folded group", "<left><left><left>", "←: the group is folded: → unfolds it"},
		{"an unfolded group", "<left><right>", "→: the group is unfolded; enter opens what is chosen"},
		{"a trajectory", "<right>", "→: the group is unfolded; enter opens what is chosen"},
		{"the end of a transcript", "<enter>G}", "}: this is the end: { goes back"},
		{"the start of a transcript", "<enter>g{", "{: this is the start"},
		{"in the help", "?%", "%: no key of the workbench; ? shows them all"},
	} {
		t.Run(c.name, func(t *testing.T) {
			open(t, fakeWhole(), 80, 24, nil).asks(c.keys, "", c.says)
		})
	}
}

// Turn 2 of three with the logprobs −0.1 −3 −0.1 −3 −0.1; others have no low token.
func TestNextLow(t *testing.T) {
	low := []float64{-0.1, -3, -0.1, -3, -0.1}
	high := []float64{-0.1, -0.1}
	for _, c := range []struct {
		name       string
		logprobs   []float64
		turn, last int
		at, step   int
		to         int
		says       string
	}{
		{"the next", low, 2, 3, 0, 1, 1, ""},
		{"the one before", low, 2, 3, 3, -1, 1, ""},
		{"the last one of a turn between others", low, 2, 3, 3, 1, 3, "no token after this one has a logprob under −2: T sets another bound, K goes back, { and } go to other turns"},
		{"the last one of the last turn", low, 3, 3, 3, 1, 3, "no token after this one has a logprob under −2: T sets another bound, K goes back, { goes to the turn before"},
		{"the first one of the first turn", low, 1, 3, 1, -1, 1, "no token before this one has a logprob under −2: T sets another bound, J goes on, } goes to the next turn"},
		{"none in the only turn", high, 1, 1, 0, 1, 0, "no token after this one has a logprob under −2: T sets another bound"},
	} {
		v := &tokenView{turn: c.turn, last: c.last, below: -2}
		v.put(c.turn, []tokenSpan{{kind: sampled, ids: make([]int32, len(c.logprobs)), logprobs: c.logprobs}}, nil, "")
		v.at = c.at
		if says := v.jump(c.step); says != c.says || v.at != c.to {
			t.Errorf("%s: at %d, %q; want %d, %q", c.name, v.at, says, c.to, c.says)
		}
	}
}
