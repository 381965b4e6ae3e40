package engine

import (
	"fmt"
	"time"

	"rollbench/engine/agent"
	"rollbench/sessions"
)

// The verbs of a person. Each returns nil when it is accepted; the effect
// comes back as an event of the trajectory. The zero key means all.

// Pause holds the trajectory at its next gate.
func (e *Engine) Pause(key sessions.Key) error {
	return e.each(key, "pause", "", func(t *trajectory) { t.gate.Pause() })
}

// Continue lets a held trajectory go on.
func (e *Engine) Continue(key sessions.Key) error {
	if err := e.yours(key); err != nil {
		return err
	}
	return e.each(key, "continue", "", func(t *trajectory) { t.gate.Continue() })
}

// Step goes on to the next gate ("into"), the end of the turn ("over") or of
// the run stage ("out").
func (e *Engine) Step(key sessions.Key, how string) error {
	return e.one(key, func(t *trajectory) error {
		if err := agent.CheckStep(how); err != nil {
			return err
		}
		if err := t.gate.Yours(); err != nil {
			return err
		}
		if err := e.say(key, "step", how); err != nil {
			return err
		}
		return t.gate.Step(how)
	})
}

// Cancel ends the trajectory wherever it is.
func (e *Engine) Cancel(key sessions.Key) error {
	return e.each(key, "cancel", "", func(t *trajectory) { e.live.Cancel(e.itemOf(t.key)) })
}

// Inject adds a user message before the next model call.
func (e *Engine) Inject(key sessions.Key, text string) error {
	return e.one(key, func(t *trajectory) error { return t.gate.Inject(text) })
}

// EditCall replaces a pending call of a trajectory held after its reply.
func (e *Engine) EditCall(key sessions.Key, index int, name, arguments string) error {
	return e.one(key, func(t *trajectory) error { return t.gate.Edit(index, name, arguments) })
}

// Reject answers the pending calls with the reason instead of running them.
func (e *Engine) Reject(key sessions.Key, reason string) error {
	return e.one(key, func(t *trajectory) error { return t.gate.Reject(reason) })
}

// CancelCall cancels the call that the trajectory runs, which goes on with what
// the call had printed. began is when that call's start was recorded: once
// another runs it is refused; zero means whichever runs.
func (e *Engine) CancelCall(key sessions.Key, began time.Time) error {
	return e.one(key, func(t *trajectory) error { return t.gate.CancelCall(began) })
}

// Finish ends the run stage at the next gate; the trajectory is still evaluated.
func (e *Engine) Finish(key sessions.Key) error {
	return e.one(key, func(t *trajectory) error { return t.gate.Finish() })
}

func (e *Engine) find(key sessions.Key) (*trajectory, error) {
	e.roster.RLock()
	defer e.roster.RUnlock()
	it, ok := e.index[key]
	if !ok {
		return nil, fmt.Errorf("there is no trajectory %s in run %s", key, e.run.ID)
	}
	return e.items[it], nil
}

func (e *Engine) one(key sessions.Key, do func(*trajectory) error) error {
	t, err := e.find(key)
	if err != nil {
		return err
	}
	if t.done.Load() || t.gate.Over() {
		return fmt.Errorf("the run stage of %s is over", key)
	}
	return do(t)
}

// each applies a verb to one trajectory or to all that it still concerns, and
// records the verb first.
func (e *Engine) each(key sessions.Key, verb, note string, do func(*trajectory)) error {
	concerns := func(t *trajectory) bool {
		return !t.done.Load() && (verb == "cancel" || !t.gate.Over())
	}
	var chosen []*trajectory
	if !key.IsZero() {
		t, err := e.find(key)
		if err != nil {
			return err
		}
		if !concerns(t) {
			return fmt.Errorf("%s: the run stage of %s is over", verb, key)
		}
		chosen = []*trajectory{t}
	}
	if err := e.say(key, verb, note); err != nil {
		return err
	}
	if key.IsZero() {
		chosen = e.everyone(verb)
	}
	for _, t := range chosen {
		if concerns(t) {
			do(t)
		}
	}
	return nil
}

// everyone is concerned by a verb from now on: a fork that is added later finds all
// paused, or not.
func (e *Engine) everyone(verb string) []*trajectory {
	e.roster.Lock()
	defer e.roster.Unlock()
	switch verb {
	case "pause", "stop":
		e.paused.Store(true)
	case "continue":
		e.paused.Store(false)
	}
	return e.items[:len(e.items):len(e.items)]
}

// say records that a person used a verb.
func (e *Engine) say(key sessions.Key, verb, note string) error {
	return e.commit(e.ctx, key, sessions.KindCommand, sessions.Commanded{Verb: verb, All: key.IsZero(), By: "operator", Note: note})
}
