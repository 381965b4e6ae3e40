// Package sandboxtest is the suite that every kind of sandbox passes.
//
// In: a function that opens a sandbox of the kind. Out: test failures. What
// could harm a machine runs only in sandboxes that say they are contained.
package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

// Open opens a sandbox of the kind under test; the suite closes it. spec has
// Name and Workdir (/testbed) set; open adds what its kind needs.
type Open func(t *testing.T, spec sandbox.Spec) sandbox.Sandbox

// limit is far above what any command of the suite takes, so that a hang fails
// its own test.
const limit = 60 * time.Second

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, g := range []struct {
		name string
		test func(*testing.T, sandbox.Sandbox)
	}{
		{"exec", testExec},
		{"limits", testLimits},
		{"files", testFiles},
		{"copy", testCopy},
		{"walk", Walk},
		{"shell", testShell},
		{"shell limits", testShellLimits},
		{"containment", testContainment},
		{"streams", testStreams},
		{"1 GB of output", testFlood},
		{"escapes", testEscapes},
		{"clock", testClock},
		{"sweep", testSweep},
		{"console", testConsole},
		{"console lost", testConsoleLost},
		{"delete all", testDeleteAll},
	} {
		t.Run(g.name, func(t *testing.T) { g.test(t, opened(t, open)) })
	}
	t.Run("interactive", func(t *testing.T) {
		// They wait most of the time, so they do it together.
		for name, test := range map[string]func(*testing.T, sandbox.Sandbox){"programs": testInteractive, "keys": testKeys, "left running": testLeft} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, opened(t, open))
			})
		}
	})
	t.Run("no room", func(t *testing.T) { testNoRoom(t, opened(t, limited(open, sandbox.Spec{Pids: bombLimit}))) })
	t.Run("memory", func(t *testing.T) { testMemory(t, limited(open, sandbox.Spec{MemoryMB: memoryLimit})) })
	t.Run("disk", func(t *testing.T) { testDisk(t, limited(open, sandbox.Spec{DiskMB: diskLimit})) })
	t.Run("fork bombs", func(t *testing.T) { testBombs(t, opened(t, limited(open, sandbox.Spec{Pids: bombLimit}))) })
	t.Run("fresh", func(t *testing.T) { testFresh(t, open) })
	t.Run("snapshot", func(t *testing.T) { testSnapshot(t, open) })
	t.Run("close", func(t *testing.T) { testClose(t, opened(t, open)) })
}

// limited opens sandboxes with these limits.
func limited(open Open, l sandbox.Spec) Open {
	return func(t *testing.T, spec sandbox.Spec) sandbox.Sandbox {
		spec.Pids, spec.MemoryMB, spec.DiskMB = l.Pids, l.MemoryMB, l.DiskMB
		return open(t, spec)
	}
}

func suiteSpec() sandbox.Spec {
	return sandbox.Spec{Name: "suite", Workdir: "/testbed", Env: map[string]string{"SPEC_VAR": "from spec"}}
}

func opened(t *testing.T, open Open) sandbox.Sandbox {
	t.Helper()
	sb := open(t, suiteSpec())
	t.Cleanup(func() {
		if err := sb.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return sb
}

// contained is false where a command could harm this machine.
func contained(sb sandbox.Sandbox) bool { return sb.Path("/tests") == "/tests" }

// exec runs a command that must not fail to run.
func exec(t *testing.T, sb sandbox.Sandbox, c sandbox.Command) sandbox.Result {
	t.Helper()
	if c.Timeout == 0 {
		c.Timeout = limit
	}
	r, err := sb.Exec(t.Context(), c)
	if err != nil {
		t.Fatalf("exec %q %q: %v", c.Argv, c.Script, err)
	}
	return r
}

// says runs a script and returns its output, which must end well.
func says(t *testing.T, sb sandbox.Sandbox, script string) string {
	t.Helper()
	r := exec(t, sb, sandbox.Command{Script: script})
	if r.End != sandbox.Exited || r.ExitCode != 0 {
		t.Fatalf("script %q: %s, exit code %d: %s", script, r.End, r.ExitCode, r.Output)
	}
	return string(r.Output)
}

func testExec(t *testing.T, sb sandbox.Sandbox) {
	dir := sb.Workdir()
	for _, c := range []struct {
		name string
		cmd  sandbox.Command
		out  string
		code int
	}{
		{"argv", sandbox.Command{Argv: []string{"echo", "a b", "$X"}}, "a b $X\n", 0},
		{"script", sandbox.Command{Script: "echo one | tr o 0; exit 5"}, "0ne\n", 5},
		{"empty script", sandbox.Command{Script: ""}, "", 0},
		{"order", sandbox.Command{Script: "for i in 1 2 3; do echo o$i; echo e$i >&2; done"}, "o1\ne1\no2\ne2\no3\ne3\n", 0},
		{"argv stderr", sandbox.Command{Argv: []string{"sh", "-c", "echo a; echo b >&2; echo c"}}, "a\nb\nc\n", 0},
		{"stdin", sandbox.Command{Argv: []string{"cat"}, Stdin: []byte("in\x00\xff")}, "in\x00\xff", 0},
		{"stdin unread", sandbox.Command{Argv: []string{"true"}, Stdin: bytes.Repeat([]byte("x"), 1<<20)}, "", 0},
		{"no stdin", sandbox.Command{Argv: []string{"cat"}}, "", 0},
		{"env", sandbox.Command{Script: `echo "$A|$SPEC_VAR"`, Env: map[string]string{"A": "x y\nz"}}, "x y\nz|from spec\n", 0},
		{"env wins", sandbox.Command{Script: `echo "$SPEC_VAR"`, Env: map[string]string{"SPEC_VAR": "mine"}}, "mine\n", 0},
		{"workdir", sandbox.Command{Script: "pwd"}, dir + "\n", 0},
		{"dir", sandbox.Command{Script: "pwd", Dir: "/usr"}, "/usr\n", 0},
		{"binary", sandbox.Command{Script: `printf '\000\001\377\r\n\033[1m'`}, "\x00\x01\xff\r\n\x1b[1m", 0},
		{"no newline", sandbox.Command{Script: "printf end"}, "end", 0},
		{"signal", sandbox.Command{Script: "kill -9 $$"}, "", 137},
		{"long script", sandbox.Command{Script: "x='" + strings.Repeat("é", 250<<10) + "'; echo ${#x} >/dev/null; echo done"}, "done\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.cmd.Dir == "/usr" && !contained(sb) {
				c.cmd.Dir, c.out = "", dir+"\n"
			}
			r := exec(t, sb, c.cmd)
			if string(r.Output) != c.out || r.ExitCode != c.code || r.End != sandbox.Exited {
				t.Errorf("got %q, code %d, %s; want %q, code %d", r.Output, r.ExitCode, r.End, c.out, c.code)
			}
		})
	}
	t.Run("missing program", func(t *testing.T) {
		r := exec(t, sb, sandbox.Command{Argv: []string{"no-such-program"}})
		if r.ExitCode != 127 && r.ExitCode != 126 || len(r.Output) == 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("script limits", func(t *testing.T) {
		for _, s := range []string{"echo \x00", strings.Repeat("#", sandbox.MaxScript+1)} {
			if r, err := sb.Exec(t.Context(), sandbox.Command{Script: s}); err == nil {
				t.Errorf("ran: %+v", r)
			}
		}
	})
	t.Run("background child keeps the stream", func(t *testing.T) {
		r := exec(t, sb, sandbox.Command{Script: "sleep 30 & echo started"})
		if string(r.Output) != "started\n" || r.Wall > 10*time.Second {
			t.Errorf("%+v", r)
		}
	})
	t.Run("streams", func(t *testing.T) {
		var seen bytes.Buffer
		r := exec(t, sb, sandbox.Command{Script: "echo a; echo b", OnOutput: func(p []byte) { seen.Write(p) }})
		if seen.String() != "a\nb\n" || !bytes.Equal(r.Output, seen.Bytes()) {
			t.Errorf("saw %q, got %q", seen.String(), r.Output)
		}
	})
	t.Run("concurrent", func(t *testing.T) { testConcurrent(t, sb) })
	t.Run("big output", func(t *testing.T) { testBigOutput(t, sb) })
}

func testConcurrent(t *testing.T, sb sandbox.Sandbox) {
	const n = 8
	got := make(chan string, n)
	for i := range n {
		go func() {
			r, err := sb.Exec(t.Context(), sandbox.Command{Script: "echo $I; exit $I", Env: map[string]string{"I": string(rune('1' + i))}, Timeout: limit})
			if err != nil || r.ExitCode != i+1 {
				t.Errorf("%d: %+v, %v", i, r, err)
			}
			got <- string(r.Output)
		}()
	}
	seen := map[string]bool{}
	for range n {
		seen[<-got] = true
	}
	if len(seen) != n {
		t.Errorf("outputs: %v", seen)
	}
}

// testBigOutput writes 64 MB; head and tail of 1000 bytes are known.
func testBigOutput(t *testing.T, sb sandbox.Sandbox) {
	const size = 64 << 20
	r := exec(t, sb, sandbox.Command{Script: `printf HEAD; head -c 67108856 /dev/zero | tr '\0' x; printf TAIL`, MaxOutput: 2000})
	if len(r.Output) != 2000 || r.Head != 1000 || r.Dropped != size-2000 {
		t.Fatalf("kept %d, head %d, dropped %d", len(r.Output), r.Head, r.Dropped)
	}
	if !bytes.HasPrefix(r.Output, []byte("HEADxxx")) || !bytes.HasSuffix(r.Output, []byte("xxxTAIL")) {
		t.Errorf("%q … %q", r.Output[:8], r.Output[len(r.Output)-8:])
	}
}

// stubborn ignores SIGTERM in a tree that has left its session twice and whose
// parents are gone; a part of it carries no environment either. All of it has
// the number of naps on its command line.
func stubborn() string {
	return strings.ReplaceAll(`trap '' TERM
setsid sh -c 'trap "" TERM; (setsid sh -c "trap \"\" TERM; while :; do sleep N1; done" &) ; exit' &
env -i PATH="$PATH" setsid sh -c '(while :; do sleep N2; done) &'
(while :; do sleep N3; done) &
echo up
while :; do sleep N4; done`, "N", naps())
}

// naps is a number that no other test process uses at the same time: without a
// pid namespace they are all in one list.
func naps() string { return "7" + strconv.Itoa(os.Getpid()) }

// count says how many processes of stubborn live; the pattern does not match
// the script that holds it.
func count(t *testing.T, sb sandbox.Sandbox) string {
	t.Helper()
	return strings.TrimSpace(says(t, sb, `n=0; for f in /proc/[0-9]*/cmdline; do
c=$({ tr '\0' ' ' <$f; } 2>/dev/null); case $c in *sle[e]p\ `+naps()+`*) n=$((n+1)); esac; done; echo $n`))
}

func testLimits(t *testing.T, sb sandbox.Sandbox) {
	started := make(chan struct{}, 64)
	up := func(p []byte) {
		if bytes.Contains(p, []byte("up")) {
			started <- struct{}{}
		}
	}
	t.Run("hard", func(t *testing.T) {
		r := exec(t, sb, sandbox.Command{Script: stubborn(), Timeout: 2 * time.Second})
		if r.End != sandbox.TimedOut || r.ExitCode != -1 || string(r.Output) != "up\n" {
			t.Errorf("%+v", r)
		}
		if n := count(t, sb); n != "0" {
			t.Errorf("%s processes are left: %s", n, says(t, sb, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"))
		}
	})
	t.Run("idle", func(t *testing.T) {
		r := exec(t, sb, sandbox.Command{Script: stubborn(), Idle: time.Second})
		if r.End != sandbox.IdledOut || r.ExitCode != -1 || string(r.Output) != "up\n" {
			t.Errorf("%+v", r)
		}
		if n := count(t, sb); n != "0" {
			t.Errorf("%s processes are left", n)
		}
	})
	t.Run("output holds idle off", func(t *testing.T) {
		r := exec(t, sb, sandbox.Command{Script: "for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done", Idle: 2 * time.Second})
		if r.End != sandbox.Exited || r.ExitCode != 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-started; cancel() }()
		r, err := sb.Exec(ctx, sandbox.Command{Script: stubborn(), Timeout: limit, OnOutput: up})
		if err != nil || r.End != sandbox.Cancelled || r.ExitCode != -1 {
			t.Errorf("%+v, %v", r, err)
		}
		if n := count(t, sb); n != "0" {
			t.Errorf("%s processes are left", n)
		}
	})
	t.Run("already cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if r, err := sb.Exec(ctx, sandbox.Command{Script: "echo ran"}); err == nil && r.End != sandbox.Cancelled {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("others live on", func(t *testing.T) {
		says(t, sb, "sleep 5155 >/dev/null 2>&1 & echo $! > bg.pid")
		exec(t, sb, sandbox.Command{Script: "sleep 60", Timeout: 500 * time.Millisecond})
		says(t, sb, "kill -0 $(cat bg.pid) && kill $(cat bg.pid)")
	})
}

func testClose(t *testing.T, sb sandbox.Sandbox) {
	sh, err := sb.Shell(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{}, 64)
	ended := make(chan error, 2)
	for _, run := range []func(context.Context, sandbox.Command) (sandbox.Result, error){sb.Exec, sh.Run} {
		go func() {
			_, err := run(t.Context(), sandbox.Command{Script: "echo up; sleep 600", Timeout: limit, OnOutput: func([]byte) { started <- struct{}{} }})
			ended <- err
		}()
	}
	<-started
	<-started
	for range 2 {
		if err := sb.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	for range 2 {
		if err := <-ended; !errors.Is(err, sandbox.ErrLost) {
			t.Errorf("a command that ran ended with %v", err)
		}
	}
	for name, call := range map[string]func() error{
		"exec":  func() error { _, err := sb.Exec(t.Context(), sandbox.Command{Script: "true"}); return err },
		"shell": func() error { _, err := sb.Shell(t.Context()); return err },
		"run":   func() error { _, err := sh.Run(t.Context(), sandbox.Command{Script: "true"}); return err },
		"read":  func() error { _, err := sb.ReadFile(t.Context(), "/tmp/x"); return err },
		"write": func() error { return sb.WriteFile(t.Context(), "/tmp/x", nil, 0) },
		"stat":  func() error { _, err := sb.Stat(t.Context(), "/tmp"); return err },
		"list":  func() error { _, err := sb.ReadDir(t.Context(), "/tmp"); return err },
		"in":    func() error { return sb.CopyIn(t.Context(), "/tmp", bytes.NewReader(nil)) },
		"out":   func() error { _, err := sb.CopyOut(t.Context(), "/tmp"); return err },
	} {
		began := time.Now()
		if err := call(); !errors.Is(err, sandbox.ErrLost) {
			t.Errorf("%s after close: %v", name, err)
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("%s after close took %v", name, d)
		}
	}
	if err := sh.Close(); err != nil {
		t.Errorf("close shell of a closed sandbox: %v", err)
	}
}
