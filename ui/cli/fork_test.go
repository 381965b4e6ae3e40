package cli

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollbench/sessions"
)

// A sitting that ends with kill -9: pause, fork where the trajectory is held, and
// while the children wait for their places the process dies. Its snapshot is there,
// and the next start removes it; the children come back by a replay and end, and
// are in the export for who asks.
func TestForkSitting(t *testing.T) { // not in parallel: each start of a rollbench reaps
	s := newShop(t)
	kept := func() []string {
		list, err := filepath.Glob(filepath.Join(s.home, "rollbench-snapshot-*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	tm := s.sitting(120, 40, "1s", "--set", "generator.num_trajectories=1", "--set", "dispatcher.max_live_sandboxes=1")
	tm.keys("P")
	within(t, 40*time.Second, "it is held", func() bool { return s.row(0).State == sessions.Held })
	tm.sees("held at " + string(s.row(0).HeldAt)) // a verb counts for what the screen knows
	tm.keys("o")
	tm.sees("Fork ", "from turn", "ctrl+s")
	tm.keys("-l", "please look at the callers first")
	tm.keys("C-s")
	tm.sees("2 children of", "queued")
	if rows := s.rows(); len(rows) != 3 {
		t.Fatalf("%d trajectories", len(rows))
	}
	if len(kept()) == 0 {
		t.Errorf("no snapshot is there: the test shows nothing\n%s", tm.screen())
	}
	pid := 0
	for _, e := range s.events() {
		if e.Kind == sessions.KindRunStarted {
			if _, err := fmt.Sscanf(string(e.Data), `{"pid":%d`, &pid); err != nil {
				t.Fatal(err)
			}
		}
	}
	if out, err := exec.Command("kill", "-9", strconv.Itoa(pid)).CombinedOutput(); err != nil {
		t.Fatalf("kill: %v %s", err, out)
	}
	tm.sees("left with")
	if out := s.run("clean"); !strings.Contains(out, "snapshot") || len(kept()) != 0 {
		t.Errorf("clean says\n%s and leaves %q", out, kept())
	}
	s.run("resume", "--headless", "--set", "simulated.latency=0s")
	for _, id := range []int{1, 2} {
		row := s.row(id)
		if row.State != sessions.Done || row.Fork == nil || row.Fork.Parent != 0 || row.Differs != 0 || !row.Intervened {
			t.Errorf("child %d: %+v", id, row)
		}
	}
	if out := s.run("ls"); !strings.Contains(out, "1/1") {
		t.Errorf("ls counts forks:\n%s", out)
	}
	file := filepath.Join(s.home, "with.jsonl")
	s.run("export", "latest", "--include-intervened", "-o", file)
	s.run("export", "--check", file)
	rows, err := readTransitions(file)
	if err != nil {
		t.Fatal(err)
	}
	told := map[int]bool{}
	for _, r := range rows {
		if strings.Contains(bytesOf(r.Prompt), "please look at the callers first") {
			told[r.Trajectory] = true
		}
	}
	if told[0] || !told[1] || !told[2] {
		t.Errorf("feedback was read by %v", told)
	}
}
