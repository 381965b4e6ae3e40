package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rollbench/sessions"
)

// Resample makes n more replies to the prompt of the reply that is held.
func (e *Engine) Resample(key sessions.Key, n int) error {
	return e.one(key, func(t *trajectory) error { return t.gate.Resample(n) })
}

// Pick the reply with that version among those to the same prompt.
func (e *Engine) Pick(key sessions.Key, version int) error {
	return e.one(key, func(t *trajectory) error { return t.gate.Pick(version) })
}

// EditObservation replaces what a tool returned, before the model reads it.
func (e *Engine) EditObservation(key sessions.Key, index int, text string) error {
	return e.one(key, func(t *trajectory) error { return t.gate.EditObservation(index, text) })
}

// RaiseLimit gives one trajectory more turns or tokens; 0: as many as before.
func (e *Engine) RaiseLimit(key sessions.Key, turns, tokens int) error {
	return e.one(key, func(t *trajectory) error {
		row, err := e.row(key)
		switch {
		case err != nil:
			return err
		case row.MaxTurns == 0: // it has not begun
			row.MaxTurns, row.Budget = e.opt.Config.Generator.MaxIterations, e.opt.Config.Generator.MaxPromptLength
		}
		switch {
		case turns < 0 || tokens < 0:
			return errors.New("a limit is a number from 1 on")
		case turns > 0 && turns < row.MaxTurns, tokens > 0 && tokens < row.Budget:
			return fmt.Errorf("limits are raised only: it has %d turns and %d tokens", row.MaxTurns, row.Budget)
		case max(turns, row.MaxTurns) == row.MaxTurns && max(tokens, row.Budget) == row.Budget:
			return errors.New("nothing is raised: those are its limits")
		}
		return t.gate.Raise(turns, tokens)
	})
}

// Mark judges a trajectory, also one that has ended: what was there before is
// replaced. Nothing the policy does or sees depends on it.
func (e *Engine) Mark(key sessions.Key, m sessions.Marks) error {
	if _, err := e.find(key); err != nil {
		return err
	}
	if m.Mask && m.Drop {
		return errors.New("it is masked or dropped: what is dropped is in no export")
	}
	for i, tag := range m.Tags {
		if m.Tags[i] = strings.TrimSpace(tag); m.Tags[i] == "" || strings.ContainsAny(m.Tags[i], " \t\n=!") {
			return fmt.Errorf("tag %q: a tag is one word without = and !", tag)
		}
	}
	slices.Sort(m.Tags)
	m.Tags, m.By = slices.Compact(m.Tags), "operator"
	return e.commit(context.WithoutCancel(e.ctx), key, sessions.KindMarks, m)
}

// row of a trajectory as it stands.
func (e *Engine) row(key sessions.Key) (sessions.Trajectory, error) {
	rows, _, err := e.store.Trajectories(e.ctx)
	if err != nil {
		return sessions.Trajectory{}, err
	}
	return rows[e.itemOf(key)], nil
}
