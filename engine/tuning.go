package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rollbench/engine/dispatch"
	"rollbench/sessions"
)

// Tuning is what of the dispatcher, beside its limits, can change while a run goes
// on. The names are those of its keys.
type Tuning struct {
	Type        string   `json:"type"`
	Order       string   `json:"order"`
	Adaptive    string   `json:"adaptive"`
	AdaptiveMin int      `json:"adaptive_min"`
	AdaptiveMax int      `json:"adaptive_max"`
	StallAfter  Duration `json:"stall_after"`
}

// Types and Orders are what dispatcher.type and dispatcher.order may be.
func Types() []string { return texts(dispatch.Policies()) }

// Orders is said at Types.
func Orders() []string { return texts(dispatch.Orders()) }

func texts[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// Tuning as configured.
func (d Dispatcher) Tuning() Tuning {
	return Tuning{d.Type, d.Order, d.Adaptive, d.AdaptiveMin, d.AdaptiveMax, d.StallAfter}
}

// Tune sets it.
func (d *Dispatcher) Tune(t Tuning) {
	d.Type, d.Order, d.Adaptive, d.AdaptiveMin, d.AdaptiveMax, d.StallAfter = t.Type, t.Order, t.Adaptive, t.AdaptiveMin, t.AdaptiveMax, t.StallAfter
}

// check says which key is wrong and what it may be.
func (d Dispatcher) check() error {
	if err := dispatch.Check(dispatch.Policy(d.Type), d.Limits()); err != nil {
		return err
	}
	if !slices.Contains(dispatch.Orders(), dispatch.Order(d.Order)) {
		return fmt.Errorf("dispatcher.order is %q: use one of %v", d.Order, dispatch.Orders())
	}
	switch {
	case d.Adaptive != "" && d.Adaptive != adaptiveKV:
		return fmt.Errorf("dispatcher.adaptive is %q: use \"kv\", or \"\" for a fixed limit", d.Adaptive)
	case d.Adaptive != "" && dispatch.Policy(d.Type) != dispatch.AsyncPipeline:
		return fmt.Errorf("dispatcher.adaptive moves max_parallel_agents, which has another meaning under %s: use dispatcher.type = %q", d.Type, dispatch.AsyncPipeline)
	case d.AdaptiveMin < 1:
		return fmt.Errorf("dispatcher.adaptive_min is %d: it must be at least 1", d.AdaptiveMin)
	case d.AdaptiveMax != 0 && d.AdaptiveMax < d.AdaptiveMin:
		return fmt.Errorf("dispatcher.adaptive_max is %d: use 0 (the live sandboxes) or at least adaptive_min, %d", d.AdaptiveMax, d.AdaptiveMin)
	case d.StallAfter < 0:
		return fmt.Errorf("dispatcher.stall_after is %v: it must not be negative", time.Duration(d.StallAfter))
	}
	return nil
}

// TuningOf a recorded change; of a session that is older than this all is empty.
func TuningOf(l sessions.Limits) Tuning {
	return Tuning{l.Policy, l.Order, l.Adaptive, l.AdaptiveMin, l.AdaptiveMax, Duration(l.StallAfter)}
}

// Tuning in force: as configured, or as last changed.
func (e *Engine) Tuning() Tuning {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tuning
}

// Tune changes limits and tuning of the dispatcher at once while the run goes on; why
// is kept with the change. Under another type what is above its limits ends by itself,
// another order is that of what waits for init.
func (e *Engine) Tune(l Limits, t Tuning, why string) error {
	return e.change("operator", why, func(Limits, Tuning) (Limits, Tuning) { return l, t }, func(before Tuning) (func(), error) {
		var order []dispatch.Item
		if t.Order != before.Order {
			var err error
			if order, err = e.arrange(e.ctx, dispatch.Order(t.Order)); err != nil {
				return nil, err
			}
		}
		return func() {
			e.live.Reorder(order)
			e.live.SetPolicy(dispatch.Policy(t.Type))
		}, nil
	})
}

// change records limits and tuning first, then puts them in force. prepare does what
// may fail before, and hands over what is to be done after.
func (e *Engine) change(who, why string, to func(Limits, Tuning) (Limits, Tuning), prepare func(Tuning) (func(), error)) error {
	e.changing.Lock() // one change after the other, in the session as in force
	defer e.changing.Unlock()
	before, was := e.Limits(), e.Tuning()
	l, t := to(before, was)
	l.OnePlace = before.OnePlace
	d := e.opt.Config.Dispatcher
	d.SetLimits(sessions.Limits{MaxInit: l.Init, MaxAgents: l.Run, MaxEval: l.Eval, MaxLive: l.Live, MaxReady: l.Ready})
	d.Tune(t)
	if err := d.check(); t != was && err != nil {
		return err
	}
	if err := dispatch.Check(dispatch.Policy(t.Type), l); err != nil {
		return err
	}
	if l == before && t == was {
		if who == "adaptive" { // a person came first
			return nil
		}
		return errors.New("the limits are that already")
	}
	if !e.running.Load() {
		return errors.New("nothing runs: the limits of a resume are set with --set dispatcher.max_…")
	}
	after, err := prepare(was)
	if err != nil {
		return err
	}
	event := sessions.NewEvent(time.Now(), sessions.Key{}, sessions.KindLimits, e.limitsFact(who, why, l, t))
	if err := e.store.Commit(e.ctx, sessions.Write{Events: []sessions.Event{event}}); err != nil {
		return err
	}
	e.mu.Lock()
	e.limits, e.tuning = l, t
	e.mu.Unlock()
	after()
	e.live.SetLimits(l)
	e.pool.Trim()
	return nil
}

// arrange what was fixed at the start in another order. Forks are not in it: they stay
// first.
func (e *Engine) arrange(ctx context.Context, order dispatch.Order) ([]dispatch.Item, error) {
	history := e.opt.History
	if order == dispatch.LongestFirst && history == nil && e.opt.Past != nil {
		var unread []string
		var err error
		if history, unread, err = e.opt.Past(ctx); err != nil {
			return nil, err
		}
		for _, text := range unread {
			e.warn(ctx, text)
		}
	}
	var groups []string
	for _, t := range e.all() {
		if t.fork == nil {
			groups = append(groups, t.key.Instance)
		}
	}
	return dispatch.Arrange(order, groups, history), nil
}
