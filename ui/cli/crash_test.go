package cli

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"rollbench/sessions"
)

// slow enough that the kill falls into the middle of the run.
var slow = []string{"--set", "simulated.latency=60ms", "--set", "simulated.tokens_per_second=3000", "--set", "dispatcher.max_parallel_agents=3"}

// kill -9 in the middle, then resume: what had finished stays, the rest goes
// on or starts again, the set is unchanged and nothing is left behind.
func TestKillAndResume(t *testing.T) {
	t.Parallel()
	for _, killAt := range []int{1, 4} {
		s := newShop(t)
		s.killAfter(killAt, "] done", append([]string{"run", "--headless", "--limit", "2", "--sandbox", "local"}, slow...)...)
		before := s.rows()
		ended := 0
		for _, row := range before {
			if row.State.Ended() {
				ended++
			}
		}
		if len(before) != 8 || ended < killAt || ended == 8 {
			t.Fatalf("%d of %d trajectories had ended when it was killed", ended, len(before))
		}

		var o outcome
		if err := json.Unmarshal([]byte(s.run("resume", "--headless", "--json")), &o); err != nil {
			t.Fatal(err)
		}
		if o.Trajectories != 8 || o.Done != 8 {
			t.Errorf("after the resume: %+v", o)
		}
		after := s.rows()
		if len(after) != len(before) {
			t.Errorf("%d trajectories before, %d after", len(before), len(after))
		}
		for key, was := range before {
			now, ok := after[key]
			if !ok {
				t.Errorf("%s is gone", key)
			}
			if was.State.Ended() && (now.Attempt != was.Attempt || now.Turn != was.Turn || *now.Reward != *was.Reward || !now.Ended.Equal(was.Ended)) {
				t.Errorf("%s had ended and was touched: %+v, then %+v", key, was, now)
			}
			if now.Attempt == was.Attempt && now.Turn < was.Turn {
				t.Errorf("%s lost finished turns: %d, then %d", key, was.Turn, now.Turn)
			}
		}
		s.leftNothing()
		s.run("export", "latest", "-o", filepath.Join(s.home, "t.jsonl"))
	}
}

// A resumed trajectory goes on from its last reply when its sandbox can be
// brought back: the same attempt, its turns kept.
func TestResumeGoesOn(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	// A turn takes 300 ms and more, so the kill falls into the turn that was seen.
	cmd := s.command("run", "--headless", "--limit", "1", "--sandbox", "local", "--set", "simulated.latency=300ms")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, 40*time.Second, "a trajectory is in the middle of its run stage", func() bool {
		r, err := sessions.OpenReader(t.Context(), s.home, "latest")
		if err != nil {
			return false // the run is being made
		}
		defer r.Close()
		rows, _, err := r.Trajectories(t.Context())
		return err == nil && slices.ContainsFunc(rows, func(row sessions.Trajectory) bool {
			return row.State == sessions.Running && row.Turn >= 2
		})
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	inTheMiddle := map[sessions.Key]sessions.Trajectory{}
	for key, row := range s.rows() {
		if row.State == sessions.Running && row.Turn >= 2 {
			inTheMiddle[key] = row
		}
	}
	if len(inTheMiddle) == 0 {
		t.Fatal("no trajectory was in the middle of its run stage")
	}
	s.run("resume", "--headless")
	wentOn := 0
	for key, now := range s.rows() {
		if was, ok := inTheMiddle[key]; ok && now.Attempt == was.Attempt {
			wentOn++
		}
	}
	if wentOn == 0 {
		t.Errorf("none of %d interrupted trajectories went on in the same attempt", len(inTheMiddle))
	}
}

// A second process may read a run that is being written, and is refused as a
// second writer.
func TestSecondWriterIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.killAfter(1, "] done", append([]string{"run", "--headless", "--limit", "1", "--sandbox", "local"}, slow...)...)
	first := s.command(append([]string{"resume", "--headless"}, "--set", "simulated.latency=2s")...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, 20e9, "the first writer starts", func() bool {
		for _, e := range s.events() {
			var r sessions.RunStarted
			if e.Kind == sessions.KindRunStarted && json.Unmarshal(e.Data, &r) == nil && r.PID == first.Process.Pid {
				return true
			}
		}
		return false
	})
	out, err := s.command("resume", "--headless").CombinedOutput()
	if err == nil || first.ProcessState != nil {
		t.Errorf("a second writer was let in: %v %s", err, out)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // killed
	s.run("resume", "--headless")
}
