package simulated

import (
	"container/list"
	"context"
	"sync"
	"time"
)

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
	queries   int64 // prompt tokens looked up in the prefix cache
	hits      int64
	finished  map[string]int64 // by finish reason
	cached    map[string]*list.Element
	order     *list.List // of cachedPrompt, least recently used first
	kept      int        // tokens in cached
}

// cachedPrompt is what the prefix cache holds of a session.
type cachedPrompt struct {
	session string
	ids     []int32
}

// blockSize of the prefix cache, tokens: only whole blocks are found again.
const blockSize = 16

func (l *load) init(opt Options) {
	l.places = make(chan struct{}, opt.Concurrency)
	l.capacity = opt.KVTokens
	l.finished = map[string]int64{"stop": 0, "length": 0, "abort": 0}
	l.cached = map[string]*list.Element{}
	l.order = list.New()
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
	if e, ok := l.cached[session]; ok {
		before := e.Value.(*cachedPrompt).ids
		for cached < len(before) && cached < len(prompt) && before[cached] == prompt[cached] {
			cached++
		}
		// The last token is always computed: its logits are needed.
		cached = min(cached, len(prompt)-1) / blockSize * blockSize
	}
	l.prompt += int64(len(prompt))
	l.queries += int64(len(prompt))
	l.hits += int64(cached)
	return cached
}

// remember a prompt and its reply, dropping the longest unused beyond the capacity.
func (l *load) remember(session string, ids []int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.cached[session]; ok {
		l.drop(e)
	}
	if session == "" || len(ids) > l.capacity {
		return
	}
	l.cached[session] = l.order.PushBack(&cachedPrompt{session, ids})
	l.kept += len(ids)
	for l.kept > l.capacity {
		l.drop(l.order.Front())
	}
}

func (l *load) drop(e *list.Element) {
	old := l.order.Remove(e).(*cachedPrompt)
	delete(l.cached, old.session)
	l.kept -= len(old.ids)
}

// pace says when tokens come: the first after a latency, the rest at a rate.
type pace struct {
	start   time.Time
	latency time.Duration
	rate    float64 // tokens per second, negative: at once
}

// tick is how often a stream sends what has been sampled since.
const tick = 25 * time.Millisecond

// due tokens by now, at least 1 once the latency is over.
func (p pace) due(now time.Time, total int) int {
	since := now.Sub(p.start) - max(0, p.latency)
	if since < 0 {
		return 0
	}
	if p.rate < 0 {
		return total
	}
	return min(total, 1+int(since.Seconds()*p.rate))
}

// whole is the time until n tokens are there.
func (p pace) whole(n int) time.Duration {
	d := max(0, p.latency)
	if p.rate > 0 {
		d += time.Duration(float64(n-1) / p.rate * float64(time.Second))
	}
	return d
}

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
