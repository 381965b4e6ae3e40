package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"rollbench/sessions"
)

// sitting runs the loop beside a person who acts whenever it is held.
func sitting(t *testing.T, b *bench, acts ...func()) Outcome {
	t.Helper()
	var out Outcome
	synctest.Test(t, func(t *testing.T) {
		b.Gate.wake = make(chan struct{}, 1) // of the bubble, so that waiting on it counts as idle
		done := make(chan struct{})
		go func() {
			defer close(done)
			out, _ = b.Run(t.Context())
		}()
		for i, act := range acts {
			synctest.Wait()
			if _, held := b.Gate.Held(); !held {
				t.Errorf("not held before act %d", i)
				break
			}
			act()
		}
		synctest.Wait()
		b.Gate.Continue()
		<-done
	})
	return out
}

func (b *bench) heldAt(t *testing.T, want sessions.Gate) func() {
	return func() {
		t.Helper()
		if at, held := b.Gate.Held(); !held || at != want {
			t.Errorf("held %v at %s, want %s", held, at, want)
		}
	}
}

func both(fs ...func()) func() {
	return func() {
		for _, f := range fs {
			f()
		}
	}
}

func stepper(t *testing.T, b *bench, how string) func() {
	return func() {
		if err := b.Gate.Step(how); err != nil {
			t.Error(err)
		}
	}
}

func TestSteps(t *testing.T) {
	b := newBench(t, call("bash", `1`), call("bash", `2`), call("finish", `{}`))
	b.Gate.Pause()
	into, over, out := stepper(t, b, "into"), stepper(t, b, "over"), stepper(t, b, "out")
	sitting(t, b,
		both(b.heldAt(t, sessions.BeforeModel), into),
		both(b.heldAt(t, sessions.AfterReply), into),
		both(b.heldAt(t, sessions.AfterTool), into),
		both(b.heldAt(t, sessions.BeforeModel), over),
		both(b.heldAt(t, sessions.BeforeModel), out),
		both(b.heldAt(t, sessions.BeforeEval), b.Gate.Continue),
	)
	states := strings.Join(b.rec.kinds(sessions.KindState), "")
	if strings.Count(states, `"held":"paused"`) != 1 || strings.Count(states, `"held":"step"`) != 5 || strings.Count(states, `"state":"running"`) != 6 {
		t.Errorf("states %s", states)
	}
	if got := strings.Join(b.slots.log, " "); got != "hold want hold want hold want hold want hold want hold want" {
		t.Errorf("slot: %s", got)
	}
	if got := b.rec.kinds(sessions.KindIntervention); got != nil {
		t.Errorf("pausing and stepping made it intervened: %q", got)
	}
}

// Feedback given at any gate is a user message after the observations.
func TestInject(t *testing.T) {
	for _, steps := range []int{0, 1, 2} {
		b := newBench(t, call("bash", `1`), call("finish", `{}`))
		b.Gate.Pause()
		acts := []func(){}
		for range steps {
			acts = append(acts, stepper(t, b, "into"))
		}
		acts = append(acts, func() {
			if err := b.Gate.Inject("look in b.py"); err != nil {
				t.Error(err)
			}
		}, b.Gate.Continue)
		sitting(t, b, acts...)
		at := 1 // the request that carries it
		if steps == 0 {
			at = 0
		}
		m := b.model.asked[at].Messages
		if last := m[len(m)-1]; last.Role != "user" || last.Content != "look in b.py" {
			t.Errorf("steps %d: last message of request %d is %+v", steps, at, last)
		}
		if at == 1 && m[len(m)-2].Role != "tool" {
			t.Errorf("steps %d: the feedback stands before the observation", steps)
		}
		if got := b.rec.kinds(sessions.KindIntervention); len(got) != 1 || !strings.Contains(got[0], `"verb":"inject"`) {
			t.Errorf("interventions %q", got)
		}
		turn := b.rec.turns["2.1"]
		if at == 0 {
			turn = b.rec.turns["1.1"]
		}
		if got := turn.New[len(turn.New)-1].Source; got != sessions.FromOperator {
			t.Errorf("source of the feedback %s", got)
		}
	}
}

func TestEdit(t *testing.T) {
	b := newBench(t, call("bash", `{"command":"rm -rf x"}`), call("finish", `{}`))
	b.Gate.Pause()
	sitting(t, b,
		func() {
			if err := b.Gate.Edit(0, "bash", `{}`); err == nil {
				t.Error("edit was accepted without a pending call")
			}
			stepper(t, b, "into")()
		},
		func() {
			for _, bad := range []struct {
				i    int
				args string
			}{{0, "{"}, {1, "{}"}, {-1, "{}"}, {0, `{"command":"rm -rf x"}`}} {
				if err := b.Gate.Edit(bad.i, "bash", bad.args); err == nil {
					t.Errorf("edit of call %d to %q was accepted", bad.i, bad.args)
				}
			}
			if err := b.Gate.Edit(0, "bash", `{"command":"ls"}`); err != nil {
				t.Error(err)
			}
		},
		b.Gate.Continue)
	if got := strings.Join(b.tools.ran, "; "); got != `bash {"command":"ls"}; finish {}` {
		t.Errorf("ran %s", got)
	}
	old, made := b.rec.turns["1.1"], b.rec.turns["1.2"]
	if !old.Superseded || old.Source != sessions.FromModel || old.Calls[0].Arguments != `{"command":"rm -rf x"}` {
		t.Errorf("sampled reply %+v", old)
	}
	// The edited reply has the ids that the template gives it and no logprobs.
	if made.Superseded || made.Source != sessions.FromOperator || !made.NewSample || len(made.OutputIDs) != 1 || made.OutputIDs[0] == old.OutputIDs[0] || made.Logprobs != nil {
		t.Errorf("operator's reply %+v", made)
	}
	if got := b.model.asked[1].Messages[2].ToolCalls[0].Arguments; got != `{"command":"ls"}` {
		t.Errorf("the model is told that it called %s", got)
	}
	if next := b.rec.turns["2.1"]; next.NewSample {
		t.Error("the turn after extends the edited reply, but was counted as a break")
	}
}

func TestReject(t *testing.T) {
	b := newBench(t, call("bash", `{}`), call("finish", `{}`))
	b.Gate.Pause()
	sitting(t, b, stepper(t, b, "into"), func() {
		if err := b.Gate.Reject("not in this folder"); err != nil {
			t.Error(err)
		}
	}, func() {
		if b.Gate.Reject("again") == nil || b.Gate.Edit(0, "bash", `{"a":1}`) == nil {
			t.Error("an answered call was rejected or edited once more")
		}
		b.Gate.Continue()
	})
	if got := strings.Join(b.tools.ran, "; "); got != "finish {}" {
		t.Errorf("ran %s", got)
	}
	o := b.rec.turns["1.1"].Observations
	if len(o) != 1 || o[0].Text != "not in this folder" || o[0].Status != "rejected" || o[0].Source != sessions.FromOperator {
		t.Errorf("observations %+v", o)
	}
	if b.rec.turns["1.1"].Source != sessions.FromModel {
		t.Error("the reply was sampled and stays so")
	}
}

func TestForceFinish(t *testing.T) {
	b := newBench(t, call("bash", `{}`), call("finish", `{}`))
	b.Gate.Pause()
	out := sitting(t, b, func() { ask(t, b.Gate.Finish()) })
	if out.Reason != sessions.ForceFinished || len(b.model.asked) != 0 {
		t.Errorf("ended by %s after %d model calls", out.Reason, len(b.model.asked))
	}
}

// That a person ends the run stage is recorded with its end: a kill right after the one
// would have the trajectory go on.
func TestForceFinishIsOneWrite(t *testing.T) {
	b := newBench(t)
	ask(t, b.Gate.Finish())
	ctx, kill := context.WithCancel(t.Context())
	b.Record = killedAfter{b.rec, sessions.KindIntervention, kill}
	if _, err := b.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Run() = %v", err)
	}
	if got := strings.Join(b.rec.log, " "); got != "intervention finish" {
		t.Errorf("recorded %s", got)
	}
}

// killedAfter is a run that ends right after the write that holds a fact of the kind:
// nothing is written any more.
type killedAfter struct {
	*record
	after sessions.Kind
	kill  func()
}

func (k killedAfter) Commit(ctx context.Context, w sessions.Write) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, e := range w.Events {
		if e.Kind == k.after {
			defer k.kill()
		}
	}
	return k.record.Commit(ctx, w)
}

func TestCancelWhileHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, call("bash", `{}`))
		b.Gate.Pause()
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("cancelled")
		done := make(chan error)
		go func() {
			_, err := b.Run(ctx)
			done <- err
		}()
		synctest.Wait()
		cancel(why)
		if err := <-done; !errors.Is(err, why) {
			t.Errorf("Run() = %v", err)
		}
	})
}

func TestVerbsRefuse(t *testing.T) {
	g := NewGate()
	for name, err := range map[string]error{
		"empty feedback": g.Inject(""), "empty reason": g.Reject(""), "no pending call": g.Reject("why"), "unknown step": g.Step("sideways"),
	} {
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
