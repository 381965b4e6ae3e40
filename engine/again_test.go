package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rollbench/engine/infer/simulated"
	"rollbench/sandbox"
	"rollbench/sessions"
)

// setup is a rig of one instance and n trajectories, with a limit on init.
func setup(t *testing.T, n int, change func(*Config)) *rig {
	t.Helper()
	return newRig(t, func(c *Config, _ *simulated.Options) {
		c.Generator.NumTrajectories, c.Dispatcher.MaxRun, c.Limits.Init = n, 2, Duration(time.Minute)
		if change != nil {
			change(c)
		}
	}, "build-order-cycle")
}

// reopen is what a resume after a kill does to the session.
func (r *rig) reopen() {
	r.t.Helper()
	if err := r.store.Close(); err != nil {
		r.t.Fatal(err)
	}
	var err error
	if r.store, err = sessions.Open(r.t.Context(), r.home, "r-test"); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) row(i int) sessions.Trajectory {
	r.t.Helper()
	rows, _, err := r.store.Trajectories(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return rows[i]
}

// said are the events as text, those of a kind or all.
func (r *rig) said(kind sessions.Kind) []string {
	r.t.Helper()
	all, err := r.store.Since(r.t.Context(), 0, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, e := range all {
		if e.Kind == kind || kind == "" {
			out = append(out, string(e.Kind)+" "+string(e.Data))
		}
	}
	return out
}

// Finished its run stage, held before eval, the person quits, resumes.
func TestHeldBeforeEvalThenResume(t *testing.T) {
	p := setup(t, 1, nil)
	e := p.engine()
	key := p.store.Run().Members[0]
	e.Pause(key)
	done := make(chan error, 1)
	go func() { done <- e.Run(t.Context()) }()
	p.until("held", func() bool { return p.row(0).State == sessions.Held })
	if err := e.Step(key, "out"); err != nil {
		t.Fatal(err)
	}
	p.until("held before eval", func() bool { r := p.row(0); return r.State == sessions.Held && r.HeldAt == sessions.BeforeEval })
	before := p.row(0)
	e.Stop()
	<-done
	p.reopen()
	e = p.engine()
	t.Logf("before: attempt %d turn %d finish %s; after New: attempt %d turn %d", before.Attempt, before.Turn, before.Finish, p.row(0).Attempt, p.row(0).Turn)
	if p.row(0).Attempt != before.Attempt {
		t.Errorf("%d recorded replies are thrown away and sampled again: %q", before.Turn, p.said(sessions.KindAttempt))
	}
}

// craft commits events as if written by a process that was then killed.
func (p *rig) craft(events ...any) {
	p.t.Helper()
	key := p.store.Run().Members[0]
	for _, x := range events {
		w := sessions.Write{Key: key, Attempt: 1}
		kind := sessions.KindState
		switch x := x.(type) {
		case sessions.Finished:
			kind = sessions.KindFinish
		case sessions.Rewarded:
			kind = sessions.KindReward
		case sessions.PatchTaken:
			kind = sessions.KindPatch
			w.Patch = make([]byte, x.Bytes)
		case sessions.ReplyMade:
			kind = sessions.KindReply
			w.Turn = &sessions.Turn{Key: key, Attempt: 1, Index: x.Turn, Version: 1, Source: sessions.FromModel, Complete: true, Content: "x"}
		case sessions.Intervention:
			kind = sessions.KindIntervention
		}
		w.Events = []sessions.Event{sessions.NewEvent(time.Now(), key, kind, x)}
		if err := p.store.Commit(p.t.Context(), w); err != nil {
			p.t.Fatal(err)
		}
	}
}

// Kill -9 between the last two commits of a trajectory.
func TestLastFactsInTwoCommits(t *testing.T) {
	zero, one := 0.0, 1.0
	reply := sessions.ReplyMade{Turn: 1, Version: 1, Source: sessions.FromModel}
	running := sessions.StateChange{State: sessions.Running}
	for name, c := range map[string][]any{
		"no_patch with its reward, state ran":    {running, reply, sessions.Finished{Reason: sessions.FinishTool}, sessions.PatchTaken{}, sessions.StateChange{State: sessions.Ran}, sessions.Finished{Reason: sessions.NoPatch}, sessions.Rewarded{Reward: &zero}},
		"error_evaluation, state evaluating":     {running, reply, sessions.Finished{Reason: sessions.FinishTool}, sessions.PatchTaken{Bytes: 10}, sessions.StateChange{State: sessions.Ran}, sessions.StateChange{State: sessions.Evaluating}, sessions.Finished{Reason: sessions.ErrorEvaluation}},
		"cancelled, state running":               {running, reply, sessions.Finished{Reason: sessions.CancelledByPerson}},
		"cancelled while queued":                 {sessions.Finished{Reason: sessions.CancelledByPerson}},
		"endpoint_lost, state running":           {running, reply, sessions.Finished{Reason: sessions.EndpointLost}},
		"rewarded 1, state evaluating (control)": {running, reply, sessions.Finished{Reason: sessions.FinishTool}, sessions.PatchTaken{Bytes: 10}, sessions.StateChange{State: sessions.Ran}, sessions.StateChange{State: sessions.Evaluating}, sessions.Rewarded{Reward: &one}},
	} {
		t.Run(name, func(t *testing.T) {
			p := setup(t, 1, nil)
			p.craft(c...)
			p.reopen()
			e := p.engine()
			r := p.row(0)
			if r.Attempt != 1 || e.items[0].attempt != 1 {
				t.Errorf("its verdict was recorded; the resume starts attempt %d (reward now %v, finish %q)", r.Attempt, r.Reward, r.Finish)
			}
			if e.items[0].ran && r.Reward != nil {
				t.Errorf("it has its reward %v and is evaluated again", *r.Reward)
			}
		})
	}
}

// Feedback given before the first reply, then a crash.
func TestInjectBeforeFirstReplyThenResume(t *testing.T) {
	p := setup(t, 1, nil)
	e := p.engine()
	key := p.store.Run().Members[0]
	e.Pause(key)
	done := make(chan error, 1)
	go func() { done <- e.Run(t.Context()) }()
	p.until("held", func() bool { return p.row(0).State == sessions.Held })
	if err := e.Inject(key, "look in b.py"); err != nil {
		t.Fatal(err)
	}
	p.until("intervened", func() bool { return p.row(0).Intervened })
	e.Stop()
	<-done
	p.reopen()
	e = p.engine()
	if got := e.items[0].injected; len(got) != 1 {
		t.Errorf("row intervened %v, feedback that comes back: %q", p.row(0).Intervened, got)
	}
}

// slowTool makes as many commands slow as are left.
type slowTool struct {
	sandbox.Sandbox
	left *atomic.Int64
	d    time.Duration
}

func (s *slowTool) Shell(ctx context.Context) (sandbox.Shell, error) {
	sh, err := s.Sandbox.Shell(ctx)
	return &slowShell{sh, s}, err
}

type slowShell struct {
	sandbox.Shell
	of *slowTool
}

func (s *slowShell) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if s.of.left.Add(-1) >= 0 {
		select {
		case <-time.After(s.of.d):
		case <-ctx.Done():
			return sandbox.Result{}, context.Cause(ctx)
		}
	}
	return s.Shell.Run(ctx, c)
}

// Replaying the recorded calls takes longer than limits.init.
func TestReplayUnderInitLimit(t *testing.T) {
	const limit = 3 * time.Second
	s := sit(t, func(c *Config) { c.Limits.Init = Duration(limit) })
	s.call("execute_bash", `{"command": "pwd"}`)
	s.into(sessions.AfterTool)
	s.stopped()
	var left atomic.Int64
	left.Store(1)
	s.local.onOpen = func(_ sandbox.Spec, sb sandbox.Sandbox) (sandbox.Sandbox, error) {
		return &slowTool{sb, &left, limit + time.Second/2}, nil
	}
	s.toEndOf()
	if left.Load() >= 1 {
		t.Error("no call was slow: the test shows nothing")
	}
	if r := s.row(0); r.State != sessions.Done || r.Attempt != 1 {
		t.Errorf("it became %s of attempt %d by %s because its replay took longer than limits.init", r.State, r.Attempt, r.Finish)
	}
}

type rewardHook struct {
	sandbox.Sandbox
	after func()
}

func (s *rewardHook) ReadFile(ctx context.Context, path string) ([]byte, error) {
	b, err := s.Sandbox.ReadFile(ctx, path)
	if strings.HasSuffix(path, "reward.json") {
		s.after()
	}
	return b, err
}

// Cancel (or stop) at the moment the verdict is in.
func TestCancelAsTheVerdictComes(t *testing.T) {
	for _, verb := range []string{"cancel", "stop"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			p := setup(t, 2, nil)
			var e *rig
			p.local.onOpen = func(s sandbox.Spec, sb sandbox.Sandbox) (sandbox.Sandbox, error) {
				if !strings.HasSuffix(s.Name, ".0.a1.eval") {
					return sb, nil
				}
				return &rewardHook{sb, func() {
					if verb == "stop" {
						e.Stop()
					} else {
						e.Cancel(p.store.Run().Members[0])
					}
				}}, nil
			}
			e = p.engine()
			err := e.Run(t.Context())
			t.Logf("Run: %v", err)
			t.Logf("%v", p.said(sessions.KindRunEnded))
			if err != nil && !errors.Is(err, ErrStopped) || err != nil && strings.Contains(err.Error(), "session cannot be written") {
				t.Errorf("one %s at the wrong moment: %v", verb, err)
			}
			for i := range 2 {
				t.Logf("%s %s %s", p.row(i).Key, p.row(i).State, p.row(i).Finish)
			}
		})
	}
}

// Verbs on what has ended.
func TestVerbsAfterTheEnd(t *testing.T) {
	p := setup(t, 1, nil)
	e := p.engine()
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := len(p.said(""))
	key := p.store.Run().Members[0]
	for name, err := range map[string]error{"pause": e.Pause(key), "continue": e.Continue(key), "step": e.Step(key, "into"), "cancel": e.Cancel(key), "inject": e.Inject(key, "x"), "finish": e.Finish(key)} {
		if err == nil {
			t.Errorf("%s of a trajectory that is %s was accepted", name, p.row(0).State)
		}
	}
	t.Logf("events after run.ended: %q", p.said("")[n:])
}

// Goroutines and memory after trajectories ended.
func TestKeptAfterEnd(t *testing.T) {
	p := setup(t, 2, nil)
	e := p.engine()
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, it := range e.items {
		if it.patch != nil || it.turns != nil {
			t.Errorf("%s has ended; %d bytes of patch and %d turns are kept", it.key, len(it.patch), len(it.turns))
		}
	}
	if n := len(e.streams.all); n != 0 {
		t.Errorf("the live text of %d ended trajectories is kept", n)
	}
}
