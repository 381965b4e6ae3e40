package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollbench/engine/infer/simulated"
	"rollbench/sandbox"
	"rollbench/sandbox/docker"
	"rollbench/sessions"
	"rollbench/tools/follow"
)

// sitIn is sit with sandboxes of a kind that nothing stands before, so that they
// can be copied; kept lists the snapshots that there are.
func sitIn(t *testing.T, kind sandbox.Kind) (s *sat, kept func() []string) {
	r := newRig(t, func(c *Config, _ *simulated.Options) {
		c.Generator.NumTrajectories, c.Sandbox.Kind, c.Tools.Search = 1, string(kind), true
		c.Tools.Python = true
	}, "build-order-cycle")
	if kind == sandbox.Local {
		if rep := r.local.Check(t.Context()); strings.HasPrefix(rep.Isolation, "none") {
			t.Skipf("a sandbox that is not contained keeps no snapshots: %s", rep.Isolation)
		}
		r.opt.Providers[kind] = r.local.Provider
		kept = func() []string {
			all, err := filepath.Glob(filepath.Join(r.home, "rollbench-snapshot-*"))
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
	} else {
		d := dockerWith(t, "rollbench-test/base:1")
		r.opt.Providers[kind] = d
		for _, in := range r.opt.Instances {
			in.Image, in.Build = "rollbench-test/base:1", nil
		}
		before := snapshots(t)
		kept = func() []string {
			return slices.DeleteFunc(snapshots(t), func(name string) bool { return slices.Contains(before, name) })
		}
	}
	var err error
	if r.opt.Bases, err = follow.NewBases(t.TempDir(), 64<<20); err != nil {
		t.Fatal(err)
	}
	s = &sat{rig: r.engine(), done: make(chan error, 1)}
	s.key = s.store.Run().Members[0]
	s.must(s.Pause(s.key))
	s.start()
	s.held(sessions.BeforeModel)
	s.into(sessions.AfterReply)
	return s, kept
}

func dockerWith(t *testing.T, image string) *docker.Provider {
	t.Helper()
	d, err := docker.New(t.Context(), docker.Options{})
	if err == nil {
		t.Cleanup(func() { _ = d.Close() })
	}
	there := false
	if err == nil {
		there, err = d.HasImage(t.Context(), image)
	}
	if err != nil || !there {
		if os.Getenv("ROLLBENCH_REQUIRE_DOCKER") == "1" {
			t.Fatalf("no docker with %s: %v", image, err)
		}
		t.Skipf("no docker with %s: %v", image, err)
	}
	return d
}

func snapshots(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("docker", "images", "--format", "{{.Repository}}:{{.Tag}}", "rollbench/snapshot").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// Children of a trajectory that is held right there are opened from a snapshot of
// its sandbox: they have its files, its shell's directory and environment, and what
// undo_edit can take back; nothing is run again. The snapshot is gone once they are
// open, and what they do stays their own.
func TestForkFromASnapshot(t *testing.T) {
	for _, kind := range []sandbox.Kind{sandbox.Local, sandbox.Docker} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s, kept := sitIn(t, kind)
			s.call("execute_bash", `{"command": "mkdir -p /tmp/deep && cd /tmp/deep && export COLOUR='deep blue' && cat /proc/sys/kernel/random/uuid | tee id"}`)
			s.into(sessions.AfterTool)
			id := strings.Fields(s.turn(1)[1].Observations[0].Text)[0]
			s.into(sessions.BeforeModel)
			s.into(sessions.AfterReply)
			s.call("str_replace_editor", `{"command": "create", "path": "/tmp/deep/made", "file_text": "one\n"}`)
			s.into(sessions.AfterTool)
			s.must(s.Fork(s.key, 3, ForkOptions{N: 2, Hold: true}))
			one, two := child(1), child(2)
			for _, key := range []sessions.Key{one, two} {
				s.until(key.String()+" is held", func() bool { r := s.rowOf(key); return r.State == sessions.Held || r.State.Ended() })
				var r sessions.Rebuilt
				if n := s.payload(sessions.KindRebuilt, key, &r); n != 1 || r.By != sessions.BySnapshot || r.Calls != 0 {
					t.Fatalf("%s: rebuilt %d times, %+v; %+v", key, n, r, s.rowOf(key))
				}
			}
			if kind == sandbox.Local { // an image stays while containers run from it
				if left := kept(); len(left) != 0 {
					t.Errorf("snapshots left: %q", left)
				}
			}
			s.must(s.Step(one, "into"))
			s.until("one has replied", func() bool { return s.rowOf(one).HeldAt == sessions.AfterReply })
			s.must(s.EditCall(one, 0, "execute_bash", `{"command": "pwd; echo $COLOUR; cat id; rm id"}`))
			s.must(s.Step(one, "over"))
			s.until("one is past it", func() bool {
				r := s.rowOf(one)
				return r.State == sessions.Held && r.HeldAt == sessions.BeforeModel && r.Turn == 3
			})
			turns := s.turnsOf(one)
			if got, want := turns[len(turns)-1].Observations[0].Text, "/tmp/deep\ndeep blue\n"+id+"\n"; !strings.HasPrefix(got, want) {
				t.Errorf("the child's shell says %q, want %q", got, want)
			}
			s.must(s.Step(two, "into"))
			s.until("two has replied", func() bool { return s.rowOf(two).HeldAt == sessions.AfterReply })
			s.must(s.EditCall(two, 0, "str_replace_editor", `{"command": "undo_edit", "path": "/tmp/deep/made"}`))
			s.must(s.Step(two, "over"))
			s.until("two is past it", func() bool {
				r := s.rowOf(two)
				return r.State == sessions.Held && r.HeldAt == sessions.BeforeModel && r.Turn == 3
			})
			turns = s.turnsOf(two)
			if got := turns[len(turns)-1].Observations[0].Text; !strings.HasPrefix(got, "Undid the creation of /tmp/deep/made") {
				t.Errorf("the child's editor says %q", got)
			}
			s.must(s.RunByHand(two, "cat /tmp/deep/id", true), s.RunByHand(s.key, "cd /tmp/deep; cat id made", true))
			for _, e := range s.seen(sessions.KindHandRun, 2) {
				if !strings.Contains(string(e.Data), id) || !strings.Contains(string(e.Data), `"exit":0`) {
					t.Errorf("%s: what a sibling removed is gone: %s", e.Key, e.Data)
				}
			}
			s.must(s.Continue(sessions.Key{}), <-s.done)
			if left := kept(); len(left) != 0 {
				t.Errorf("snapshots left: %q", left)
			}
			for key, row := range s.rows() {
				if row.State != sessions.Done || row.Sandbox != "" {
					t.Errorf("%s: %+v", key, row)
				}
			}
		})
	}
}

// Programs that run in the parent's sandbox as it is forked are in no snapshot: they
// are named, and the child is held. Those of the tools themselves are not among them.
func TestForkNamesWhatRuns(t *testing.T) {
	for _, kind := range []sandbox.Kind{sandbox.Local, sandbox.Docker} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s, _ := sitIn(t, kind)
			s.call("execute_bash", `{"command": "sleep 98765 >/dev/null 2>&1 & (sh -c 'sleep 98766; :' >/dev/null 2>&1 &) ; echo started"}`)
			s.into(sessions.AfterTool)
			s.into(sessions.BeforeModel)
			s.must(s.Fork(s.key, 2, ForkOptions{N: 1}))
			one := child(1)
			s.until("it is held", func() bool { r := s.rowOf(one); return r.State == sessions.Held || r.State.Ended() })
			var r sessions.Rebuilt
			s.payload(sessions.KindRebuilt, one, &r)
			var ran []string
			for _, d := range r.Differs {
				ran = append(ran, d.Tool)
			}
			if want := []string{"sh -c sleep 98766; :", "sleep 98765", "sleep 98766"}; r.By != sessions.BySnapshot || !slices.Equal(ran, want) {
				t.Errorf("by %s (%s): %q, want %q", r.By, r.Why, ran, want)
			}
			if row := s.rowOf(one); row.Differs != 3 || row.HeldWhy != "paused by the fork: 3 programs that ran in its parent's sandbox do not run in its own" {
				t.Errorf("%+v", row)
			}
			s.must(s.Continue(sessions.Key{}), <-s.done)
		})
	}
}

// Where the parent is held elsewhere, or its tools hold what no snapshot has, the
// calls are replayed, and the fact says why.
func TestForkSaysWhyItReplays(t *testing.T) {
	s, kept := sitIn(t, sandbox.Local)
	s.call("python", `{"code": "x = 1"}`)
	s.into(sessions.AfterTool)
	s.must(s.Fork(s.key, 2, ForkOptions{N: 1}), s.Fork(s.key, 1, ForkOptions{N: 1}))
	s.ends(child(1), child(2))
	for key, want := range map[sessions.Key]string{child(1): "python: its interpreter holds variables", child(2): "the parent is held at another turn"} {
		var r sessions.Rebuilt
		if s.payload(sessions.KindRebuilt, key, &r); r.By != sessions.ByReplay || r.Why != want {
			t.Errorf("%s: %+v, want %s", key, r, want)
		}
	}
	s.must(s.Continue(s.key), <-s.done)
	if left := kept(); len(left) != 0 {
		t.Errorf("snapshots left: %q", left)
	}
}

// Children that never open, because they are cancelled or the run stops, let the
// snapshot go, too.
func TestForkSnapshotOfChildrenThatNeverOpen(t *testing.T) {
	s, kept := sitIn(t, sandbox.Local)
	l := s.Limits()
	l.Live = 1 // the parent's
	s.must(s.SetLimits(l, ""))
	s.into(sessions.AfterTool)
	s.must(s.Fork(s.key, 2, ForkOptions{N: 2}))
	if n := len(kept()); n == 0 {
		t.Fatal("no snapshot was taken: the test shows nothing")
	}
	s.must(s.Cancel(child(1)), s.Cancel(child(2)))
	s.ends(child(1), child(2))
	if left := kept(); len(left) != 0 {
		t.Errorf("after a cancel: %q", left)
	}
	s.must(s.Fork(s.key, 2, ForkOptions{N: 2}))
	s.Stop()
	<-s.done
	if left := kept(); len(left) != 0 {
		t.Errorf("after a stop: %q", left)
	}
	s.reopen()
	s.engine()
	s.must(s.Run(t.Context()))
	if row := s.rowOf(child(3)); row.State != sessions.Done {
		t.Errorf("after the resume: %+v", row)
	}
}
