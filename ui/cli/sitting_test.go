package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rollbench/sessions"
)

// terminal is rollbench in a tmux window of its own server.
type terminal struct {
	t      *testing.T
	socket string
}

// terminals so far: each has a server of its own, since they are there at once.
var terminals atomic.Int32

func (s *shop) terminal(w, h int, args ...string) *terminal {
	s.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if required() {
			s.t.Fatal(err)
		}
		s.t.Skip("no tmux")
	}
	tm := &terminal{t: s.t, socket: fmt.Sprintf("rollbench-test-%d-%d", os.Getpid(), terminals.Add(1))}
	command := append([]string{"env", "ROLLBENCH_HOME=" + s.home, "XDG_CONFIG_HOME=" + s.home + "/config", binary(s.t)}, args...)
	for i, a := range command {
		command[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	// The shell stays, so that what the program leaves on the terminal can be read.
	line := "cd '" + s.home + "' && " + strings.Join(command, " ") + "; echo left with $?; exec sleep 600"
	tm.tmux("new-session", "-d", "-s", "w", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h), "sh", "-c", line)
	s.t.Cleanup(func() { _ = exec.Command("tmux", "-L", tm.socket, "kill-server").Run() })
	return tm
}

// sitting is at a run of one bundled task in local sandboxes, whose policy takes that
// long for a reply; a trajectory of it runs.
func (s *shop) sitting(w, h int, latency string, more ...string) *terminal {
	s.t.Helper()
	tm := s.terminal(w, h, append([]string{"run", "--limit", "1", "--sandbox", "local", "--set", "simulated.latency=" + latency}, more...)...)
	tm.sees("running")
	return tm
}

func (tm *terminal) tmux(args ...string) string {
	tm.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-L", tm.socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
	if err != nil {
		tm.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (tm *terminal) screen() string { return tm.tmux("capture-pane", "-p", "-t", "w") }

func (tm *terminal) keys(keys ...string) {
	tm.tmux(append([]string{"send-keys", "-t", "w"}, keys...)...)
}

// sees waits until the screen shows all the words.
func (tm *terminal) sees(words ...string) bool {
	tm.t.Helper()
	ok := within(tm.t, 40*time.Second, fmt.Sprintf("the screen shows %q", words), func() bool {
		screen := tm.screen()
		for _, w := range words {
			if !strings.Contains(screen, w) {
				return false
			}
		}
		return true
	})
	if !ok {
		tm.t.Fatalf("the screen is\n%s", tm.screen())
	}
	return ok
}

// escape and wait for what is there then: the next key would make alt of it.
func (tm *terminal) escape(words ...string) {
	tm.t.Helper()
	tm.keys("Escape")
	tm.sees(words...)
}

// row of a trajectory, as the session has it now.
func (s *shop) row(id int) sessions.Trajectory {
	for k, row := range s.rows() {
		if k.ID == id {
			return row
		}
	}
	s.t.Fatalf("no trajectory %d", id)
	return sessions.Trajectory{}
}

// A whole sitting at 80x24: pause all, step one to its pending call, inject
// feedback, edit the call, let it go on, export; then all of it is found in the
// session and, masked, in the export.
func TestSitting(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	tm := s.sitting(80, 24, "2s", "--set", "tools.enable_search=false")
	tm.keys("P")
	tm.sees("held")
	within(t, 40*time.Second, "all four are held", func() bool {
		n := 0
		for _, row := range s.rows() {
			if row.State == sessions.Held {
				n++
			}
		}
		return n == 4
	})
	tm.keys("g", "Down") // the first trajectory below its group
	for range 3 {
		if s.row(0).HeldAt == sessions.AfterReply {
			break
		}
		at := s.row(0).HeldAt
		tm.sees("held at " + string(at)) // a verb counts for what the screen knows
		tm.keys("s")
		within(t, 40*time.Second, "it is held at the next gate", func() bool {
			row := s.row(0)
			return row.State == sessions.Held && row.HeldAt != at
		})
	}
	tm.sees("held at "+string(sessions.AfterReply), "edit")

	tm.keys("i")
	tm.sees("feedback")
	tm.keys("-l", "please look at the callers first")
	tm.keys("C-s")
	tm.keys("e")
	tm.sees("Edit call 1 of 1")
	tm.keys("-l", " # by a person")
	tm.keys("C-s")
	within(t, 20*time.Second, "both changes are recorded", func() bool {
		return slices.Contains(s.verbs(), "inject") && slices.Contains(s.verbs(), "edit")
	})
	tm.sees("✎ by a person") // the screen has the edit
	tm.keys("s")             // the edited call runs
	within(t, 40*time.Second, "it is held after its tool", func() bool { return s.row(0).HeldAt == sessions.AfterTool })
	tm.tmux("resize-window", "-t", "w", "-x", "120", "-y", "40")
	tm.keys("P")
	tm.sees("done 4/4")

	tm.keys("E")
	tm.sees("Include intervened")
	tm.keys("a")
	tm.sees("transitions of 4")
	tm.keys("q")
	tm.sees("left with 0", "4 trajectories, 4 done")

	s.checkSitting()
}

// verbs of the interventions so far.
func (s *shop) verbs() []string {
	var out []string
	for _, e := range s.events() {
		var i sessions.Intervention
		if e.Kind == sessions.KindIntervention && json.Unmarshal(e.Data, &i) == nil {
			out = append(out, i.Verb)
		}
	}
	return out
}

func (s *shop) checkSitting() {
	t := s.t
	t.Helper()
	var commands []string
	held := map[sessions.HeldReason]int{}
	for _, e := range s.events() {
		var c sessions.Commanded
		var st sessions.StateChange
		switch {
		case e.Kind == sessions.KindCommand && json.Unmarshal(e.Data, &c) == nil:
			commands = append(commands, c.Verb)
		case e.Kind == sessions.KindState && json.Unmarshal(e.Data, &st) == nil && st.State == sessions.Held:
			held[st.Held]++
		}
	}
	if !slices.Contains(commands, "pause") || !slices.Contains(commands, "step") || !slices.Contains(commands, "continue") || held[sessions.HeldPaused] != 4 || held[sessions.HeldStep] == 0 {
		t.Errorf("commands %v, held %v", commands, held)
	}
	files, err := filepath.Glob(filepath.Join(s.home, "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("exported %v %v", files, err)
	}
	rows, err := readTransitions(files[0])
	if err != nil {
		t.Fatal(err)
	}
	injected, edited := false, false
	for _, r := range rows {
		if r.Trajectory != 0 {
			if r.Intervened {
				t.Errorf("trajectory %d was only paused, and counts as intervened", r.Trajectory)
			}
			continue
		}
		if !r.Intervened {
			t.Error("trajectory 0 does not count as intervened")
		}
		injected = injected || strings.Contains(bytesOf(r.Prompt), "please look at the callers first")
		if strings.Contains(bytesOf(r.Output), "please look at the callers first") {
			t.Error("the feedback stands among the sampled tokens")
		}
		if r.Source == "operator" {
			edited = true
			for _, m := range r.Mask {
				if m != 0 {
					t.Error("a token a person made is trained on")
				}
			}
			if len(r.Mask) == 0 || r.Logprobs != nil {
				t.Errorf("the edited reply has %d masked tokens and logprobs %v", len(r.Mask), r.Logprobs)
			}
		}
	}
	if !injected || !edited {
		t.Errorf("in the export: feedback %v, edited reply %v", injected, edited)
	}
}

// bytesOf ids of the simulated endpoint's byte-level tokenizer.
func bytesOf(ids []int32) string {
	var b []byte
	for _, id := range ids {
		if id < 256 {
			b = append(b, byte(id))
		}
	}
	return string(b)
}
