package simulated

import (
	"context"
	"sync"
	"time"
)

// usage is what /metrics shows of an engine.
type usage struct {
	running, waiting           int
	kv                         float64 // share of the KV cache that running requests hold, 0..1
	prompt, generated          int64   // tokens
	queries, hits, preemptions int64   // tokens looked up in the prefix cache and found there
}

// load is what an engine's scheduler would know: who runs, who waits, how full
// the cache is, and the counters that /metrics shows.
type load struct {
	places   chan struct{}  // one for each running request
	handlers sync.WaitGroup // added to under mu, and never once closed

	mu        sync.Mutex // guards all below
	closed    bool
	running   int
	waiting   int
	held      int // tokens of running requests
	capacity  int
	prompt    int64
	generated int64
	hits      int64            // of prompt, in the prefix cache
	finished  map[string]int64 // by finish reason
	cache     prefixes
}

func (l *load) init(opt Options) {
	l.places = make(chan struct{}, opt.Concurrency)
	l.capacity = opt.KVTokens
	l.finished = map[string]int64{"stop": 0, "length": 0, "abort": 0}
	l.cache = newPrefixes()
}

// enter waits for a place. The caller must call leave when it got one.
func (l *load) enter(ctx context.Context) error {
	l.count(func() { l.waiting++ })
	defer l.count(func() { l.waiting-- })
	select {
	case l.places <- struct{}{}:
		l.count(func() { l.running++ })
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *load) leave() {
	l.count(func() { l.running-- })
	<-l.places
}

func (l *load) count(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func (l *load) usage() usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return usage{running: l.running, waiting: l.waiting, kv: min(1, float64(l.held)/float64(l.capacity)),
		prompt: l.prompt, generated: l.generated, queries: l.prompt, hits: l.hits}
}

// begin a handler; false once the server is closed.
func (l *load) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.handlers.Add(1)
	}
	return !l.closed
}

// drain lets no handler begin and waits for those that have.
func (l *load) drain() {
	l.count(func() { l.closed = true })
	l.handlers.Wait()
}

// lookUp counts a prompt in and says how much of it the cache holds.
func (l *load) lookUp(session string, prompt []int32) (cached int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	cached = l.cache.find(session, prompt)
	l.prompt += int64(len(prompt))
	l.hits += int64(cached)
	return cached
}

// remember a prompt and its reply, dropping the longest unused beyond the capacity.
func (l *load) remember(session string, ids []int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cache.keep(session, ids)
	l.cache.shrink(l.capacity / blockSize)
}

// pace says when tokens come: the first after a latency, the rest at a rate.
type pace struct {
	start   time.Time
	latency time.Duration
	rate    float64 // tokens per second, negative: at once
	cached  int
}

// tick is how often a stream sends what has been sampled since.
const tick = 25 * time.Millisecond

func (p pace) begun(ctx context.Context) error { return sleep(ctx, p.latency) }

func (p pace) due(now time.Time, total int) (int, error) {
	since := now.Sub(p.start) - max(0, p.latency)
	if since < 0 {
		return 0, nil
	}
	if p.rate < 0 {
		return total, nil
	}
	return min(total, 1+int(since.Seconds()*p.rate)), nil
}

func (p pace) over(ctx context.Context, total int) error {
	d := max(0, p.latency)
	if p.rate > 0 {
		d += time.Duration(float64(total-1) / p.rate * float64(time.Second))
	}
	return sleep(ctx, d)
}

func (p pace) found() int { return p.cached }

// sleep until d has passed or the client has gone.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
