package ui

import (
	"bytes"
	"encoding/json"
	"fmt"

	"rollbench/sessions"
)

// wireMessage is a message in the shape of the chat protocol.
type wireMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Reasoning  string     `json:"reasoning,omitempty"`
	Calls      []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Name       string     `json:"name,omitempty"`
}

type wireCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// viewMessages is a turn as the chat protocol writes it: the messages that it
// adds to the request, and the reply. The request of a turn is all messages above
// its reply.
func viewMessages(versions []sessions.Turn) *section {
	s := &section{}
	for i, t := range versions {
		id := fmt.Sprintf("%d.%d", t.Index, t.Version)
		title := turnTitle(t)
		if i == 0 {
			title.add(dim, fmt.Sprintf(" · adds %s to the request", counted(len(t.New), "message")))
		}
		s.add(block{id: id, kind: heading, title: title, right: turnCost(t), raw: fmt.Sprintf("turn %d", t.Index)})
		if i == 0 {
			for n, m := range t.New {
				label, r := sourceLabel(m.Source)
				s.json(fmt.Sprintf("%s.m%d", id, n), label, r, plain, wireMessage{m.Role, m.Content, m.Reasoning, wireCalls(m.Calls), m.ToolCallID, m.Name})
			}
		}
		s.json(id+".s", "settings", dim, dim, struct {
			Model    string          `json:"model"`
			Sampling json.RawMessage `json:"sampling"`
		}{t.Model, t.Sampling})
		body := plain
		if t.Superseded {
			body = dim
		}
		label, r := sourceLabel(t.Source)
		if t.Source == sessions.FromModel {
			label = "reply"
		}
		s.json(id+".r", label, r, body, wireMessage{Role: "assistant", Content: t.Content, Reasoning: t.Reasoning, Calls: wireCalls(t.Calls)})
	}
	return s
}

func wireCalls(calls []sessions.Call) []wireCall {
	var list []wireCall
	for _, c := range calls {
		w := wireCall{ID: c.ID, Type: "function"}
		w.Function.Name, w.Function.Arguments = c.Name, c.Arguments
		list = append(list, w)
	}
	return list
}

func sourceLabel(s sessions.Source) (string, role) {
	switch s {
	case sessions.FromOperator:
		return "✎ person", person
	case sessions.FromHarness:
		return "harness", warn
	case sessions.FromModel:
		return "policy", call
	}
	return cleanLine(string(s)), dim
}

// json adds a value as a block.
func (s *section) json(id, label string, labelRole, body role, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	text := ""
	if err := enc.Encode(v); err != nil { // sampling settings that are no JSON
		text, body = err.Error(), fail
	} else {
		text = b.String()
	}
	s.add(block{id: id, label: label, labelRole: labelRole, body: body, text: trim(visibleJSON(text))})
}

// counted is "1 message", "2 messages".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return thousands(int64(n)) + " " + what + "s"
}
