package simulated

import (
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// Fault is what goes wrong with one answer. The zero value is none.
type Fault struct {
	Delay      time.Duration // before anything else
	Status     int           // answer with this status …
	Body       string        // … and this body
	RetryAfter string        // … and this header
	Reset      bool          // reset the connection instead of an answer
	CutAfter   int           // end the connection after so many bytes of the body, 0: never
	CountOff   int           // added to usage.completion_tokens
	NoLogprobs bool
	NoTokenIDs bool
	Empty      bool // a reply of no tokens and no text
	Stall      bool // a stream falls silent after its first piece
	Endless    bool // a stream repeats its first piece until the client leaves
}

type faults struct {
	mu sync.Mutex // guards n
	n  map[string]int
}

// next fault for a path.
func (s *Server) nextFault(path string) Fault {
	if s.opt.Faults == nil {
		return Fault{}
	}
	s.faults.mu.Lock()
	if s.faults.n == nil {
		s.faults.n = map[string]int{}
	}
	s.faults.n[path]++
	n := s.faults.n[path]
	s.faults.mu.Unlock()
	return s.opt.Faults(n, path)
}

var errCut = errors.New("connection ended on purpose")

// before plays what happens instead of an answer; done says that it did.
func (f Fault) before(w http.ResponseWriter, r *http.Request) (done bool) {
	if sleep(r.Context(), f.Delay) != nil && f.Delay > 0 {
		return true
	}
	switch {
	case f.Reset:
		cut(w)
	case f.Status != 0:
		if f.RetryAfter != "" {
			w.Header().Set("Retry-After", f.RetryAfter)
		}
		w.WriteHeader(f.Status)
		write(w, []byte(f.Body))
	default:
		return false
	}
	return true
}

// cut resets the connection under an answer.
func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the server ends the connection then
	}
	if tcp, ok := conn.(*net.TCPConn); ok && tcp.SetLinger(0) != nil {
		panic(http.ErrAbortHandler)
	}
	if conn.Close() != nil {
		panic(http.ErrAbortHandler)
	}
}

// cutWriter ends the connection after a number of bytes.
type cutWriter struct {
	http.ResponseWriter
	left int
}

// Unwrap lets http.ResponseController reach the connection.
func (c *cutWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cutWriter) Write(data []byte) (int, error) {
	if len(data) < c.left {
		c.left -= len(data)
		return c.ResponseWriter.Write(data)
	}
	if _, err := c.ResponseWriter.Write(data[:c.left]); err != nil {
		return 0, err
	}
	if err := http.NewResponseController(c.ResponseWriter).Flush(); err != nil {
		return 0, err
	}
	panic(http.ErrAbortHandler)
}
