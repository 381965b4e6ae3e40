package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rollbench/engine/infer"
	"rollbench/sessions"
)

// must is an act of a person that has to be accepted.
func must(t *testing.T, f func() error) func() {
	return func() {
		t.Helper()
		if err := f(); err != nil {
			t.Error(err)
		}
	}
}

// refused is one that has to be refused, with a text.
func refused(t *testing.T, f func() error, want string) func() {
	return func() {
		t.Helper()
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Three fresh replies to one prompt: all are kept, the picked one runs, the next
// prompt goes on from it, and each took its place in the run queue.
func TestResample(t *testing.T) {
	b := newBench(t, call("bash", `"one"`), call("bash", `"two"`), call("bash", `"three"`), say("four"), call("finish", `{}`))
	b.model.replies[2].Logprobs = []float64{-0.5}
	b.Gate.Pause()
	g := b.Gate
	out := sitting(t, b, stepper(t, b, "into"),
		both(refused(t, func() error { return g.Resample(0) }, "ask for 1 to 16"), refused(t, func() error { return g.Pick(2) }, "there is no reply 2"),
			must(t, func() error { return g.Resample(3) })),
		both(b.heldAt(t, sessions.AfterReply), refused(t, func() error { return g.Pick(5) }, "there is no reply 5"), must(t, func() error { return g.Pick(3) })),
		both(b.heldAt(t, sessions.AfterReply), g.Continue))
	if out.Reason != sessions.FinishTool || strings.Join(b.tools.ran, "; ") != `bash "three"; finish {}` {
		t.Errorf("%v after %q", out, b.tools.ran)
	}
	for v, want := range map[string]bool{"1.1": true, "1.2": true, "1.3": false, "1.4": true, "2.1": false} {
		if turn, ok := b.rec.turns[v]; !ok || turn.Superseded != want || turn.NewSample || turn.Source != sessions.FromModel {
			t.Errorf("reply %s: there %v, superseded %v, new sample %v", v, ok, turn.Superseded, turn.NewSample)
		}
	}
	for i := 1; i < 4; i++ {
		if !slices.EqualFunc(b.model.asked[i].Messages, b.model.asked[0].Messages, func(a, b infer.Message) bool { return text(a) == text(b) }) {
			t.Errorf("call %d had another prompt", i)
		}
	}
	if got := fmt.Sprint(b.model.asked[4].Messages[2].ToolCalls); !strings.Contains(got, "three") {
		t.Errorf("the next prompt goes on from %s", got)
	}
	if s := b.model.asked; s[0].Sampling.Seed != nil || s[1].Sampling.Seed == nil || *s[1].Sampling.Seed == *s[2].Sampling.Seed {
		t.Error("a fresh reply needs a seed of its own")
	}
	if got := strings.Join(b.rec.kinds(sessions.KindResampled), " "); strings.Count(got, "logprob_sum") != 1 || !strings.Contains(got, `{"turn":1,"version":3,"output_tokens":1,"logprob_sum":-0.5}`) {
		t.Errorf("resampled %s", got)
	}
	if got := strings.Join(b.rec.kinds(sessions.KindIntervention), " "); !strings.Contains(got, `{"verb":"resample","turn":1,"at":"after-reply","by":"operator","after":"3 asked for"}`) ||
		!strings.Contains(got, `{"verb":"pick","turn":1,"at":"after-reply","by":"operator","before":"reply 1","after":"reply 3"}`) {
		t.Errorf("interventions %s", got)
	}
	// Held, into; held, a slot for the samples, held again; on.
	if got := strings.Join(b.slots.log, " "); got != "hold want hold want hold want" {
		t.Errorf("slots: %s", got)
	}
	if b.used != 3 { // S I | three, ran, finish: a token each
		t.Errorf("%d tokens are used", b.used)
	}
}

// To keep the old one is a choice, too. An edit takes the next version, and the
// original can be had back.
func TestPickTheOldOne(t *testing.T) {
	b := newBench(t, call("bash", `"one"`), call("bash", `"two"`), call("finish", `{}`))
	b.Gate.Pause()
	g := b.Gate
	sitting(t, b, stepper(t, b, "into"),
		must(t, func() error { return g.Resample(1) }),
		must(t, func() error { return g.Pick(1) }),
		must(t, func() error { return g.Edit(0, "bash", `"edited"`) }),
		must(t, func() error { return g.Pick(1) }),
		g.Continue)
	if got := strings.Join(b.tools.ran, "; "); got != `bash "one"; finish {}` {
		t.Errorf("ran %s", got)
	}
	if one, edited := b.rec.turns["1.1"], b.rec.turns["1.3"]; one.Superseded || !edited.Superseded || edited.Source != sessions.FromOperator || len(one.Observations) != 1 {
		t.Errorf("one %+v\nedited %+v", one, edited)
	}
}

// What fails is said and changes nothing; a reply that was picked is judged as
// any other.
func TestResampleFails(t *testing.T) {
	b := newBench(t, call("bash", `"one"`), infer.Reply{}, infer.Reply{Content: "cut", FinishReason: "length"})
	b.model.errs = map[int]error{1: errors.New("the endpoint\nis away")}
	b.Gate.Pause()
	g := b.Gate
	out := sitting(t, b, stepper(t, b, "into"),
		must(t, func() error { return g.Resample(2) }),
		both(b.heldAt(t, sessions.AfterReply), func() {
			if n := len(b.rec.kinds(sessions.KindIntervention)); n != 0 {
				t.Errorf("%d interventions, though nothing came of it", n)
			}
		}, must(t, func() error { return g.Resample(1) })),
		must(t, func() error { return g.Pick(2) }))
	if out.Reason != sessions.ContextWindowExceeded || len(b.tools.ran) != 0 {
		t.Errorf("%v after %q", out, b.tools.ran)
	}
	if got := b.rec.kinds(sessions.KindWarning); len(got) != 1 || !strings.Contains(got[0], "turn 1: 0 of 2 fresh replies: the endpoint is away") {
		t.Errorf("warnings %q", got)
	}
}

// A resume knows the replies that were sampled before it.
func TestPickAfterRestore(t *testing.T) {
	b := newBench(t, call("finish", `{}`))
	one := sessions.Turn{Key: b.Key, Attempt: 1, Index: 1, Version: 1, Source: sessions.FromModel, PromptTokens: 2, OutputTokens: 1,
		New: []sessions.Message{{Role: "system", Content: "S"}, {Role: "user", Content: "I"}}, Calls: []sessions.Call{{ID: "c", Name: "bash", Arguments: `"one"`}}}
	two := one
	two.Version, two.Superseded, two.Calls = 2, true, []sessions.Call{{ID: "c", Name: "bash", Arguments: `"two"`}}
	b.Restore([]sessions.Turn{one, two})
	b.Gate.Pause()
	sitting(t, b, must(t, func() error { return b.Gate.Pick(2) }), b.Gate.Continue)
	if got := strings.Join(b.tools.ran, "; "); got != `bash "two"; finish {}` {
		t.Errorf("ran %s", got)
	}
}

// What a tool returned is edited before the policy reads it; both are kept, and
// a replay repeats the call, not the edit.
func TestEditObservation(t *testing.T) {
	b := newBench(t, call("bash", `{"command":"ls"}`), call("finish", `{}`))
	b.Gate.Pause()
	g := b.Gate
	edit := func(i int, text string) func() error { return func() error { return g.EditObservation(i, text) } }
	sitting(t, b, both(refused(t, edit(0, "x"), "no observation waits"), stepper(t, b, "into")), stepper(t, b, "into"),
		both(refused(t, edit(1, "x"), "there is no observation 1: the turn has 1"), refused(t, edit(0, " \n"), "empty"), must(t, edit(0, "first"))),
		must(t, edit(0, "nothing there")), g.Continue)
	o := b.rec.turns["1.1"].Observations[0]
	if o.Text != "nothing there" || o.Before != `ran bash {"command":"ls"}` || o.Source != sessions.FromOperator || o.Was != sessions.FromTool {
		t.Errorf("%+v", o)
	}
	if m := b.model.asked[1].Messages; m[len(m)-1].Content != "nothing there" || m[len(m)-1].Role != "tool" {
		t.Errorf("the model read %+v", m)
	}
	if got := b.rec.kinds(sessions.KindIntervention); len(got) != 2 || !strings.Contains(got[1], `"verb":"edit_observation","turn":1,"at":"after-tool","by":"operator","before":"first","after":"nothing there"`) {
		t.Errorf("interventions %q", got)
	}
	again := newBench(t)
	if err := again.Replay(t.Context(), b.recorded("1.1"), nil); err != nil || len(again.tools.ran) != 1 {
		t.Errorf("replay: %v, ran %q", err, again.tools.ran)
	}
}

// Nobody waits to work beside a held trajectory that is at work where it is held: a fork
// would keep a person from leaving for as long as its endpoint takes.
func TestBesideWhatIsUnderWay(t *testing.T) {
	b := newBench(t, call("bash", `1`), call("bash", `2`), call("finish", `{}`))
	b.Hand = func(ctx context.Context, _ string, _ bool) (sessions.HandRun, error) {
		<-ctx.Done()
		return sessions.HandRun{}, context.Cause(ctx)
	}
	b.Gate.Pause()
	g, at := b.Gate, 0
	beside := func() error { return g.Beside(func(_ context.Context, before int) { at = before }) }
	busy := refused(t, beside, "the parent is at work where it is held")
	resample := func() error { b.model.wait = time.Hour; return g.Resample(1) }
	sitting(t, b, stepper(t, b, "into"), must(t, resample), busy, must(t, g.StopNow), must(t, func() error { return g.RunByHand("long", false) }), busy,
		must(t, func() error { return g.CancelCall(time.Time{}) }), both(func() { b.model.wait = 0 }, must(t, beside)), g.Continue)
	if at != 1 {
		t.Errorf("it was done before turn %d", at)
	}
}

// Whether a trajectory repeats itself is told by what the policy has read, as a resume
// tells it.
func TestEditedObservationIsNoRepetition(t *testing.T) {
	b := newBench(t, call("bash", `{}`), call("bash", `{}`), call("bash", `{}`), call("bash", `{}`), call("finish", `{}`))
	b.Gate.Pause()
	into := stepper(t, b, "into")
	out := sitting(t, b, into, into, into, into, into, into, into, into, into, into, into, // to after-tool of turn 4
		both(b.heldAt(t, sessions.AfterTool), must(t, func() error { return b.Gate.EditObservation(0, "look elsewhere") }), b.Gate.Continue))
	if out.Reason != sessions.FinishTool {
		t.Errorf("%+v", out)
	}
	again := newBench(t, call("finish", `{}`))
	again.Restore(b.recorded("1.1", "2.1", "3.1", "4.1"))
	if out := again.run(t); out.Reason != sessions.FinishTool {
		t.Errorf("resumed: %+v", out)
	}
}

// Two turns and 6 tokens are not enough; a person gives more of both.
func TestRaiseLimit(t *testing.T) {
	b := newBench(t, call("bash", `1`), call("bash", `2`), call("finish", `{}`))
	b.MaxTurns, b.Budget = 2, 5
	b.Gate.Pause()
	into := stepper(t, b, "into")
	out := sitting(t, b, into, into, into, into, into, // to after-tool of turn 2
		both(b.heldAt(t, sessions.AfterTool), must(t, func() error { return b.Gate.Raise(3, 0) }), must(t, func() error { return b.Gate.Raise(0, 100) }), must(t, func() error { return b.Gate.Raise(1, 1) }), b.Gate.Continue))
	if out.Reason != sessions.FinishTool {
		t.Errorf("%v", out)
	}
	if got := strings.Join(b.rec.kinds(sessions.KindBudget), " "); got != `{"max_turns":3,"token_budget":5} {"max_turns":3,"token_budget":100}` {
		t.Errorf("budgets %s", got)
	}
	if got := b.rec.kinds(sessions.KindIntervention); len(got) != 2 || !strings.Contains(got[0], `"verb":"raise_limit","turn":2,"at":"after-tool","by":"operator","before":"2 turns, 5 tokens","after":"3 turns, 5 tokens"`) {
		t.Errorf("interventions %q", got)
	}
}

// Commands of a person run where it is held, can be cancelled, and are repeated
// at their places; those that only look are neither.
func TestRunByHand(t *testing.T) {
	b := newBench(t, call("bash", `1`), call("finish", `{}`))
	var ran []string
	b.Hand = func(ctx context.Context, script string, look bool) (sessions.HandRun, error) {
		ran = append(ran, fmt.Sprint(script, " ", look, " ", len(b.tools.ran)))
		if script == "long" {
			select {
			case <-ctx.Done():
				return sessions.HandRun{Output: "begun"}, context.Cause(ctx)
			case <-time.After(time.Hour):
			}
		}
		return sessions.HandRun{Exit: 3, Output: "out of " + script}, nil
	}
	b.Gate.Pause()
	g := b.Gate
	run := func(script string, look bool) func() {
		return must(t, func() error { return g.RunByHand(script, look) })
	}
	sitting(t, b, both(refused(t, func() error { return g.RunByHand(" ", true) }, "empty"), run("before", false)), run("look", true), stepper(t, b, "into"),
		run("call", false), stepper(t, b, "into"), run("after", false), run("long", true),
		must(t, func() error { return g.CancelCall(time.Time{}) }), g.Continue)
	if got := strings.Join(ran, "; "); got != "before false 0; look true 0; call false 0; after false 1; long true 1" {
		t.Errorf("ran %s", got)
	}
	runs := b.rec.hands(t)
	if len(runs) != 5 || runs[0].Turn != 1 || runs[0].At != sessions.BeforeModel || runs[0].Exit != 3 || runs[4].Problem != "the call was cancelled by a person" || runs[4].Output != "begun" {
		t.Errorf("%+v", runs)
	}
	if got := b.rec.kinds(sessions.KindIntervention); len(got) != 3 {
		t.Errorf("interventions %q: to look is none", got)
	}
	again := newBench(t)
	var order []string
	again.tools.answer = b.tools.answer
	again.Hand = func(_ context.Context, script string, look bool) (sessions.HandRun, error) {
		order = append(order, fmt.Sprint(script, " ", len(again.tools.ran)))
		return sessions.HandRun{Exit: 3, Output: "out of " + script}, nil
	}
	if err := again.Replay(t.Context(), b.recorded("1.1"), runs); err != nil || strings.Join(order, "; ") != "before 0; call 0; after 1" {
		t.Errorf("%v: %q", err, order)
	}
	runs[3].Output = "another answer"
	if err := again.Replay(t.Context(), b.recorded("1.1"), runs); err == nil || !strings.Contains(err.Error(), "turn 1: a command by hand answers differently") {
		t.Errorf("%v", err)
	}
}

// Where no run slot is free a resample waits for one, and says so; what holds
// the trajectory is as it was afterwards.
func TestResampleWaitsForASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, call("bash", `"one"`), call("bash", `"two"`), call("finish", `{}`))
		slot := &slowSlot{want: make(chan struct{}, 9)}
		b.Loop.Slot, b.Gate = slot, NewGate()
		b.breakAt(t, "tool=bash")
		done := make(chan struct{})
		go func() { defer close(done); b.run(t) }()
		synctest.Wait()
		must(t, func() error { return b.Gate.Resample(1) })()
		synctest.Wait()
		states := b.rec.kinds(sessions.KindState)
		if len(b.model.asked) != 1 || !strings.Contains(states[len(states)-1], `"held":"limit"`) {
			t.Errorf("%d calls, states %q", len(b.model.asked), states)
		}
		slot.want <- struct{}{}
		synctest.Wait()
		states = b.rec.kinds(sessions.KindState)
		if len(b.model.asked) != 2 || states[len(states)-1] != `{"state":"held","held":"breakpoint","at":"after-reply","why":"#1 tool=bash"}` {
			t.Errorf("%d calls, states %q", len(b.model.asked), states)
		}
		slot.want <- struct{}{}
		b.Gate.Continue()
		<-done
		if got := strings.Join(b.tools.ran, "; "); got != `bash "one"; finish {}` {
			t.Errorf("ran %s", got)
		}
	})
}
