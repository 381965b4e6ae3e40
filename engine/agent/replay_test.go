package agent

import (
	"strings"
	"testing"

	"rollbench/sessions"
	"rollbench/tools"
)

// recorded returns the turns of a bench in order.
func (b *bench) recorded(keys ...string) []sessions.Turn {
	var out []sessions.Turn
	for _, k := range keys {
		out = append(out, b.rec.turns[k])
	}
	return out
}

// A loop restored from its turns asks what the interrupted one would have.
func TestRestoreGoesOn(t *testing.T) {
	whole := newBench(t, call("bash", `1`), say("hm"), call("bash", `2`), call("finish", `{}`))
	whole.run(t)
	for cut := 1; cut <= 3; cut++ {
		turns := whole.recorded("1.1", "2.1", "3.1")[:cut]
		b := newBench(t, whole.model.replies[cut:]...)
		b.Restore(turns)
		if out := b.run(t); out.Reason != sessions.FinishTool {
			t.Errorf("cut %d: ended by %s", cut, out.Reason)
		}
		got, want := b.model.asked[0], whole.model.asked[cut]
		if len(got.Messages) != len(want.Messages) || got.MaxTokens != want.MaxTokens {
			t.Fatalf("cut %d: asked with %d messages and %d tokens, want %d and %d", cut, len(got.Messages), got.MaxTokens, len(want.Messages), want.MaxTokens)
		}
		for i := range got.Messages {
			if text(got.Messages[i]) != text(want.Messages[i]) {
				t.Errorf("cut %d: message %d is %s, want %s", cut, i, text(got.Messages[i]), text(want.Messages[i]))
			}
		}
		if b.turn != 4 {
			t.Errorf("cut %d: %d turns, want 4", cut, b.turn)
		}
	}
}

// A reply that was committed before the crash is used, never sampled again.
func TestRestoreRunsPendingCall(t *testing.T) {
	whole := newBench(t, call("bash", `1`), call("finish", `{}`))
	whole.run(t)
	turn := whole.rec.turns["1.1"]
	turn.Complete, turn.Observations = false, nil
	b := newBench(t, whole.model.replies[1:]...)
	b.Restore([]sessions.Turn{turn})
	b.run(t)
	if got := strings.Join(b.tools.ran, "; "); got != "bash 1; finish {}" {
		t.Errorf("ran %s", got)
	}
}

func TestReplay(t *testing.T) {
	whole := newBench(t, call("bash", `1`), call("bash", `2`), call("finish", `{}`))
	whole.run(t)
	b := newBench(t)
	if err := b.Replay(t.Context(), whole.recorded("1.1", "2.1"), nil); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.tools.ran, "; "); got != "bash 1; bash 2" {
		t.Errorf("ran %s", got)
	}
	b.tools.answer = func(name, args string) (tools.Result, error) {
		return tools.Result{Text: "something else", Status: tools.OK}, nil
	}
	if err := b.Replay(t.Context(), whole.recorded("1.1", "2.1"), nil); err == nil || !strings.Contains(err.Error(), "turn 1: bash answers differently") {
		t.Errorf("Replay() = %v", err)
	}
}

func TestSteady(t *testing.T) {
	for _, c := range []struct{ a, b string }{
		{"Ran 3 tests in 0.012s", "Ran 3 tests in 0.007s"},
		{"<object at 0x7f3a10c2>", "<object at 0x55b0ffee>"},
		{"-rw-r--r-- 1 agent Nov 29 18:34 a.py", "-rw-r--r-- 1 agent Nov 30 09:01 a.py"},
		{"started pid 4711", "started pid 12"},
	} {
		if steady(c.a) != steady(c.b) {
			t.Errorf("%q and %q differ: %q, %q", c.a, c.b, steady(c.a), steady(c.b))
		}
	}
	if steady("3 failed") == steady("2 failed") {
		t.Error("a count is not noise")
	}
}

// What a tool outside the sandbox did stands: a resume does not do it again.
func TestReplayLeavesTheOutsideAlone(t *testing.T) {
	whole := newBench(t, call("bash", `1`), call("mail", `{}`), call("finish", `{}`))
	whole.run(t)
	b := newBench(t)
	if err := b.Replay(t.Context(), whole.recorded("1.1", "2.1"), nil); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.tools.ran, "; "); got != "bash 1" {
		t.Errorf("ran %s", got)
	}
}
