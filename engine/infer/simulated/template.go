package simulated

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// message of a request, as clients of vLLM and SGLang write it.
type message struct {
	Role             string        `json:"role"`
	Content          content       `json:"content"`
	Reasoning        string        `json:"reasoning"`
	ReasoningContent string        `json:"reasoning_content"`
	ToolCalls        []messageCall `json:"tool_calls"`
}

type messageCall struct {
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

// content is a string, null, or a list of text parts.
type content string

func (c *content) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err == nil {
		if text != nil {
			*c = content(*text)
		}
		return nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return fmt.Errorf("content is neither text nor a list of parts: %w", err)
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type != "text" {
			return fmt.Errorf("content part of type %q: only text is supported", p.Type)
		}
		b.WriteString(p.Text)
	}
	*c = content(b.String())
	return nil
}

// arguments are JSON text, kept verbatim; clients that send an object get it
// rendered as they wrote it.
type arguments string

func (a *arguments) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*a = arguments(text)
	} else {
		*a = arguments(data)
	}
	return nil
}

// render messages by the chat template: turns of ChatML, thinking of every
// turn kept, all tool results of a turn in one user turn. What a reply parsed
// to renders to the very ids that were sampled, so each prompt extends the
// last prompt and its output.
func render(messages []message, tools []json.RawMessage, generate bool) ([]int32, error) {
	size := 64
	for _, m := range messages {
		size += len(m.Content) + len(m.Reasoning) + 64
	}
	ids := make([]int32, 0, size)
	rest := messages
	if len(tools) > 0 || len(rest) > 0 && rest[0].Role == "system" {
		var system content
		if len(rest) > 0 && rest[0].Role == "system" {
			system, rest = rest[0].Content, rest[1:]
		}
		text, err := systemText(string(system), tools)
		if err != nil {
			return nil, err
		}
		ids = appendTurn(ids, "system", text)
	}
	for i := 0; i < len(rest); i++ {
		switch m := rest[i]; m.Role {
		case "system", "developer":
			ids = appendTurn(ids, "system", string(m.Content))
		case "user":
			ids = appendTurn(ids, "user", string(m.Content))
		case "assistant":
			ids = appendText(append(ids, idStart), "assistant\n", noMarkers)
			ids = appendReply(ids, m)
			ids = append(ids, idEnd, '\n')
		case "tool":
			last := i
			for last+1 < len(rest) && rest[last+1].Role == "tool" {
				last++
			}
			ids = appendResults(ids, rest[i:last+1])
			i = last
		default:
			return nil, fmt.Errorf("messages: role %q is not system, developer, user, assistant or tool", m.Role)
		}
	}
	if generate {
		ids = appendText(append(ids, idStart), "assistant\n", noMarkers)
	}
	return ids, nil
}

func appendTurn(ids []int32, role, text string) []int32 {
	ids = appendText(append(ids, idStart), role+"\n", noMarkers)
	ids = appendText(ids, text, noMarkers)
	return append(ids, idEnd, '\n')
}

func appendResults(ids []int32, results []message) []int32 {
	ids = appendText(append(ids, idStart), "user", noMarkers)
	for _, m := range results {
		ids = append(ids, '\n', idResult, '\n')
		ids = appendText(ids, string(m.Content), noMarkers)
		ids = append(ids, '\n', idResultEnd)
	}
	return append(ids, idEnd, '\n')
}

// appendReply renders an assistant message without the end of its turn.
func appendReply(ids []int32, m message) []int32 {
	reasoning := m.Reasoning
	if reasoning == "" {
		reasoning = m.ReasoningContent
	}
	if reasoning != "" {
		ids = append(ids, idThink, '\n')
		ids = appendText(ids, reasoning, replyMarker)
		ids = append(ids, '\n', idThinkEnd, '\n', '\n')
	}
	ids = appendText(ids, string(m.Content), replyMarker)
	for i, c := range m.ToolCalls {
		if i > 0 || m.Content != "" {
			ids = append(ids, '\n')
		}
		ids = append(ids, idCall, '\n')
		ids = appendText(ids, callHead(c.Function.Name)+string(c.Function.Arguments)+"}", replyMarker)
		ids = append(ids, '\n', idCallEnd)
	}
	return ids
}

// callHead is a call's JSON up to its arguments.
func callHead(name string) string {
	return `{"name": ` + quoteJSON(name) + `, "arguments": `
}

// Lines around the tools' list in the system turn.
const (
	toolsOpen  = "\n<tools>\n"
	toolsClose = "\n</tools>\n"
)

func systemText(system string, tools []json.RawMessage) (string, error) {
	if len(tools) == 0 {
		return system, nil
	}
	var b bytes.Buffer
	if system != "" {
		b.WriteString(system + "\n\n")
	}
	b.WriteString("# Tools\n\nThese functions can be called, one JSON signature a line:" + toolsOpen)
	for i, t := range tools {
		if i > 0 {
			b.WriteByte('\n')
		}
		if err := json.Compact(&b, t); err != nil {
			return "", fmt.Errorf("tools[%d]: %w", i, err)
		}
	}
	b.WriteString(toolsClose + "\nA call is one JSON object with name and arguments, within the call markers.")
	return b.String(), nil
}
