package export

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"rollbench/sessions"
)

// Transitions writes one JSON line a transition, in queue order of the
// trajectories and in order of their turns. It holds one trajectory at a time.
func Transitions(ctx context.Context, w io.Writer, r sessions.Reader, opt Options) (Summary, error) {
	run := r.Run()
	sum := Summary{Run: run.ID, Format: "transitions", Simulated: run.Simulate, Masks: map[string]int{}}
	opt, err := opt.normal()
	if err != nil {
		return sum, err
	}
	rows, seq, err := r.Trajectories(ctx)
	if err != nil {
		return sum, err
	}
	list, err := choose(rows, opt, &sum)
	if err != nil {
		return sum, fmt.Errorf("export run %s: %w", run.ID, err)
	}
	did, err := interventions(ctx, r, list, seq)
	if err != nil {
		return sum, fmt.Errorf("export run %s: %w", run.ID, err)
	}
	groups := map[string]bool{}
	out := &lines{w: w, run: run, delta: opt.Prompt == "delta", sum: &sum}
	for _, c := range list {
		turns, err := r.Turns(ctx, c.Key, c.Attempt, 0, 0, true)
		if err != nil {
			return sum, err
		}
		before := sum.Rows
		if err := out.trajectory(c, turns, did[c.Key]); err != nil {
			return sum, fmt.Errorf("export run %s: %w", run.ID, err)
		}
		if sum.Rows == before {
			continue
		}
		sum.Trajectories++
		groups[c.Instance] = true
		if reason := c.mask(); reason != "" {
			sum.Masked++
			sum.Masks[reason]++
		}
	}
	sum.Groups = len(groups)
	return sum, nil
}

// lines writes rows and counts them.
type lines struct {
	w     io.Writer
	run   sessions.Run
	delta bool
	sum   *Summary
	buf   []byte // of the line, reused
}

func (l *lines) trajectory(c chosen, turns []sessions.Turn, did []intervention) error {
	if did == nil {
		did = []intervention{}
	}
	done, err := json.Marshal(did)
	if err != nil {
		return err
	}
	var seq []int32 // prompt + output of the last row that has a prompt
	first := true
	for i := range turns {
		t := &turns[i]
		switch {
		case t.Superseded:
			l.sum.Superseded++
			continue
		case t.OutputIDs != nil && len(t.OutputIDs) == 0:
			l.sum.NoOutput++
			continue
		}
		row := transition{chosen: c, turn: t, did: done, keep: commonPrefix(seq, t.PromptIDs)}
		row.fresh = first || t.NewSample || t.Source == sessions.FromOperator || t.PromptIDs != nil && row.keep < len(seq)
		row.mask = lossMask(c, t, picked(t, did))
		row.logprobs = logprobs(t)
		l.count(row, picked(t, did))
		if err := l.write(row); err != nil {
			return fmt.Errorf("turn %d of %s: %w", t.Index, t.Key, err)
		}
		first = false
		if t.PromptIDs != nil {
			seq = slices.Concat(t.PromptIDs, t.OutputIDs)
		}
	}
	return nil
}

// lossMask is 1 for each token that the policy sampled and nobody chose, in a
// trajectory that is not masked. nil when the endpoint reported no ids.
func lossMask(c chosen, t *sessions.Turn, picked bool) []int32 {
	if t.OutputIDs == nil {
		return nil
	}
	mask := make([]int32, len(t.OutputIDs))
	if c.mask() == "" && t.Source == sessions.FromModel && !picked {
		for i := range mask {
			mask[i] = 1
		}
	}
	return mask
}

// logprobs of a sampled reply; nil for text a person made, and when a value is
// no finite number, which JSON could not hold.
func logprobs(t *sessions.Turn) []float64 {
	if t.Source != sessions.FromModel {
		return nil
	}
	for _, v := range t.Logprobs {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	}
	return t.Logprobs
}

func (l *lines) count(row transition, picked bool) {
	l.sum.Rows++
	l.sum.OutputTokens += len(row.turn.OutputIDs)
	for _, m := range row.mask {
		l.sum.TrainTokens += int(m)
	}
	for _, c := range []struct {
		n  *int
		is bool
	}{
		{&l.sum.TextOnly, row.turn.OutputIDs == nil},
		{&l.sum.NoLogprobs, row.logprobs == nil},
		{&l.sum.Operator, row.turn.Source == sessions.FromOperator},
		{&l.sum.Picked, picked},
		{&l.sum.NewSamples, row.fresh},
	} {
		if c.is {
			*c.n++
		}
	}
}

func commonPrefix(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
