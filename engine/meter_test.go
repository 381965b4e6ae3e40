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

// What everyone waits for, once nothing has moved for long enough; the session
// is told once.
func TestStall(t *testing.T) {
	r := newRig(t, func(c *Config, _ *simulated.Options) { c.Dispatcher.StallAfter = Duration(time.Minute) }).engine()
	key := func(id int) sessions.Key { return sessions.Key{Instance: "pager-last-page", ID: id} }
	began := time.Now()
	for id, s := range []sessions.StateChange{{State: sessions.Running}, {State: sessions.Held, Held: sessions.HeldPaused}} {
		if err := r.commit(t.Context(), key(id), sessions.KindState, s); err != nil {
			t.Fatal(err)
		}
	}
	r.streams.of(key(0)).Doing(3, "model")
	if err := r.measure(t.Context(), began.Add(30*time.Second)); err != nil || r.Status().Stall != nil {
		t.Fatalf("after 30 s: %v %v", r.Status().Stall, err)
	}
	for range 2 {
		if err := r.measure(t.Context(), began.Add(90*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	s := r.Status().Stall
	if s == nil || len(s.Waits) != 2 {
		t.Fatalf("%+v", s)
	}
	want := "nothing has moved for 1m30s; waiting: 1 for a person (longest pager-last-page#1, 1m30s), 1 for a reply (longest pager-last-page#0, 1m30s)"
	if s.String() != want {
		t.Errorf("%s", s)
	}
	if got := r.events(sessions.KindWarning); len(got) != 1 || !strings.Contains(string(got[0].Data), want) {
		t.Errorf("%d warnings", len(got))
	}
	// A token moves it.
	r.streams.of(key(0)).Text("x")
	if err := r.measure(t.Context(), time.Now().Add(59*time.Second)); err != nil || r.Status().Stall != nil {
		t.Errorf("%v %v", r.Status().Stall, err)
	}
}

// A run that a person holds as a whole says so, and is no warning.
func TestAllHeldIsNoWarning(t *testing.T) {
	r := newRig(t, func(c *Config, _ *simulated.Options) { c.Dispatcher.StallAfter = Duration(time.Minute) }).engine()
	if err := r.commit(t.Context(), sessions.Key{Instance: "pager-last-page"}, sessions.KindState, sessions.StateChange{State: sessions.Held, Held: sessions.HeldStep}); err != nil {
		t.Fatal(err)
	}
	if err := r.measure(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if s := r.Status().Stall; s == nil || len(s.Waits) != 1 || s.Waits[0].What != "a person" {
		t.Errorf("%+v", s)
	}
	if got := r.events(sessions.KindWarning); len(got) != 0 {
		t.Errorf("%s", got[0].Data)
	}
}

// Limits change while the run goes on; the session says who and why, and a
// refused change changes nothing.
func TestSetLimits(t *testing.T) {
	r := newRig(t, nil).engine()
	if err := r.SetLimits(Limits{Run: 1}, ""); err == nil || !strings.Contains(err.Error(), "nothing runs") {
		t.Errorf("before the run: %v", err)
	}
	opened, let := r.gateOpens()
	done := make(chan error)
	go func() { done <- r.Run(t.Context()) }()
	<-opened
	<-opened // both init slots are taken
	if err := r.SetLimits(Limits{Init: -1}, ""); err == nil {
		t.Error("a negative limit was accepted")
	}
	if err := r.SetLimits(Limits{Init: 2, Run: 3, Eval: 1, Live: 4}, ""); err == nil || err.Error() != "the limits are that already" {
		t.Errorf("the same limits: %v", err)
	}
	if err := r.SetLimits(Limits{Init: 3, Run: 2, Eval: 2, Live: 3}, "eval is behind"); err != nil {
		t.Fatal(err)
	}
	<-opened // the third slot works at once
	if s := r.Status(); s.Limits != (Limits{Init: 3, Run: 2, Eval: 2, Live: 3}) || s.Init.Limit != 3 || s.MaxLive != 3 {
		t.Errorf("%+v", s)
	}
	close(let)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	events := r.events(sessions.KindLimits)
	if len(events) != 2 {
		t.Fatalf("%d events", len(events))
	}
	var l sessions.Limits
	if err := json.Unmarshal(events[1].Data, &l); err != nil {
		t.Fatal(err)
	}
	if l.Who != "operator" || l.Why != "eval is behind" || l.MaxInit != 3 || l.MaxAgents != 2 || l.MaxEval != 2 || l.MaxLive != 3 {
		t.Errorf("%+v", l)
	}
}

// A limit of init or eval names the trajectory, what it was at, and for how
// long.
func TestStageLimitsThatStrike(t *testing.T) {
	r := newRig(t, func(c *Config, _ *simulated.Options) {
		c.Generator.NumTrajectories = 1
		c.Limits.Init = Duration(50 * time.Millisecond)
	}, "pager-last-page").engine()
	r.local.fail = func(string) error {
		<-time.After(100 * time.Millisecond)
		return errors.New("too late")
	}
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := r.events(sessions.KindLimit)
	if len(got) != 1 || got[0].Key.String() != "pager-last-page#0" {
		t.Fatalf("%v", got)
	}
	var l sessions.LimitStruck
	if err := json.Unmarshal(got[0].Data, &l); err != nil {
		t.Fatal(err)
	}
	if l.Stage != "init" || l.Limit != "limits.init" || l.Bound != 50*time.Millisecond || l.For != "a local sandbox to open" || l.Waited < 50*time.Millisecond {
		t.Errorf("%+v", l)
	}
}

// The end of a run leaves its measures with the session: every stage of every
// trajectory, every tool, a point of the series, and what other settings do.
func TestMeasuredRun(t *testing.T) {
	r := newRig(t, nil)
	config, err := json.Marshal(r.opt.Config)
	if err != nil {
		t.Fatal(err)
	}
	r.engine()
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := r.Status()
	for _, q := range []Queue{s.Init, s.Run} {
		if q.Times == nil || q.Times.Service.N != 4 || q.Times.Wait.N != 4 {
			t.Errorf("%+v", q.Times)
		}
	}
	calls := 0
	for _, tool := range s.Tools {
		calls += tool.Calls
	}
	if want := len(r.events(sessions.KindToolFinished)); calls != want || want == 0 {
		t.Errorf("%d calls of tools, want %d", calls, want)
	}
	points, err := r.store.Series(t.Context())
	if err != nil || len(points) == 0 {
		t.Fatal(len(points), err)
	}
	var p Point
	if err := json.Unmarshal(points[len(points)-1], &p); err != nil || p.Ended != 4 || p.Live != 0 {
		t.Errorf("%s %v", points[len(points)-1], err)
	}
	advice, err := WhatIf(t.Context(), withConfig{r.store, config})
	if err != nil {
		t.Fatal(err)
	}
	if advice.Known != 4 || advice.All != 4 || len(advice.Outlooks) < 4 || advice.Outlooks[0].Change != "as it is" || advice.Bound <= 0 {
		t.Errorf("%+v", advice)
	}
}

// withConfig is a run whose session holds a configuration.
type withConfig struct {
	sessions.Reader
	config json.RawMessage
}

func (w withConfig) Run() sessions.Run {
	run := w.Reader.Run()
	run.Config = w.config
	return run
}
