package replay

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"rollbench/engine"
	"rollbench/sessions"
)

// tape is a recorded run in memory.
type tape struct {
	run    sessions.Run
	events []sessions.Event
	series []json.RawMessage
	gauge  json.RawMessage
	closed bool
	forks  []sessions.Key // rows that are no members
}

func newTape(members ...sessions.Key) *tape {
	return &tape{run: sessions.Run{ID: "r-1", Created: t0, Members: members, Policy: "async_pipeline"}}
}

// at adds an event so long after the first.
func (r *tape) at(d time.Duration, k sessions.Key, kind sessions.Kind, payload any) {
	e := sessions.NewEvent(t0.Add(d), k, kind, payload)
	e.Seq = int64(len(r.events) + 1)
	r.events = append(r.events, e)
}

func (r *tape) state(d time.Duration, k sessions.Key, s sessions.State) {
	r.at(d, k, sessions.KindState, sessions.StateChange{State: s})
}

func (r *tape) point(t *testing.T, d time.Duration, p engine.Point) {
	t.Helper()
	p.At = t0.Add(d)
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	r.series = append(r.series, data)
}

func (r *tape) Run() sessions.Run { return r.run }

func (r *tape) Since(_ context.Context, seq int64, limit int) ([]sessions.Event, error) {
	rest := r.events[min(int(seq), len(r.events)):]
	return append([]sessions.Event{}, rest[:min(limit, len(rest))]...), nil
}

func (r *tape) Trajectories(context.Context) ([]sessions.Trajectory, int64, error) {
	var rows []sessions.Trajectory
	for _, k := range append(r.run.Members[:len(r.run.Members):len(r.run.Members)], r.forks...) {
		row := sessions.NewTrajectory(k, t0)
		for _, e := range r.events {
			if e.Key == k {
				if err := sessions.Apply(&row, e); err != nil {
					return nil, 0, err
				}
			}
		}
		rows = append(rows, row)
	}
	return rows, int64(len(r.events)), nil
}

func (r *tape) Turns(context.Context, sessions.Key, int, int, int, bool) ([]sessions.Turn, error) {
	return nil, nil
}
func (r *tape) Patch(context.Context, sessions.Key) ([]byte, error)   { return nil, nil }
func (r *tape) EvalLog(context.Context, sessions.Key) ([]byte, error) { return nil, nil }
func (r *tape) Output(context.Context, sessions.CallPlace, int64, int) ([]byte, error) {
	return nil, nil
}
func (r *tape) Spell(context.Context, []int32) (map[int32]string, error) { return nil, nil }
func (r *tape) Wake() (<-chan struct{}, func())                          { return make(chan struct{}), func() {} }
func (r *tape) Gauge(context.Context) (json.RawMessage, error)           { return r.gauge, nil }
func (r *tape) Series(context.Context) ([]json.RawMessage, error)        { return r.series, nil }
func (r *tape) Close() error                                             { r.closed = true; return nil }

// play the tape at a speed.
func play(t *testing.T, r *tape, speed float64) *Player {
	t.Helper()
	p, err := Open(t.Context(), r, 0, speed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
