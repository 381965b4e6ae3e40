// Package export writes what a run recorded in the formats trainers read, and
// checks what it wrote.
//
// In: a sessions.Reader and Options. Out: the rows on a writer or in a file
// with FILE.meta.json beside it, and a Summary that counts every row, and
// every trajectory that was left out, by its reason. One trajectory is in
// memory at a time.
//
// Nothing is made up: an absent reward, logprob or token array is null, or
// keeps its row out, and only tokens the policy sampled of its own accord have
// mask 1. The trainers' rules are named by the file of theirs that states them:
// SkyRL is NovaSky-AI/SkyRL a9564572, verl is verl-project/verl 1dda039b, the
// cookbook is thinking-machines-lab/tinker-cookbook 9dfcc3a2.
package export

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"rollbench/sessions"
)

// format writes the rows of one trajectory after another.
type format interface {
	// trajectory writes what the replies of c give, and counts what it refuses.
	trajectory(c chosen, replies []reply) error
	// finish writes what is held back.
	finish() error
}

// formats by name.
var formats = map[string]func(*lines) format{
	"transitions":  func(l *lines) format { return transitions{l} },
	"skyrl":        func(l *lines) format { return &skyrl{lines: l} },
	"verl":         func(l *lines) format { return &verl{lines: l} },
	"verl-parquet": newVerlParquet,
	"tinker":       func(l *lines) format { return &tinker{lines: l} },
	"chat":         func(l *lines) format { return chat{l} },
}

// Formats are the names that Write and File know.
func Formats() []string {
	var names []string
	for name := range formats {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func known(name string) error {
	if formats[name] == nil {
		return fmt.Errorf("export: no format %q; there is %s", name, strings.Join(Formats(), ", "))
	}
	return nil
}

// Write the run to w in the named format.
func Write(ctx context.Context, w io.Writer, name string, r sessions.Reader, opt Options) (Summary, error) {
	run := r.Run()
	sum := Summary{Run: run.ID, Format: name, Simulated: run.Simulate, Masks: map[string]int{}}
	if err := known(name); err != nil {
		return sum, err
	}
	opt, err := opt.normal(name)
	if err != nil {
		return sum, err
	}
	l := &lines{w: w, run: run, opt: opt, sum: &sum}
	if err := walk(ctx, r, l, formats[name](l)); err != nil {
		return sum, fmt.Errorf("export run %s: %w", run.ID, err)
	}
	return sum, nil
}

// walk hands every chosen trajectory to the format, in queue order, with the
// replies of its latest attempt.
func walk(ctx context.Context, r sessions.Reader, l *lines, f format) error {
	rows, seq, err := r.Trajectories(ctx)
	if err != nil {
		return err
	}
	list, inScope, err := choose(rows, l.opt, l.sum)
	if err != nil {
		return err
	}
	did, err := interventions(ctx, r, list, seq)
	if err != nil {
		return err
	}
	m := newMetrics(inScope)
	groups := map[string]bool{}
	for _, c := range list {
		turns, err := r.Turns(ctx, c.Key, c.Attempt, 0, 0, c.written)
		if err != nil {
			return err
		}
		if c.Fork == nil {
			m.calls(turns)
		}
		if !c.written {
			continue
		}
		before := l.sum.Rows
		c.did = did[c.Key]
		if err := f.trajectory(c, repliesOf(c, turns, l.sum)); err != nil {
			return fmt.Errorf("%s: %w", c.Key, err)
		}
		if l.sum.Rows == before {
			continue
		}
		groups[c.group] = true
		l.sum.wrote(c)
	}
	l.sum.Groups = len(groups)
	l.sum.Metrics, l.sum.PassAt = m.names(), passAt(l.sum.Baselines)
	return f.finish()
}
