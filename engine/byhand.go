package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"rollbench/engine/agent"
	"rollbench/sandbox"
	"rollbench/sessions"
)

// HandName is what a person's command is called in Status.Streams.
const HandName = agent.HandName

// Limits of a person's command.
const (
	handLimit  = 5 * time.Minute
	handOutput = 64 << 10 // bytes kept
)

// RunByHand runs a command in the sandbox of a held trajectory, which is not
// told. look: in a copy of its files that is thrown away.
func (e *Engine) RunByHand(key sessions.Key, script string, look bool) error {
	return e.one(key, func(t *trajectory) error { return t.gate.RunByHand(script, look) })
}

// hand runs commands for the loop of a trajectory.
func (e *Engine) hand(t *trajectory) agent.Hand {
	return func(ctx context.Context, script string, look bool) (sessions.HandRun, error) {
		if !look {
			return e.runHand(ctx, t, t.place.sb, script)
		}
		copied, drop, err := e.copyOf(ctx, t, t.place.sb)
		if err != nil {
			return sessions.HandRun{}, err
		}
		r, err := e.runHand(ctx, t, copied, script)
		return r, errors.Join(err, drop())
	}
}

func (e *Engine) runHand(ctx context.Context, t *trajectory, sb sandbox.Sandbox, script string) (sessions.HandRun, error) {
	res, err := sb.Exec(ctx, sandbox.Command{Script: script, Timeout: handLimit, MaxOutput: handOutput, OnOutput: e.streams.of(t.key).output})
	r := sessions.HandRun{Exit: res.ExitCode, Output: strings.ToValidUTF8(string(res.Output), "\uFFFD"), Dropped: res.Dropped}
	switch {
	case err != nil:
	case res.End == sandbox.TimedOut:
		err = fmt.Errorf("it took longer than %v and was killed", handLimit)
	case res.End == sandbox.Cancelled:
		err = context.Cause(ctx)
	}
	return r, err
}

// copyOf opens a sandbox with the files of the trajectory's. drop removes
// it. It is one more than dispatcher.max_live_sandboxes for as long as it lives.
func (e *Engine) copyOf(ctx context.Context, t *trajectory, own sandbox.Sandbox) (sb sandbox.Sandbox, drop func() error, err error) {
	s, can := own.(sandbox.Snapshotter)
	if !can {
		return nil, nil, fmt.Errorf("a %s sandbox cannot be copied: run the command in the sandbox itself", t.kind)
	}
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("copy the sandbox: %w", err)
	}
	spec := e.spec(t, "look")
	spec.From = snap.ID()
	if sb, err = e.opt.Providers[t.kind].Open(ctx, spec); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open the copy of the sandbox: %w", err), snap.Close())
	}
	return sb, func() error { return errors.Join(sb.Close(), snap.Close()) }, nil
}
