package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"rollbench/engine/infer"
	"rollbench/sessions"
)

// stopped interrupts the run and makes the engine of what goes on.
func (s *sat) stopped() {
	s.t.Helper()
	s.Stop()
	if err := <-s.done; !errors.Is(err, ErrStopped) {
		s.t.Fatal(err)
	}
	s.reopen()
	s.engine()
}

// What a person did at a shell before the fork is not known: a child whose sandbox is
// rebuilt is held, and told why, before and after a resume.
func TestForkAfterAShell(t *testing.T) {
	s := pair(t, nil)
	s.begin()
	s.into(sessions.AfterTool)
	s.work("true")
	s.into(sessions.BeforeModel)
	s.into(sessions.AfterReply)
	s.must(s.Fork(s.key, 2, ForkOptions{N: 1}), s.Fork(s.key, 1, ForkOptions{N: 1, Hold: true}))
	one, two := child(2), child(3)
	differs := func() {
		t.Helper()
		s.until("one is held", func() bool { return s.rowOf(one).State == sessions.Held })
		var r sessions.Rebuilt
		s.payload(sessions.KindRebuilt, one, &r)
		if len(r.Differs) != 1 || r.Differs[0].Turn != 1 || r.Differs[0].Call != -1 || !strings.Contains(r.Differs[0].Why, "at a shell") {
			t.Fatalf("%+v", r)
		}
		if row := s.rowOf(one); row.HeldWhy != "paused by the fork: 1 of 2 recorded calls answer differently in its sandbox" || row.Differs != 1 {
			t.Errorf("%d differ, held %q", row.Differs, row.HeldWhy)
		}
	}
	differs()
	s.until("two is held", func() bool { return s.rowOf(two).State == sessions.Held })
	if row := s.rowOf(two); row.Differs != 0 || row.HeldWhy != "paused by the fork, as asked for" {
		t.Errorf("before the shell was opened: %+v", row)
	}
	s.stopped()
	s.start()
	s.until("again", func() bool {
		return s.payload(sessions.KindRebuilt, one, new(sessions.Rebuilt)) == 2 && s.payload(sessions.KindRebuilt, two, new(sessions.Rebuilt)) == 2
	})
	s.until("two is held again", func() bool { return s.rowOf(two).State == sessions.Held })
	differs()
	s.must(s.Continue(sessions.Key{}), <-s.done)
}

// A child in whose sandbox a person worked at a shell starts again where it was
// forked, as its next attempt: with the parent's turns, not those it sampled.
func TestForkWorkedInAtAShell(t *testing.T) {
	s := pair(t, nil)
	s.begin()
	s.into(sessions.AfterTool)
	s.must(s.RunByHand(s.key, "echo early > /tmp/early", false))
	s.seen(sessions.KindHandRun, 1)
	s.into(sessions.BeforeModel)
	s.must(s.Fork(s.key, 2, ForkOptions{N: 1, Hold: true}))
	one := child(2)
	s.until("the child is held", func() bool { return s.rowOf(one).State == sessions.Held })
	s.must(s.RunByHand(one, "echo own > /tmp/own", false))
	s.seen(sessions.KindHandRun, 2)
	s.key = one
	s.work("true")
	s.key = child(0)
	s.must(s.Step(one, "into"))
	s.until("it has replied", func() bool { return s.rowOf(one).HeldAt == sessions.AfterReply })
	s.stopped()
	s.must(s.Pause(one), s.Pause(s.key))
	s.start()
	s.until("its next attempt is held", func() bool { r := s.rowOf(one); return r.Attempt == 2 && r.State == sessions.Held })
	if turns := s.turnsOf(one); len(turns) != 1 || *turns[0].Origin != s.key || s.rowOf(one).Turn != 1 || s.rowOf(one).Fork == nil {
		t.Errorf("it begins with %d turns: %+v", len(turns), s.rowOf(one))
	}
	s.must(s.RunByHand(one, "cat /tmp/early; test ! -e /tmp/own", false))
	runs := s.seen(sessions.KindHandRun, 3)
	if got := string(runs[2].Data); !strings.Contains(got, `early\n`) || !strings.Contains(got, `"exit":0`) {
		t.Errorf("its sandbox says %s", got)
	}
	s.must(s.Continue(sessions.Key{}), <-s.done)
	turns := s.turnsOf(one)
	if row := s.rowOf(one); row.State != sessions.Done || turns[1].Index != 2 || turns[1].Origin != nil || turns[1].NewSample {
		t.Errorf("%+v; turn %+v", row, turns[1])
	}
}

// The parent's commands that a child replays are those of the attempt it was forked
// from, whatever became of the parent.
func TestForkOfAnAttemptThatIsOver(t *testing.T) {
	s := sit(t, nil)
	s.call("execute_bash", `{"command": "cat /proc/sys/kernel/random/uuid"}`)
	s.must(s.RunByHand(s.key, "echo early", false))
	s.seen(sessions.KindHandRun, 1)
	s.into(sessions.AfterTool)
	s.must(s.Fork(s.key, 2, ForkOptions{N: 1, Hold: true}))
	s.until("the child is held", func() bool { return s.rowOf(child(1)).State == sessions.Held })
	for n := range 2 { // the parent's calls answer otherwise: its next attempt is made in the first
		s.stopped()
		if runs := s.items[1].runs; len(runs) != 1 || runs[0].Script != "echo early" {
			t.Fatalf("the child repeats %+v", runs)
		}
		s.must(s.Pause(s.key))
		s.start()
		s.until("rebuilt", func() bool { return s.payload(sessions.KindRebuilt, child(1), new(sessions.Rebuilt)) == n+2 })
		s.until("both are held", func() bool {
			r := s.row(0)
			return r.Attempt == 2 && r.State == sessions.Held && s.rowOf(child(1)).State == sessions.Held
		})
	}
	if runs := s.items[0].runs; len(runs) != 0 {
		t.Errorf("the parent repeats %+v", runs)
	}
	s.must(s.Continue(sessions.Key{}), <-s.done)
}

// Where a person writes the turns of all, a child's are a person's, too; turns
// without a count of tokens have used none.
func TestForkOfTurnsByHand(t *testing.T) {
	s := &sat{rig: setup(t, 1, func(c *Config) { c.Generator.Human, c.Generator.PromptMode = true, "messages" }), done: make(chan error, 1)}
	s.opt.Endpoints, s.opt.Capabilities = nil, infer.Capabilities{}
	s.engine()
	s.key = s.store.Run().Members[0]
	s.start()
	s.held(sessions.BeforeModel)
	write := func(key sessions.Key, turn int) {
		t.Helper()
		s.must(s.Write(key, "", []sessions.Call{{Name: "execute_bash", Arguments: `{"command": "pwd"}`}}))
		s.until("written", func() bool {
			turns := s.turnsOf(key)
			return len(turns) == turn && turns[turn-1].Complete && s.rowOf(key).HeldAt == sessions.BeforeModel
		})
	}
	write(s.key, 1)
	s.must(s.Fork(s.key, 2, ForkOptions{N: 1}))
	one := child(1)
	s.until("the child waits for a person", func() bool { r := s.rowOf(one); return r.HeldWhy == "for your turn" || r.State.Ended() })
	if f := s.rowOf(one).Fork; f == nil || f.Tokens != 0 {
		t.Errorf("%+v", f)
	}
	write(one, 2)
	s.stopped()
	if human := s.human(); !human[s.key.String()] || !human[one.String()] {
		t.Errorf("after a resume: %v", human)
	}
	if err := s.Human(one, false); !errors.Is(err, errNoModel) {
		t.Errorf("the model's turns without a model: %v", err)
	}
}

// A person who takes over all turns takes over the forks' that there are, also after
// a resume.
func TestHumanOfAllForks(t *testing.T) {
	s := sit(t, nil)
	s.must(s.Fork(s.key, 1, ForkOptions{N: 1, Hold: true}), s.Human(sessions.Key{}, true))
	s.until("the child is held", func() bool { return s.rowOf(child(1)).State == sessions.Held })
	s.stopped()
	for _, t := range s.items {
		if !t.gate.IsHuman() {
			s.t.Errorf("%s is the model's", t.key)
		}
	}
}

// The snapshot of gauges is taken while forks are added.
func TestStatusBesideForks(t *testing.T) {
	s := sit(t, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; n < 9; {
			s.Status()
			n = len(s.all())
		}
	}()
	for range 8 {
		s.must(s.Fork(s.key, 1, ForkOptions{N: 1, Hold: true}))
	}
	<-done
	s.must(s.Cancel(sessions.Key{}), <-s.done)
	if rows := s.rows(); len(rows) != 9 || slices.ContainsFunc(s.items, func(t *trajectory) bool { return !t.done.Load() }) {
		t.Errorf("%d rows", len(rows))
	}
}
