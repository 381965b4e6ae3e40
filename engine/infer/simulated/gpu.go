package simulated

import "time"

// gpu models an engine that batches, as vLLM's scheduler does with one request
// a block table, prefix caching on and chunked prefill off. It works in steps;
// each gives every running request its next token, and takes
//
//	base + running requests × each + computed prompt tokens ÷ rate
//
// so tokens per second saturate with the batch: base is the time to read the
// weights, each what a request adds (sampling, attention, its share of the
// arithmetic). Before a step
//
//   - every running request gets the block of 16 tokens it needs. Where none is
//     free, the request admitted last is preempted: its blocks are freed, it
//     goes to the head of the queue and computes prompt and reply again;
//   - waiting requests are admitted, first come first served, while there are
//     seats and blocks for all they have, unless one was just preempted. What
//     the prefix cache still holds of a prompt is not computed.
//
// Blocks of finished requests stay in the prefix cache until others need them.
//
// Simplified: a prompt is computed within one step, a preempted request leaves
// nothing in the prefix cache, sessions share no prefix, and the time of
// attention does not grow with the context.
//
// It has no clock: time moves by advance only. It is not safe for concurrent use.
type gpu struct {
	base, each time.Duration
	rate       float64 // prompt tokens per second; 0: they cost no time
	seats      int     // requests that run at once
	blocks     int     // of the KV cache

	used    int         // blocks of running requests
	running []*sequence // in the order of admission
	waiting []*sequence // the next one first
	cache   prefixes

	// Steps that are alike: the first of those to come began at began.
	began time.Time
	step  time.Duration
	steps int // 0: idle

	prompt, generated, hits, preempted int64 // counters; hits of prompt
}

// sequence is a request: its prompt and the reply it is going to get.
type sequence struct {
	session string
	ids     []int32       // of the prompt and of the reply
	prompt  int           // how many of ids
	reply   int           // tokens to sample, at least 1 (the end that an empty reply has)
	made    int           // tokens sampled so far
	blocks  int           // held
	seen    bool          // was admitted before
	cached  int           // tokens of the prompt found at the first admission
	err     error         // why it was given up
	first   chan struct{} // closed with the first token or err
	done    chan struct{} // closed with the last token or err
}

func newSequence(session string, prompt, reply []int32) *sequence {
	ids := append(prompt[:len(prompt):len(prompt)], reply...)
	return &sequence{session: session, ids: ids, prompt: len(prompt), reply: max(1, len(reply)),
		first: make(chan struct{}), done: make(chan struct{})}
}

// advance to a moment.
func (g *gpu) advance(now time.Time) {
	for g.steps > 0 {
		n := g.steps
		if g.step > 0 {
			n = min(n, int(now.Sub(g.began)/g.step))
		}
		g.decode(n)
		if g.steps > 0 {
			return
		}
		g.plan()
	}
}

// next is when something will have changed that a client waits for.
func (g *gpu) next() (at time.Time, ok bool) {
	return g.began.Add(time.Duration(g.steps) * g.step), g.steps > 0
}

// interrupt looks for work again at the end of the step that is in progress,
// or now when there is none.
func (g *gpu) interrupt(now time.Time) {
	if g.steps > 0 {
		g.steps = 1
		return
	}
	g.began = now
	g.plan()
}

// decode n steps of those planned.
func (g *gpu) decode(n int) {
	if n == 0 {
		return
	}
	g.steps -= n
	g.began = g.began.Add(time.Duration(n) * g.step)
	g.generated += int64(n * len(g.running))
	for _, s := range g.running {
		if s.made == 0 {
			close(s.first)
		}
		s.made += n
		g.claim(s, s.prompt+s.made-1)
	}
	left := g.running[:0]
	for _, s := range g.running {
		if s.made < s.reply {
			if left = append(left, s); g.steps > 0 {
				g.claim(s, s.prompt+s.made) // for the step in progress
			}
			continue
		}
		g.free(s)
		g.cache.keep(s.session, s.ids)
		close(s.done)
	}
	clear(g.running[len(left):])
	g.running = left
	g.cache.shrink(g.blocks - g.used)
}

// plan the next steps.
func (g *gpu) plan() {
	computed := 0
	preempted := g.makeRoom()
	if !preempted || len(g.running) == 0 {
		computed = g.admit()
	}
	n := len(g.running)
	g.step = g.base + time.Duration(n)*g.each
	switch {
	case n == 0:
		g.steps = 0
	case computed > 0:
		g.steps = 1
		if g.rate > 0 {
			g.step += time.Duration(float64(computed) / g.rate * float64(time.Second))
		}
	default:
		g.steps = g.alike()
	}
}

// makeRoom for the next token of every running request.
func (g *gpu) makeRoom() (preempted bool) {
	for i := 0; i < len(g.running); i++ {
		s := g.running[i]
		for s.blocks > 0 && g.used+g.lacks(s, 1) > g.blocks {
			g.preempt()
			preempted = true
		}
		if s.blocks > 0 {
			g.claim(s, s.prompt+s.made)
		}
	}
	return preempted
}

// preempt the request admitted last.
func (g *gpu) preempt() {
	last := len(g.running) - 1
	s := g.running[last]
	g.running = g.running[:last]
	g.free(s)
	g.waiting = append([]*sequence{s}, g.waiting...)
	g.preempted++
}

// admit waiting requests; computed are the tokens that the cache does not hold.
func (g *gpu) admit() (computed int) {
	for len(g.waiting) > 0 && len(g.running) < g.seats {
		s := g.waiting[0]
		have := s.prompt + s.made
		if g.used+blocks(have) > g.blocks {
			break
		}
		g.waiting = g.waiting[1:]
		g.running = append(g.running, s)
		found := g.cache.find(s.session, s.ids[:have])
		g.cache.drop(s.session) // its blocks are the request's now, or of no use to it
		g.claim(s, have)
		computed += have - found
		if !s.seen {
			s.seen, s.cached = true, found
			g.prompt += int64(s.prompt)
			g.hits += int64(found)
		}
	}
	return computed
}

// alike is how many steps can be made without a decision: until a request
// ends, or until a block is needed that is not free.
func (g *gpu) alike() int {
	fits, end := 1, g.running[0].reply-g.running[0].made
	for _, s := range g.running {
		end = min(end, s.reply-s.made)
	}
	for fits < end { // the largest number of steps whose blocks are free
		n := (fits + end + 1) / 2
		need := g.used
		for _, s := range g.running {
			need += g.lacks(s, n)
		}
		if need <= g.blocks {
			fits = n
		} else {
			end = n - 1
		}
	}
	return fits
}

// lacks is how many blocks a request needs for n more tokens. The last token
// sampled takes no place before the next one is.
func (g *gpu) lacks(s *sequence, n int) int { return max(0, blocks(s.prompt+s.made+n-1)-s.blocks) }

// claim blocks for n tokens, from the prefix cache where none is idle.
func (g *gpu) claim(s *sequence, n int) {
	if more := blocks(n) - s.blocks; more > 0 {
		s.blocks += more
		g.used += more
		g.cache.shrink(g.blocks - g.used)
	}
}

func (g *gpu) free(s *sequence) {
	g.used -= s.blocks
	s.blocks = 0
}

// abort a request, wherever it is.
func (g *gpu) abort(s *sequence) {
	g.running = without(g.running, s)
	g.waiting = without(g.waiting, s)
	g.free(s)
}

// resize the KV cache. Requests that no longer fit are preempted, or given up
// with err where they never will.
func (g *gpu) resize(tokens int, err error) {
	g.blocks = tokens / blockSize
	for _, s := range append(g.running[:len(g.running):len(g.running)], g.waiting...) {
		if !g.holds(len(s.ids)) {
			g.abort(s)
			s.err = err
			if s.made == 0 {
				close(s.first)
			}
			close(s.done)
		}
	}
	for g.used > g.blocks {
		g.preempt()
	}
	g.cache.shrink(g.blocks - g.used)
}

// holds: so many tokens fit when nothing else does.
func (g *gpu) holds(tokens int) bool { return blocks(tokens) <= g.blocks }

func without(list []*sequence, s *sequence) []*sequence {
	for i, other := range list {
		if other == s {
			return append(list[:i:i], list[i+1:]...)
		}
	}
	return list
}
