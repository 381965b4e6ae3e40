package ui

import (
	"fmt"
	"strings"

	"rollbench/sessions"
)

// wireMessage writes a message in the shape of the chat protocol. By hand: its
// texts may have megabytes, which an encoder that indents goes through thrice.
func wireMessage(m sessions.Message) string {
	size := len(m.Content) + len(m.Reasoning)
	for _, c := range m.Calls {
		size += len(c.Arguments)
	}
	var b strings.Builder
	b.Grow(size + size/16 + 256)
	b.WriteString("{\n  \"role\": " + quote(m.Role) + ",\n  \"content\": ")
	b.WriteString(quote(m.Content))
	for _, f := range [][2]string{{"reasoning", m.Reasoning}, {"tool_call_id", m.ToolCallID}, {"name", m.Name}} {
		if f[1] != "" {
			b.WriteString(",\n  \"" + f[0] + "\": ")
			b.WriteString(quote(f[1]))
		}
	}
	for i, c := range m.Calls {
		if i == 0 {
			b.WriteString(",\n  \"tool_calls\": [\n")
		}
		fmt.Fprintf(&b, "    {\n      \"id\": %s,\n      \"type\": \"function\",\n      \"function\": {\n        \"name\": %s,\n        \"arguments\": %s\n      }\n    }", quote(c.ID), quote(c.Name), quote(c.Arguments))
		if i < len(m.Calls)-1 {
			b.WriteString(",\n")
		} else {
			b.WriteString("\n  ]")
		}
	}
	b.WriteString("\n}")
	return b.String()
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
				s.json(fmt.Sprintf("%s.m%d", id, n), label, r, plain, wireMessage(m))
			}
		}
		sampling := "null"
		if len(t.Sampling) > 0 {
			sampling = string(t.Sampling)
		}
		s.json(id+".s", "settings", dim, dim, "{\n  \"model\": "+quote(t.Model)+",\n  \"sampling\": "+sampling+"\n}")
		body := plain
		if t.Superseded {
			body = dim
		}
		label, r := sourceLabel(t.Source)
		if t.Source == sessions.FromModel {
			label = "reply"
		}
		s.json(id+".r", label, r, body, wireMessage(sessions.Message{Role: "assistant", Content: t.Content, Reasoning: t.Reasoning, Calls: t.Calls}))
	}
	return s
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

// json adds JSON text as a block.
func (s *section) json(id, label string, labelRole, body role, text string) {
	s.add(block{id: id, label: label, labelRole: labelRole, body: body, lang: jsonLang, text: visibleJSON(text)})
}

// counted is "1 message", "2 messages".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return thousands(int64(n)) + " " + what + "s"
}
