package cli

import (
	"slices"
	"testing"
	"time"

	"rollbench/sessions"
)

// A sitting by the palette alone: pause all, go to a trajectory, inject, change a
// limit and the colours, take the mouse, and leave. The session has what was changed.
func TestPaletteSitting(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	tm := s.sitting(80, 24, "2s", "--set", "tools.enable_search=false")
	run := func(text string) {
		t.Helper()
		tm.keys(":")
		tm.sees("palette", "enter runs")
		tm.keys("-l", text)
		tm.keys("Enter")
	}
	run("pall") // pause-all
	within(t, 40*time.Second, "all four are held", func() bool {
		n := 0
		for _, row := range s.rows() {
			if row.State == sessions.Held {
				n++
			}
		}
		return n == 4
	})
	run("goto #2")
	tm.sees("#2") // its transcript
	run("inject look at the callers first")
	within(t, 20*time.Second, "the feedback is recorded", func() bool { return slices.Contains(s.verbs(), "inject") })
	for _, e := range s.events() {
		if e.Kind == sessions.KindIntervention && e.Key.ID != 2 {
			t.Errorf("the feedback went to %v", e.Key)
		}
	}
	run("limits run=3 why=a sitting")
	within(t, 20*time.Second, "the limit is recorded", func() bool {
		return slices.ContainsFunc(s.events(), func(e sessions.Event) bool { return e.Kind == sessions.KindLimits })
	})
	run("theme tritanopia")
	tm.sees("theme tritanopia")
	run("mouse on")
	tm.sees("the mouse is on")
	if got := tm.tmux("display-message", "-p", "-t", "w", "#{mouse_any_flag}"); got != "1\n" {
		t.Errorf("the terminal has the mouse: %q", got)
	}
	run("nosuchverb x")
	tm.sees(`there is no verb "nosuchverb"`)
	tm.keys("C-c") // an escape right before a key would be alt with that key
	run("quit")
	tm.sees("Leave while work is running?")
	tm.keys("l")
	tm.sees("left with", "rollbench resume")
	if got := tm.tmux("display-message", "-p", "-t", "w", "#{mouse_any_flag} #{alternate_on}"); got != "0 0\n" {
		t.Errorf("after leaving the mouse and the other screen are %q", got)
	}
}
