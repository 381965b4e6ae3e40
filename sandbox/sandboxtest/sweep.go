package sandboxtest

import (
	"strings"
	"testing"

	"rollbench/sandbox"
)

// testSweep ends what commands left running: trees that ignore signals and have
// left their session, and, under a limit, a bomb that never stops.
func testSweep(t *testing.T, sb sandbox.Sandbox) {
	s, ok := sb.(sandbox.Sweeper)
	if !ok {
		t.Skip("no Sweeper")
	}
	sh := shellOf(t, sb)
	run(t, sh, sandbox.Command{Script: "echo kept > file; sleep " + naps() + "1 >/dev/null 2>&1 & nohup sleep " + naps() + "2 >/dev/null 2>&1 &"})
	says(t, sb, "(trap '' TERM HUP; while :; do sleep "+naps()+"3; done) >/dev/null 2>&1 & setsid env -i PATH=\"$PATH\" sleep "+naps()+"4 >/dev/null 2>&1 &")
	if n := count(t, sb); n == "0" {
		t.Fatal("nothing runs")
	}
	for range 2 {
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := count(t, sb); n != "0" {
			t.Errorf("%s processes are left", n)
		}
		if data, err := sb.ReadFile(t.Context(), "/testbed/file"); err != nil || string(data) != "kept\n" {
			t.Errorf("the file is %q, %v", data, err)
		}
	}
	// A shell goes on in a fresh process.
	if r := run(t, sh, sandbox.Command{Script: "cat file"}); string(r.Output) != "kept\n" {
		t.Errorf("%+v", r)
	}
}

// sweepsBomb starts a bomb that goes on after its command has ended, and ends it.
func sweepsBomb(t *testing.T, sb sandbox.Sandbox, script, before string) {
	s, ok := sb.(sandbox.Sweeper)
	if !ok {
		t.Skip("no Sweeper")
	}
	exec(t, sb, sandbox.Command{Script: "(" + script + ") >/dev/null 2>&1 &"})
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := says(t, sb, census)
	for line := range strings.Lines(after) {
		if !strings.Contains(before, line) && !strings.Contains(line, "census") {
			t.Errorf("left: %s", line)
		}
	}
	if strings.Contains(after, "sleep 515") {
		t.Errorf("processes of before are left:\n%s", after)
	}
}
