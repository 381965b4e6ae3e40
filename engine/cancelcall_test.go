package engine

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"rollbench/engine/infer/simulated"
	"rollbench/sessions"
)

// A person ends the one call that runs: its processes are gone, what it printed
// stays, the trajectory goes on to its end and is intervened.
func TestCancelCall(t *testing.T) {
	r := setup(t, 1, func(c *Config) { c.Tools.Call = Duration(10 * time.Minute) }).engine()
	key := r.store.Run().Members[0]
	done := r.cancelOneCall(key)
	turns, err := r.store.Turns(t.Context(), key, 0, 1, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	o := turns[len(turns)-1].Observations[0]
	if o.Status != "cancelled" || !strings.HasPrefix(o.Text, "begun\n[The command was cancelled and killed") || !strings.HasSuffix(o.Text, "\n[A person cancelled this call.]") {
		t.Errorf("observation %+v", o)
	}
	printed, err := r.store.Output(t.Context(), sessions.CallPlace{Key: key, Turn: 1}, 0, 100)
	if err != nil || string(printed) != "\x1b[1mbegun\n" || o.Output == nil || o.Output.Size != int64(len(printed)) {
		t.Errorf("it printed %q, %v; the observation says %+v", printed, err, o.Output)
	}
	if err := r.Continue(key); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	row := r.row(0)
	if row.State != sessions.Done || !row.Intervened || row.Turn < 2 {
		t.Errorf("%s by %s after %d turns, intervened %v", row.State, row.Finish, row.Turn, row.Intervened)
	}
	var verbs []string
	for _, e := range r.events(sessions.KindIntervention) {
		var i sessions.Intervention
		if err := json.Unmarshal(e.Data, &i); err != nil {
			t.Fatal(err)
		}
		verbs = append(verbs, i.Verb)
	}
	if strings.Join(verbs, " ") != "edit cancel_call" {
		t.Errorf("interventions %q", verbs)
	}
	if err := r.CancelCall(key, time.Time{}); err == nil || !strings.Contains(err.Error(), "is over") {
		t.Errorf("after the end: %v", err)
	}
	r.nothingOpen()
}

// How far a cancelled call had come cannot be repeated: a resume begins the
// attempt again, and nothing a person did is left in it.
func TestResumeAfterACancelledCall(t *testing.T) {
	r := setup(t, 1, nil).engine()
	done := r.cancelOneCall(r.store.Run().Members[0])
	r.Stop()
	if err := <-done; !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	r.reopen()
	if err := r.engine().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if row := r.row(0); row.State != sessions.Done || row.Attempt != 2 || row.Intervened {
		t.Errorf("%s, attempt %d, intervened %v", row.State, row.Attempt, row.Intervened)
	}
	if why := r.said(sessions.KindAttempt); len(why) != 1 || !strings.Contains(why[0], "turn 1: a person cancelled execute_bash while it ran") {
		t.Errorf("attempts %q", why)
	}
	r.nothingOpen()
}

// cancelOneCall runs the engine up to its first call, which is made to be one
// that takes long, and cancels it. The trajectory is held behind it.
func (r *rig) cancelOneCall(key sessions.Key) (done chan error) {
	t := r.t
	t.Helper()
	if err := r.CancelCall(key, time.Time{}); err == nil || err.Error() != "no call is running" {
		t.Errorf("before the run: %v", err)
	}
	if err := r.Pause(key); err != nil {
		t.Fatal(err)
	}
	done = make(chan error, 1)
	go func() { done <- r.Run(t.Context()) }()
	held := func(at sessions.Gate) func() bool {
		return func() bool { row := r.row(0); return row.State == sessions.Held && row.HeldAt == at }
	}
	r.until("held", held(sessions.BeforeModel))
	if err := r.Step(key, "into"); err != nil {
		t.Fatal(err)
	}
	r.until("held with a reply", held(sessions.AfterReply))
	script := `{"command": "setsid sleep 7676 & printf '\\033[1mbegun\\n'; sleep 7676"}`
	if err := r.EditCall(key, 0, "execute_bash", script); err != nil {
		t.Fatal(err)
	}
	if err := r.Step(key, "into"); err != nil { // held again behind the call
		t.Fatal(err)
	}
	r.until("the call runs", func() bool {
		return !r.row(0).ToolSince.IsZero() && strings.Contains(r.Status().Streams[key.String()].Text, "begun")
	})
	if err := r.CancelCall(key, r.row(0).ToolSince.Add(-time.Second)); err == nil {
		t.Error("a call that ended before was cancelled")
	}
	if err := r.CancelCall(key, r.row(0).ToolSince); err != nil {
		t.Fatal(err)
	}
	r.until("held behind the call", held(sessions.AfterTool))
	if err := r.CancelCall(key, time.Time{}); err == nil || err.Error() != "no call is running" {
		t.Errorf("behind the call: %v", err)
	}
	return done
}

// What a call printed and the model did not see is in the session of a run, and
// nothing else is.
func TestOutputsOfARun(t *testing.T) {
	r := newRig(t, func(c *Config, _ *simulated.Options) {
		c.Generator.NumTrajectories = 1
		c.Tools.PerTool = map[string]int{"execute_bash": 300}
	}, "build-order-cycle").engine()
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	key := r.store.Run().Members[0]
	turns, err := r.store.Turns(t.Context(), key, 0, 0, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, turn := range turns {
		for i, o := range turn.Observations {
			out, err := r.store.Output(t.Context(), sessions.CallPlace{Key: key, Turn: turn.Index, Call: i}, 0, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if (o.Output != nil) != (out != nil) || o.Output != nil && o.Output.Size != int64(len(out)) || o.Tool == "execute_bash" && len([]rune(o.Text)) > 300 {
				t.Errorf("turn %d: %d bytes kept, the observation says %+v and has %d characters", turn.Index, len(out), o.Output, len(o.Text))
			}
			if o.Output != nil {
				kept++
				if head, _, _ := strings.Cut(o.Text, "\n[..."); !strings.HasPrefix(string(out), head) {
					t.Errorf("turn %d: the model saw %q of %q", turn.Index, head, out)
				}
			}
		}
	}
	if kept == 0 {
		t.Error("no output was cut: the test shows nothing")
	}
}

func TestCallLimit(t *testing.T) {
	for _, c := range []struct {
		tools Tools
		want  time.Duration
	}{
		{Tools{}, 0},
		{Tools{Command: Duration(time.Hour)}, 0},
		{Tools{Call: Duration(10 * time.Minute), Command: Duration(5 * time.Minute), Idle: Duration(time.Second)}, 10 * time.Minute},
		{Tools{Call: Duration(time.Minute), Command: Duration(5 * time.Minute)}, 6 * time.Minute},
		{Tools{Call: Duration(time.Minute), OwnTools: OwnTools{Commands: []CommandTool{{Timeout: Duration(time.Hour)}}}}, 61 * time.Minute},
		// Of a server its start counts as well: a minute, where nothing else is said.
		{Tools{Call: Duration(time.Minute), OwnTools: OwnTools{Servers: []MCPServer{{Timeout: Duration(time.Hour)}}}}, 62 * time.Minute},
		{Tools{Call: Duration(time.Minute), Command: Duration(5 * time.Minute), OwnTools: OwnTools{Servers: []MCPServer{{Start: Duration(3 * time.Minute)}}}}, 9 * time.Minute},
	} {
		if got := c.tools.callLimit(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.tools, got, c.want)
		}
	}
}
