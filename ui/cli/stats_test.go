package cli

import (
	"context"
	"testing"
	"time"

	"rollbench/sessions"
)

// counted counts the events that are read.
type counted struct {
	sessions.Reader
	events int
}

func (c *counted) Since(ctx context.Context, seq int64, limit int) ([]sessions.Event, error) {
	events, err := c.Reader.Since(ctx, seq, limit)
	c.events += len(events)
	return events, err
}

// Stages, limits, what struck and the what-if come from one pass over the events.
func TestStatsReadEventsOnce(t *testing.T) {
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	k := sessions.Key{Instance: "a"}
	store, err := sessions.Create(t.Context(), t.TempDir(), sessions.Run{ID: "r-1", Created: at, N: 1, Members: []sessions.Key{k}, Config: []byte(`{"dispatcher": {"type": "async_pipeline", "max_parallel_agents": 3}}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	n := 0
	event := func(after time.Duration, key sessions.Key, kind sessions.Kind, payload any) {
		t.Helper()
		n++
		if err := store.Commit(t.Context(), sessions.Write{Events: []sessions.Event{sessions.NewEvent(at.Add(after), key, kind, payload)}}); err != nil {
			t.Fatal(err)
		}
	}
	event(0, sessions.Key{}, sessions.KindLimits, sessions.Limits{Who: "config", MaxAgents: 3})
	for i, s := range []sessions.State{sessions.Init, sessions.Ready, sessions.Running, sessions.Ran, sessions.Evaluating, sessions.Done} {
		event(time.Duration(i+1)*time.Second, k, sessions.KindState, sessions.StateChange{State: s})
	}
	event(4*time.Second, k, sessions.KindLimit, sessions.LimitStruck{Stage: "run", Limit: "tools.command_timeout", For: "execute_bash"})
	r := &counted{Reader: store}
	s, err := statsOf(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if r.events != n {
		t.Errorf("%d events were read of %d", r.events, n)
	}
	if s.Ended != 1 || s.Members != 1 || s.Stages.Run.Service.Max != time.Second || len(s.Limits) != 1 || s.Limits[0].Fact.MaxAgents != 3 ||
		len(s.Struck) != 1 || s.Struck[0].For != "execute_bash" || s.Struck[0].Key != k || s.Advice.Known != 1 {
		t.Errorf("%+v", s)
	}
}
