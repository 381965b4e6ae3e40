package engine

import (
	"context"
	"math"
	"time"

	"rollbench/engine/dispatch"
	"rollbench/engine/infer"
	"rollbench/sessions"
)

// adaptiveKV is the value of dispatcher.adaptive that follows the endpoint.
const adaptiveKV = "kv"

// adaptive is the controller of the run limit, a going on; nil where the limit is
// fixed.
func (t Tuning) adaptive(a *dispatch.Adaptive) *dispatch.Adaptive {
	switch {
	case t.Adaptive != adaptiveKV:
		return nil
	case a == nil:
		a = &dispatch.Adaptive{}
	}
	return a
}

// adaptiveBounds of the run limit: as set, else what the limit of live sandboxes
// allows now.
func (e *Engine) adaptiveBounds() (least, most int) {
	t := e.Tuning()
	most = t.AdaptiveMax
	if most == 0 {
		most = e.Limits().Live
	}
	if n := len(e.all()); most == 0 || most > n {
		most = n
	}
	return min(t.AdaptiveMin, most), most
}

// adapt gives the controller a look and does what it says.
func (e *Engine) adapt(ctx context.Context, a *dispatch.Adaptive, now time.Time) error {
	if a == nil {
		return nil
	}
	limit := e.Limits().Run
	if limit == 0 {
		limit = len(e.all())
	}
	a.Min, a.Max = e.adaptiveBounds()
	next, why := a.Next(limit, e.load(now))
	switch {
	case next != limit:
		return e.changeLimits("adaptive", why, func(l Limits) Limits {
			if l.Run == limit || l.Run == 0 { // else a person changed it meanwhile
				l.Run = next
			}
			return l
		})
	case why != "":
		return e.commit(ctx, sessions.Key{}, sessions.KindWarning, sessions.Warning{Text: "dispatcher.adaptive: " + why})
	}
	return nil
}

// load is what the controller may know: what the endpoints report together, of
// the KV use the mean, and how the run stage stands.
func (e *Engine) load(now time.Time) dispatch.Load {
	q := e.live.Snapshot()
	l := dispatch.Load{Seconds: now.Sub(e.started).Seconds(), Busy: q.Busy[dispatch.Run], Waiting: q.Waiting[dispatch.Run],
		Done: float64(e.meter.read().stages[dispatch.Run].Service.N)}
	seen := e.fleet.snapshot()
	sum := func(get func(*infer.Gauges) *float64) float64 { return Known(over(seen, get, add)) }
	l.Running = sum(func(g *infer.Gauges) *float64 { return g.Running })
	l.Queued = sum(func(g *infer.Gauges) *float64 { return g.Waiting })
	l.Tokens = sum(func(g *infer.Gauges) *float64 { return g.TokensPerSec })
	l.KVUse = Known(mean(seen, func(g *infer.Gauges) *float64 { return g.KVUse }))
	l.Preemptions = e.fleet.preemptions()
	return l
}

// Known is NaN for what nobody reported.
func Known(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}
