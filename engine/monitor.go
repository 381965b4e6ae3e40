package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"rollbench/engine/dispatch"
	"rollbench/sessions"
)

// monitor keeps the gauges fresh until the returned function is called, which
// waits for it.
func (e *Engine) monitor(ctx context.Context) (join func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	looks := make([]atomic.Bool, len(e.fleet.all))
	for _, s := range e.gpus {
		wg.Go(func() { s.watch(ctx, func(why string) { e.warn(ctx, why) }) })
	}
	wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		var controller *dispatch.Adaptive
		for {
			controller = e.Tuning().adaptive(controller)
			e.pool.Look()
			e.look(ctx, &wg, looks)
			now := time.Now()
			if err := cmp.Or(e.measure(ctx, now), e.adapt(ctx, controller, now)); err != nil && ctx.Err() == nil {
				e.fail(err)
			}
			e.saveGauge(ctx)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); wg.Wait() }
}

// warn says something of the run as a whole.
func (e *Engine) warn(ctx context.Context, text string) {
	if err := e.commit(ctx, sessions.Key{}, sessions.KindWarning, sessions.Warning{Text: text}); err != nil && ctx.Err() == nil {
		e.fail(err)
	}
}

// patience is how long a look waits for endpoints; one that takes longer is not
// asked again before it has answered.
const patience = time.Second

// look at every endpoint that is not being looked at, all at once.
func (e *Engine) look(ctx context.Context, wg *sync.WaitGroup, busy []atomic.Bool) {
	done, n := make(chan struct{}, len(busy)), 0
	for i := range busy {
		if !busy[i].CompareAndSwap(false, true) {
			continue
		}
		n++
		wg.Go(func() {
			e.fleet.look(ctx, i)
			busy[i].Store(false)
			done <- struct{}{}
		})
	}
	enough := time.NewTimer(patience)
	defer enough.Stop()
	for range n {
		select {
		case <-done:
		case <-enough.C:
			return
		}
	}
}

// saveGauge persists the snapshot for readers in other processes.
func (e *Engine) saveGauge(ctx context.Context) {
	s := e.Status()
	data, err := json.Marshal(s)
	if err != nil { // numbers from the endpoint that JSON cannot hold
		e.opt.Log.Warn("gauge", "error", err)
		return
	}
	point, err := json.Marshal(pointOf(s))
	if err != nil {
		e.opt.Log.Warn("gauge", "error", err)
		return
	}
	if err := e.store.PutGauge(ctx, data, point); err != nil && ctx.Err() == nil {
		e.fail(err)
	}
}

// pointOf the time series is what a snapshot says in numbers.
func pointOf(s *Status) Point {
	p := Point{At: s.At, Ready: s.Ready.Waiting, Held: s.Held, Live: s.Live, Ended: s.Ended}
	for i, q := range []Queue{s.Init, s.Run, s.Eval} {
		p.Waiting[i], p.Busy[i], p.Limit[i], p.Blocked[i] = q.Waiting, q.Busy, q.Limit, q.Blocked
	}
	g := s.Total()
	p.Requests, p.Queued, p.KVUse, p.Tokens = g.Running, g.Waiting, g.KVUse, g.TokensPerSec
	sum, n := 0.0, 0.0
	for _, g := range s.GPUs {
		if g.Util != nil {
			sum, n = sum+*g.Util, n+1
		}
	}
	if n > 0 {
		mean := sum / n
		p.GPU = &mean
	}
	return p
}

// Status is the snapshot of now.
func (e *Engine) Status() *Status {
	q, m := e.live.Snapshot(), e.meter.read()
	now, tuning := time.Now(), e.Tuning()
	ended, span := e.pace.recent(now, e.started)
	s := &Status{
		At: now, Started: e.started, Running: e.running.Load(), Paused: e.paused.Load(), Policy: tuning.Type, Tuning: tuning,
		Init:  m.queue(q, dispatch.Init),
		Ready: Queue{Waiting: q.Ready},
		Run:   m.queue(q, dispatch.Run),
		Eval:  m.queue(q, dispatch.Eval),
		Stall: m.stall, Tools: m.tools,
		Breakpoints: e.breaks.List(), Human: e.human(),
		Held: q.Held, Ended: e.endedMembers(), Live: q.Live, MaxLive: q.MaxLive, Warm: e.pool.Warm(), Limits: e.Limits(), Adaptive: tuning.Adaptive, LimitedBy: q.LimitedBy, Isolation: *e.isolation.Load(),
		Endpoints: e.fleet.snapshot(), GPUs: e.seeGPUs(),
		PerMinute: perMinute(ended, span), Forecast: Foresee(q.Left-q.Held, ended, span),
		Streams: e.streams.snapshot(), Notes: e.notes.snapshot(),
	}
	return s
}
