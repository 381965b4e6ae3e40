package agent

import (
	"strconv"

	"rollbench/sessions"
	"rollbench/tools"
)

// step is one action and what came of it, reduced to what repetition means: a
// command is compared by its text and exit code, other tools by their answer
// (the rules of OpenHands' openhands/controller/stuck.py).
type step struct {
	action string
	result string
	failed bool
	spoken bool // a reply without a call
}

func (l *Loop) remember(t *sessions.Turn) {
	l.earlier = l.history
	if len(t.Calls) == 0 {
		l.history = append(l.history, step{action: t.Content, spoken: true})
	}
	for i, o := range t.Observations {
		if o.Status == string(tools.Cancelled) {
			continue // a person ended it: that the policy repeats it is no loop of its own
		}
		s := step{action: o.Tool + " " + t.Calls[i].Arguments, result: o.Text, failed: o.Status != string(tools.OK)}
		if o.Exit != nil {
			s.result = "exit " + strconv.Itoa(*o.Exit)
		}
		l.history = append(l.history, s)
	}
	if n := len(l.history); n > 6 {
		l.history = l.history[n-6:]
	}
}

// checkStuck ends a trajectory that repeats itself.
func (l *Loop) checkStuck() error {
	if pattern := stuck(l.history); pattern != "" {
		return end(sessions.StuckInALoop, "%s", pattern)
	}
	return nil
}

func stuck(h []step) string {
	last := func(n int, ok func(i int) bool) bool {
		if len(h) < n {
			return false
		}
		for i := len(h) - n; i < len(h); i++ {
			if !ok(i) {
				return false
			}
		}
		return true
	}
	end := len(h) - 1
	switch {
	case last(4, func(i int) bool { return !h[i].spoken && h[i] == h[end] }):
		return "the same call with the same result, 4 times"
	case last(3, func(i int) bool { return !h[i].spoken && h[i].failed && h[i].action == h[end].action }):
		return "the same failing call, 3 times"
	case last(3, func(i int) bool { return h[i].spoken && h[i].action == h[end].action }):
		return "the same reply without a call, 3 times"
	case last(6, func(i int) bool { return !h[i].spoken && h[i] == h[end-(end-i)%2] }):
		return "two calls in turn, 3 times each"
	}
	return ""
}
