package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

// still is the time without output after which a command is left running here.
const still = 300 * time.Millisecond

// begin runs a command that must be left running, having printed out.
func begin(t *testing.T, sh sandbox.Shell, script, out string) {
	t.Helper()
	r := run(t, sh, sandbox.Command{Script: script, Idle: still, Leave: true})
	wants(t, gather(t, sh, r, out), out, sandbox.Left, -1)
	if r.NoInput != "" || !sh.Running() {
		t.Fatalf("%q: %+v", script, r)
	}
}

// gather waits on while less than out was printed: this machine may be slow.
func gather(t *testing.T, sh sandbox.Shell, r sandbox.Result, out string) sandbox.Result {
	t.Helper()
	for end := time.Now().Add(limit); r.End == sandbox.Left && len(r.Output) < len(out) && time.Now().Before(end); {
		more := step(t, sh, sandbox.Step{})
		more.Output = append(r.Output, more.Output...)
		r = more
	}
	return r
}

func step(t *testing.T, sh sandbox.Shell, s sandbox.Step) sandbox.Result {
	t.Helper()
	if s.Idle == 0 {
		s.Idle = still
	}
	r, err := sh.Continue(t.Context(), s)
	if err != nil {
		t.Fatalf("%s %q: %v", s.Key, s.Input, err)
	}
	return r
}

// ends waits for the end of a command after a key.
func ends(t *testing.T, sh sandbox.Shell, k sandbox.Key) sandbox.Result {
	t.Helper()
	return step(t, sh, sandbox.Step{Key: k, Idle: limit})
}

// types sends a line and wants what is printed then, and how it ends.
func types(t *testing.T, sh sandbox.Shell, line, out string, end sandbox.End, code int) {
	t.Helper()
	s := sandbox.Step{Key: sandbox.Enter, Input: []byte(line)}
	if end == sandbox.Exited {
		s.Idle = limit
	}
	wants(t, gather(t, sh, step(t, sh, s), out), out, end, code)
}

func wants(t *testing.T, r sandbox.Result, out string, end sandbox.End, code int) {
	t.Helper()
	if string(r.Output) != out || r.End != end || r.ExitCode != code {
		t.Errorf("got %q, %s, code %d; want %q, %s, code %d", r.Output, r.End, r.ExitCode, out, end, code)
	}
}

// testInteractive types to programs.
func testInteractive(t *testing.T, sb sandbox.Sandbox) {
	sh := shellOf(t, sb)
	t.Run("read", func(t *testing.T) {
		begin(t, sh, `printf 'name? '; read x; echo "hello $x"; cd /tmp; export GREETED=$x; (exit 4)`, "name? ")
		types(t, sh, "you 'there'", "hello you 'there'\n", sandbox.Exited, 4)
		wants(t, run(t, sh, sandbox.Command{Script: `echo "$GREETED"`}), "you 'there'\n", sandbox.Exited, 0)
		if want := sb.Path("/tmp"); sh.Dir() != want && contained(sb) {
			t.Errorf("in %s", sh.Dir())
		}
	})
	t.Run("yes or no", func(t *testing.T) {
		begin(t, sh, `sh -c 'printf "Go on? [y/N] " >&2; read a; case $a in y) echo yes;; *) echo no; exit 1;; esac'`, "Go on? [y/N] ")
		types(t, sh, "y", "yes\n", sandbox.Exited, 0)
	})
	t.Run("cat", func(t *testing.T) {
		begin(t, sh, "cat", "")
		types(t, sh, "one", "one\n", sandbox.Left, -1)
		types(t, sh, "two\nthree", "two\nthree\n", sandbox.Left, -1)
		wants(t, ends(t, sh, sandbox.EndInput), "", sandbox.Exited, 0)
	})
	t.Run("python", func(t *testing.T) {
		if r := run(t, sh, sandbox.Command{Script: "command -v python3"}); r.ExitCode != 0 {
			t.Skip("no python3 here")
		}
		r := run(t, sh, sandbox.Command{Script: "python3 -q", Idle: still, Leave: true})
		wants(t, gather(t, sh, r, ">>> "), ">>> ", sandbox.Left, -1)
		types(t, sh, "x = 6 * 7", ">>> ", sandbox.Left, -1)
		types(t, sh, "x", "42\n>>> ", sandbox.Left, -1)
		types(t, sh, "exit(3)", "", sandbox.Exited, 3)
	})
	t.Run("what was not read reaches nobody", func(t *testing.T) {
		begin(t, sh, "read x; sleep 0.3; echo $x", "")
		types(t, sh, "first\nsecond", "first\n", sandbox.Exited, 0)
		wants(t, run(t, sh, sandbox.Command{Script: "read -t 0.3 x; echo \"$? <$x>\""}), "142 <>\n", sandbox.Exited, 0)
	})
	t.Run("no control sequences, no echo", func(t *testing.T) {
		begin(t, sh, "stty echo 2>/dev/null; printf '\\033[6n' >/dev/stdin; cat", "")
		types(t, sh, "plain", "plain\n", sandbox.Left, -1)
		wants(t, ends(t, sh, sandbox.Interrupt), "", sandbox.Exited, 130)
	})
	t.Run("too much", func(t *testing.T) {
		begin(t, sh, "cat | wc -c", "")
		for _, text := range []string{strings.Repeat("x", sandbox.MaxInputLine), strings.Repeat("x\n", sandbox.MaxInput/2+1)} {
			if _, err := sh.Continue(t.Context(), sandbox.Step{Key: sandbox.Enter, Input: []byte(text), Idle: still}); !errors.Is(err, sandbox.ErrInput) {
				t.Errorf("%d bytes: %v", len(text), err)
			}
		}
		line := strings.Repeat("y", sandbox.MaxInputLine-1) + "\n"
		types(t, sh, strings.Repeat(line, 14)+"end", "", sandbox.Left, -1) // 57 KiB, and all of it arrives
		wants(t, ends(t, sh, sandbox.EndInput), "57334\n", sandbox.Exited, 0)
	})
	t.Run("nothing runs", func(t *testing.T) {
		if _, err := sh.Continue(t.Context(), sandbox.Step{Idle: still}); !errors.Is(err, sandbox.ErrNotRunning) {
			t.Error(err)
		}
	})
}

// testKeys interrupts and stops.
func testKeys(t *testing.T, sb sandbox.Sandbox) {
	sh := shellOf(t, sb)
	run(t, sh, sandbox.Command{Script: "export KEPT=1; own=1; mkdir -p deep; cd deep"})
	kept := func(t *testing.T, want string) {
		t.Helper()
		wants(t, run(t, sh, sandbox.Command{Script: `echo "$KEPT$own ${PWD##*/}"`}), want+" deep\n", sandbox.Exited, 0)
	}
	t.Run("a program", func(t *testing.T) {
		begin(t, sh, "sleep 600 & sleep 601", "")
		r := ends(t, sh, sandbox.Interrupt)
		wants(t, r, "", sandbox.Exited, 130)
		if r.Fresh {
			t.Error("the shell is another one")
		}
		kept(t, "11")
		wants(t, run(t, sh, sandbox.Command{Script: "kill %1 2>/dev/null || kill $!; wait $! 2>/dev/null; echo $?"}), "143\n", sandbox.Exited, 0)
	})
	t.Run("one in a group of its own", func(t *testing.T) {
		begin(t, sh, "timeout 600 sleep 602", "")
		if r := ends(t, sh, sandbox.Interrupt); r.End != sandbox.Exited || r.Fresh {
			t.Errorf("%+v", r)
		}
	})
	t.Run("one that ignores it", func(t *testing.T) {
		begin(t, sh, "sh -c 'trap \"\" INT; echo deaf; sleep 603'", "deaf\n")
		wants(t, step(t, sh, sandbox.Step{Key: sandbox.Interrupt}), "", sandbox.Left, -1)
		r, err := sh.Run(t.Context(), sandbox.Command{Script: "echo second"})
		if !errors.Is(err, sandbox.ErrRunning) {
			t.Errorf("%+v, %v", r, err)
		}
		r = ends(t, sh, sandbox.Suspend)
		if r.End != sandbox.Stopped || len(r.Stopped) != 2 || !r.Fresh || sh.Running() {
			t.Errorf("%+v", r)
		}
		kept(t, "1")
	})
	t.Run("a loop", func(t *testing.T) {
		begin(t, sh, "own=2; while :; do sleep 604; done; echo never", "")
		r := ends(t, sh, sandbox.Interrupt)
		wants(t, r, "", sandbox.Exited, 130)
		if !r.Fresh {
			t.Error("the shell goes on")
		}
		kept(t, "1")
	})
	t.Run("the shell itself", func(t *testing.T) {
		begin(t, sh, "while :; do :; done", "")
		wants(t, ends(t, sh, sandbox.Interrupt), "", sandbox.Exited, 130)
		kept(t, "1")
	})
	t.Run("stop and go on", func(t *testing.T) {
		begin(t, sh, "sh -c 'sleep 1; echo later'; echo last", "")
		r := ends(t, sh, sandbox.Suspend)
		if r.End != sandbox.Stopped || len(r.Stopped) == 0 {
			t.Fatalf("%+v", r)
		}
		kept(t, "1")
		out := run(t, sh, sandbox.Command{Script: "kill -CONT " + ints(r.Stopped) + "; sleep 1.5; echo now"}).Output
		if !strings.Contains(string(out), "later\nlast\n") || !strings.HasSuffix(string(out), "now\n") {
			t.Errorf("%q", out)
		}
	})
	t.Run("stop the shell itself", func(t *testing.T) {
		begin(t, sh, "while :; do :; done", "")
		r := ends(t, sh, sandbox.Suspend)
		if r.End != sandbox.Stopped || len(r.Stopped) != 1 {
			t.Fatalf("%+v", r)
		}
		kept(t, "1")
		run(t, sh, sandbox.Command{Script: "kill -9 " + ints(r.Stopped)})
	})
}

func ints(list []int) string { return strings.Trim(fmt.Sprint(list), "[]") }

// testLeft leaves commands running.
func testLeft(t *testing.T, sb sandbox.Sandbox) {
	sh := shellOf(t, sb)
	t.Run("more output", func(t *testing.T) {
		begin(t, sh, "echo a; sleep 0.8; echo b; read x; echo c", "a\n")
		wants(t, gather(t, sh, step(t, sh, sandbox.Step{}), "b\n"), "b\n", sandbox.Left, -1)
		types(t, sh, "", "c\n", sandbox.Exited, 0)
	})
	t.Run("ends between", func(t *testing.T) {
		begin(t, sh, "echo a; sleep 1; echo b; exit 9", "a\n")
		for sh.Running() {
			says(t, sb, "sleep 0.1")
		}
		wants(t, step(t, sh, sandbox.Step{}), "b\n", sandbox.Exited, 9)
	})
	t.Run("much output between", func(t *testing.T) {
		begin(t, sh, "sleep 1; printf HEAD; head -c 8388608 /dev/zero; printf TAIL", "")
		for sh.Running() {
			says(t, sb, "sleep 0.1")
		}
		r := step(t, sh, sandbox.Step{MaxOutput: 4 << 20})
		if out := string(r.Output); len(out) > 1<<20+100 || !strings.HasPrefix(out, "HEAD") || !strings.HasSuffix(out, "TAIL") || !strings.Contains(out, "7340040 bytes that came between") {
			t.Errorf("%d bytes", len(out))
		}
	})
	t.Run("hard limit over all", func(t *testing.T) {
		run(t, sh, sandbox.Command{Script: "export K=kept"})
		began := time.Now()
		r := run(t, sh, sandbox.Command{Script: stubborn(), Idle: still, Leave: true, Timeout: 2 * time.Second})
		wants(t, gather(t, sh, r, "up\n"), "up\n", sandbox.Left, -1)
		r = step(t, sh, sandbox.Step{Idle: limit})
		if wants(t, r, "", sandbox.TimedOut, -1); !r.Fresh || time.Since(began) > 20*time.Second {
			t.Errorf("%+v after %v", r, time.Since(began))
		}
		if n := count(t, sb); n != "0" {
			t.Errorf("%s processes are left", n)
		}
		wants(t, run(t, sh, sandbox.Command{Script: "echo $K"}), "kept\n", sandbox.Exited, 0)
	})
	t.Run("cancel", func(t *testing.T) {
		begin(t, sh, stubborn(), "up\n")
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		r, err := sh.Continue(ctx, sandbox.Step{Idle: limit})
		if err != nil || r.End != sandbox.Cancelled {
			t.Errorf("%+v, %v", r, err)
		}
		if n := count(t, sb); n != "0" {
			t.Errorf("%s processes are left", n)
		}
	})
	t.Run("a job does not count", func(t *testing.T) {
		wants(t, run(t, sh, sandbox.Command{Script: "(sleep 0.2; echo from the job) &", Idle: still, Leave: true}), "", sandbox.Exited, 0)
		wants(t, run(t, sh, sandbox.Command{Script: "sleep 0.6; echo then"}), "from the job\nthen\n", sandbox.Exited, 0)
	})
	t.Run("closed", func(t *testing.T) {
		other := shellOf(t, sb)
		begin(t, other, stubborn(), "up\n")
		if err := other.Close(); err != nil {
			t.Error(err)
		}
		if n := count(t, sb); n != "0" {
			t.Errorf("%s processes are left", n)
		}
	})
	t.Run("sandbox ends", func(t *testing.T) {
		begin(t, sh, "sleep 600", "")
		if err := sb.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := sh.Continue(t.Context(), sandbox.Step{Idle: limit}); !errors.Is(err, sandbox.ErrLost) {
			t.Errorf("continued: %v", err)
		}
		if _, err := sh.Run(t.Context(), sandbox.Command{Script: "true"}); !errors.Is(err, sandbox.ErrLost) {
			t.Errorf("run: %v", err)
		}
	})
}
