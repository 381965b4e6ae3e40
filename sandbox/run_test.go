package sandbox

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatch checks which limit strikes first, and when, on a fake clock.
func TestWatch(t *testing.T) {
	for _, c := range []struct {
		name         string
		hard, idle   time.Duration
		cancel, exit time.Duration // 0: never
		writes       []time.Duration
		want         End
		after        time.Duration
	}{
		{name: "exit", exit: time.Second, want: Exited, after: time.Second},
		{name: "hard", hard: 5 * time.Second, want: TimedOut, after: 5 * time.Second},
		{name: "hard despite output", hard: 5 * time.Second, idle: 3 * time.Second,
			writes: []time.Duration{2 * time.Second, 4 * time.Second}, want: TimedOut, after: 5 * time.Second},
		{name: "idle from the start", idle: 3 * time.Second, want: IdledOut, after: 3 * time.Second},
		{name: "idle after output", idle: 3 * time.Second, hard: time.Hour,
			writes: []time.Duration{2 * time.Second, 4 * time.Second, 6500 * time.Millisecond}, want: IdledOut, after: 9500 * time.Millisecond},
		{name: "cancel", cancel: 2 * time.Second, hard: 4 * time.Second, idle: 3 * time.Second, want: Cancelled, after: 2 * time.Second},
		{name: "exit before all", exit: time.Second, cancel: 2 * time.Second, hard: 4 * time.Second, idle: 3 * time.Second, want: Exited, after: time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, cancel)
				}
				began := time.Now()
				out := NewCollector(100, nil)
				exited := make(chan struct{})
				if c.exit > 0 {
					time.AfterFunc(c.exit, func() { close(exited) })
				}
				for _, w := range c.writes {
					time.AfterFunc(w, func() { out.Write([]byte("x")) })
				}
				got := watch(ctx, Command{Timeout: c.hard, Idle: c.idle}, began, out, exited)
				if took := time.Since(began); got != c.want || took != c.after {
					t.Errorf("%s after %v, want %s after %v", got, took, c.want, c.after)
				}
			})
		})
	}
}

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := NewCollector(100, nil)
		time.AfterFunc(30*time.Millisecond, func() { out.Write([]byte("late")) })
		began := time.Now()
		drain(out, make(chan struct{}))
		if took := time.Since(began); took != 80*time.Millisecond {
			t.Errorf("drained for %v", took)
		}
		stop := make(chan struct{})
		go func() {
			for tick := time.NewTicker(10 * time.Millisecond); ; {
				select {
				case <-tick.C:
					out.Write([]byte("."))
				case <-stop:
					return
				}
			}
		}()
		began = time.Now()
		drain(out, make(chan struct{}))
		if took := time.Since(began); took != drainLimit {
			t.Errorf("endless output drained for %v", took)
		}
		close(stop)
	})
}

func TestScriptArgv(t *testing.T) {
	if got := ScriptArgv("echo hi"); got[len(got)-1] != "echo hi" || len(got) != 5 {
		t.Errorf("%q", got)
	}
	long := bytes.Repeat([]byte("0123456789"), 30<<10) // 300 KiB: three parts
	got := ScriptArgv(string(long))
	if len(got) != 9 || got[4] != `eval "${1}${2}${3}"` || got[6]+got[7]+got[8] != string(long) {
		t.Errorf("%d arguments, %q", len(got), got[4])
	}
	for _, a := range got {
		if len(a) >= 128<<10 {
			t.Errorf("an argument of %d bytes", len(a))
		}
	}
}

func FuzzParseReport(f *testing.F) {
	f.Add([]byte("noise nn 3 77\x00/a b\nc\n\x00declare -x A=\"1\"\n\x00nn."))
	f.Add([]byte("nn 0 1\x00/\n\x00\x00nn."))
	f.Add([]byte("nn x 1\x00\x00\x00nn."))
	f.Fuzz(func(t *testing.T, b []byte) {
		rep, ok := parseReport(b, "nn")
		if ok && rep.nonce != "nn" || !ok && rep != (report{}) {
			t.Errorf("%+v %v", rep, ok)
		}
	})
}

func TestParseReport(t *testing.T) {
	rep, ok := parseReport([]byte("noise nn 3 77\x00/a b\nc\n\x00declare -x A=\"1\"\n\x00nn."), "nn")
	if want := (report{nonce: "nn", code: 3, pid: 77, dir: "/a b\nc", env: "declare -x A=\"1\"\n"}); !ok || rep != want {
		t.Errorf("%+v, %v", rep, ok)
	}
}

// broken is a sandbox that is gone.
type broken struct{}

func (broken) Start(context.Context, Proc) (Process, error) { return nil, ErrLost }
func (broken) KillTree(context.Context, Tree) error         { return ErrLost }
func (broken) Signal(context.Context, Tree, Signal, bool) ([]int, error) {
	return nil, ErrLost
}

func TestLost(t *testing.T) {
	if _, err := Run(t.Context(), broken{}, "e1:", Command{Script: "true"}); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	if _, err := NewShell(t.Context(), broken{}, ShellOptions{Group: "s1:"}); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
}
