package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"
)

// act does what a step types.
func (sh *shell) act(ctx context.Context, j *job, s Step) error {
	switch s.Key {
	case Interrupt:
		return sh.interrupt(ctx, j)
	case Suspend:
		return sh.suspend(ctx, j)
	case EndInput:
		return sh.send([]byte{4})
	case Enter:
		return sh.send(append(bytes.Clone(s.Input), '\n'))
	}
	return nil
}

func (sh *shell) send(text []byte) error {
	if sh.term == nil {
		return fmt.Errorf("%w: %s", ErrInput, sh.noInput)
	}
	return sh.term.send(text)
}

const (
	// afterInt is how often it is looked what has become of an interrupted program,
	// maxLooks how many times: programs may take that long to end.
	afterInt = 200 * time.Millisecond
	maxLooks = 8
	// maxInts bounds how often a command that goes on is interrupted.
	maxInts = 3
)

// interrupt sends SIGINT to what the command is doing. A program ends by it, and
// the shell stays. Where the shell does the work itself, or goes on with the next
// part (a loop, a list), it gets the signal too and ends, unless it has a trap:
// with a shell that is not interactive there is nothing in between. Programs that
// do not end by the signal go on, and so does the command.
func (sh *shell) interrupt(ctx context.Context, j *job) error {
	for i := range maxInts {
		hit, err := sh.s.Signal(ctx, j.aged(), Int, i > 0)
		if err == nil && len(hit) == 0 && !j.over() {
			hit, err = sh.s.Signal(ctx, j.aged(), Int, true)
		}
		if err != nil {
			return fmt.Errorf("interrupt command: %w", err)
		}
		hit = slices.DeleteFunc(hit, func(p int) bool { return p == j.tree.Root })
		if ends, err := sh.outlived(ctx, j, hit); err != nil || ends || len(hit) == 0 {
			return err
		}
	}
	return nil
}

// outlived waits for the end of the command, or for all of hit to end before it,
// which is false.
func (sh *shell) outlived(ctx context.Context, j *job, hit []int) (bool, error) {
	for range maxLooks {
		select {
		case <-j.done:
			return true, nil
		case <-ctx.Done():
			return true, nil // the waiting that follows sees to it
		case <-time.After(afterInt):
		}
		now, err := sh.s.Signal(ctx, j.aged(), Probe, false)
		if err != nil {
			return false, fmt.Errorf("look after interrupt: %w", err)
		}
		if !slices.ContainsFunc(now, func(p int) bool { return slices.Contains(hit, p) }) {
			return false, nil
		}
	}
	return true, nil // they do not end by it
}

// suspend stops what the command is doing, and parks the shell that waits for it.
func (sh *shell) suspend(ctx context.Context, j *job) error {
	hit, err := sh.s.Signal(ctx, j.aged(), Stop, false)
	if err == nil && len(hit) == 0 && !j.over() {
		hit, err = sh.s.Signal(ctx, j.aged(), Stop, true) // the shell is at work itself
	}
	if err != nil {
		return fmt.Errorf("stop command: %w", err)
	}
	slices.Sort(hit)
	j.stopped = hit
	j.end(Stopped)
	if j.res.End != Stopped {
		return nil // it had ended before
	}
	t := j.tree
	j.gen.parked, j.gen.since = &t, j.began
	j.gen.term, sh.term = sh.term, nil
	sh.old, sh.gen = append(sh.old, j.gen), nil
	if err := j.gen.hangUp(); err != nil {
		return fmt.Errorf("leave the shell of a stopped command: %w", err)
	}
	return nil
}
