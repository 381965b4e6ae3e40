package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rollbench/engine/infer"
	"rollbench/sandbox"
	"rollbench/sessions"
	"rollbench/tools"
)

// killed is a tool that is at work until its context ends.
func killed(ctx context.Context, _ string) (tools.Result, error) {
	<-ctx.Done()
	return tools.Result{Text: "begun\n[killed]", Status: tools.Failed}, fmt.Errorf("tool bash: %w", context.Cause(ctx))
}

func two() infer.Reply {
	r := call("bash", `1`)
	r.Calls = append(r.Calls, infer.ToolCall{ID: "d", Name: "bash", Arguments: `2`})
	return r
}

// One call of a reply is cancelled: what it printed is its observation, the
// next one runs as usual, and the trajectory goes on, intervened.
func TestCancelCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, two(), call("finish", `{}`))
		b.Gate = NewGate()
		b.tools.during = func(ctx context.Context, name string) (tools.Result, error) {
			if len(b.tools.ran) == 1 {
				return killed(ctx, name)
			}
			return tools.Result{Text: "second", Status: tools.OK}, nil
		}
		if err := b.Gate.CancelCall(time.Time{}); err == nil || err.Error() != "no call is running" {
			t.Errorf("before any call: %v", err)
		}
		began := time.Now() // the fake clock stands still until the call waits
		go func() {
			<-time.After(5 * time.Second)
			if err := b.Gate.CancelCall(began.Add(time.Second)); err == nil || !strings.Contains(err.Error(), "another is running") {
				t.Errorf("a call that ended: %v", err)
			}
			if err := b.Gate.CancelCall(began); err != nil {
				t.Error(err)
			}
		}()
		if out := b.run(t); out.Reason != sessions.FinishTool {
			t.Errorf("ended by %s: %s", out.Reason, out.Detail)
		}
		turn := b.rec.turns["1.1"]
		first, second := turn.Observations[0], turn.Observations[1]
		if first.Status != "cancelled" || first.Text != "begun\n[killed]\n[A person cancelled this call.]" || first.Wall != 5*time.Second || first.Source != sessions.FromTool {
			t.Errorf("observation %+v", first)
		}
		if second.Status != "ok" || second.Text != "second" || !turn.Complete || turn.Source != sessions.FromModel || turn.Version != 1 {
			t.Errorf("turn %+v", turn)
		}
		m := b.model.asked[1].Messages
		if got := m[len(m)-2].Content + "|" + m[len(m)-1].Content; got != first.Text+"|second" {
			t.Errorf("the model was told %q", got)
		}
		want := `{"verb":"cancel_call","turn":1,"at":"","by":"operator","before":"bash 1"}`
		if got := b.rec.kinds(sessions.KindIntervention); !slices.Equal(got, []string{want}) {
			t.Errorf("interventions %q", got)
		}
		b.wantLimit(t)
		if err := b.Gate.CancelCall(time.Time{}); err == nil {
			t.Error("a call was cancelled after the last one")
		}
	})
}

// A call that ends by itself as it is being cancelled is what it is.
func TestCancelTooLate(t *testing.T) {
	b := newBench(t, call("bash", `1`), call("finish", `{}`))
	b.tools.during = func(ctx context.Context, _ string) (tools.Result, error) {
		if err := b.Gate.CancelCall(time.Time{}); err != nil {
			t.Error(err)
		}
		return tools.Result{Text: "done", Status: tools.OK}, nil
	}
	b.run(t)
	if o := b.rec.turns["1.1"].Observations[0]; o.Status != "ok" || o.Text != "done" || b.rec.kinds(sessions.KindIntervention) != nil {
		t.Errorf("%+v, %q", o, b.rec.kinds(sessions.KindIntervention))
	}
}

// How a call may go, and which of it the trajectory survives (docs/tools.md).
func TestErrorClasses(t *testing.T) {
	boom := errors.New("kill command: nobody answers")
	for _, c := range []struct {
		name   string
		reply  infer.Reply
		set    func(*bench)
		status string // of the observation
		text   string // in it
		finish sessions.FinishReason
		limit  string // that struck
	}{
		{name: "arguments cut off", reply: call("bash", `{"a`), status: "invalid", text: "not valid JSON"},
		{name: "denied", status: "denied", text: "a rule", set: answers(tools.Result{Status: tools.Denied, Text: "a rule"}, nil)},
		{name: "failed", status: "error", text: "exit 2", set: answers(tools.Result{Status: tools.Failed, Text: "exit 2"}, nil)},
		{name: "limit of the tool", status: "timeout", text: "timed out", limit: "tools.command_timeout",
			set: answers(tools.Result{Status: tools.TimedOut, Text: "timed out", Limit: "tools.command_timeout", Bound: time.Second}, nil)},
		{name: "limit of a call", status: "timeout", text: "begun\n[killed]\n[The call took longer than the 1m0s that any call may take, and was cancelled.]", limit: "tools.call_timeout",
			set: func(b *bench) { b.CallLimit, b.tools.during = time.Minute, killed }},
		{name: "limit of a call that cannot be killed", status: "timeout", text: "was cancelled.]\nERROR: kill command: nobody answers", limit: "tools.call_timeout",
			set: func(b *bench) {
				b.CallLimit = time.Minute
				b.tools.during = func(ctx context.Context, _ string) (tools.Result, error) {
					<-ctx.Done()
					return tools.Result{}, boom
				}
			}},
		{name: "sandbox lost", status: "error", text: "sandbox lost", finish: sessions.SandboxLost,
			set: answers(tools.Result{}, fmt.Errorf("exec: %w", sandbox.ErrLost))},
		{name: "sandbox lost while cancelled", status: "error", text: "sandbox lost", finish: sessions.SandboxLost,
			set: func(b *bench) {
				b.CallLimit = time.Minute
				b.tools.during = func(ctx context.Context, _ string) (tools.Result, error) {
					<-ctx.Done()
					return tools.Result{Text: "begun"}, fmt.Errorf("exec: %w", sandbox.ErrLost)
				}
			}},
		{name: "time of the run stage", status: "timeout", text: "begun\n[killed]\ntrajectory_timeout", finish: sessions.TrajectoryTimeout, limit: "limits.run",
			set: func(b *bench) { b.Limit, b.CallLimit, b.tools.during = 30*time.Second, time.Minute, killed }},
		{name: "budget", status: "ok", text: "ran bash", finish: sessions.ContextWindowExceeded, set: func(b *bench) { b.Budget = 2 }},
		{name: "turns", status: "ok", text: "ran bash", finish: sessions.MaxIterationsReached, set: func(b *bench) { b.MaxTurns = 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.reply.Calls == nil {
					c.reply = call("bash", `{}`)
				}
				if c.finish == "" {
					c.finish = sessions.FinishTool // it goes on
				}
				b := newBench(t, c.reply, call("finish", `{}`))
				if c.set != nil {
					c.set(b)
				}
				if out := b.run(t); out.Reason != c.finish {
					t.Errorf("ended by %s: %s", out.Reason, out.Detail)
				}
				if o := b.rec.turns["1.1"].Observations[0]; o.Status != c.status || !strings.Contains(o.Text, c.text) {
					t.Errorf("observation %s %q", o.Status, o.Text)
				}
				var struck sessions.LimitStruck
				for _, text := range b.rec.kinds(sessions.KindLimit) {
					if err := json.Unmarshal([]byte(text), &struck); err != nil {
						t.Fatal(err)
					}
				}
				if struck.Limit != c.limit || b.rec.kinds(sessions.KindIntervention) != nil {
					t.Errorf("limit %q, interventions %q", struck.Limit, b.rec.kinds(sessions.KindIntervention))
				}
			})
		})
	}
}

// answers makes the tools answer so; finish ends the trajectory as ever.
func answers(r tools.Result, err error) func(*bench) {
	return func(b *bench) {
		b.tools.during = func(context.Context, string) (tools.Result, error) { return r, err }
	}
}

// Three cancelled calls alike are no loop of the policy's.
func TestCancelledCallsAreNoLoop(t *testing.T) {
	b := newBench(t, call("bash", `1`), call("bash", `1`), call("bash", `1`), call("bash", `1`), call("finish", `{}`))
	b.tools.during = func(ctx context.Context, name string) (tools.Result, error) {
		if err := b.Gate.CancelCall(time.Time{}); err != nil {
			t.Error(err)
		}
		return killed(ctx, name)
	}
	if out := b.run(t); out.Reason != sessions.FinishTool {
		t.Errorf("ended by %s: %s", out.Reason, out.Detail)
	}
}

// A cancelled call is not run again to its end: the attempt starts again. One
// that works outside the sandbox stands as it was recorded.
func TestReplayOfACancelledCall(t *testing.T) {
	for tool, want := range map[string]string{"bash": "turn 1: a person cancelled bash while it ran", "mail": ""} {
		turn := sessions.Turn{Index: 1, Complete: true, Calls: []sessions.Call{{ID: "c", Name: tool}},
			Observations: []sessions.Observation{{CallID: "c", Tool: tool, Status: "cancelled", Source: sessions.FromTool}}}
		b := newBench(t)
		err := b.Replay(t.Context(), []sessions.Turn{turn}, nil)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) || b.tools.ran != nil {
			t.Errorf("%s: %v, ran %q", tool, err, b.tools.ran)
		}
	}
}

// onHost gives the loop a real tool: a script of this machine's shell.
func onHost(t *testing.T, b *bench, script string) {
	t.Helper()
	r, err := tools.New(tools.Env{Folder: t.TempDir()}, tools.Enabled{Finish: true,
		Commands: []tools.Command{{Name: "bash", Description: "A script.", Parameters: json.RawMessage(`{"type":"object"}`), Argv: []string{"sh", "-c", script}, Timeout: time.Minute, Host: true}}})
	if err != nil {
		t.Fatal(err)
	}
	b.Loop.Tools = r
}

// What a call printed goes to the session in chunks, before its observation.
func TestOutputIsKept(t *testing.T) {
	b := newBench(t, call("bash", `{}`), call("finish", `{}`))
	onHost(t, b, `printf '\033[1m'; head -c 600000 /dev/zero | tr '\0' x`)
	b.run(t)
	var all []byte
	for i, c := range b.rec.chunks {
		if c.N != i || c.CallPlace != (sessions.CallPlace{Key: b.Key, Attempt: 1, Turn: 1}) {
			t.Errorf("chunk %d is %d of %s", i, c.N, c.CallPlace)
		}
		all = append(all, c.Data...)
	}
	if want := append([]byte("\x1b[1m"), bytes.Repeat([]byte("x"), 600000)...); !bytes.Equal(all, want) {
		t.Errorf("%d bytes in %d chunks, want %d", len(all), len(b.rec.chunks), len(want))
	}
	o := b.rec.turns["1.1"].Observations[0]
	if o.Output == nil || *o.Output != (sessions.Output{Size: 600004, Head: 600004}) || len(o.Text) > 30000 || o.Dropped < 570000 {
		t.Errorf("output %+v, %d characters, %d dropped", o.Output, len(o.Text), o.Dropped)
	}
	if len(b.rec.chunks) != 3 {
		t.Errorf("%d chunks of 256 KiB", len(b.rec.chunks))
	}
}

// Nothing is stored beside an observation that holds everything.
func TestWholeOutputIsNotKeptTwice(t *testing.T) {
	b := newBench(t, call("bash", `{}`), call("finish", `{}`))
	onHost(t, b, "echo hello")
	b.run(t)
	if o := b.rec.turns["1.1"].Observations[0]; o.Output != nil || b.rec.chunks != nil || o.Text != "hello\n" {
		t.Errorf("%+v, %d chunks", o, len(b.rec.chunks))
	}
}
