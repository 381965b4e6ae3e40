package engine

import (
	"errors"
	"strings"
	"testing"

	"rollbench/sessions"
)

// Breakpoints hold trajectories with the place shown, are in the session, and
// are there again when the run is resumed; none of it is an intervention.
func TestBreakpointsOfARun(t *testing.T) {
	r := setup(t, 1, nil).engine()
	key := r.store.Run().Members[0]
	for id, want := range map[int]string{0: "", 9: "there is no breakpoint #9"} {
		if err := r.SetBreakpoint(id, " tool=bash   turn>=1 "); (err != nil) != (want != "") || err != nil && err.Error() != want {
			t.Fatalf("#%d: %v", id, err)
		}
	}
	if err := r.SetBreakpoint(0, "args~/(/"); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a broken expression: %v", err)
	}
	for _, text := range []string{"reward>=0 log", "turn=2", "tool=finish"} {
		if err := r.SetBreakpoint(0, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(r.EnableBreakpoint(3, false), r.RemoveBreakpoint(4)); err != nil {
		t.Fatal(err)
	}
	if err := r.RemoveBreakpoint(4); err == nil || err.Error() != "there is no breakpoint #4" {
		t.Error(err)
	}
	held := func() bool { row := r.row(0); return row.State == sessions.Held && row.HeldAt == sessions.AfterReply }
	done := make(chan error, 1)
	go func() { done <- r.Run(t.Context()) }()
	r.until("held by the breakpoint", held)
	if row := r.row(0); row.Held != sessions.HeldBreakpoint || row.HeldWhy != "#1 tool=bash turn>=1" {
		t.Errorf("held by %s %q in turn %d", row.Held, row.HeldWhy, row.Turn)
	}
	r.Stop()
	if err := <-done; !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	r.reopen()
	r.engine()
	list := r.Status().Breakpoints
	if len(list) != 3 || list[0].Hits != 1 || list[0].Text != "tool=bash turn>=1" || !list[1].Log || !list[2].Off {
		t.Errorf("resumed with %+v", list)
	}
	go func() { done <- r.Run(t.Context()) }()
	r.until("held again", func() bool {
		n := 0
		for _, e := range r.events(sessions.KindState) {
			n += strings.Count(string(e.Data), `"held":"breakpoint"`)
		}
		return n == 2
	})
	if row := r.row(0); row.Held != sessions.HeldBreakpoint || row.HeldWhy != "#1 tool=bash turn>=1" {
		t.Errorf("held again by %s %q", row.Held, row.HeldWhy)
	}
	if err := errors.Join(r.SetBreakpoint(1, "tool=bash turn>=99"), r.Continue(key)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	row := r.row(0)
	if row.State != sessions.Done || row.Intervened || row.Attempt != 1 {
		t.Errorf("%s, intervened %v, attempt %d", row.State, row.Intervened, row.Attempt)
	}
	list = r.Status().Breakpoints
	if list[0].Hits != 1 || list[0].Text != "tool=bash turn>=99" || list[1].Hits != 1 {
		t.Errorf("in the end %+v", list)
	}
	if hits := r.events(sessions.KindBreakpointHit); len(hits) != 2 || hits[0].Key != key {
		t.Errorf("hits %+v", hits)
	}
	r.nothingOpen()
}

// What the events of an earlier part say of where a trajectory stands: it is let go by
// a person, not by the start of its run stage in a part that ended before its gate.
func TestWhereItStood(t *testing.T) {
	state := func(s sessions.State) sessions.StateChange { return sessions.StateChange{State: s} }
	hit := sessions.StateChange{State: sessions.Held, Held: sessions.HeldBreakpoint, At: sessions.AfterReply}
	start := []sessions.StateChange{state(sessions.Init), state(sessions.Ready), state(sessions.Running)}
	for _, c := range []struct {
		name   string
		states []sessions.StateChange
		want   sessions.Gate
	}{
		{"never held", start, ""},
		{"held", append(start[:3:3], hit), sessions.AfterReply},
		{"let go", append(start[:3:3], hit, state(sessions.Running)), ""},
		{"let go, no slot is free", append(start[:3:3], hit, sessions.StateChange{State: sessions.Held, Held: sessions.HeldLimit}), ""},
		{"held, and stopped before its gate in the next part", append(append(start[:3:3], hit), start...), sessions.AfterReply},
		{"held again in the next part, then let go", append(append(append(start[:3:3], hit), start...), hit, state(sessions.Running)), ""},
		{"paused", append(start[:3:3], sessions.StateChange{State: sessions.Held, Held: sessions.HeldPaused, At: sessions.BeforeModel}), ""},
	} {
		s := &stop{}
		for _, change := range c.states {
			s.state(change)
		}
		if s.stood != c.want {
			t.Errorf("%s: it stood at %q, want %q", c.name, s.stood, c.want)
		}
	}
}

// One that is held before the verifier when the run stops is held there again.
func TestHeldBeforeEvalAgain(t *testing.T) {
	r := setup(t, 1, nil).engine()
	key := r.store.Run().Members[0]
	if err := r.SetBreakpoint(0, "at=before-eval"); err != nil {
		t.Fatal(err)
	}
	held := func(times int) func() bool {
		return func() bool {
			n := 0
			for _, e := range r.events(sessions.KindState) {
				n += strings.Count(string(e.Data), `"held":"breakpoint","at":"before-eval","why":"#1 at=before-eval"`)
			}
			return n == times
		}
	}
	done := make(chan error, 1)
	go func() { done <- r.Run(t.Context()) }()
	r.until("held before the verifier", held(1))
	r.Stop()
	if err := <-done; !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	r.reopen()
	r.engine()
	go func() { done <- r.Run(t.Context()) }()
	r.until("held again", held(2))
	if err := r.Continue(key); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if row := r.row(0); row.State != sessions.Done || row.Reward == nil || row.Attempt != 1 {
		t.Errorf("%s, reward %v, attempt %d", row.State, row.Reward, row.Attempt)
	}
	if hits := r.events(sessions.KindBreakpointHit); len(hits) != 1 {
		t.Errorf("hits %+v", hits)
	}
	r.nothingOpen()
}
