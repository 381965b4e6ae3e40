package sandboxtest

import (
	"errors"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

// The attacks that could harm a machine run in contained sandboxes only, with small
// limits set first, and each writes or takes no more than a machine can spare if no
// limit held: half a GB.

// testMemory takes memory, and the same by way of files in memory.
func testMemory(t *testing.T, open Open) {
	sb := opened(t, open)
	if !contained(sb) {
		t.Skip("not contained")
	}
	if sb.Kind() == sandbox.Local && exec(t, sb, sandbox.Command{Script: "grep -E '(^0::|:memory:).*/" + sb.ID() + "$' /proc/self/cgroup"}).ExitCode != 0 {
		t.Skip("no memory cgroup")
	}
	for _, a := range []struct{ name, script string }{
		// The shell itself grows, a child of it, and a process that left the session.
		{"shell", `x=$(head -c 400000000 /dev/zero | tr '\0' x); echo ${#x} kept`},
		{"child", `head -c 400000000 /dev/zero | sort -S 500M | wc -c | grep -q 400000 && echo kept`},
		{"left the session", `setsid sh -c 'x=$(head -c 400000000 /dev/zero | tr "\0" x); echo ${#x} kept'`},
		{"shared memory", `head -c 400000000 /dev/zero > /dev/shm/f && wc -c < /dev/shm/f && echo kept; rm -f /dev/shm/f`},
	} {
		t.Run(a.name, func(t *testing.T) {
			r, err := sb.Exec(t.Context(), sandbox.Command{Script: a.script, Timeout: 20 * time.Second, Idle: 5 * time.Second})
			if strings.Contains(string(r.Output), "kept") {
				t.Errorf("400 MB were kept under a limit of %d: %s", memoryLimit, r.Output)
			}
			aliveOrLost(t, sb, err)
		})
	}
}

// memoryLimit is in MB.
const memoryLimit = 128

// aliveOrLost: after an attack a sandbox works, or says at once that it is lost and
// why.
func aliveOrLost(t *testing.T, sb sandbox.Sandbox, err error) {
	t.Helper()
	if err == nil {
		var r sandbox.Result
		r, err = sb.Exec(t.Context(), sandbox.Command{Script: "echo alive", Timeout: limit, Dir: "/"})
		if err == nil && string(r.Output) != "alive\n" {
			t.Fatalf("afterwards: %+v", r)
		}
	}
	if err != nil && !errors.Is(err, sandbox.ErrLost) {
		t.Fatalf("neither alive nor lost: %v", err)
	}
	if err != nil {
		t.Skipf("the sandbox is lost: %v", err)
	}
}

// fillers write 256 MB, in files that are no larger than the limit.
var fillers = []struct{ name, script string }{
	{"files", `for i in 1 2 3 4 5 6 7 8; do head -c 33554432 /dev/zero > f$i || exit 1; done; echo all; sleep 100`},
	{"hidden", `for i in 1 2 3 4 5 6 7 8; do mkdir h$i; head -c 33554432 /dev/zero > h$i/f || exit 1; chmod 0 h$i; done; echo all; sleep 100`},
	{"without a name", `for i in 1 2 3 4 5 6 7 8; do
	exec 3> f; rm f; head -c 33554432 /dev/zero >&3 || exit 1; sleep 600 & done; echo all; sleep 100`},
}

// diskLimit is in MB.
const diskLimit = 64

// testDisk fills the disk under a small limit.
func testDisk(t *testing.T, open Open) {
	for _, f := range fillers {
		t.Run(f.name, func(t *testing.T) {
			sb := opened(t, open)
			if !contained(sb) {
				t.Skip("not contained")
			}
			sh := shellOf(t, sb)
			r, err := sh.Run(t.Context(), sandbox.Command{Script: f.script, Timeout: 2 * time.Minute})
			switch {
			case errors.Is(err, sandbox.ErrLost):
				if !strings.Contains(err.Error(), "disk") {
					t.Errorf("the cause is not told: %v", err)
				}
				_, err = sb.Exec(t.Context(), sandbox.Command{Script: "true"})
				if !errors.Is(err, sandbox.ErrLost) || !strings.Contains(err.Error(), "disk") {
					t.Errorf("the next command: %v", err)
				}
			case f.name == "without a name" && sb.Kind() == sandbox.Docker && os.Getuid() != 0:
				t.Skip("only root sees what processes of a container hold open")
			default:
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// testFlood has a command write 1 GB. What this process keeps of it is bounded, and
// so is what it takes to throw the rest away.
func testFlood(t *testing.T, sb sandbox.Sandbox) {
	const size = 1 << 30
	before := resident(t)
	began := time.Now()
	r := exec(t, sb, sandbox.Command{Script: "head -c 1073741824 /dev/zero", MaxOutput: 1 << 20, Timeout: 5 * time.Minute})
	if len(r.Output) != 1<<20 || r.Dropped != size-1<<20 || r.ExitCode != 0 || r.End != sandbox.Exited {
		t.Errorf("kept %d, dropped %d, %s", len(r.Output), r.Dropped, r.End)
	}
	t.Logf("1 GB of output in %v", time.Since(began).Round(10*time.Millisecond))
	// 64 MB are far less than the output and far more than its head and tail.
	if grown := resident(t) - before; grown > 64<<20 {
		t.Errorf("this process grew by %d MB", grown>>20)
	}
}

// resident is the memory that this process takes, as the kernel counts it.
func resident(t *testing.T) int64 {
	t.Helper()
	runtime.GC()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0 // not Linux
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// testStreams does to its own output what it can.
func testStreams(t *testing.T, sb sandbox.Sandbox) {
	sh := shellOf(t, sb)
	for _, a := range []struct{ name, script, out string }{
		{"no newline", `i=0; while [ $i -lt 1000 ]; do printf x; i=$((i+1)); done`, strings.Repeat("x", 1000)},
		{"NUL", `printf 'a\000\000b'`, "a\x00\x00b"},
		// A lone continuation byte, a cut sequence, an overlong slash, a surrogate.
		{"invalid UTF-8", `printf '\200 \343\201 \300\257 \355\240\200 \377'`, "\x80 \xe3\x81 \xc0\xaf \xed\xa0\x80 \xff"},
		{"stdout closed", `exec 1>&-; echo lost 2>/dev/null; true`, ""},
		{"stderr closed", `exec 2>&-; echo kept`, "kept\n"},
		{"both closed", `exec 1>&- 2>&-; true`, ""},
		{"every descriptor closed", `for n in 0 1 2 3 4 5 6 7 8 9; do eval "exec $n>&-"; done; true`, ""},
		{"a descriptor of ours", `(echo forged >&8; echo forged >&9) 2>/dev/null; true`, ""},
	} {
		t.Run(a.name, func(t *testing.T) {
			for name, r := range map[string]sandbox.Result{"exec": exec(t, sb, sandbox.Command{Script: a.script}), "shell": run(t, sh, sandbox.Command{Script: a.script})} {
				if string(r.Output) != a.out || r.End != sandbox.Exited {
					t.Errorf("%s: got %q, %s; want %q", name, r.Output, r.End, a.out)
				}
			}
			if r := run(t, sh, sandbox.Command{Script: "echo heard"}); string(r.Output) != "heard\n" {
				t.Errorf("the next command: %q", r.Output)
			}
		})
	}
	t.Run("kills its shell", func(t *testing.T) {
		for _, script := range []string{"kill -9 $$", "kill -9 $PPID $$", "kill -STOP $$"} {
			if !contained(sb) && script != "kill -9 $$" {
				continue // the parent and the others are this machine's
			}
			if _, err := sh.Run(t.Context(), sandbox.Command{Script: script + "; sleep 600", Timeout: 2 * time.Second}); err != nil {
				t.Errorf("%s: %v", script, err)
			}
			if r := run(t, sh, sandbox.Command{Script: "echo alive"}); string(r.Output) != "alive\n" {
				t.Errorf("after %s: %+v", script, r)
			}
		}
		if contained(sb) { // a container whose main process is killed is no more
			_, err := sh.Run(t.Context(), sandbox.Command{Script: "kill -9 -1; sleep 600", Timeout: 2 * time.Second})
			aliveOrLost(t, sb, err)
		}
	})
}

// testDeleteAll removes all that can be. What is outside must not notice.
func testDeleteAll(t *testing.T, sb sandbox.Sandbox) {
	if !contained(sb) {
		t.Skip("not contained")
	}
	canary := path.Join(t.TempDir(), "canary")
	if err := os.WriteFile(canary, []byte("sings"), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := sb.Exec(t.Context(), sandbox.Command{Script: "rm -rf --no-preserve-root / /proc/1/root/* " + canary + " 2>/dev/null; echo done", Timeout: limit})
	t.Logf("%s, exit code %d: %.100s", r.End, r.ExitCode, r.Output)
	if got, err := os.ReadFile(canary); err != nil || string(got) != "sings" {
		t.Errorf("the canary: %q, %v", got, err)
	}
	for _, p := range []string{"/bin/sh", "/etc/passwd", "/usr/bin/env"} {
		if _, err := os.Stat(p); err != nil {
			t.Errorf("this machine: %v", err)
		}
	}
	// Without programs nothing runs, but every call ends, and soon.
	_, execErr := sb.Exec(t.Context(), sandbox.Command{Script: "echo alive", Timeout: 10 * time.Second, Dir: "/"})
	_, readErr := sb.ReadFile(t.Context(), "/etc/passwd")
	t.Logf("afterwards: exec %v, read %v (rm: %v)", execErr, readErr, err)
	if sb.Kind() == sandbox.Local && (execErr != nil || readErr != nil) {
		t.Error("programs and init are not the sandbox's to remove: it should go on")
	}
}

// testClock: the machine's clock is not the sandbox's to set. The attack runs only
// where its capability is seen to be gone.
func testClock(t *testing.T, sb sandbox.Sandbox) {
	if !contained(sb) {
		t.Skip("not contained")
	}
	mask, err := strconv.ParseUint(strings.TrimSpace(says(t, sb, "grep CapEff /proc/self/status | cut -f 2")), 16, 64)
	const sysTime = 25 // CAP_SYS_TIME
	if err != nil || mask>>sysTime&1 != 0 {
		t.Fatalf("a sandbox may set the clock: capabilities %x, %v", mask, err)
	}
	before := time.Now()
	r := exec(t, sb, sandbox.Command{Script: "date -s '2031-02-03 04:05:06' >/dev/null"})
	if r.ExitCode == 0 || time.Now().Round(0).Sub(before.Round(0)) > time.Hour {
		t.Errorf("the clock was set: %+v", r)
	}
}
