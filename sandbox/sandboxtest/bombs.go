package sandboxtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

// bombLimit is the limit of processes that the bombs run into.
const bombLimit = 100

// bombs fork until they are killed: one in which parents wait for children, two
// whose processes leave session and parent, the latter without a mark either, and
// one that is never the same process for long.
var bombs = []struct{ name, script string }{
	{"pipe", `b() { b | b & }; b`},
	{"setsid", `B='setsid sh -c "$B" & setsid sh -c "$B" & exit'; export B; sh -c "$B"`},
	{"no mark", `B='setsid sh -c "$B" & setsid sh -c "$B" & exit'; env -i B="$B" PATH="$PATH" sh -c "$B"`},
	{"hop", `b() { b & }; b`},
}

// forever needs no further process to wait for the time limit.
const forever = "; while :; do :; done"

// census lists who lives and, of two of them, the first letter of the state.
const census = `ps -eo stat=,comm=,args= > census
grep -v '^Z' census | sed 's/^[^ ]* *\([^ ]*\).*/\1/' | sort | uniq -c
sed -n 's/^\(.\).*\(sleep 515[67]\)$/\1 \2/p' census | sort`

// needsPidsLimit skips where nothing may use up the processes.
func needsPidsLimit(t *testing.T, sb sandbox.Sandbox) {
	t.Helper()
	if !contained(sb) {
		t.Skip("not contained")
	}
	if sb.Kind() == sandbox.Local && exec(t, sb, sandbox.Command{Script: "grep -E '(^0::|:pids:).*/" + sb.ID() + "$' /proc/self/cgroup"}).ExitCode != 0 {
		t.Skip("no cgroup: another limit of processes counts the sandbox's init too, which does not survive it")
	}
}

// testNoRoom has no process left for another terminal.
func testNoRoom(t *testing.T, sb sandbox.Sandbox) {
	needsPidsLimit(t, sb)
	sh := shellOf(t, sb)
	begin(t, sh, "read x; echo $x", "")
	ctx, cancel := context.WithCancel(t.Context())
	said, ended := make(chan string, 64), make(chan struct{})
	go func() {
		defer close(ended)
		// A sh ends where it cannot fork. What it had itself is used up as well.
		_, err := sb.Exec(ctx, sandbox.Command{OnOutput: func(p []byte) { said <- string(p) }, Timeout: limit, Argv: []string{"sh", "-c",
			"(i=0; while [ $i -lt 400 ]; do i=$((i+1)); sleep 600 & done; echo all) 2>/dev/null; sleep 600 & echo full; exec sleep 600"}})
		if err != nil {
			t.Error(err)
		}
	}()
	defer func() { cancel(); <-ended }()
	if strings.HasPrefix(<-said, "all") {
		t.Skip("no limit of processes")
	}
	types(t, sh, "typed", "typed\n", sandbox.Exited, 0)
	r := run(t, sh, sandbox.Command{Script: "read x; echo $?", Timeout: 10 * time.Second})
	if wants(t, r, "1\n", sandbox.Exited, 0); r.NoInput == "" {
		t.Error("a terminal was opened")
	}
	t.Log(r.NoInput)
	r = run(t, sh, sandbox.Command{Script: "while :; do :; done", Idle: still, Leave: true})
	if _, err := sh.Continue(t.Context(), sandbox.Step{Key: sandbox.Enter, Idle: still}); !errors.Is(err, sandbox.ErrInput) || r.End != sandbox.Left || r.NoInput == "" {
		t.Errorf("%+v, %v", r, err)
	}
	wants(t, ends(t, sh, sandbox.Interrupt), "", sandbox.Exited, 130)
}

// testBombs runs nothing hostile unless a limit of processes is seen to hold.
func testBombs(t *testing.T, sb sandbox.Sandbox) {
	needsPidsLimit(t, sb)
	r := exec(t, sb, sandbox.Command{Timeout: 3 * time.Second,
		Script: "(for i in $(seq 200); do sleep 600 & done; echo all) 2>/dev/null" + forever})
	if string(r.Output) == "all\n" {
		t.Skip("no limit of processes")
	}
	// What others run goes on, and what they have stopped stays stopped.
	says(t, sb, `sleep 5156 >/dev/null 2>&1 &
sleep 5157 >/dev/null 2>&1 & until grep -q sleep /proc/$!/comm; do :; done; kill -STOP $!`)
	before := says(t, sb, census)
	for _, b := range bombs {
		t.Run(b.name, func(t *testing.T) {
			sh := shellOf(t, sb)
			for _, run := range []func(sandbox.Command) sandbox.Result{
				func(c sandbox.Command) sandbox.Result { return exec(t, sb, c) },
				func(c sandbox.Command) sandbox.Result { return run(t, sh, c) },
			} {
				r := run(sandbox.Command{Script: "(" + b.script + ") 2>/dev/null" + forever, Timeout: 500 * time.Millisecond})
				if r.End != sandbox.TimedOut {
					t.Fatalf("%s, exit code %d: %.500s", r.End, r.ExitCode, r.Output)
				}
			}
			if err := sh.Close(); err != nil {
				t.Error(err)
			}
			if after := says(t, sb, census); after != before || !strings.HasSuffix(after, "S sleep 5156\nT sleep 5157\n") {
				t.Errorf("before:\n%safter:\n%s", before, after)
			}
		})
	}
	for _, b := range bombs {
		t.Run("sweep "+b.name, func(t *testing.T) { sweepsBomb(t, sb, b.script, before) })
	}
}
