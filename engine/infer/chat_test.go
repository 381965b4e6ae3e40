package infer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// serve answers every request on loopback and gives a client without retries.
func serve(t *testing.T, handle http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return connect(t, Options{BaseURL: server.URL, Model: "demo-8b", Retries: -1})
}

func connect(t *testing.T, opt Options) *Client {
	t.Helper()
	c, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

var ask = Request{Messages: []Message{{Role: "user", Content: "hi"}}, MaxTokens: 7}

func number(n int) *int { return &n }

// Answers in the shapes of formats/inference.md; what each gives, by reading it.
func TestRecordedAnswers(t *testing.T) {
	cases := []struct {
		file   string
		stream bool
		want   Reply
		text   string // streamed
	}{
		{"vllm_chat.json", false, Reply{
			EndsTurn: true, PromptIDs: []int32{1, 5, 9}, OutputIDs: []int32{917, 2}, Logprobs: []float64{-0.25, -9999}, Raw: "d<|im_end|>", Cuts: []int32{1, 11},
			Reasoning: "short plan", Content: "done", Calls: []ToolCall{{"chatcmpl-tool-1", "add", `{"a":1}`}},
			FinishReason: "tool_calls", Model: "demo-8b", PromptTokens: 3, OutputTokens: 2, CachedTokens: number(0),
		}, ""},
		{"vllm_old_chat.json", false, Reply{
			Logprobs: []float64{-0.5}, Reasoning: "old name",
			Calls:        []ToolCall{{"chatcmpl-tool-1", "a", `{}`}, {"chatcmpl-tool-2", "b", `{"x": [1, 2]}`}},
			FinishReason: "tool_calls", Model: "demo-8b", PromptTokens: 11, OutputTokens: 1,
		}, ""},
		{"sglang_chat.json", false, Reply{
			Logprobs: []float64{-0.125, 0}, Raw: "hé", Content: "hé",
			FinishReason: "length", Model: "demo-8b", PromptTokens: 4, OutputTokens: 2,
		}, ""},
		{"plain_chat.json", false, Reply{Content: "only text", FinishReason: "stop", Model: "gpt-like"}, ""},
		{"vllm_stream.sse", true, Reply{
			EndsTurn: true, PromptIDs: []int32{1, 5, 9}, OutputIDs: []int32{10, 11, 12, 13, 14, 15, 2},
			Logprobs: []float64{-0.5, -0.25, -1.5, -0.75, -1, -2, -3}, Raw: "plan<t>abcd", Cuts: []int32{2, 4, 7, 8, 9, 10, 11}, Reasoning: "plan",
			Calls:        []ToolCall{{"chatcmpl-tool-1", "add", `{"a":1}`}, {"chatcmpl-tool-2", "sub", `{}`}},
			FinishReason: "tool_calls", Model: "demo-8b", PromptTokens: 3, OutputTokens: 7,
		}, "plan\nadd {\"a\"\nsub {}\n:1}"},
	}
	for _, c := range cases {
		t.Run(c.file, func(t *testing.T) {
			client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if _, err := w.Write(recorded(t, c.file)); err != nil {
					t.Error(err)
				}
			})
			var text strings.Builder
			r := ask
			if c.stream {
				r.Stream = func(s string) { text.WriteString(s) }
			}
			got, err := client.Chat(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			if got.Wall <= 0 || got.FirstToken <= 0 || got.FirstToken > got.Wall {
				t.Errorf("wall %v, first token %v", got.Wall, got.FirstToken)
			}
			got.Wall, got.FirstToken, c.want.Endpoint = 0, 0, client.URL()
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			if text.String() != c.text {
				t.Errorf("streamed %q, want %q", text.String(), c.text)
			}
		})
	}
}

// What is sent: every field by its wire name.
func TestRequestBody(t *testing.T) {
	var body map[string]any
	var header http.Header
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if err := json.Unmarshal(data, &body); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`)
	})
	client.opt.Key = "sk-secret"
	temperature, topK := 0.0, 5
	r := Request{
		Messages: []Message{
			{Role: "user", Content: "a <b>"},
			{Role: "assistant", Content: "", Reasoning: "why", ToolCalls: []ToolCall{{"id1", "add", `{"a": 1}`}}},
			{Role: "tool", Content: "2", ToolCallID: "id1", Name: "add"},
		},
		Tools:    []Tool{{"add", "adds", json.RawMessage(`{"type":"object"}`)}},
		Sampling: Sampling{Temperature: &temperature, TopK: &topK, Stop: []string{"END"}}, MaxTokens: 7, SessionID: "run/task#1",
	}
	if _, err := client.Chat(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	want := `{"model":"demo-8b","messages":[{"role":"user","content":"a <b>"},
		{"role":"assistant","content":"","reasoning":"why","tool_calls":[{"id":"id1","type":"function","function":{"name":"add","arguments":"{\"a\": 1}"}}]},
		{"role":"tool","content":"2","tool_call_id":"id1","name":"add"}],
		"tools":[{"type":"function","function":{"name":"add","description":"adds","parameters":{"type":"object"}}}],
		"temperature":0,"top_k":5,"stop":["END"],"max_completion_tokens":7,"logprobs":true,"return_token_ids":true}`
	var wanted map[string]any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(body, wanted) {
		t.Errorf("sent %v\nwant %v", body, wanted)
	}
	if header.Get("X-Session-ID") != "run/task#1" || header.Get("Authorization") != "Bearer sk-secret" {
		t.Errorf("header %v", header)
	}
}

// Ids, logprobs and usage must agree; each pair is broken once.
func TestCountsDisagree(t *testing.T) {
	entry := `{"token":"a","logprob":-1,"bytes":[97]}`
	cases := map[string]string{
		"2 token ids but 1 logprobs":        `{"choices":[{"finish_reason":"stop","token_ids":[1,2],"logprobs":{"content":[` + entry + `]}}]}`,
		"2 token ids but usage counts 3":    `{"choices":[{"finish_reason":"stop","token_ids":[1,2]}],"usage":{"completion_tokens":3}}`,
		"1 logprobs but usage counts 3":     `{"choices":[{"finish_reason":"stop","logprobs":{"content":[` + entry + `]}}],"usage":{"completion_tokens":3}}`,
		"1 prompt ids but usage counts 9":   `{"prompt_token_ids":[4],"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":9}}`,
		"0 token ids but usage counts 1":    `{"choices":[{"finish_reason":"stop","token_ids":[]}],"usage":{"completion_tokens":1}}`,
		"2 token ids but 0 logprobs; the t": `{"choices":[{"finish_reason":"stop","token_ids":[1,2],"logprobs":{"content":[]}}]}`,
	}
	for want, body := range cases {
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
		_, err := client.Chat(context.Background(), ask)
		var e *Error
		if !errors.As(err, &e) || e.Kind != Mismatch || !strings.Contains(e.Message, want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

// The text of each id is where it ends in Raw; with a token that has no text, or
// without ids, that is not known.
func TestCuts(t *testing.T) {
	for _, c := range []struct {
		name, ids, logs, raw string
		want                 []int32
	}{
		{"bytes", `"token_ids":[1,2,3],`, `{"token":"x","logprob":-1,"bytes":[230,188]},{"token":"x","logprob":-1,"bytes":[162]},{"token":"!","logprob":-2}`, "漢!", []int32{2, 3, 4}},
		{"a hole", `"token_ids":[1,2],`, `{"token":"a","logprob":-1},{"token":"token_id:2","logprob":-1}`, "", nil},
		{"no ids", ``, `{"token":"a","logprob":-1}`, "a", nil},
	} {
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"choices":[{"finish_reason":"stop",%s"logprobs":{"content":[%s]}}]}`, c.ids, c.logs)
		})
		reply, err := client.Chat(context.Background(), ask)
		if err != nil || reply.Raw != c.raw || !slices.Equal(reply.Cuts, c.want) {
			t.Errorf("%s: %q cut at %v, %v; want %q at %v", c.name, reply.Raw, reply.Cuts, err, c.raw, c.want)
		}
	}
}

// One logprob without a number makes all of them absent: none is made up.
func TestLogprobWithoutNumber(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"choices":[{"finish_reason":"stop","token_ids":[1,2],"logprobs":{"content":[{"token":"a","logprob":-1},{"token":"b","logprob":null}]}}]}`)
	})
	reply, err := client.Chat(context.Background(), ask)
	if err != nil || reply.Logprobs != nil || len(reply.OutputIDs) != 2 || reply.Raw != "ab" {
		t.Errorf("got %+v, %v", reply, err)
	}
}

// Non-finite numbers cannot stand in JSON; Python's spellings are refused.
func TestNotANumber(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"choices":[{"finish_reason":"stop","logprobs":{"content":[{"token":"a","logprob":NaN}]}}]}`)
	})
	_, err := client.Chat(context.Background(), ask)
	var e *Error
	if !errors.As(err, &e) || e.Kind != Unavailable {
		t.Errorf("got %v", err)
	}
}
