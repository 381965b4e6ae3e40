package sandbox

import (
	"sync"
	"time"
)

// Collector keeps the head and the tail of an output stream whose length is
// not known, counts what it cut between them, and remembers when the stream
// last moved. It is an io.Writer that never fails.
type Collector struct {
	mu     sync.Mutex
	head   []byte
	tail   []byte // a ring once it has grown to maxTail bytes
	start  int    // oldest byte of the ring
	total  int64
	last   time.Time
	pieces func([]byte)

	maxHead, maxTail int
}

// NewCollector keeps at most max bytes (0: DefaultMaxOutput), the first half
// and the last half, and hands every piece to onOutput as it comes.
func NewCollector(max int, onOutput func([]byte)) *Collector {
	if max <= 0 {
		max = DefaultMaxOutput
	}
	return &Collector{maxHead: max - max/2, maxTail: max / 2, last: time.Now(), pieces: onOutput}
}

// Write takes the next piece of output.
func (c *Collector) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.mu.Lock()
	c.last = time.Now()
	c.total += int64(len(p))
	rest := p
	if room := c.maxHead - len(c.head); room > 0 {
		n := min(room, len(rest))
		c.head = append(c.head, rest[:n]...)
		rest = rest[n:]
	}
	c.keepTail(rest)
	pieces := c.pieces
	c.mu.Unlock()
	if pieces != nil {
		pieces(p)
	}
	return len(p), nil
}

// keepTail appends to the ring, overwriting its oldest bytes.
func (c *Collector) keepTail(p []byte) {
	if len(p) >= c.maxTail {
		c.tail = append(c.tail[:0], p[len(p)-c.maxTail:]...)
		c.start = 0
		return
	}
	if room := c.maxTail - len(c.tail); room > 0 {
		n := min(room, len(p))
		c.tail = append(c.tail, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(c.tail[c.start:], p)
		c.start = (c.start + n) % c.maxTail
		p = p[n:]
	}
}

// Last is when the latest piece came, or when the collector was made.
func (c *Collector) Last() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Fill puts what was kept into a result.
func (c *Collector) Fill(r *Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]byte, 0, len(c.head)+len(c.tail))
	out = append(out, c.head...)
	out = append(out, c.tail[c.start:]...)
	out = append(out, c.tail[:c.start]...)
	r.Output = out
	r.Head, r.Dropped = 0, c.total-int64(len(out))
	if r.Dropped > 0 {
		r.Head = len(c.head)
	}
}

// silence hands out no more pieces.
func (c *Collector) silence() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pieces = nil
}
