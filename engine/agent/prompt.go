package agent

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"rollbench/sessions"
)

// SystemPrompt is the default system message.
//
//go:embed system.md
var SystemPrompt string

// AnswerPrompt is the default system message where an answer counts.
//
//go:embed answer.md
var AnswerPrompt string

// Reminder says when the model is told how many turns are left.
type Reminder string

// The reminders.
const (
	RemindEvery Reminder = "every"
	RemindLast  Reminder = "last"
	RemindOff   Reminder = "off"
)

// Reminders are all reminders.
func Reminders() []Reminder { return []Reminder{RemindEvery, RemindLast, RemindOff} }

// note to the model for its next turn, "" for none. It depends on what is
// recorded only, so that a resumed trajectory is told the same.
func (l *Loop) note() string {
	if l.turn == 0 {
		return ""
	}
	var text []string
	if left := l.Budget - l.used; l.LowBudget > 0 && left <= l.LowBudget && l.Budget-l.before > l.LowBudget {
		text = append(text, fmt.Sprintf("About %d tokens are left for this task. Do only what matters most%s.", max(left, 0), l.thenFinish()))
	}
	switch left := l.MaxTurns - l.turn; {
	case l.Reminder == RemindOff:
	case left == 1:
		text = append(text, "This is the last turn: no call after this one is run.")
	case l.Reminder == RemindEvery:
		text = append(text, fmt.Sprintf("Turns left: %d.", left))
	}
	return strings.Join(text, "\n")
}

// compose what the next prompt adds. The note goes to the end of the newest
// message: a message of its own would be one that templates with alternating roles
// refuse. It may be composed again, after a call that brought no reply.
func (l *Loop) compose(ctx context.Context) error {
	l.asked = slices.Clone(l.fresh)
	if text, n := l.note(), len(l.asked); text != "" && n > 0 {
		l.asked[n-1].Content = strings.TrimRight(l.asked[n-1].Content, "\n") + "\n\n" + text
	}
	for _, m := range l.injected {
		if m.Role == "tool" {
			var err error
			if m, err = l.asResult(ctx, m); err != nil {
				return err
			}
		}
		l.asked = append(l.asked, m)
	}
	return nil
}

// thenFinish asks for the finish tool, where there is one.
func (l *Loop) thenFinish() string {
	for _, s := range l.Tools.Specs() {
		if s.Name == "finish" {
			return "; call the finish tool when that is done"
		}
	}
	return ""
}

// brokenArguments is the observation for a call whose arguments are no JSON:
// cut off and malformed are told apart, and neither runs.
func brokenArguments(finish string) string {
	if finish == "length" {
		return "ERROR: the tool call was cut off before its arguments were complete, so it was not run. Send the whole call again, with less text in it."
	}
	return "ERROR: the arguments of the tool call are not valid JSON, so it was not run. Send the call again with one JSON object that matches the tool's parameters."
}

// noCall is the corrective message after a reply without a tool call.
func (l *Loop) noCall(t *sessions.Turn) string {
	text := t.Content
	if t.Raw != "" {
		text = t.Raw
	}
	for _, marker := range []struct{ open, shut string }{{"<tool_call>", "</tool_call>"}, {"<function=", "</function>"}} {
		switch {
		case !strings.Contains(text, marker.open):
		case !strings.Contains(text, marker.shut):
			return "ERROR: a tool call was started with " + marker.open + " but its end " + marker.shut + " is missing, so nothing was run. Send the whole call again."
		default:
			return "ERROR: the tool call could not be read, so nothing was run. Send it again as one JSON object with \"name\" and \"arguments\"."
		}
	}
	text = "No tool was called. Go on with the task by calling a tool"
	for _, s := range l.Tools.Specs() {
		if s.Name == "finish" {
			text += "; when the work is done, call the finish tool"
		}
	}
	return text + "."
}
