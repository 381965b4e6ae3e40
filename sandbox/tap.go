package sandbox

import (
	"bytes"
	"sync"
)

// tap stands between a shell's output stream and the collector of the command
// that runs, and takes the command's end marker out of the stream. What comes
// while no command runs (background jobs) is kept, bounded, for the next one.
type tap struct {
	mu      sync.Mutex
	nonce   []byte
	out     *Collector // nil between commands
	held    []byte     // a proper prefix of nonce that ended the last piece
	seen    chan struct{}
	between *Collector
}

// maxBetween bounds the output kept from between two commands.
const maxBetween = 64 << 10

func newTap() *tap { return &tap{between: NewCollector(maxBetween, nil)} }

// arm sends what follows to out until nonce comes, then closes the channel. A
// nil out drops it.
func (t *tap) arm(nonce string, out *Collector) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	t.nonce, t.out, t.seen = []byte(nonce), out, make(chan struct{})
	if out != nil {
		var r Result
		t.between.Fill(&r)
		t.between = NewCollector(maxBetween, nil)
		t.put(r.Output)
	}
	return t.seen
}

// disarm ends a command whose marker may not have come.
func (t *tap) disarm() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	t.nonce, t.out, t.seen = nil, nil, nil
}

// flush gives up hope that held is the beginning of the marker.
func (t *tap) flush() {
	held := t.held
	t.held = nil
	t.put(held)
}

// put passes text on. Collectors never fail.
func (t *tap) put(p []byte) {
	switch {
	case len(p) == 0:
	case t.out != nil:
		t.out.Write(p)
	case t.nonce == nil:
		t.between.Write(p)
	}
}

func (t *tap) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if t.nonce == nil {
		t.put(p)
		return n, nil
	}
	if len(t.held) > 0 {
		p = append(t.held, p...)
		t.held = nil
	}
	if i := bytes.Index(p, t.nonce); i >= 0 {
		t.put(p[:i])
		rest := p[i+len(t.nonce):]
		close(t.seen)
		t.nonce, t.out, t.seen = nil, nil, nil
		t.put(rest)
		return n, nil
	}
	keep := overlap(p, t.nonce)
	t.put(p[:len(p)-keep])
	t.held = append([]byte(nil), p[len(p)-keep:]...)
	return n, nil
}

// overlap is the length of the longest proper prefix of marker that p ends with.
func overlap(p, marker []byte) int {
	for k := min(len(p), len(marker)-1); k > 0; k-- {
		if bytes.HasSuffix(p, marker[:k]) {
			return k
		}
	}
	return 0
}
