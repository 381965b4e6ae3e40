package export

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"rollbench/sessions"
)

var t0 = time.Date(2026, 11, 29, 18, 42, 0, 0, time.UTC)

// recorder builds a session by hand.
type recorder struct {
	*testing.T
	home string
	*sessions.Store
}

func record(t *testing.T, keys ...sessions.Key) *recorder {
	t.Helper()
	home := t.TempDir()
	s, err := sessions.Create(t.Context(), home, sessions.Run{ID: "r-1", Created: t0, Title: "demo", N: 2, Members: keys,
		Model: "m", Simulate: true, Print: json.RawMessage(`{"scaffold":"react"}`), Version: "0.1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &recorder{t, home, s}
}

func (r *recorder) events(key sessions.Key, payloads ...any) {
	r.T.Helper()
	var w sessions.Write
	for _, p := range payloads {
		kind := sessions.KindState
		switch p.(type) {
		case sessions.Finished:
			kind = sessions.KindFinish
		case sessions.Rewarded:
			kind = sessions.KindReward
		case sessions.Intervention:
			kind = sessions.KindIntervention
		case sessions.Attempt:
			kind = sessions.KindAttempt
		case sessions.Marks:
			kind = sessions.KindMarks
		case sessions.ReplyMade:
			kind = sessions.KindReply
		}
		w.Events = append(w.Events, sessions.NewEvent(t0, key, kind, p))
	}
	if err := r.Commit(r.T.Context(), w); err != nil {
		r.T.Fatal(err)
	}
}

// end gives the trajectory its reason, its reward and its last state.
func (r *recorder) end(key sessions.Key, state sessions.State, why sessions.FinishReason, reward *float64) {
	r.T.Helper()
	r.events(key, sessions.Finished{Reason: why})
	if reward != nil {
		r.events(key, sessions.Rewarded{Reward: reward})
	}
	r.events(key, sessions.StateChange{State: state})
}

func (r *recorder) turn(t sessions.Turn, supersede int) {
	r.T.Helper()
	t.Attempt, t.Version = max(t.Attempt, 1), max(t.Version, 1)
	if t.Source == "" {
		t.Source = sessions.FromModel
	}
	w := sessions.Write{Turn: &t, Supersede: supersede, Events: []sessions.Event{
		sessions.NewEvent(t0, t.Key, sessions.KindReply, sessions.ReplyMade{Turn: t.Index, Source: t.Source})}}
	if err := r.Commit(r.T.Context(), w); err != nil {
		r.T.Fatal(err)
	}
}

func one(v float64) *float64 { return &v }

// export returns the rows as JSON objects and the raw lines.
func (r *recorder) export(opt Options) ([]map[string]any, []string, Summary) {
	r.T.Helper()
	var out bytes.Buffer
	sum, err := Write(r.T.Context(), &out, "transitions", r.Store, opt)
	if err != nil {
		r.T.Fatal(err)
	}
	var rows []map[string]any
	var lines []string
	for line := range strings.Lines(out.String()) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			r.T.Fatalf("%v in %s", err, line)
		}
		rows, lines = append(rows, row), append(lines, strings.TrimSuffix(line, "\n"))
	}
	if sum.Rows != len(rows) {
		r.T.Errorf("summary counts %d rows, there are %d", sum.Rows, len(rows))
	}
	return rows, lines, sum
}
