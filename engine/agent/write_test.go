package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rollbench/engine/infer"
	"rollbench/sessions"
	"rollbench/tools"
)

func ask(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func written(t *testing.T, b *bench, text string, calls ...sessions.Call) func() {
	return func() { t.Helper(); ask(t, b.Gate.Write(text, calls)) }
}

// A turn that a person writes is asked of nobody, is committed with its prompt and
// the intervention in one write, and runs to its end: the next model call waits.
func TestWriteATurn(t *testing.T) {
	b := newBench(t, call("finish", `{}`))
	b.Gate.Pause()
	sitting(t, b,
		written(t, b, "First I look.", sessions.Call{Name: "bash", Arguments: `{"command":"ls"}`}),
		both(b.heldAt(t, sessions.BeforeModel), b.Gate.Continue))
	if len(b.model.asked) != 1 || strings.Join(b.tools.ran, ",") != `bash {"command":"ls"},finish {}` {
		t.Fatalf("asked %d times, ran %q", len(b.model.asked), b.tools.ran)
	}
	one := b.rec.turns["1.1"]
	if one.Source != sessions.FromOperator || one.Content != "First I look." || !one.NewSample || len(one.New) != 2 || !one.Complete ||
		!slices.Equal(one.PromptIDs, []int32{1, 2}) || len(one.OutputIDs) != 1 || one.Logprobs != nil || one.Calls[0].ID != "t0001c000" {
		t.Errorf("turn 1 is %+v", one)
	}
	// Prompt of turn 2: system, task, what the person wrote, its result.
	two := b.rec.turns["2.1"]
	if two.NewSample || !slices.Equal(two.PromptIDs[:3], append(slices.Clone(one.PromptIDs), one.OutputIDs...)) || len(two.PromptIDs) != 4 {
		t.Errorf("turn 2 does not extend it: %v after %v %v", two.PromptIDs, one.PromptIDs, one.OutputIDs)
	}
	if got := b.rec.kinds(sessions.KindIntervention); len(got) != 1 || !strings.Contains(got[0], `"verb":"write","turn":1,"at":"before-model"`) {
		t.Errorf("interventions %q", got)
	}
	if got := strings.Join(b.rec.log, " "); !strings.Contains(got, "reply intervention state tool.started") {
		t.Errorf("order %s", got)
	}
}

// In the mode each turn waits for the person; the model gets its turn back after it.
func TestHumanMode(t *testing.T) {
	b := newBench(t, call("finish", `{}`))
	b.Gate.Human(true)
	ls := sessions.Call{Name: "bash", Arguments: `{"command":"ls"}`}
	sitting(t, b,
		both(b.heldAt(t, sessions.BeforeModel), written(t, b, "", ls)),
		both(b.heldAt(t, sessions.BeforeModel), func() {
			if err := b.Gate.Step("into"); !errors.Is(err, errYours) {
				t.Errorf("a step asks the model: %v", err)
			}
			b.Gate.Continue()
		}, b.heldAt(t, sessions.BeforeModel), written(t, b, "", ls)),
		both(b.heldAt(t, sessions.BeforeModel), func() { b.Gate.Human(false) }, b.Gate.Continue))
	if len(b.model.asked) != 1 || len(b.tools.ran) != 3 {
		t.Errorf("asked %d times, ran %q", len(b.model.asked), b.tools.ran)
	}
	if states := strings.Join(b.rec.kinds(sessions.KindState), ""); strings.Count(states, `"held":"paused","at":"before-model","why":"for your turn"`) != 3 {
		t.Errorf("states %s", states)
	}
}

// The reply that waits is superseded by what a person writes in its place.
func TestReplaceTheReply(t *testing.T) {
	b := newBench(t, call("bash", `{"command":"rm -rf /"}`), call("finish", `{}`))
	b.Gate.Pause()
	sitting(t, b, stepper(t, b, "into"),
		both(b.heldAt(t, sessions.AfterReply), written(t, b, "No.", sessions.Call{Name: "finish", Arguments: `{}`})),
		both(b.heldAt(t, sessions.AfterReply), b.Gate.Continue))
	if strings.Join(b.tools.ran, ",") != "finish {}" || !b.rec.turns["1.1"].Superseded || b.rec.turns["1.2"].Source != sessions.FromOperator {
		t.Errorf("ran %q, %+v", b.tools.ran, b.rec.turns["1.2"])
	}
	if got := b.rec.kinds(sessions.KindIntervention); len(got) != 1 || !strings.Contains(got[0], `"verb":"replace"`) || !strings.Contains(got[0], `"after":"No.\nfinish {}"`) {
		t.Errorf("interventions %q", got)
	}
}

// Without an endpoint that renders messages a turn has no ids: none are made up,
// it uses nothing of the budget, and the model's first prompt is what counts.
func TestWriteWithoutIDs(t *testing.T) {
	b := newBench(t, call("finish", `{}`))
	b.CanTokenize = false
	b.Gate.Human(true)
	sitting(t, b, written(t, b, "", sessions.Call{Name: "bash", Arguments: `{}`}), func() { b.Gate.Human(false) }, b.Gate.Continue)
	one, two := b.rec.turns["1.1"], b.rec.turns["2.1"]
	if one.PromptIDs != nil || one.OutputIDs != nil || one.PromptTokens != 0 {
		t.Errorf("ids from nowhere: %+v", one)
	}
	if b.firstLen != two.PromptTokens || b.used != 1 {
		t.Errorf("first prompt %d, used %d; turn 2 has a prompt of %d", b.firstLen, b.used, two.PromptTokens)
	}
	if got := b.rec.kinds(sessions.KindWarning); len(got) != 1 || !strings.Contains(got[0], "kept without token ids: no endpoint") {
		t.Errorf("warnings %q", got)
	}
}

// Without tools a text is the answer.
func TestWriteTheAnswer(t *testing.T) {
	b := newBench(t)
	b.Loop.Tools = &noTools{}
	b.Gate.Human(true)
	out := sitting(t, b, written(t, b, "42"), b.Gate.Continue)
	if out.Reason != sessions.FinalAnswer || len(b.model.asked) != 0 {
		t.Errorf("%+v", out)
	}
}

type noTools struct{ toolbox }

func (*noTools) Specs() []tools.Spec { return nil }

// A turn that was committed before a crash is gone on with, not asked for again.
func TestResumeAfterAWrittenTurn(t *testing.T) {
	b := newBench(t)
	b.Gate.Human(true)
	turn := sessions.Turn{Key: b.Key, Attempt: 1, Index: 1, Version: 1, Source: sessions.FromOperator, New: []sessions.Message{{Role: "user", Content: "I"}},
		Calls: []sessions.Call{{ID: "c", Name: "bash", Arguments: `{"command":"ls"}`}}, PromptIDs: []int32{1}, OutputIDs: []int32{2}, PromptTokens: 1, OutputTokens: 1}
	b.Restore([]sessions.Turn{turn})
	sitting(t, b, both(b.heldAt(t, sessions.BeforeModel), written(t, b, "", sessions.Call{Name: "finish", Arguments: `{}`})), b.Gate.Continue)
	if strings.Join(b.tools.ran, ",") != `bash {"command":"ls"},finish {}` || len(b.model.asked) != 0 {
		t.Errorf("ran %q, asked %d times", b.tools.ran, len(b.model.asked))
	}
}

func TestWriteIsRefused(t *testing.T) {
	b := newBench(t, call("bash", `{}`), call("finish", `{}`))
	refuse := func(want string, err error) {
		t.Helper()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	refuse("the turn is empty", b.Gate.Write(" \n", nil))
	refuse("call 1 has no tool's name", b.Gate.Write("", []sessions.Call{{Arguments: "{}"}}))
	refuse("the arguments of call 2 are not valid JSON", b.Gate.Write("", []sessions.Call{{Name: "a", Arguments: "{}"}, {Name: "b", Arguments: "{"}}))
	refuse("no turn waits", b.Gate.Write("x", nil))
	refuse(`feedback as "system"`, b.Gate.InjectAs("system", "x"))
	refuse("the trajectory is not held", b.Gate.OpenShell(func() {}))
	b.Gate.Pause()
	sitting(t, b, func() {
		refuse("the last reply made no call", b.Gate.InjectAs(AsTool, "x"))
		ask(t, b.Gate.Step("into"))
	},
		func() { ask(t, b.Gate.Step("into")) }, // after-tool
		func() {
			refuse("no turn waits", b.Gate.Write("x", nil))
			refuse("it is held already", b.Gate.StopNow())
		}, b.Gate.Continue)
}

// Feedback as a tool's message follows the result of the last call, with its id;
// one that finds no call is a user's, and is said to be.
func TestInjectAsTool(t *testing.T) {
	b := newBench(t, call("bash", `1`), say("hm"), call("finish", `{}`))
	b.Gate.Pause()
	inject := func(text string) func() { return func() { ask(t, b.Gate.InjectAs(AsTool, text)) } }
	sitting(t, b, stepper(t, b, "into"), both(inject("exit 0, and 2 warnings"), stepper(t, b, "over")),
		both(b.heldAt(t, sessions.BeforeModel), stepper(t, b, "into")), b.Gate.Continue)
	m := b.model.asked[1].Messages
	if last := m[len(m)-1]; last.Role != "tool" || last.ToolCallID != "c" || last.Name != "bash" || last.Content != "exit 0, and 2 warnings" || m[len(m)-2].Role != "tool" {
		t.Errorf("messages end with %+v", m[len(m)-2:])
	}
	if got := b.rec.turns["2.1"].New[1].Source; got != sessions.FromOperator {
		t.Errorf("source %s", got)
	}
	if got := b.rec.kinds(sessions.KindIntervention)[0]; !strings.Contains(got, `"as":"tool"`) {
		t.Error(got)
	}
	b = newBench(t, call("finish", `{}`))
	b.Reinject(AsTool, "early")
	b.run(t)
	if m := b.model.asked[0].Messages; m[len(m)-1].Role != "user" || len(b.rec.kinds(sessions.KindWarning)) != 1 {
		t.Errorf("%+v, warnings %q", m, b.rec.kinds(sessions.KindWarning))
	}
}

// slow is a model that has sampled three tokens when its caller gives up.
type slow struct {
	*script
	calls int
}

func (m *slow) Chat(ctx context.Context, r infer.Request) (infer.Reply, error) {
	if m.calls++; m.calls == 1 {
		r.Stream("The first ")
		<-ctx.Done()
		three := 3
		return infer.Reply{}, &infer.CutOff{Tokens: &three, Err: context.Cause(ctx)}
	}
	return m.script.Chat(ctx, r)
}

// A stopped call leaves nothing but an event: the trajectory is held before it, and
// asks the same anew.
func TestStopNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, call("finish", `{}`))
		b.Gate = NewGate()
		b.Loop.Model = &slow{script: b.model}
		done := make(chan struct{})
		go func() { defer close(done); b.Run(t.Context()) }()
		time.Sleep(2 * time.Second) // of the bubble
		synctest.Wait()
		ask(t, b.Gate.StopNow())
		synctest.Wait()
		b.heldAt(t, sessions.BeforeModel)()
		if got := b.rec.kinds(sessions.KindRequestStopped); len(got) != 1 || got[0] != `{"turn":1,"tokens":3,"wall_ns":2000000000,"by":"operator"}` {
			t.Errorf("told %q", got)
		}
		if len(b.rec.turns) != 0 {
			t.Errorf("a reply is kept: %+v", b.rec.turns)
		}
		b.Gate.Continue()
		<-done
		if len(b.rec.turns) != 1 || b.rec.kinds(sessions.KindIntervention) != nil {
			t.Errorf("turns %v, interventions %q", b.rec.turns, b.rec.kinds(sessions.KindIntervention))
		}
	})
}

// Stopped between a tool and the model, no call is made; the person may write it.
func TestStopWhileAToolRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, call("bash", `1`), call("finish", `{}`))
		b.Gate = NewGate()
		release := make(chan struct{})
		b.tools.during = func(context.Context, string) (tools.Result, error) {
			<-release
			return tools.Result{Text: "ran", Status: "ok"}, nil
		}
		done := make(chan struct{})
		go func() { defer close(done); b.Run(t.Context()) }()
		synctest.Wait()
		ask(t, b.Gate.StopNow())
		close(release)
		synctest.Wait()
		b.heldAt(t, sessions.AfterTool)()
		if got := b.rec.turns["1.1"].Observations[0]; got.Status != "ok" {
			t.Errorf("the call was not left alone: %+v", got)
		}
		b.Gate.Continue()
		<-done
	})
}

// While a person works in the sandbox nothing goes on, though it was let go.
func TestShellHolds(t *testing.T) {
	b := newBench(t, call("bash", `1`), call("finish", `{}`))
	b.Gate.Pause()
	opened := false
	sitting(t, b, stepper(t, b, "into"), func() { ask(t, b.Gate.OpenShell(func() { opened = true })) }, func() {
		if !opened || b.Gate.OpenShell(func() {}) == nil {
			t.Errorf("opened %v", opened)
		}
		b.Gate.Continue()
		synctest.Wait()
		if len(b.tools.ran) != 0 {
			t.Error("a call ran beside the shell")
		}
		b.Gate.CloseShell()
		synctest.Wait()
		b.Gate.Pause() // too late or not: the rest is that it ran
	})
	if len(b.tools.ran) != 2 {
		t.Errorf("ran %q", b.tools.ran)
	}
	var s sessions.Shell
	if got := b.rec.kinds(sessions.KindShell); len(got) != 1 || json.Unmarshal([]byte(got[0]), &s) != nil || !s.Open || s.Look || s.Turn != 1 || s.At != sessions.AfterReply {
		t.Errorf("told %q", got)
	}
}

// What a person does in the sandbox once the turn is written comes before its calls,
// not after them: a replay has to keep that order.
func TestRunByHandBehindAWrittenTurn(t *testing.T) {
	b := newBench(t, call("finish", `{}`))
	var seen []int // calls that had run by then
	b.Hand = func(context.Context, string, bool) (sessions.HandRun, error) {
		seen = append(seen, len(b.tools.ran))
		return sessions.HandRun{Output: "out"}, nil
	}
	before := -1
	b.Gate.Pause()
	sitting(t, b, func() {
		b.Gate.mu.Lock() // all are accepted before the loop sees the first
		defer b.Gate.mu.Unlock()
		b.Gate.add(Change{Verb: "write", Calls: []sessions.Call{{Name: "bash", Arguments: `{"command":"ls"}`}}})
		b.Gate.add(Change{Verb: "run", Text: "late"})
		b.Gate.add(Change{Verb: "beside", Do: func(_ context.Context, turn int) { before = turn }})
	}, b.Gate.Continue)
	runs := b.rec.hands(t)
	if len(runs) != 1 || runs[0].Turn != 1 || runs[0].At != sessions.AfterReply || seen[0] != 0 || before != 1 {
		t.Fatalf("%+v after %v calls, the sandbox is as before turn %d", runs, seen, before)
	}
	again := newBench(t)
	again.tools.answer = b.tools.answer
	again.Hand = func(context.Context, string, bool) (sessions.HandRun, error) {
		seen = append(seen, len(again.tools.ran))
		return sessions.HandRun{Output: "out"}, nil
	}
	if err := again.Replay(t.Context(), b.recorded("1.1"), runs); err != nil || seen[1] != 0 {
		t.Errorf("%v: replayed after %d calls", err, seen[1])
	}
}
