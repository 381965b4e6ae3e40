package agent

import (
	_ "embed"
	"strings"

	"rollbench/sessions"
)

// SystemPrompt is the default system message.
//
//go:embed system.md
var SystemPrompt string

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
