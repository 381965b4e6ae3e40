package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// script is a sandbox whose shell does what a test says: it understands what the
// shell sends it, and nothing else. Commands are looked up in does by their text.
type script struct {
	does map[string]func(p *scripted)

	mu       sync.Mutex
	procs    []*scripted
	killed   int
	hits     []string      // "SIGNAL root"
	late     time.Duration // so long after its start a terminal's holder exists
	immortal bool          // nothing can be killed
	dead     bool          // the sandbox is lost
}

// scripted is a process of it: a shell, or the holder of a terminal.
type scripted struct {
	s        *script
	in       *io.PipeReader
	stdin    *io.PipeWriter
	out, err *io.PipeReader
	stdout   *io.PipeWriter
	stderr   *io.PipeWriter
	typed    chan string // what a terminal got
	once     sync.Once
	end      chan struct{}
	code     int
	nonce    string
	terminal bool
	began    time.Time
	stuck    atomic.Bool // it does not end with its input
}

func (s *script) Start(_ context.Context, p Proc) (Process, error) {
	if s.dead {
		return nil, ErrLost
	}
	x := &scripted{s: s, end: make(chan struct{}), typed: make(chan string, 8), terminal: p.Terminal, began: time.Now()}
	x.in, x.stdin = io.Pipe()
	x.out, x.stdout = io.Pipe()
	x.err, x.stderr = io.Pipe()
	s.mu.Lock()
	s.procs = append(s.procs, x)
	s.mu.Unlock()
	if p.Terminal {
		go x.hold()
	} else {
		go x.serve()
	}
	return x, nil
}

func (s *script) KillTree(_ context.Context, t Tree) error {
	if s.dead {
		return ErrLost
	}
	if s.immortal {
		return errors.New("some processes do not die")
	}
	s.killed++
	for _, x := range s.all() {
		if !x.terminal {
			x.exit(137)
		}
	}
	return nil
}

func (s *script) Signal(_ context.Context, t Tree, sig Signal, root bool) ([]int, error) {
	if s.dead {
		return nil, ErrLost
	}
	if t.Root == 0 { // a terminal is closed
		for _, x := range s.all() {
			if x.terminal && time.Since(x.began) >= s.late {
				x.exit(137)
			}
		}
		return nil, nil
	}
	s.hits = append(s.hits, fmt.Sprint(sig, " ", root))
	return []int{8}, nil // a program that does not mind
}

func (s *script) all() []*scripted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*scripted(nil), s.procs...)
}

func (x *scripted) Stdin() io.WriteCloser { return x.stdin }
func (x *scripted) Stdout() io.Reader     { return x.out }
func (x *scripted) Stderr() io.Reader     { return x.err }
func (x *scripted) Wait() (int, error) {
	<-x.end
	if x.s.dead {
		return -1, ErrLost
	}
	return x.code, nil
}
func (x *scripted) Close() error {
	x.in.Close()
	x.out.Close()
	return x.err.Close()
}

func (x *scripted) exit(code int) {
	x.once.Do(func() {
		x.code = code
		x.stdout.Close()
		x.stderr.Close()
		close(x.end)
	})
}

func (x *scripted) hold() {
	time.Sleep(x.s.late)
	io.WriteString(x.stdout, "/dev/pts/5\r\n")
	buf := make([]byte, 100)
	for {
		n, err := x.in.Read(buf)
		if err != nil {
			return
		}
		x.typed <- string(buf[:n])
	}
}

var (
	ending  = regexp.MustCompile(`command printf '([0-9a-f]{32}) `)
	evalled = regexp.MustCompile(`(?m)^eval '(.*)' <&7`)
)

// serve reads what the shell feeds; each feed is one write.
func (x *scripted) serve() {
	buf := make([]byte, 1<<16)
	for {
		n, err := x.in.Read(buf)
		if err != nil {
			if !x.stuck.Load() {
				x.exit(0)
			}
			return
		}
		text := string(buf[:n])
		x.nonce = ending.FindStringSubmatch(text)[1]
		if m := evalled.FindStringSubmatch(text); m != nil {
			go x.s.does[m[1]](x)
			continue
		}
		x.ends(0)
	}
}

// ends has the shell report.
func (x *scripted) ends(code int) {
	fmt.Fprintf(x.stderr, "%s %d 7\x00/dir\n\x00\x00%s.", x.nonce, code, x.nonce)
	io.WriteString(x.stdout, x.nonce)
}

func (x *scripted) prints(text string) { io.WriteString(x.stdout, text) }

func scriptedShell(t *testing.T, s *script) Shell {
	t.Helper()
	sh, err := NewShell(t.Context(), s, ShellOptions{Dir: "/dir", Group: "s1:"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sh.Close(); err != nil {
			t.Error(err)
		}
	})
	return sh
}

// A start that is cancelled while the terminal's holder is still to come ends soon,
// and leaves no holder.
func TestCancelledStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{late: 700 * time.Millisecond}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := NewShell(ctx, s, ShellOptions{Dir: "/dir", Group: "s1:"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		// The holder is looked for 50, 150, 350 and 750 ms after the 100.
		if took := time.Since(began); took != 850*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		for _, x := range s.all() {
			select {
			case <-x.end:
			default:
				t.Errorf("left: terminal %t", x.terminal)
			}
		}
	})
}

// A command that cannot be killed is not in the way of the next, nor of Close.
func TestCommandThatDoesNotDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		s := &script{does: map[string]func(*scripted){
			"hang": func(x *scripted) { x.stuck.Store(true); <-free; x.prints("late"); x.ends(0) },
			"next": func(x *scripted) { x.prints("next"); x.ends(4) },
		}}
		sh, err := NewShell(t.Context(), s, ShellOptions{Dir: "/dir", Group: "s1:"})
		if err != nil {
			t.Fatal(err)
		}
		s.immortal = true
		if r, err := sh.Run(t.Context(), Command{Script: "hang", Timeout: time.Second}); err == nil {
			t.Fatalf("%+v", r)
		}
		r, err := sh.Run(t.Context(), Command{Script: "next", Timeout: time.Second})
		if err != nil || r.End != Exited || r.ExitCode != 4 || string(r.Output) != "next" {
			t.Errorf("%+v %q %v", r, r.Output, err)
		}
		s.immortal = false
		began := time.Now()
		if err := sh.Close(); err == nil || time.Since(began) > 2*killLimit {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		close(free)
		for _, x := range s.all() {
			x.exit(0)
		}
	})
}

// TestLeftRunning checks, on a fake clock, when a command is left, when what was
// left comes back, and that its hard limit counts from its start.
func TestLeftRunning(t *testing.T) {
	const sec = time.Second
	slow := func(x *scripted) {
		time.Sleep(2 * sec)
		x.prints("two ")
		time.Sleep(9 * sec) // until 11
		x.prints("eleven ")
		time.Sleep(8 * sec) // until 19
		x.ends(3)
	}
	type want struct {
		end  End
		out  string
		took time.Duration
	}
	for _, c := range []struct {
		name    string
		timeout time.Duration
		pauses  []time.Duration // before each step
		run     want
		steps   []want
	}{
		{"to its end", 0, []time.Duration{0, 0}, want{Left, "two ", 7 * sec}, []want{{Left, "eleven ", 9 * sec}, {Exited, "", 3 * sec}}},
		{"output between", 0, []time.Duration{6 * sec, 6 * sec}, want{Left, "two ", 7 * sec}, []want{{Left, "eleven ", 5 * sec}, {Exited, "", 0}}},
		{"end between", 0, []time.Duration{100 * sec}, want{Left, "two ", 7 * sec}, []want{{Exited, "eleven ", 0}}},
		{"limit while waited for", 15 * sec, []time.Duration{0}, want{Left, "two ", 7 * sec}, []want{{TimedOut, "eleven ", 8 * sec}}},
		{"limit between", 10 * sec, []time.Duration{5 * sec}, want{Left, "two ", 7 * sec}, []want{{TimedOut, "", 0}}},
		{"limit before", 5 * sec, nil, want{TimedOut, "two ", 5 * sec}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{does: map[string]func(*scripted){"slow": slow, "quick": func(x *scripted) { x.ends(0) }}}
				sh := scriptedShell(t, s)
				check := func(w want, r Result, err error) {
					t.Helper()
					// An ended shell's output is waited for, up to drainLimit.
					if err != nil || r.End != w.end || string(r.Output) != w.out || r.Wall-w.took > drainLimit || r.Wall < w.took {
						t.Errorf("%s %q after %v, %v; want %s %q after %v", r.End, r.Output, r.Wall, err, w.end, w.out, w.took)
					}
				}
				r, err := sh.Run(t.Context(), Command{Script: "slow", Idle: 5 * sec, Timeout: c.timeout, Leave: true})
				check(c.run, r, err)
				for i, w := range c.steps {
					time.Sleep(c.pauses[i])
					if running := w.took > 0; sh.Running() != running {
						t.Errorf("step %d: running %v", i, !running)
					}
					r, err = sh.Continue(t.Context(), Step{Idle: 5 * sec})
					check(w, r, err)
				}
				if r.End == Exited && r.ExitCode != 3 || r.End != Exited && (r.ExitCode != -1 || !r.Fresh || s.killed != 1) {
					t.Errorf("%+v, killed %d times", r, s.killed)
				}
				if _, err := sh.Continue(t.Context(), Step{}); !errors.Is(err, ErrNotRunning) {
					t.Error(err)
				}
				if r, err := sh.Run(t.Context(), Command{Script: "quick"}); err != nil || r.End != Exited {
					t.Errorf("%+v %v", r, err)
				}
				time.Sleep(20 * sec) // the script of a killed command is still at it
			})
		})
	}
}

// TestSteps checks what reaches the sandbox.
func TestSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{does: map[string]func(*scripted){"waits": func(*scripted) {}}}
		sh := scriptedShell(t, s)
		if r, err := sh.Run(t.Context(), Command{Script: "waits", Idle: time.Second, Leave: true}); err != nil || r.End != Left {
			t.Fatalf("%+v %v", r, err)
		}
		if _, err := sh.Run(t.Context(), Command{Script: "waits"}); !errors.Is(err, ErrRunning) {
			t.Error(err)
		}
		for _, c := range []struct {
			step  Step
			typed string
		}{{Step{Key: Enter, Input: []byte("a b")}, "a b\n"}, {Step{Key: Enter}, "\n"}, {Step{Key: EndInput}, "\x04"}} {
			c.step.Idle = time.Second
			if r, err := sh.Continue(t.Context(), c.step); err != nil || r.End != Left {
				t.Fatalf("%+v %v", r, err)
			}
			if got := <-s.terminals()[0].typed; got != c.typed {
				t.Errorf("typed %q, not %q", got, c.typed)
			}
		}
		// A program that goes on after SIGINT is not signalled twice, nor is its shell.
		if r, err := sh.Continue(t.Context(), Step{Key: Interrupt, Idle: time.Second}); err != nil || r.End != Left {
			t.Fatalf("%+v %v", r, err)
		}
		if want := "INT false" + strings.Repeat(",0 false", maxLooks); strings.Join(s.hits, ",") != want {
			t.Errorf("signals %q", s.hits)
		}
		s.hits = nil
		r, err := sh.Continue(t.Context(), Step{Key: Suspend, Idle: time.Second})
		if err != nil || r.End != Stopped || len(r.Stopped) != 1 || r.Stopped[0] != 8 || strings.Join(s.hits, ",") != "STOP false" {
			t.Errorf("%+v %v %q", r, err, s.hits)
		}
		// The stopped command keeps its terminal; the next one gets another.
		if r, err := sh.Run(t.Context(), Command{Script: "waits", Timeout: time.Second}); err != nil || r.End != TimedOut || len(s.terminals()) != 2 {
			t.Errorf("%+v %v", r, err)
		}
	})
}

func (s *script) terminals() (list []*scripted) {
	for _, x := range s.all() {
		if x.terminal {
			list = append(list, x)
		}
	}
	return list
}

// TestLostWhileLeft: a sandbox that dies between two calls is told at once.
func TestLostWhileLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{does: map[string]func(*scripted){"waits": func(*scripted) {}}}
		sh := scriptedShell(t, s)
		if r, err := sh.Run(t.Context(), Command{Script: "waits", Idle: time.Second, Leave: true}); err != nil || r.End != Left {
			t.Fatalf("%+v %v", r, err)
		}
		s.dead = true
		for _, x := range s.all() {
			x.exit(0)
		}
		synctest.Wait()
		began := time.Now()
		if _, err := sh.Continue(t.Context(), Step{Idle: time.Hour}); !errors.Is(err, ErrLost) || time.Since(began) > time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if _, err := sh.Run(t.Context(), Command{Script: "waits"}); !errors.Is(err, ErrLost) {
			t.Error(err)
		}
	})
}
