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
	r.until("held again", func() bool { return held() && r.Status().Breakpoints[0].Hits == 2 })
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
	if list[0].Hits != 2 || list[0].Text != "tool=bash turn>=99" || list[1].Hits != 1 {
		t.Errorf("in the end %+v", list)
	}
	if hits := r.events(sessions.KindBreakpointHit); len(hits) != 3 || hits[0].Key != key {
		t.Errorf("hits %+v", hits)
	}
	r.nothingOpen()
}
