package ui

import (
	"encoding/json"
	"reflect"
	"testing"

	"rollbench/sessions"
)

// What is shown of a message is JSON that says what it says.
func TestWireMessage(t *testing.T) {
	m := sessions.Message{
		Role: "assistant", Content: "a <b>\n\"c\"\t漢", Reasoning: "why\x1b[0m", ToolCallID: "c0", Name: "n",
		Calls: []sessions.Call{{ID: "c1", Name: "execute_bash", Arguments: `{"command":"ls \"x\""}`}, {ID: "c2", Name: "finish"}},
	}
	function := func(name, arguments string) map[string]any {
		return map[string]any{"name": name, "arguments": arguments}
	}
	want := map[string]any{
		"role": m.Role, "content": m.Content, "reasoning": m.Reasoning, "tool_call_id": "c0", "name": "n",
		"tool_calls": []any{
			map[string]any{"id": "c1", "type": "function", "function": function("execute_bash", m.Calls[0].Arguments)},
			map[string]any{"id": "c2", "type": "function", "function": function("finish", "")},
		},
	}
	for _, text := range []string{wireMessage(m), visibleJSON(wireMessage(m))} {
		var got map[string]any
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %v\nwant %v", err, got, want)
		}
	}
	bare := "{\n  \"role\": \"user\",\n  \"content\": \"\"\n}"
	if got := wireMessage(sessions.Message{Role: "user"}); got != bare {
		t.Errorf("%s, want %s", got, bare)
	}
}
