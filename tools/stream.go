package tools

import (
	"bytes"
	"sync"

	"rollbench/sandbox"
)

// stream parts the output of a program that serves call after call. A call's
// output ends with a line "MARK TEXT", whose mark is the call's own. What comes
// between two calls (threads, child processes) is kept, bounded, for the next.
type stream struct {
	mu    sync.Mutex
	out   *sandbox.Collector // of the call, else of what comes between
	mark  []byte             // nil between calls
	held  []byte             // may be the beginning of the last line
	ended chan string        // gets TEXT
}

// maxBetween bounds what is kept of the output between two calls.
const maxBetween = 64 << 10

// maxEnding bounds the last line: a mark with more behind it is none.
const maxEnding = 128

func newStream() *stream { return &stream{out: sandbox.NewCollector(maxBetween, nil)} }

// begin a call whose output, and what came before it, goes to out.
func (s *stream) begin(mark string, out *sandbox.Collector) <-chan string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var before sandbox.Result
	s.out.Fill(&before)
	out.Write(before.Output)
	s.out, s.mark, s.ended = out, []byte(mark), make(chan string, 1)
	return s.ended
}

// end the call, heard of or not.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Write(s.held)
	s.out, s.mark, s.held = sandbox.NewCollector(maxBetween, nil), nil, nil
}

// write takes the next piece of the program's output.
func (s *stream) write(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mark == nil {
		s.out.Write(p)
		return
	}
	p = append(s.held, p...)
	s.held = nil
	at := bytes.Index(p, s.mark)
	if at < 0 {
		at = len(p) - overlap(p, s.mark)
	}
	s.out.Write(p[:at])
	last := p[at:]
	line := bytes.IndexByte(last, '\n')
	switch {
	case line >= len(s.mark):
		s.ended <- string(bytes.TrimPrefix(last[len(s.mark):line], []byte(" ")))
		s.out.Write(last[line+1:])
		s.mark = nil
	case line >= 0 || len(last) > maxEnding:
		s.out.Write(last)
	default:
		s.held = last
	}
}

// overlap is the length of the longest proper prefix of mark that p ends with.
func overlap(p, mark []byte) int {
	for n := min(len(p), len(mark)-1); n > 0; n-- {
		if bytes.HasSuffix(p, mark[:n]) {
			return n
		}
	}
	return 0
}
