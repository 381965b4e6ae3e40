package cli

import (
	"errors"
	"strings"
	"testing"

	"rollbench/engine"
	"rollbench/sessions"
)

// A run in which only a person could go on is told from one in which something moves.
func TestUnattended(t *testing.T) {
	row := func(id int, s sessions.State, h sessions.HeldReason, why string) sessions.Trajectory {
		return sessions.Trajectory{Key: sessions.Key{Instance: "a", ID: id}, State: s, Held: h, HeldWhy: why}
	}
	held := row(1, sessions.Held, sessions.HeldPaused, "paused by the fork, as asked for")
	for _, c := range []struct {
		name string
		rows []sessions.Trajectory
		want string
	}{
		{"all ended", []sessions.Trajectory{row(0, sessions.Done, "", "")}, ""},
		{"not begun", []sessions.Trajectory{row(0, sessions.Queued, "", "")}, ""},
		{"one runs", []sessions.Trajectory{held, row(0, sessions.Running, "", "")}, ""},
		{"one is evaluated", []sessions.Trajectory{held, row(0, sessions.Evaluating, "", "")}, ""},
		{"one waits for the endpoint", []sessions.Trajectory{held, row(0, sessions.Held, sessions.HeldError, "away")}, ""},
		{"one waits for a slot", []sessions.Trajectory{held, row(0, sessions.Held, sessions.HeldLimit, "")}, ""},
		{"held", []sessions.Trajectory{row(0, sessions.Failed, "", ""), held}, "a#1 (paused by the fork, as asked for)"},
		{"held, and others wait for its place", []sessions.Trajectory{row(0, sessions.Queued, "", ""), row(2, sessions.Held, sessions.HeldBreakpoint, ""), held}, "a#2 (breakpoint) and 1 more"},
	} {
		why := unattended(c.rows)
		if !strings.HasSuffix(why, c.want) || (why == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, why, c.want)
		}
	}
	err := error(&forPerson{"why", engine.ErrStopped})
	if !errors.Is(err, engine.ErrStopped) {
		t.Error("it is no run that was stopped")
	}
}

// A long text is printed of one trajectory; of others it is said whose it is.
func TestLongTextsOnce(t *testing.T) {
	long := strings.Repeat("x", longText)
	a, b := sessions.Key{Instance: "a"}, sessions.Key{Instance: "a", ID: 1}
	s := told{}
	for i, c := range []struct {
		key        sessions.Key
		text, want string
	}{
		{a, "short", "short"}, {b, "short", "short"}, {a, long, long}, {b, long, "as a#0"}, {a, long, long}, {b, long + "y", long + "y"}, {sessions.Key{}, long, long},
	} {
		if got := s.once(c.key, c.text); got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
}
