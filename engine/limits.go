package engine

import (
	"errors"
	"time"

	"rollbench/engine/dispatch"
	"rollbench/sessions"
)

// Limits in force: as configured, or as last changed.
func (e *Engine) Limits() Limits {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.limits
}

// SetLimits changes the dispatcher's limits while the run goes on; why is kept
// with the change. What is above a lowered limit ends by itself.
func (e *Engine) SetLimits(l Limits, why string) error {
	return e.changeLimits("operator", why, func(Limits) Limits { return l })
}

// changeLimits records the change first, then puts it in force.
func (e *Engine) changeLimits(who, why string, change func(Limits) Limits) error {
	e.changing.Lock() // one change after the other, in the session as in force
	defer e.changing.Unlock()
	before := e.Limits()
	l := change(before)
	l.OnePlace = before.OnePlace
	if err := dispatch.Check(dispatch.Policy(e.opt.Config.Dispatcher.Type), l); err != nil {
		return err
	}
	if l == before {
		if who == "adaptive" { // a person came first
			return nil
		}
		return errors.New("the limits are that already")
	}
	if !e.running.Load() {
		return errors.New("nothing runs: the limits of a resume are set with --set dispatcher.max_…")
	}
	event := sessions.NewEvent(time.Now(), sessions.Key{}, sessions.KindLimits, e.limitsFact(who, why, l))
	if err := e.store.Commit(e.ctx, sessions.Write{Events: []sessions.Event{event}}); err != nil {
		return err
	}
	e.mu.Lock()
	e.limits = l
	e.mu.Unlock()
	e.live.SetLimits(l)
	e.pool.Trim()
	return nil
}

func (e *Engine) limitsFact(who, why string, l Limits) sessions.Limits {
	return sessions.Limits{Who: who, Why: why, MaxInit: l.Init, MaxAgents: l.Run, MaxEval: l.Eval, MaxLive: l.Live, MaxReady: l.Ready,
		Policy: e.opt.Config.Dispatcher.Type, NumMembers: len(e.run.Members)}
}
