package simulated

import (
	"reflect"
	"slices"
	"testing"
)

// Replies split by hand. Whatever does not render back is content.
func TestParseReply(t *testing.T) {
	add := "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>"
	cases := []struct {
		name, raw string
		reasoning string
		content   string
		calls     []call
		broken    bool
	}{
		{"text", "hello", "", "hello", nil, false},
		{"nothing", "", "", "", nil, false},
		{"thinking and text", "<think>\nwhy\n</think>\n\nhello", "why", "hello", nil, false},
		{"all three", "<think>\nwhy\n</think>\n\nhello\n" + add, "why", "hello", []call{{"add", `{"a": 1}`}}, false},
		{"no text", "<think>\nwhy\n</think>\n\n" + add, "why", "", []call{{"add", `{"a": 1}`}}, false},
		{"call alone", add, "", "", []call{{"add", `{"a": 1}`}}, false},
		{"two calls", "x\n" + add + "\n" + add, "", "x", []call{{"add", `{"a": 1}`}, {"add", `{"a": 1}`}}, false},
		{"arguments verbatim", "<tool_call>\n{\"name\": \"f\", \"arguments\":  {\"a\":1 } }\n</tool_call>", "", "", []call{{"f", ` {"a":1 } `}}, false},
		{"thinking not ended", "<think>\nwhy", "", "<think>\nwhy", nil, false},
		{"thinking cut after its end", "<think>\nwhy\n</think>\n", "", "<think>\nwhy\n</think>\n", nil, false},
		{"thinking without text", "<think>\nwhy\n</think>\n\n", "why", "", nil, false},
		{"empty thinking", "<think>\n\n</think>\n\nx", "", "<think>\n\n</think>\n\nx", nil, false},
		{"cut call", "<think>\nwhy\n</think>\n\nx\n<tool_call>\n{\"name\": \"a", "why", "x\n<tool_call>\n{\"name\": \"a", nil, true},
		{"bad JSON", "<tool_call>\n{\"name\": \"a\", \"arguments\": {\n</tool_call>", "", "<tool_call>\n{\"name\": \"a\", \"arguments\": {\n</tool_call>", nil, true},
		{"other spacing", "<tool_call>\n{\"name\":\"a\",\"arguments\":{}}\n</tool_call>", "", "<tool_call>\n{\"name\":\"a\",\"arguments\":{}}\n</tool_call>", nil, true},
		{"text after a call", add + " bye", "", add + " bye", nil, true},
		{"marker in the arguments", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"<think>\"}}\n</tool_call>", "", "", []call{{"f", `{"a": "<think>"}`}}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ids := appendText(nil, c.raw, replyMarker)
			r := parseReply(ids)
			if r.reasoning != c.reasoning || r.content != c.content || !reflect.DeepEqual(r.calls, c.calls) || r.broken != c.broken {
				t.Errorf("got %+v", r)
			}
			checkParts(t, ids, r)
			if back := appendReply(nil, r.message()); !slices.Equal(back, ids) {
				t.Errorf("renders to %q", decode(back))
			}
		})
	}
}

// checkParts holds the parts, from which streams are made, to the whole.
func checkParts(t *testing.T, ids []int32, r reply) {
	t.Helper()
	var reasoning, content string
	arguments := make([]string, len(r.calls))
	for _, p := range r.parts {
		switch p.kind {
		case reasoningText:
			reasoning += p.text(ids)
		case contentText:
			content += p.text(ids)
		case callText:
			arguments[p.call] += p.text(ids)
		}
	}
	if reasoning != r.reasoning || content != r.content {
		t.Errorf("parts give %q and %q", reasoning, content)
	}
	for i, a := range arguments {
		if a != r.calls[i].arguments {
			t.Errorf("parts give arguments %q, want %q", a, r.calls[i].arguments)
		}
	}
}

// Any sampled text comes back as the same ids when it is part of the history.
func FuzzParseReply(f *testing.F) {
	f.Add("<think>\nwhy\n</think>\n\nhello\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>")
	f.Add("<tool_call>\n{\"name\": \"a\", \"arguments\": \"</tool_call>\"}\n</tool_call>\n<tool_call>")
	f.Add("<think>\n<think>\n</think>\n\n</think>\n\n\xff\xfe")
	f.Fuzz(func(t *testing.T, raw string) {
		ids := appendText(nil, raw, replyMarker)
		r := parseReply(ids)
		if back := appendReply(nil, r.message()); !slices.Equal(back, ids) {
			t.Fatalf("%q parses to %+v and renders to %q", raw, r, decode(back))
		}
		checkParts(t, ids, r)
	})
}

// Text of users and tools never holds a marker; a reply's may.
func TestMarkersInText(t *testing.T) {
	text := "<think></tool_call><|im_end|>"
	if ids := appendText(nil, text, noMarkers); len(ids) != len(text) || slices.ContainsFunc(ids, func(id int32) bool { return id > 255 }) {
		t.Errorf("user text %v", ids)
	}
	want := append([]int32{idThink, idCallEnd}, appendText(nil, "<|im_end|>", noMarkers)...)
	if ids := appendText(nil, text, replyMarker); !slices.Equal(ids, want) {
		t.Errorf("reply text %v", ids)
	}
	if ids := appendText(nil, text, allMarkers); !slices.Equal(ids, []int32{idThink, idCallEnd, idEnd}) {
		t.Errorf("raw prompt %v", ids)
	}
}

// A whole prompt, as the template must render it.
func TestRender(t *testing.T) {
	messages := []message{
		{Role: "system", Content: "S"}, {Role: "user", Content: "U"},
		{Role: "assistant", Content: "C", Reasoning: "R", ToolCalls: []messageCall{toolCall("f", `{"a":1}`), toolCall("g", `{}`)}},
		{Role: "tool", Content: "one"}, {Role: "tool", Content: "two"},
		{Role: "user", Content: "V"},
	}
	ids, err := render(messages, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	want := "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n" +
		"<|im_start|>assistant\n<think>\nR\n</think>\n\nC\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":1}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call><|im_end|>\n" +
		"<|im_start|>user\n<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response><|im_end|>\n" +
		"<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n"
	if got := decode(ids); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	c := readConversation(ids)
	if len(c.turns) != 1 || c.task != "U\n" || !reflect.DeepEqual(c.turns[0].results, []string{"one", "two"}) || !reflect.DeepEqual(c.turns[0].users, []string{"V"}) || len(c.turns[0].reply.calls) != 2 {
		t.Errorf("read back: %+v", c)
	}
	if _, err := render([]message{{Role: "robot"}}, nil, true); err == nil {
		t.Error("an unknown role was rendered")
	}
}

func toolCall(name, args string) messageCall {
	var c messageCall
	c.Function.Name, c.Function.Arguments = name, arguments(args)
	return c
}

func FuzzConversation(f *testing.F) {
	f.Add([]byte("<|im_start|>user\n<tool_response>\nx\n</tool_response><|im_end|>\n<|im_start|>assistant\n"))
	f.Add([]byte("<|im_start|>assistant\n<tool_call>\n{}\n</tool_call><|im_end|><|im_start|>user\n</tool_response><tool_response><|im_end|>"))
	f.Add([]byte("<|im_start|>system\n\n<tools>\n{\"function\":{\"name\":\"bash\",\"parameters\":{\"properties\":{\"command\":3}}}}\n</tools>\n<|im_end|>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		prompt := appendText(nil, string(data), allMarkers)
		_, task := newWorld(1)
		s := readState(readConversation(prompt), &task)
		list := DefaultBehaviour.candidates(s)
		if len(list) == 0 {
			t.Fatal("no reply is possible")
		}
		ids, logs := sample(list, sampling{temperature: 1, topP: 1}, seeded(1), 100)
		if len(ids) != len(logs) || len(ids) == 0 {
			t.Fatalf("%d ids, %d logprobs", len(ids), len(logs))
		}
	})
}
