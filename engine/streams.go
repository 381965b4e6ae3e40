package engine

import (
	"slices"
	"strings"
	"sync"
	"time"

	"rollbench/sessions"
)

// streamTail is how much of a live reply or output is kept for the screen.
const streamTail = 16 << 10

// streams holds what live trajectories are doing right now.
type streams struct {
	mu  sync.Mutex // guards all
	all map[sessions.Key]*stream
}

func newStreams() *streams { return &streams{all: map[sessions.Key]*stream{}} }

// stream implements agent.Watcher for one trajectory.
type stream struct {
	mu    *sync.Mutex
	now   Stream
	tail  []byte
	doing bool
	moved time.Time // when it last began something or gave output
	// stage is what init or eval are at; it is not shown as a stream.
	stage string
	since time.Time // of stage
}

func (s *streams) of(key sessions.Key) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.all[key]
	if st == nil {
		st = &stream{mu: &s.mu, now: Stream{Key: key}}
		s.all[key] = st
	}
	return st
}

// Doing says what the trajectory does now; "" for nothing.
func (s *stream) Doing(turn int, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Turn, s.now.What, s.now.Since = turn, what, time.Now()
	s.tail, s.doing, s.moved = s.tail[:0], what != "", s.now.Since
}

// at says what init or eval work on now, in words that follow "waits for"; ""
// for nothing.
func (s *stream) at(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stage, s.since = what, time.Now()
	s.moved = s.since
}

// waits is what the trajectory waits for and since when; "" for nothing.
func (s *stream) waits() (string, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.doing && s.now.What == "model":
		return "a reply", s.now.Since
	case s.doing:
		return s.now.What, s.now.Since
	}
	return s.stage, s.since
}

// moved is when any of them last did something.
func (s *streams) moved() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last time.Time
	for _, st := range s.all {
		if st.moved.After(last) {
			last = st.moved
		}
	}
	return last
}

// Text adds a piece of a reply.
func (s *stream) Text(piece string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved = time.Now()
	s.tail = append(s.tail, piece...)
	if over := len(s.tail) - streamTail; over > streamTail {
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
}

// tells adds a piece of what is being done outside of any turn, and begins to show it
// with the first.
func (s *stream) tells(what, piece string) {
	s.mu.Lock()
	begun := s.doing && s.now.What == what
	s.mu.Unlock()
	if !begun {
		s.Doing(0, what)
	}
	s.Text(piece)
}

// output adds a piece of a tool's output.
func (s *stream) output(piece []byte) { s.Text(string(piece)) }

// drop forgets a trajectory that has ended.
func (s *streams) drop(key sessions.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
}

// snapshot of all that are doing something.
func (s *streams) snapshot() map[string]Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]Stream{}
	for key, st := range s.all {
		if st.doing {
			now := st.now
			now.Text = strings.ToValidUTF8(string(st.tail), "\uFFFD")
			out[key.String()] = now
		}
	}
	return out
}

// notes are the newest progress lines of the images that sandboxes wait for.
type notes struct {
	mu    sync.Mutex // guards lines
	lines []string
	heard heard
}

// heard is what was last said of each instance: all of its sandboxes that wait for
// one image hear the same lines.
type heard struct {
	mu   sync.Mutex // guards last
	last map[string]string
}

// news reports whether a line of an instance's progress is another than its last.
func (h *heard) news(instance, line string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last[instance] == line {
		return false
	}
	if h.last == nil {
		h.last = map[string]string{}
	}
	h.last[instance] = line
	return true
}

func (h *heard) forget(instance string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.last, instance)
}

const keptNotes = 50

func (n *notes) add(instance, line string) {
	if !n.heard.news(instance, line) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, instance+": "+line)
	if len(n.lines) > keptNotes {
		n.lines = append([]string{}, n.lines[len(n.lines)-keptNotes:]...)
	}
}

// over forgets what was said of an instance: a sandbox of it is open, or cannot be.
func (n *notes) over(instance string) {
	n.heard.forget(instance)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = slices.DeleteFunc(slices.Clone(n.lines), func(line string) bool { return strings.HasPrefix(line, instance+": ") })
}

func (n *notes) snapshot() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string{}, n.lines...)
}
