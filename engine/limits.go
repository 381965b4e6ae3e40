package engine

import (
	"time"

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

func (e *Engine) changeLimits(who, why string, to func(Limits) Limits) error {
	nothing := func(Tuning) (func(), error) { return func() {}, nil }
	return e.change(who, why, func(l Limits, t Tuning) (Limits, Tuning) { return to(l), t }, nothing)
}

func (e *Engine) limitsFact(who, why string, l Limits, t Tuning) sessions.Limits {
	return sessions.Limits{Who: who, Why: why, MaxInit: l.Init, MaxAgents: l.Run, MaxEval: l.Eval, MaxLive: l.Live, MaxReady: l.Ready,
		Policy: t.Type, Order: t.Order, Adaptive: t.Adaptive, AdaptiveMin: t.AdaptiveMin, AdaptiveMax: t.AdaptiveMax, StallAfter: time.Duration(t.StallAfter),
		NumMembers: len(e.run.Members)}
}
