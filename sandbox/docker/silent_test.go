package docker

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rollbench/sandbox"
)

// valve stands between the client and the engine, and can stop everything that
// flows: an engine that neither answers nor hangs up, as one that is stopped.
type valve struct {
	t    *testing.T
	real string

	mu    sync.Mutex    // guards what follows
	flows chan struct{} // closed while all flows
	open  bool
}

// newValve puts one in front of the engine that the tests use.
func newValve(t *testing.T) *valve {
	t.Helper()
	p := engine(t, Options{})
	host := p.engine.DaemonHost()
	if !strings.HasPrefix(host, "unix://") {
		t.Skip("the engine has no socket here")
	}
	dir, err := os.MkdirTemp("", "rb-valve-") // short: a socket's path may have 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	v := &valve{t: t, real: strings.TrimPrefix(host, "unix://"), flows: make(chan struct{}), open: true}
	close(v.flows)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { v.serve(ctx, c) })
		}
	})
	t.Cleanup(func() {
		v.set(true)
		cancel()
		l.Close()
		wg.Wait()
		os.RemoveAll(dir)
	})
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("DOCKER_CONTEXT", "")
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(dir, "s"))
	return v
}

func (v *valve) set(open bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if open == v.open {
		return
	}
	if v.open = open; open {
		close(v.flows)
	} else {
		v.flows = make(chan struct{})
	}
}

// pass waits while the valve is shut.
func (v *valve) pass(ctx context.Context) bool {
	v.mu.Lock()
	flows := v.flows
	v.mu.Unlock()
	select {
	case <-flows:
		return true
	case <-ctx.Done():
		return false
	}
}

func (v *valve) serve(ctx context.Context, c net.Conn) {
	defer c.Close()
	if !v.pass(ctx) {
		return
	}
	e, err := net.Dial("unix", v.real)
	if err != nil {
		v.t.Error(err)
		return
	}
	defer e.Close()
	stop := context.AfterFunc(ctx, func() { c.Close(); e.Close() })
	defer stop()
	var wg sync.WaitGroup
	carry := func(to, from net.Conn) {
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			if !v.pass(ctx) {
				return
			}
			if n > 0 {
				if _, err := to.Write(buf[:n]); err != nil {
					return
				}
			}
			if err != nil {
				if err == io.EOF {
					to.(*net.UnixConn).CloseWrite()
				}
				return
			}
		}
	}
	wg.Go(func() { carry(e, c) })
	wg.Go(func() { carry(c, e) })
	wg.Wait()
}

// Every call on a container ends with its ctx when the engine neither answers nor
// hangs up, and the sandbox is then lost.
func TestSilentEngine(t *testing.T) {
	v := newValve(t)
	c := open(t, engine(t, Options{}), sandbox.Spec{})
	t.Cleanup(func() { v.set(true) }) // before the container is removed
	sh, err := c.Shell(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := sh.Run(t.Context(), sandbox.Command{Script: "sleep 600", Idle: 100 * time.Millisecond, Leave: true}); err != nil || r.End != sandbox.Left {
		t.Fatal(r, err)
	}
	v.set(false)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	calls := map[string]func() error{
		"C-c": func() error {
			_, err := sh.Continue(ctx, sandbox.Step{Key: sandbox.Interrupt, Idle: time.Second})
			return err
		},
		"sweep":    func() error { return c.Sweep(ctx) },
		"read":     func() error { _, err := c.ReadFile(ctx, "/etc/passwd"); return err },
		"copy in":  func() error { return c.CopyIn(ctx, "/tmp", strings.NewReader(strings.Repeat("\x00", 1024))) },
		"copy out": func() error { _, err := c.CopyOut(ctx, "/etc/passwd"); return err },
		"snapshot": func() error { _, err := c.Snapshot(ctx); return err },
		"claim":    func() error { return c.Claim(ctx, "x") },
	}
	type end struct {
		what string
		err  error
	}
	ends := make(chan end, len(calls))
	for what, call := range calls {
		go func() { ends <- end{what, call()} }()
	}
	late := time.After(time.Minute)
	for range len(calls) {
		select {
		case e := <-ends:
			if !errors.Is(e.err, sandbox.ErrLost) {
				t.Errorf("%s: %v", e.what, e.err)
			}
			delete(calls, e.what)
		case <-late:
			t.Fatalf("no end of %v", slices.Sorted(maps.Keys(calls)))
		}
	}
	if _, err := c.Exec(t.Context(), sandbox.Command{Script: "true"}); !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("the next command: %v", err)
	}
}
