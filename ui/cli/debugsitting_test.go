package cli

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollbench/sessions"
)

// The sitting of somebody whose policy makes the wrong edit, in containers at 120x40:
// find the failing trajectory, break on the call that spoilt it, edit that call in a
// sibling, fork behind it, compare the child with parent and siblings, and export. Then
// the file has the masks that docs/exports.md promises.
func TestDebugSitting(t *testing.T) { // not in parallel: each start of a rollbench reaps
	image := testImage(t)
	s := newShop(t)
	tm := s.terminal(120, 40, "run", "--limit", "1", "--sandbox", "docker", "--set", "sandbox.build_args.BASE="+image,
		"--set", "simulated.seed=3", "--set", "simulated.latency=250ms",
		"--set", "generator.num_trajectories=3", "--set", "dispatcher.max_parallel_init=1", "--set", "dispatcher.max_parallel_agents=1")
	const group = "build-order-cycle"
	tm.sees("the policy is replying")
	// The others stop while the first one is evaluated, before they have come as far.
	within(t, 60*time.Second, "the first one has run", func() bool {
		return slices.Contains([]sessions.State{sessions.Ran, sessions.Evaluating, sessions.Done}, s.row(0).State)
	})
	tm.keys("P")
	tm.sees("done 1/3", "everything is paused")

	// The failing one, its call, and a breakpoint on calls like it.
	tm.keys("/")
	tm.keys("-l", "wrong")
	tm.keys("Enter")
	tm.sees(`1 match "wrong"`, "✘ done")
	tm.keys("Enter", "{", "{", "{", "b")
	tm.sees("Breakpoint", "tool=str_replace_editor args~/")
	tm.keys("C-u")
	tm.keys("-l", "tool=str_replace_editor args~/str_replace.*plan/")
	tm.keys("C-s")
	tm.sees("breakpoint set")
	tm.keys("1")
	tm.escape("trajectories 3 ─")
	tm.keys("P")
	tm.sees("run 1/1")
	for _, id := range []int{1, 2} {
		if s.holds(id, sessions.HeldBreakpoint, sessions.AfterReply); t.Failed() {
			t.Fatal(tm.screen())
		}
	}

	// Edit the call of the sibling, and let it run to the end of its turn.
	tm.keys(":")
	tm.keys("-l", "goto "+group+"#1")
	tm.keys("Enter")
	tm.sees("held: breakpoint #1", "The call above has not run.")
	tm.keys("e")
	tm.sees("Edit call 1 of 1", "new_str")
	tm.keys("-l", "    # by a person")
	tm.keys("C-s")
	tm.sees("✎ by a person", "# by a person")
	tm.keys("n")
	at := s.holds(1, sessions.HeldStep, sessions.BeforeModel).Turn + 1
	tm.sees("held: step at before-model")

	// A child that goes on from there, in a snapshot of the container.
	tm.keys("o")
	tm.sees("Fork "+group+"#1", fmt.Sprintf("from turn   ▏ %d", at))
	tm.keys("BTab", "BTab", "C-u")
	tm.keys("-l", "1")
	tm.keys("C-s")
	tm.sees("1 child of", "╰  3")
	tm.keys("B")
	tm.sees("tool=str_replace_editor args~/str_replace.*plan/", "after-reply")
	tm.keys("d")
	tm.sees("No breakpoints")
	tm.escape("trajectories 4 ")
	for id := range 4 {
		if row := s.row(id); row.State == sessions.Held {
			tm.keys(":")
			tm.keys("-l", fmt.Sprintf("goto %s#%d", group, id))
			tm.keys("Enter")
			tm.sees(fmt.Sprintf("╭ %s#%d", group, id), "◆ held: ")
			tm.keys("c")
			within(t, 40*time.Second, fmt.Sprintf("#%d goes on", id), func() bool { return s.row(id).State != sessions.Held })
		}
	}
	tm.sees("done 3/3", "finished")

	// The child beside its parent, then all of the group.
	tm.keys(":")
	tm.keys("-l", "goto "+group+"#1")
	tm.keys("Enter")
	tm.sees("╭ " + group + "#1")
	tm.keys("Space", "Space") // the child stands below its parent
	tm.sees("2 marked", "1•", "3•")
	tm.keys("v")
	tm.sees("compare "+group, "2 trajectories", "parts from #1", "✎")
	if part := regexp.MustCompile(`calls (\d+)`).FindStringSubmatch(tm.screen()); part != nil {
		if n, err := strconv.Atoi(part[1]); err != nil || n < at {
			t.Errorf("the child parts from its parent in turn %s, before turn %d\n%s", part[1], at, tm.screen())
		}
	}
	tm.escape("2 marked")
	tm.escape("trajectories 4 ─")
	tm.keys("v")
	tm.sees("4 trajectories", "patches")
	tm.escape("trajectories 4 ─")
	tm.keys("E")
	tm.sees("2 intervened, 1 of them forks", "Include intervened")
	tm.keys("a")
	tm.sees("transitions of 4")
	tm.keys("q")
	tm.sees("left with 0", "3 trajectories and 1 forked, 3 done")
	s.checkDebugged(at)
}

// holds waits until a trajectory is held at the gate for the reason.
func (s *shop) holds(id int, why sessions.HeldReason, at sessions.Gate) (row sessions.Trajectory) {
	s.t.Helper()
	within(s.t, 40*time.Second, fmt.Sprintf("#%d is held by %s at %s", id, why, at), func() bool {
		row = s.row(id)
		return row.State == sessions.Held && row.Held == why && row.HeldAt == at
	})
	return row
}

// checkDebugged: what the sitting left in the session and in the file. at is the first
// turn of the child's own.
func (s *shop) checkDebugged(at int) {
	t := s.t
	t.Helper()
	var rebuilt string
	for _, e := range s.events() {
		if e.Kind == sessions.KindRebuilt {
			rebuilt += string(e.Data)
		}
	}
	if !strings.Contains(rebuilt, `"by":"snapshot"`) {
		t.Errorf("the child's sandbox: %s", rebuilt)
	}
	if left := s.left(); len(left) > 0 {
		t.Errorf("left in docker: %v", left)
	}
	files, err := filepath.Glob(filepath.Join(s.home, "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("exported %v %v", files, err)
	}
	s.run("export", "--check", files[0])
	rows, err := readTransitions(files[0])
	if err != nil {
		t.Fatal(err)
	}
	edited, own := 0, 0
	for _, r := range rows {
		trains := slices.Contains(r.Mask, 1)
		where := fmt.Sprintf("#%d turn %d", r.Trajectory, r.Turn)
		if r.Intervened != (r.Trajectory == 1 || r.Trajectory == 3) {
			t.Errorf("%s: intervened %v", where, r.Intervened)
		}
		byPerson := r.Turn == at-1 && r.Intervened
		if byPerson != (r.Source == "operator") || byPerson != (r.Logprobs == nil) {
			t.Errorf("%s: source %q, %d logprobs", where, r.Source, len(r.Logprobs))
		}
		if byPerson {
			edited++
			if !strings.Contains(bytesOf(r.Output), "# by a person") {
				t.Errorf("%s is not the call as edited: %q", where, bytesOf(r.Output))
			}
		}
		if parents := r.Trajectory == 3 && r.Turn < at; trains == (parents || byPerson) {
			t.Errorf("%s trains: %v", where, trains)
		}
		if slices.Contains(r.Mask, 0) == trains {
			t.Errorf("%s has both tokens that train and some that do not", where)
		}
		if r.Trajectory == 3 && r.Turn >= at {
			own++
		}
	}
	if edited != 2 || own == 0 {
		t.Errorf("%d rows of the edited call, want the parent's and the child's; %d turns of the child's own", edited, own)
	}
}

// left behind: containers and snapshots of the run that the terminal showed.
func (s *shop) left() (left []string) {
	s.t.Helper()
	for _, e := range s.events() {
		var started struct {
			PID int `json:"pid"`
		}
		if e.Kind == sessions.KindRunStarted && json.Unmarshal(e.Data, &started) == nil {
			s.pids = append(s.pids, strconv.Itoa(started.PID))
		}
	}
	left = s.containers()
	out, err := exec.Command("docker", "images", "-q", "--filter", "label=rollbench.run="+s.runID()).CombinedOutput()
	if err != nil {
		s.t.Fatalf("docker images: %v %s", err, out)
	}
	return append(left, strings.Fields(string(out))...)
}
