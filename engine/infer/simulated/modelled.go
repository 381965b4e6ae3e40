package simulated

import (
	"context"
	"sync"
	"time"
)

// modelled drives a gpu with the clock: one timer, set to when something
// happens that a client waits for.
type modelled struct {
	mu    sync.Mutex // guards all below
	gpu   gpu
	timer *time.Timer
}

func newModelled(o Options) *modelled {
	m := &modelled{gpu: gpu{base: o.stepTime(), each: o.StepTimePerSequence, rate: o.PrefillTokensPerSecond,
		seats: o.Concurrency, blocks: o.KVTokens / blockSize, cache: newPrefixes()}}
	m.timer = time.AfterFunc(time.Hour, m.wake)
	m.timer.Stop()
	return m
}

// modelled: a request's time depends on the others.
func (o Options) modelled() bool {
	return o.KVTokens > 0 || o.StepTime > 0 || o.StepTimePerSequence > 0 || o.PrefillTokensPerSecond > 0
}

// stepTime is the base of a step; without settings for it each request gets
// TokensPerSecond, however many there are.
func (o Options) stepTime() time.Duration {
	if o.StepTime == 0 && o.StepTimePerSequence == 0 && o.TokensPerSecond > 0 {
		return time.Duration(float64(time.Second) / o.TokensPerSecond)
	}
	return o.StepTime
}

// at the present moment, do with the gpu what there is to do.
func (m *modelled) at(do func(g *gpu, now time.Time)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.gpu.advance(now)
	do(&m.gpu, now)
	if at, ok := m.gpu.next(); ok {
		m.timer.Reset(at.Sub(now))
	} else {
		m.timer.Stop()
	}
}

func (m *modelled) wake() { m.at(func(*gpu, time.Time) {}) }

func (m *modelled) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timer.Stop()
}

func (m *modelled) usage() (u usage) {
	m.at(func(g *gpu, _ time.Time) {
		u = usage{running: len(g.running), waiting: len(g.waiting), kv: float64(g.used) / float64(max(1, g.blocks)),
			prompt: g.prompt, generated: g.generated, queries: g.prompt, hits: g.hits, preemptions: g.preempted}
	})
	return u
}

func tooLong(capacity int) error {
	return overflow("This model's maximum context length is %d tokens, all that its KV cache holds. Please reduce the length of the input messages.", capacity)
}

// submit a request. One that would never fit is refused.
func (m *modelled) submit(s *sequence) (err error) {
	m.at(func(g *gpu, now time.Time) {
		if !g.holds(len(s.ids)) {
			err = tooLong(g.blocks * blockSize)
			return
		}
		g.waiting = append(g.waiting, s)
		g.interrupt(now)
	})
	return err
}

// abort a request unless it is over.
func (m *modelled) abort(s *sequence) {
	select {
	case <-s.done:
		return
	default:
	}
	m.at(func(g *gpu, now time.Time) {
		g.abort(s)
		g.interrupt(now)
	})
}

// SetKVTokens changes the capacity of a modelled KV cache while it is in use:
// requests that no longer fit wait again, and those longer than all of it end
// with the context error.
func (s *Server) SetKVTokens(n int) {
	if s.gpu == nil {
		return
	}
	s.gpu.at(func(g *gpu, now time.Time) {
		g.resize(n, tooLong(n))
		g.interrupt(now)
	})
}

// turn is a request's way through the model.
type turn struct {
	*sequence
	model *modelled
}

// wait until one of the sequence's channels is closed.
func (t turn) wait(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return t.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t turn) begun(ctx context.Context) error       { return t.wait(ctx, t.first) }
func (t turn) over(ctx context.Context, _ int) error { return t.wait(ctx, t.done) }

func (t turn) due(_ time.Time, total int) (n int, err error) {
	t.model.at(func(*gpu, time.Time) { n, err = min(t.made, total), t.err })
	return n, err
}

func (t turn) found() int { return t.cached }
