package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"rollbench/engine/infer"
	"rollbench/sessions"
)

// blockingModel blocks Tokenize without generation prompt (the render of an edit).
type blockingModel struct {
	*script
	gate chan struct{}
	fail error
}

func (m *blockingModel) Tokenize(ctx context.Context, ms []infer.Message, t []infer.Tool, g bool) ([]int32, error) {
	if !g {
		if m.gate != nil {
			<-m.gate
		}
		if m.fail != nil {
			return nil, m.fail
		}
	}
	return m.script.Tokenize(ctx, ms, t, g)
}

// A second edit accepted while the first is being rendered, then continue.
func TestEditWhileRendering(t *testing.T) {
	for _, verb := range []string{"edit", "reject", "finish"} {
		t.Run(verb, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, call("bash", `{"command":"rm -rf x"}`), call("finish", `{}`))
				m := &blockingModel{script: b.model, gate: make(chan struct{})}
				b.Loop.Model = m
				b.Gate = NewGate()
				b.Gate.Pause()
				done := make(chan struct{})
				go func() { defer close(done); b.Run(t.Context()) }()
				synctest.Wait()
				b.Gate.Step("into")
				synctest.Wait()
				if at, held := b.Gate.Held(); !held || at != sessions.AfterReply {
					t.Fatal("not held")
				}
				if err := b.Gate.Edit(0, "bash", `{"command":"rm -rf y"}`); err != nil {
					t.Fatal(err)
				}
				synctest.Wait() // the loop is in render
				var err error
				switch verb {
				case "edit":
					err = b.Gate.Edit(0, "bash", `{"command":"ls"}`)
				case "reject":
					err = b.Gate.Reject("no, never")
				case "finish":
					ask(t, b.Gate.Finish())
				}
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				b.Gate.Continue()
				close(m.gate)
				<-done
				for _, r := range b.tools.ran {
					if strings.Contains(r, "rm -rf") {
						t.Errorf("%s was accepted before continue, yet ran %q; interventions %q", verb, b.tools.ran, b.rec.kinds(sessions.KindIntervention))
					}
				}
			})
		})
	}
}

// Edit after reject is accepted, and its call never runs.
func TestEditAfterReject(t *testing.T) {
	b := newBench(t, call("bash", `{"command":"a"}`), call("finish", `{}`))
	b.Gate.Pause()
	sitting(t, b, stepper(t, b, "into"), func() {
		if err := b.Gate.Reject("no"); err != nil {
			t.Error(err)
		}
	}, func() {
		if err := b.Gate.Edit(0, "bash", `{"command":"b"}`); err == nil {
			t.Error("edit of a rejected call was accepted")
		}
		if err := b.Gate.Reject("no again"); err == nil {
			t.Error("a second reject was accepted")
		}
	}, b.Gate.Continue)
	t.Logf("ran %q", b.tools.ran)
	t.Logf("interventions %q", b.rec.kinds(sessions.KindIntervention))
	t.Logf("v2 source %s observation %+v", b.rec.turns["1.2"].Source, b.rec.turns["1.2"].Observations)
}

type slowSlot struct {
	want chan struct{}
}

func (s *slowSlot) Hold() {}
func (s *slowSlot) Want(_ context.Context, waits func()) error {
	select {
	case <-s.want:
	default:
		waits()
		<-s.want
	}
	return nil
}

// Pause and inject while a continued trajectory waits for its slot.
func TestWhileWaitingForSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, call("bash", `{"command":"a"}`), call("finish", `{}`))
		b.Gate = NewGate()
		s := &slowSlot{want: make(chan struct{}, 1)}
		b.Slot = s
		b.Gate.Pause()
		done := make(chan struct{})
		go func() { defer close(done); b.Run(t.Context()) }()
		synctest.Wait()
		s.want <- struct{}{}
		b.Gate.Step("into")
		synctest.Wait() // held after the reply
		b.Gate.Continue()
		synctest.Wait() // waits for its slot, and says so
		state := func() string {
			all := b.rec.kinds(sessions.KindState)
			return all[len(all)-1]
		}
		if got := state(); got != `{"state":"held","held":"limit","why":"limit: no run slot is free"}` {
			t.Errorf("continued, and no slot is free: %s", got)
		}
		b.Gate.Pause()
		if err := b.Gate.Edit(0, "bash", `{"command":"b"}`); err != nil {
			t.Logf("edit: %v", err)
		}
		s.want <- struct{}{}
		synctest.Wait()
		if len(b.tools.ran) > 0 {
			t.Errorf("paused while it waited for a slot before its tool, yet it ran %q", b.tools.ran)
		}
		if got := state(); got != `{"state":"held","held":"paused","at":"after-reply"}` {
			t.Errorf("paused again: %s", got)
		}
		b.Gate.Continue()
		s.want <- struct{}{}
		<-done
	})
}

func TestInjectWhileWaitingForSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, call("bash", `{"command":"a"}`), call("finish", `{}`))
		b.Gate = NewGate()
		s := &slowSlot{want: make(chan struct{}, 1)}
		b.Slot = s
		b.Gate.Pause()
		done := make(chan struct{})
		go func() { defer close(done); b.Run(t.Context()) }()
		synctest.Wait()
		b.Gate.Continue()
		synctest.Wait()
		if err := b.Gate.Inject("use b.py"); err != nil {
			t.Fatal(err)
		}
		s.want <- struct{}{}
		<-done
		if m := b.model.asked[0].Messages; m[len(m)-1].Content != "use b.py" {
			t.Errorf("feedback accepted before the model call was not in it: last message %q", m[len(m)-1].Content)
		}
	})
}

// An edit whose rendering fails ends the trajectory.
func TestEditRenderFails(t *testing.T) {
	for _, fail := range []error{&infer.Error{Kind: infer.Busy, Message: "busy"}, fmt.Errorf("x: %w", infer.ErrNoTokenize)} {
		b := newBench(t, call("bash", `{"command":"a"}`), call("finish", `{}`))
		b.Loop.Model = &blockingModel{script: b.model, fail: fail}
		b.Gate.Pause()
		var err error
		out := sittingErr(t, b, &err, stepper(t, b, "into"), func() { b.Gate.Edit(0, "bash", `{"command":"b"}`) })
		t.Logf("%v: outcome %q %s, Run error %v, ran %q", fail, out.Reason, out.Detail, err, b.tools.ran)
		if out.Reason != sessions.FinishTool {
			t.Errorf("a person's edit ended the trajectory: %q, err %v", out.Reason, err)
		}
	}
}

func sittingErr(t *testing.T, b *bench, errp *error, acts ...func()) Outcome {
	var out Outcome
	synctest.Test(t, func(t *testing.T) {
		b.Gate.wake = make(chan struct{}, 1)
		done := make(chan struct{})
		go func() { defer close(done); out, *errp = b.Run(t.Context()) }()
		for _, act := range acts {
			synctest.Wait()
			act()
		}
		synctest.Wait()
		b.Gate.Continue()
		<-done
	})
	return out
}

// Any error of /tokenize that is no *infer.Error is returned raw: the engine stops the whole run.
func TestTokenizeGone(t *testing.T) {
	b := newBench(t, call("bash", `1`), call("finish", `{}`))
	b.Loop.Model = &goneModel{b.model}
	out, err := b.Run(t.Context())
	if err != nil {
		t.Errorf("outcome %q, raw error %v", out.Reason, err)
	}
}

type goneModel struct{ *script }

func (g *goneModel) Tokenize(context.Context, []infer.Message, []infer.Tool, bool) ([]int32, error) {
	return nil, errors.Join(infer.ErrNoTokenize)
}
