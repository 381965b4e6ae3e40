package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// sink is where a shell's output goes: to the collector of whoever waits for it.
// What comes while nobody waits is kept, bounded, for the next one.
type sink struct {
	mu      sync.Mutex
	out     *Collector // nil while nobody waits
	between *Collector
}

func newSink() *sink { return &sink{between: NewCollector(0, nil)} }

// attach sends what was kept, and all that follows, to out.
func (s *sink) attach(out *Collector) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept Result
	s.between.Fill(&kept)
	s.between = NewCollector(0, nil)
	s.out = out
	if kept.Dropped == 0 {
		out.Write(kept.Output)
		return
	}
	out.Write(kept.Output[:kept.Head])
	fmt.Fprintf(out, "\n[... %d bytes that came between two calls were not kept ...]\n", kept.Dropped)
	out.Write(kept.Output[kept.Head:])
}

// detach keeps what follows.
func (s *sink) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = nil
}

// keep detaches and keeps also what out has got.
func (s *sink) keep(out *Collector) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out, s.between = nil, out
	out.silence()
}

// Write never fails, as collectors never do.
func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now().Write(p)
}

// Last is when output last came.
func (s *sink) Last() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now().Last()
}

func (s *sink) now() *Collector {
	if s.out != nil {
		return s.out
	}
	return s.between
}

// tap stands between one shell process's output and the sink, and takes a
// command's end marker out of the stream.
type tap struct {
	to io.Writer // never fails

	mu    sync.Mutex
	nonce []byte
	mute  bool   // drop what comes before the marker
	held  []byte // a proper prefix of nonce that ended the last piece
	seen  chan struct{}
}

// arm closes the channel when nonce comes.
func (t *tap) arm(nonce string, mute bool) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	t.nonce, t.mute, t.seen = []byte(nonce), mute, make(chan struct{})
	return t.seen
}

// disarm gives up a marker that may not have come.
func (t *tap) disarm() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	t.nonce, t.mute, t.seen = nil, false, nil
}

// flush gives up hope that held is the beginning of the marker.
func (t *tap) flush() {
	t.put(t.held)
	t.held = nil
}

func (t *tap) put(p []byte) {
	if len(p) > 0 && !t.mute {
		t.to.Write(p)
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
		t.nonce, t.mute, t.seen = nil, false, nil
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
