package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrStart says that the server could not be started or reached.
var ErrStart = errors.New("could not be reached")

// notTaken is the SDK's own code for a reply that is no JSON-RPC, such as 503.
const notTaken = -32005

// Listed is a server with the tools it had when the run started. They stay the
// same for the whole run, whatever the server says later: what a model was told
// must not change between two of its turns.
type Listed struct {
	Server
	Tools  []Tool
	shared *Link // nil: a link for each trajectory

	once    sync.Once
	mu      sync.Mutex // guards changed
	changed func()
}

// List starts or reaches a server and asks for its tools.
func List(ctx context.Context, s Server) (*Listed, error) {
	l, err := list(ctx, s)
	if err != nil {
		return nil, hiding{err, s.Hide(err.Error())}
	}
	return l, nil
}

func list(ctx context.Context, s Server) (*Listed, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	l := &Listed{Server: s}
	limited, cancel := context.WithTimeoutCause(ctx, s.Start, fmt.Errorf("its tools were not listed within %v (start_timeout)", s.Start))
	defer cancel()
	c, err := s.dial(limited, l.tell)
	if err != nil {
		return nil, err
	}
	all, err := c.list(limited)
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	for _, t := range all {
		if s.wants(t.Name) {
			l.Tools = append(l.Tools, t)
		}
	}
	if len(l.Tools) == 0 {
		return nil, errors.Join(fmt.Errorf("none of its %d tools is left by include and exclude", len(all)), c.close())
	}
	if !s.Shared {
		return l, c.close()
	}
	l.shared = l.link()
	l.shared.conn, l.shared.used = c, true
	return l, nil
}

// Recorded is a server as it was listed before; nothing is started.
func Recorded(s Server, tools []Tool) *Listed { return &Listed{Server: s, Tools: tools} }

// OnChange has f called, once, when the server says that its tools have changed.
func (l *Listed) OnChange(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = f
}

func (l *Listed) tell() {
	l.mu.Lock()
	f := l.changed
	l.mu.Unlock()
	if f != nil {
		l.once.Do(f)
	}
}

// Close ends the connection that all trajectories share, where there is one.
func (l *Listed) Close() error {
	if l.shared == nil {
		return nil
	}
	return l.shared.close()
}

// Link is how a trajectory calls the server. It connects by the first call.
type Link struct {
	of     *Listed
	shared bool
	turn   chan struct{} // holds one token while nobody connects
	// Guarded by turn:
	conn   *conn
	used   bool // it was connected before, so a new connection lacks the old one's state
	closed bool
}

// Link for one trajectory.
func (l *Listed) Link() *Link {
	if l.shared != nil {
		return l.shared
	}
	return l.link()
}

func (l *Listed) link() *Link {
	k := &Link{of: l, shared: l.Shared, turn: make(chan struct{}, 1)}
	k.turn <- struct{}{}
	return k
}

// Close ends a trajectory's connection; a shared one stays.
func (k *Link) Close() error {
	if k.shared {
		return nil
	}
	return k.close()
}

func (k *Link) close() error {
	<-k.turn
	defer func() { k.turn <- struct{}{} }()
	k.closed = true
	if k.conn == nil {
		return nil
	}
	c := k.conn
	k.conn = nil
	return c.close()
}

// Call a tool and wait for its answer, at most limit once the server is there. The
// error is the caller's (ctx ended), context.DeadlineExceeded where the limit
// struck, ErrStart where there is no server, else what went wrong with the call.
func (k *Link) Call(ctx context.Context, tool string, arguments json.RawMessage, limit time.Duration) (Answer, error) {
	for again := false; ; again = true {
		c, anew, err := k.connected(ctx)
		if err != nil {
			return Answer{}, err
		}
		limited, cancel := context.WithTimeout(ctx, limit)
		result, err := c.call(limited, tool, arguments)
		struck := limited.Err() != nil
		cancel()
		if err == nil {
			a := answer(result)
			a.Anew = anew
			return a, nil
		}
		if refused, ok := errors.AsType[*jsonrpc.Error](err); ok && refused.Code != notTaken {
			return Answer{Anew: anew}, fmt.Errorf("the server refused the call: %s (code %d)", refused.Message, refused.Code)
		}
		switch {
		case ctx.Err() != nil:
			return Answer{}, context.Cause(ctx)
		case struck && !c.killed.Load():
			// The server was told to give the call up. The others' calls go on.
			return Answer{Anew: anew}, context.DeadlineExceeded
		}
		err = c.why(ctx, err)
		if struck {
			err = context.DeadlineExceeded
		}
		if dropping := k.drop(c); dropping != nil {
			err = fmt.Errorf("%w (and closing the connection: %v)", err, dropping)
		}
		if !again && errors.Is(err, sdk.ErrSessionMissing) {
			continue // the server has forgotten us, so the call did not run
		}
		return Answer{Anew: anew}, err
	}
}

// connected is the connection, made anew where there is none that lives. anew: an
// earlier one was lost, and with it what the server kept of it.
func (k *Link) connected(ctx context.Context) (_ *conn, anew bool, err error) {
	select {
	case <-k.turn:
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	defer func() { k.turn <- struct{}{} }()
	if k.closed {
		return nil, false, fmt.Errorf("%w: the run is over", ErrStart)
	}
	if k.conn != nil && !k.conn.gone() {
		return k.conn, false, nil
	}
	if k.conn != nil {
		old := k.conn
		k.conn = nil
		if err := old.close(); err != nil {
			return nil, false, fmt.Errorf("%w: close what is left of it: %w", ErrStart, err)
		}
	}
	limited, cancel := context.WithTimeoutCause(ctx, k.of.Start, fmt.Errorf("it was not ready within %v (start_timeout)", k.of.Start))
	defer cancel()
	c, err := k.of.dial(limited, k.of.tell)
	if err != nil {
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		return nil, false, fmt.Errorf("%w: %w", ErrStart, err)
	}
	anew = k.used
	k.conn, k.used = c, true
	return c, anew, nil
}

// drop a connection that failed, unless another call has done so.
func (k *Link) drop(c *conn) error {
	<-k.turn
	defer func() { k.turn <- struct{}{} }()
	if k.conn != c {
		return nil
	}
	k.conn = nil
	return c.close()
}
