package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"rollbench/engine/infer"
	"rollbench/sandbox"
	"rollbench/sessions"
)

// child of the run's first instance, and its row.
func child(id int) sessions.Key { return sessions.Key{Instance: "build-order-cycle", ID: id} }

func (s *sat) rowOf(key sessions.Key) sessions.Trajectory {
	s.t.Helper()
	return s.rows()[key.String()]
}

func (s *sat) turnsOf(key sessions.Key) []sessions.Turn {
	s.t.Helper()
	turns, err := s.store.Turns(s.t.Context(), key, 0, 0, 0, true)
	s.must(err)
	return turns
}

// ends waits for the end of children.
func (s *sat) ends(keys ...sessions.Key) {
	s.t.Helper()
	for _, key := range keys {
		s.until(key.String()+" ended", func() bool { return s.rowOf(key).State.Ended() })
	}
}

func (s *sat) payload(kind sessions.Kind, key sessions.Key, into any) int {
	s.t.Helper()
	n := 0
	for _, e := range s.events(kind) {
		if e.Key == key {
			n++
			s.must(json.Unmarshal(e.Data, into))
		}
	}
	return n
}

func ptr[T any](v T) *T { return &v }

// Two children of a held trajectory, forked at its second turn: they replay its
// first, read the feedback, sample with their own settings, and end by themselves,
// while the parent is held where it was.
func TestForkByReplay(t *testing.T) {
	s := sit(t, nil)
	s.into(sessions.AfterTool)
	s.must(s.Step(s.key, "over"))
	s.held(sessions.BeforeModel)
	s.must(s.Step(s.key, "over"))
	s.until("two turns", func() bool {
		r := s.row(0)
		return r.State == sessions.Held && r.Turn == 2 && r.HeldAt == sessions.BeforeModel
	})
	before := s.row(0)
	s.must(s.Fork(s.key, 2, ForkOptions{N: 2, Feedback: "Look at the tests first.", Sampling: infer.Sampling{Temperature: ptr(0.25)}}))
	one, two := child(1), child(2)
	s.ends(one, two)
	if now := s.row(0); now.Turn != before.Turn || now.State != sessions.Held || now.Intervened {
		t.Errorf("the parent is %+v", now)
	}
	parent := s.turnsOf(s.key)
	var ids []string
	for _, key := range []sessions.Key{one, two} {
		row, turns := s.rowOf(key), s.turnsOf(key)
		want := sessions.Fork{Parent: 0, Attempt: 1, Turn: 2, Shared: 1, Group: 1, Count: 2, Tokens: parent[0].OutputTokens, FirstLen: parent[0].PromptTokens}
		if row.State != sessions.Done || row.Reward == nil || !row.Intervened || row.Attempt != 1 || row.Fork == nil || *row.Fork != want || row.Breaks != 0 || row.Differs != 0 {
			t.Fatalf("%s: %+v, fork %+v", key, row, row.Fork)
		}
		if turns[0].Origin == nil || *turns[0].Origin != s.key || !slices.Equal(turns[0].OutputIDs, parent[0].OutputIDs) || turns[1].Origin != nil {
			t.Errorf("%s: turn 1 is %+v", key, turns[0])
		}
		prefix := append(slices.Clone(parent[0].PromptIDs), parent[0].OutputIDs...)
		if turns[1].NewSample || !slices.Equal(turns[1].PromptIDs[:len(prefix)], prefix) {
			t.Errorf("%s: its first prompt does not go on where the parent's reply ended", key)
		}
		if m := turns[1].New[len(turns[1].New)-1]; m.Source != sessions.FromOperator || !strings.HasPrefix(m.Content, "Look at the tests first.") {
			t.Errorf("%s: it read %+v", key, m)
		}
		if !strings.Contains(string(turns[1].Sampling), `"temperature":0.25`) || strings.Contains(string(turns[0].Sampling), "0.25") {
			t.Errorf("%s: sampled with %s after %s", key, turns[1].Sampling, turns[0].Sampling)
		}
		sampled := 0
		for _, turn := range turns[1:] {
			sampled += turn.OutputTokens
		}
		last := turns[len(turns)-1]
		if row.Sampled != sampled || row.Tokens != last.PromptTokens+last.OutputTokens-parent[0].PromptTokens {
			t.Errorf("%s: %d sampled, %d tokens used", key, row.Sampled, row.Tokens)
		}
		var r sessions.Rebuilt
		if n := s.payload(sessions.KindRebuilt, key, &r); n != 1 || r.By != sessions.ByReplay || r.Calls != 1 || len(r.Differs) != 0 {
			t.Errorf("%s: rebuilt %d times, %+v", key, n, r)
		}
		ids = append(ids, fmt.Sprint(turns[1].OutputIDs))
	}
	if ids[0] == ids[1] && len(s.turnsOf(one)) == len(s.turnsOf(two)) {
		t.Log("the children sampled alike") // by chance; they have seeds of their own
	}
	if st := s.Status(); st.Ended != 0 {
		t.Errorf("%d of the set have ended", st.Ended)
	}
	s.finish()
	rows, sum := s.exported(false)
	if sum.LeftForks != 2 || sum.Trajectories != 1 || len(rows) != s.row(0).Turn {
		t.Errorf("export without forks: %v", sum)
	}
	rows, sum = s.exported(true)
	if sum.Trajectories != 3 || sum.Groups != 2 || sum.Parents != 2 {
		t.Errorf("export with forks: %+v", sum)
	}
	masked := 0
	for _, r := range rows {
		forked := len(r.Did) > 0
		if r.trains(t) == (forked && r.Turn < 2) {
			t.Errorf("forked %v, turn %d: mask %v", forked, r.Turn, r.Mask)
		}
		if !r.trains(t) {
			masked += len(r.Mask)
		}
	}
	if want := 2 * len(parent[0].OutputIDs); masked != want {
		t.Errorf("%d tokens are masked, want the parent's first reply twice, %d", masked, want)
	}
}

// What cannot be forked says why, and adds nothing.
func TestForkRefusals(t *testing.T) {
	s := sit(t, func(c *Config) { c.Generator.MaxIterations = 4 })
	for want, f := range map[string]func() error{
		"0 children: ask for 1 to 16 at a time":  func() error { return s.Fork(s.key, 1, ForkOptions{}) },
		"17 children: ask for 1 to 16 at a time": func() error { return s.Fork(s.key, 1, ForkOptions{N: 17}) },
		"generator.sampling_params.temperature is -1": func() error {
			return s.Fork(s.key, 1, ForkOptions{N: 1, Sampling: infer.Sampling{Temperature: ptr(-1.0)}})
		},
		"build-order-cycle#0 has no turn 3 to fork from: use 1 to 2":   func() error { return s.Fork(s.key, 3, ForkOptions{N: 1}) },
		"build-order-cycle#0 has no turn 0 to fork from: use 1 to 2":   func() error { return s.Fork(s.key, 0, ForkOptions{N: 1}) },
		"turn 1 of build-order-cycle#0 is not over: fork from turn 1,": func() error { return s.Fork(s.key, 2, ForkOptions{N: 1}) },
		"there is no trajectory build-order-cycle#9 in run":            func() error { return s.Fork(child(9), 1, ForkOptions{N: 1}) },
		"a limit is a number from 1 on":                                func() error { return s.Fork(s.key, 1, ForkOptions{N: 1, Turns: -1}) },
	} {
		if err := f(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	s.into(sessions.AfterTool)
	if err := s.Fork(s.key, 2, ForkOptions{N: 1, Turns: 1}); err == nil || !strings.HasPrefix(err.Error(), "1 turns are used before turn 2, and 1 is the limit") {
		t.Errorf("no turns left: %v", err)
	}
	if err := s.Fork(s.key, 2, ForkOptions{N: 1, Tokens: 2}); err == nil || !strings.Contains(err.Error(), "tokens are used before turn 2, and 2 is the budget") {
		t.Errorf("no tokens left: %v", err)
	}
	s.finish()
	if n := len(s.rows()); n != 1 {
		t.Errorf("%d rows", n)
	}
	if err := s.Fork(s.key, 1, ForkOptions{N: 1}); err == nil || err.Error() != "the run has ended" {
		t.Errorf("after the end: %v", err)
	}
}

// elsewhere is a sandbox that answers otherwise than the recorded one: each of its
// commands tells where it runs.
type elsewhere struct {
	sandbox.Sandbox
	where string
}

func (e *elsewhere) Shell(ctx context.Context) (sandbox.Shell, error) {
	sh, err := e.Sandbox.Shell(ctx)
	return &tellingShell{sh, e.where}, err
}

type tellingShell struct {
	sandbox.Shell
	where string
}

func (s *tellingShell) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	c.Script = "echo " + s.where + "; " + c.Script
	return s.Shell.Run(ctx, c)
}

// A child in whose sandbox a recorded call answers otherwise is held before it goes
// on, with what was recorded and what came now. A person lets one go on and drops the
// other. The last turn before the fork, whose observation is then edited in the
// parent, stays what it was in the children.
func TestForkDiffers(t *testing.T) {
	s := sit(t, nil)
	s.call("execute_bash", `{"command": "echo same; cat /proc/sys/kernel/random/uuid"}`)
	s.into(sessions.AfterTool)
	saw := s.turn(1)[1].Observations[0].Text
	s.must(s.Fork(s.key, 2, ForkOptions{N: 2}))
	s.must(s.EditObservation(s.key, 0, "edited"))
	s.until("edited", func() bool { return s.turn(1)[1].Observations[0].Text == "edited" })
	one, two := child(1), child(2)
	for _, key := range []sessions.Key{one, two} {
		s.until(key.String()+" is held", func() bool { return s.rowOf(key).State == sessions.Held })
		row := s.rowOf(key)
		if row.HeldAt != sessions.BeforeModel || row.Held != sessions.HeldPaused || row.HeldWhy != "paused by the fork: 1 of 1 recorded calls answer differently in its sandbox" || row.Differs != 1 || row.Fork.Shared != 0 {
			t.Fatalf("%s: %+v, fork %+v", key, row, row.Fork)
		}
		var r sessions.Rebuilt
		s.payload(sessions.KindRebuilt, key, &r)
		d := r.Differs[0]
		if d.Turn != 1 || d.Call != 0 || d.Tool != "execute_bash" || !strings.Contains(d.Args, "uuid") || d.Was == d.Now || !strings.HasPrefix(saw, d.Was[:20]) || !strings.HasPrefix(d.Now, "same\n") {
			t.Errorf("%s: %+v, recorded %q", key, d, saw)
		}
		if turns := s.turnsOf(key); len(turns) != 1 || turns[0].Observations[0].Text != saw || *turns[0].Origin != s.key {
			t.Errorf("%s: its turns are %+v", key, turns)
		}
	}
	s.must(s.Continue(one), s.Cancel(two))
	s.ends(one, two)
	if a, b := s.rowOf(one), s.rowOf(two); a.State != sessions.Done || b.State != sessions.Cancelled || b.Turn != 1 {
		t.Errorf("rows %+v, %+v", a, b)
	}
	if two := s.turnsOf(one)[1]; two.New[0].Content == "edited" {
		t.Error("the child read what a person told the parent")
	}
	s.finish()
}

// Children are part of the run: after an interruption they come back with the
// parent's turns, their own, the feedback that was not sent yet, and, where a person
// has let them go on with the same differences, they are not held again.
func TestForkResumes(t *testing.T) {
	s := sit(t, nil)
	s.local.onOpen = func(spec sandbox.Spec, sb sandbox.Sandbox) (sandbox.Sandbox, error) {
		if strings.Contains(spec.Name, ".0.a") {
			return &elsewhere{sb, "here"}, nil
		}
		return &elsewhere{sb, "there"}, nil
	}
	s.call("execute_bash", `{"command": "pwd"}`)
	s.into(sessions.AfterTool)
	s.must(s.Step(s.key, "over"))
	s.held(sessions.BeforeModel)
	s.must(s.Fork(s.key, 2, ForkOptions{N: 2, Feedback: "Go on.", Hold: true}))
	one, two := child(1), child(2)
	for _, key := range []sessions.Key{one, two} {
		s.until(key.String()+" is held", func() bool { return s.rowOf(key).State == sessions.Held })
	}
	s.must(s.Step(one, "into"))
	s.until("one has replied", func() bool { r := s.rowOf(one); return r.State == sessions.Held && r.HeldAt == sessions.AfterReply })
	reply := s.turnsOf(one)[1]
	s.Stop()
	if err := <-s.done; !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	s.reopen()
	s.engine()
	if len(s.items) != 3 || s.items[2].injected == nil || s.items[1].injected != nil {
		t.Fatalf("%d items; feedback that comes back: %q, %q", len(s.items), s.items[1].injected, s.items[2].injected)
	}
	s.must(s.Pause(s.key))
	s.start()
	s.until("two is held again", func() bool {
		r := s.rowOf(two)
		return r.State == sessions.Held && len(s.events(sessions.KindRunStarted)) == 2 && strings.HasPrefix(r.HeldWhy, "paused by the fork: 1 of 1")
	})
	s.ends(one) // by itself
	if again := s.turnsOf(one); again[1].Version != reply.Version || !slices.Equal(again[1].OutputIDs, reply.OutputIDs) || s.rowOf(one).Attempt != 1 || s.rowOf(one).State != sessions.Done {
		t.Errorf("one: attempt %d, turn 2 is %+v", s.rowOf(one).Attempt, again[1])
	}
	s.must(s.Continue(two))
	s.ends(two)
	turns := s.turnsOf(two)
	if m := turns[1].New[len(turns[1].New)-1]; m.Source != sessions.FromOperator || !strings.HasPrefix(m.Content, "Go on.") {
		t.Errorf("two read %+v", m)
	}
	s.finish()
}

// A child whose own calls cannot be brought back starts again where it was forked,
// as its next attempt: still intervened, and with the feedback.
func TestForkStartsAgain(t *testing.T) {
	s := sit(t, nil)
	s.must(s.Fork(s.key, 1, ForkOptions{N: 1, Feedback: "Go on.", Turns: 7}))
	one := child(1)
	s.must(s.Pause(one))
	s.until("one is held", func() bool { return s.rowOf(one).State == sessions.Held })
	s.must(s.Step(one, "into"))
	s.until("one has replied", func() bool { return s.rowOf(one).HeldAt == sessions.AfterReply })
	s.must(s.EditCall(one, 0, "execute_bash", `{"command": "cat /proc/sys/kernel/random/uuid"}`))
	s.must(s.Step(one, "over"))
	s.until("one is past its call", func() bool { r := s.rowOf(one); return r.State == sessions.Held && r.HeldAt == sessions.BeforeModel })
	s.Stop()
	if err := <-s.done; !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	s.reopen()
	s.engine()
	s.must(s.Pause(one))
	s.start()
	s.until("one is held in its next attempt", func() bool { r := s.rowOf(one); return r.Attempt == 2 && r.State == sessions.Held })
	s.Stop()
	if err := <-s.done; !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	s.reopen()
	s.engine()
	s.toEndOf()
	row, turns := s.rowOf(one), s.turnsOf(one)
	if row.Attempt != 2 || row.State != sessions.Done || !row.Intervened || row.Fork == nil || row.MaxTurns != 7 {
		t.Errorf("row %+v", row)
	}
	if m := turns[0].New[len(turns[0].New)-1]; m.Source != sessions.FromOperator || !strings.HasPrefix(m.Content, "Go on.") {
		t.Errorf("it read %+v", turns[0].New)
	}
}

// Forks are added to a run that has ended, before it goes on for them alone; a fork
// of a fork has the turns of both.
func TestForkOfAnEndedRun(t *testing.T) {
	s := &sat{rig: setup(t, 1, nil).engine()}
	s.key = s.store.Run().Members[0]
	s.toEndOf()
	was := s.rowOf(s.key)
	s.reopen()
	s.engine()
	s.must(s.Fork(s.key, 2, ForkOptions{N: 1}))
	s.toEndOf()
	s.reopen()
	s.engine()
	s.must(s.Fork(child(1), 3, ForkOptions{N: 1, Feedback: "Once more."}))
	s.toEndOf()
	if now := s.rowOf(s.key); now.Turn != was.Turn || now.State != was.State || now.Intervened || *now.Reward != *was.Reward {
		t.Errorf("the member is %+v", now)
	}
	row, turns := s.rowOf(child(2)), s.turnsOf(child(2))
	if row.State != sessions.Done || row.Fork.Parent != 1 || row.Differs != 0 || *turns[0].Origin != s.key || *turns[1].Origin != child(1) || turns[2].Origin != nil {
		t.Errorf("%+v; turns of %v, %v, %v", row, turns[0].Origin, turns[1].Origin, turns[2].Origin)
	}
	if sum, err := sessions.List(t.Context(), s.home); err != nil || sum[0].Members != 1 || sum[0].Forks != 2 {
		t.Errorf("%+v, %v", sum, err)
	}
}

// While all are paused, children are held at their first gate like the others.
func TestForkOfAPausedRun(t *testing.T) {
	s := sit(t, nil)
	s.must(s.Pause(sessions.Key{}), s.Fork(s.key, 1, ForkOptions{N: 1}))
	s.until("the child is held", func() bool { r := s.rowOf(child(1)); return r.State == sessions.Held && r.HeldWhy == "" })
	s.must(s.Continue(sessions.Key{}), <-s.done)
	if row := s.rowOf(child(1)); row.State != sessions.Done {
		t.Errorf("%+v", row)
	}
}

// A screen may ask for the gauges while a fork is made of a run that has not begun.
func TestStatusBesideAFork(t *testing.T) {
	r := setup(t, 1, nil).engine()
	var wg sync.WaitGroup
	asked, over := make(chan struct{}), make(chan struct{})
	wg.Go(func() {
		for begun := false; ; begun = true {
			select {
			case <-over:
				return
			default:
			}
			if got := r.Status().Isolation; got == "" {
				t.Error("what contains the sandboxes is not known")
			}
			if !begun {
				close(asked)
			}
		}
	})
	<-asked
	for range 20 {
		if err := r.Fork(r.store.Run().Members[0], 1, ForkOptions{N: 1}); err != nil {
			t.Error(err)
		}
	}
	close(over)
	wg.Wait()
}

// What is not changed of the sampling settings is as the parent's, not as the run's, and
// what a fork changes stays with it: the parent samples on as it did. A child that differs
// and was to be dropped ends, one that was to go on goes on.
func TestForkOfAFork(t *testing.T) {
	s := sit(t, func(c *Config) { c.Generator.Sampling = infer.Sampling{Temperature: ptr(1.0), Stop: []string{"END"}} })
	s.call("execute_bash", `{"command": "cat /proc/sys/kernel/random/uuid"}`)
	s.into(sessions.AfterTool)
	s.must(s.Fork(s.key, 2, ForkOptions{N: 1, Sampling: infer.Sampling{Temperature: ptr(0.5), TopP: ptr(0.9)}, Differs: DifferGo}))
	s.ends(child(1))
	s.must(s.Fork(child(1), 3, ForkOptions{N: 1, Sampling: infer.Sampling{TopP: ptr(0.8)}, Differs: DifferGo}), s.Fork(s.key, 2, ForkOptions{N: 1, Differs: DifferDrop}))
	s.ends(child(2), child(3))
	for key, want := range map[sessions.Key]string{child(1): `{"temperature":0.5,"top_p":0.9`, child(2): `{"temperature":0.5,"top_p":0.8`} {
		turns := s.turnsOf(key)
		if got := string(turns[len(turns)-1].Sampling); !strings.HasPrefix(got, want) || s.rowOf(key).State != sessions.Done {
			t.Errorf("%s sampled with %s, want %s", key, got, want)
		}
	}
	if row := s.rowOf(child(3)); row.State != sessions.Failed || row.Differs != 1 || len(row.Causes) != 1 || row.Causes[0] != "fork: 1 of 1 recorded calls answer differently in its sandbox" {
		t.Errorf("dropped: %+v", row)
	}
	s.finish()
	for _, turn := range s.turnsOf(s.key) {
		if got := string(turn.Sampling); got != `{"temperature":1,"stop":["END"]}` {
			t.Errorf("the parent sampled turn %d with %s", turn.Index, got)
		}
	}
}

// What a person ran in the parent's sandbox before the turn is a part of its past,
// what came later is not; a budget that was raised is the children's, too.
func TestForkAfterHandRuns(t *testing.T) {
	s := sit(t, nil)
	s.into(sessions.AfterTool)
	s.must(s.RunByHand(s.key, "echo one > /tmp/early", false), s.RaiseLimit(s.key, 77, 0))
	s.seen(sessions.KindHandRun, 1)
	s.into(sessions.BeforeModel)
	s.into(sessions.AfterReply)
	s.must(s.RunByHand(s.key, "echo two > /tmp/late", false))
	s.seen(sessions.KindHandRun, 2)
	s.must(s.Fork(s.key, 2, ForkOptions{N: 1, Hold: true}))
	one := child(1)
	s.until("the child is held", func() bool { return s.rowOf(one).State == sessions.Held })
	var r sessions.Rebuilt
	if s.payload(sessions.KindRebuilt, one, &r); r.By != sessions.ByReplay || r.Calls != 2 {
		t.Errorf("%+v", r)
	}
	s.must(s.RunByHand(one, "cat /tmp/early; ls /tmp/late", false))
	runs := s.seen(sessions.KindHandRun, 3)
	if got := string(runs[2].Data); !strings.Contains(got, `one\n`) || !strings.Contains(got, `"exit":2`) {
		t.Errorf("the child's sandbox says %s", got)
	}
	if row := s.rowOf(one); row.MaxTurns != 77 {
		t.Errorf("it may use %d turns", row.MaxTurns)
	}
	s.must(s.Continue(one))
	s.ends(one)
	s.finish()
}
