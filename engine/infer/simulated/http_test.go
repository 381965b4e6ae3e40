package simulated_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rollbench/engine/infer"
	"rollbench/engine/infer/simulated"
)

// start a server without pacing.
func start(t *testing.T, opt simulated.Options) *simulated.Server {
	t.Helper()
	opt.Latency, opt.TokensPerSecond = -1, -1
	return startPaced(t, opt)
}

func startPaced(t *testing.T, opt simulated.Options) *simulated.Server {
	t.Helper()
	s, err := simulated.Start(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func client(t *testing.T, opt infer.Options) *infer.Client {
	t.Helper()
	c, err := infer.New(opt)
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

var tools = []infer.Tool{
	{Name: "bash", Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)},
	{Name: "str_replace_editor", Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"},"path":{"type":"string"},"old_str":{"type":"string"},"new_str":{"type":"string"}},"required":["command","path"]}`)},
	{Name: "finish", Parameters: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`)},
}

var fix = simulated.Task{
	Workdir: "/w", Files: []string{"a.py"}, TestCommand: "make test", Terms: []string{"total"},
	Edits: []simulated.Edit{{Path: "a.py", Old: "x = 1\n", New: "x = 2  # caf\u00e9 \U0001F600\n"}},
}

func question(session string) infer.Request {
	return infer.Request{
		Messages: []infer.Message{{Role: "system", Content: "You solve issues."}, {Role: "user", Content: "Fix total."}},
		Tools:    tools, MaxTokens: 4000, SessionID: session,
	}
}

func TestProbe(t *testing.T) {
	models := []string{"simulated-policy"}
	for like, want := range map[string]infer.Capabilities{
		"": {Server: "simulated", Version: "simulated", Models: models, MaxModelLen: 262144,
			Chat: true, TokenIDs: true, Logprobs: true, Complete: "completions", Tokenize: true, Metrics: true, Simulated: true, LogprobsMode: "processed"},
		simulated.LikeSGLang: {Server: "sglang", Version: "simulated", Models: models, MaxModelLen: 262144,
			Chat: true, TokenIDs: true, Logprobs: true, Complete: "sglang", Tokenize: true, Simulated: true, LogprobsMode: "processed"},
		simulated.LikeTinker: {Server: "tinker", Models: models, TokenIDs: true, Logprobs: true, Complete: "tinker", Simulated: true, LogprobsMode: "processed"},
	} {
		s := start(t, simulated.Options{Like: like})
		c := client(t, infer.Options{BaseURL: s.URL() + "/v1/"})
		caps, err := c.Probe(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(caps, want) || c.Model() != "simulated-policy" {
			t.Errorf("model %q, capabilities %+v, want %+v", c.Model(), caps, want)
		}
		if err := c.Health(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// bare reply, without what differs from call to call and from server to server.
func bare(r infer.Reply) infer.Reply {
	r.Wall, r.FirstToken, r.CachedTokens, r.Endpoint = 0, 0, nil, ""
	return r
}

// A streamed reply is the whole one, and the pieces add up to it.
func TestStreamEqualsWhole(t *testing.T) {
	s := start(t, simulated.Options{})
	c := client(t, infer.Options{BaseURL: s.URL()})
	calls := 0
	for i := range 40 {
		session := fmt.Sprint("s", i)
		s.Register(session, fix)
		r := question(session)
		r.MaxTokens = 4000 - (i%4)*1000 + i // some are cut
		if i%4 == 3 {
			r.MaxTokens = 20 + 7*i
		}
		whole, err := c.Chat(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		r.Stream = func(s string) { text.WriteString(s) }
		streamed, err := c.Chat(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(bare(whole), bare(streamed)) {
			t.Fatalf("whole    %+v\nstreamed %+v", whole, streamed)
		}
		parts := []string{whole.Reasoning, whole.Content}
		for _, call := range whole.Calls {
			parts = append(parts, call.Name+" "+call.Arguments)
			calls++
		}
		want := strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n")
		if text.String() != want {
			t.Fatalf("streamed text %q, want %q", text.String(), want)
		}
		if whole.FinishReason == "length" && len(whole.OutputIDs) != r.MaxTokens {
			t.Fatalf("cut at %d tokens of %d", len(whole.OutputIDs), r.MaxTokens)
		}
	}
	if calls == 0 {
		t.Error("no call in 40 replies")
	}
}

// Whatever else runs, the same seed, session and conversation give the same
// reply; another seed or session does not always.
func TestRepeats(t *testing.T) {
	ask := func(seed int64) []string {
		s := start(t, simulated.Options{Seed: seed, Concurrency: 4})
		c := client(t, infer.Options{BaseURL: s.URL()})
		out := make([]string, 30)
		var all sync.WaitGroup
		for _, i := range rand.Perm(len(out)) {
			all.Go(func() {
				session := fmt.Sprint("s", i)
				s.Register(session, fix)
				r, err := c.Chat(context.Background(), question(session))
				if err != nil {
					t.Error(err)
				}
				out[i] = fmt.Sprint(r.OutputIDs, r.Logprobs, r.Calls)
			})
		}
		all.Wait()
		return out
	}
	first, again, other := ask(1), ask(1), ask(2)
	if !reflect.DeepEqual(first, again) {
		t.Error("the same seed gave other replies")
	}
	if reflect.DeepEqual(first, other) {
		t.Error("another seed gave the same replies")
	}
	different := map[string]bool{}
	for _, r := range first {
		different[r] = true
	}
	if len(different) < 10 {
		t.Errorf("%d different replies of 30 sessions", len(different))
	}
}

// Each prompt extends the last prompt and its output, whatever was said: cut
// replies, malformed ones, several results, text that looks like markers.
func TestPromptsExtend(t *testing.T) {
	odd := []string{"", " ", "\n", "<|im_end|>\n<|im_start|>assistant\n", "</tool_response>", "<tool_call>", "caf\u00e9 \U0001F600", "[The command completed with exit code 1.]", "ERROR: no", "\x00\x1b[0m"}
	s := start(t, simulated.Options{Behaviour: simulated.Behaviour{Right: 0.5, Fix: 0.5, Test: 0.5, Quit: 0.1, Malformed: 0.3}})
	c := client(t, infer.Options{BaseURL: s.URL()})
	cut, malformed := 0, 0
	for i := range 30 {
		rng := rand.New(rand.NewPCG(uint64(i), 5))
		r := question(fmt.Sprint("s", i))
		s.Register(r.SessionID, fix)
		var before []int32
		for turn := range 8 {
			r.MaxTokens = 1 + rng.IntN(900)
			reply, err := c.Chat(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			if len(reply.PromptIDs) < len(before) || !reflect.DeepEqual(reply.PromptIDs[:len(before)], before) && len(before) > 0 {
				t.Fatalf("trajectory %d, turn %d: the prompt does not extend the last one", i, turn)
			}
			ids, err := c.Tokenize(context.Background(), r.Messages, r.Tools, true)
			if err != nil || !reflect.DeepEqual(ids, reply.PromptIDs) {
				t.Fatalf("/tokenize gives %d ids, the reply reports %d: %v", len(ids), len(reply.PromptIDs), err)
			}
			raw, err := c.Detokenize(context.Background(), reply.OutputIDs)
			if err != nil || raw != reply.Raw {
				t.Fatalf("/detokenize gives %q, the reply %q: %v", raw, reply.Raw, err)
			}
			before = append(append([]int32{}, reply.PromptIDs...), reply.OutputIDs...)
			if reply.FinishReason == "length" {
				cut++
			} else if len(reply.Calls) == 0 {
				malformed++
			}
			r.Messages = append(r.Messages, infer.Message{Role: "assistant", Content: reply.Content, Reasoning: reply.Reasoning, ToolCalls: reply.Calls})
			for range rng.IntN(3) {
				r.Messages = append(r.Messages, infer.Message{Role: "tool", Content: odd[rng.IntN(len(odd))], ToolCallID: "x"})
			}
			if rng.IntN(2) == 0 {
				r.Messages = append(r.Messages, infer.Message{Role: "user", Content: odd[rng.IntN(len(odd))]})
			}
		}
	}
	if cut < 10 || malformed < 10 {
		t.Errorf("%d cut and %d malformed replies in 240: too few to tell", cut, malformed)
	}
}

func post(t *testing.T, s *simulated.Server, path, session string, body any) (int, map[string]any, string) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, s.URL()+path, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Session-ID", session)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(raw, &out); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
	}
	return res.StatusCode, out, string(raw)
}

// A prompt of bare ids meets the same policy as the chat it was rendered from.
func TestCompletionsFromIDs(t *testing.T) {
	s := start(t, simulated.Options{})
	c := client(t, infer.Options{BaseURL: s.URL()})
	s.Register("s", fix)
	r := question("s")
	chat, err := c.Chat(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	body := map[string]any{"prompt": chat.PromptIDs, "max_tokens": 4000, "logprobs": 0, "return_token_ids": true}
	status, out, raw := post(t, s, "/v1/completions", "s", body)
	if status != 200 {
		t.Fatal(raw)
	}
	choice := out["choices"].([]any)[0].(map[string]any)
	if got, want := fmt.Sprint(choice["token_ids"]), fmt.Sprint(chat.OutputIDs); got != want {
		t.Errorf("ids %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(choice["prompt_token_ids"]), fmt.Sprint(chat.PromptIDs); got != want {
		t.Error("the prompt's ids differ")
	}
	text := choice["text"].(string)
	if text+"<|im_end|>" != chat.Raw || choice["finish_reason"] != "stop" {
		t.Errorf("text %q, finish %v; chat %q", text, choice["finish_reason"], chat.Raw)
	}
	logs := choice["logprobs"].(map[string]any)
	numbers := logs["token_logprobs"].([]any)
	for i, p := range numbers {
		if p.(float64) != chat.Logprobs[i] {
			t.Errorf("logprob %d: %v, want %v", i, p, chat.Logprobs[i])
		}
	}
	for _, key := range []string{"tokens", "text_offset", "top_logprobs"} {
		if n := len(logs[key].([]any)); n != len(numbers) {
			t.Errorf("%d %s for %d logprobs", n, key, len(numbers))
		}
	}
	// The same as a stream, its pieces put together.
	body["stream"] = true
	_, _, raw = post(t, s, "/v1/completions", "s", body)
	streamed, count := "", 0
	for event := range strings.SplitSeq(strings.TrimSuffix(raw, "data: [DONE]\n\n"), "\n\n") {
		var chunk struct {
			Choices []struct {
				Text string  `json:"text"`
				IDs  []int32 `json:"token_ids"`
			} `json:"choices"`
		}
		if event == "" {
			continue
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &chunk); err != nil {
			t.Fatalf("%q: %v", event, err)
		}
		streamed += chunk.Choices[0].Text
		count += len(chunk.Choices[0].IDs)
	}
	if streamed != text || count != len(chat.OutputIDs) || !strings.HasSuffix(raw, "data: [DONE]\n\n") {
		t.Errorf("streamed %q, %d ids", streamed, count)
	}
	if _, out, raw = post(t, s, "/v1/completions", "s", map[string]any{"prompt": "hello"}); len(raw) == 0 || out["usage"].(map[string]any)["completion_tokens"].(float64) != 16 {
		t.Errorf("without max_tokens 16 are sampled: %s", raw)
	}
}

func TestStopText(t *testing.T) {
	s := start(t, simulated.Options{})
	c := client(t, infer.Options{BaseURL: s.URL()})
	r := question("s")
	r.Sampling.Stop = []string{"</think>"}
	reply, err := c.Chat(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(reply.Raw, "</think>") || strings.Contains(reply.Content, "</think>") || reply.FinishReason != "stop" || len(reply.Calls) != 0 {
		t.Errorf("got %+v", reply)
	}
}

func TestGreedyAndTopP(t *testing.T) {
	s := start(t, simulated.Options{})
	c := client(t, infer.Options{BaseURL: s.URL()})
	zero, most := 0.0, 0.5
	replies := map[string]bool{}
	for i := range 10 {
		r := question(fmt.Sprint("g", i))
		s.Register(r.SessionID, fix)
		r.Sampling.Temperature = &zero
		reply, err := c.Chat(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		replies[reply.Raw] = true
		for _, l := range reply.Logprobs {
			if l != 0 {
				t.Fatalf("greedy logprob %v", l)
			}
		}
		r.Sampling.Temperature, r.Sampling.TopP = nil, &most
		if reply, err = c.Chat(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		for _, l := range reply.Logprobs {
			if l > 0 || math.IsInf(l, 0) || math.IsNaN(l) {
				t.Fatalf("logprob %v", l)
			}
		}
	}
	if len(replies) != 1 {
		t.Errorf("%d greedy replies", len(replies))
	}
}

func TestRefusals(t *testing.T) {
	s := start(t, simulated.Options{MaxModelLen: 3000})
	message := []any{map[string]any{"role": "user", "content": "hi"}}
	cases := []struct {
		path   string
		body   map[string]any
		status int
		text   string
	}{
		{"/v1/chat/completions", map[string]any{"messages": message, "model": "other"}, 404, "The model `other` does not exist."},
		{"/v1/chat/completions", map[string]any{"messages": []any{}}, 400, "messages is empty"},
		{"/v1/chat/completions", map[string]any{"messages": message, "n": 2}, 400, "one reply a request"},
		{"/v1/chat/completions", map[string]any{"messages": message, "top_p": 0}, 400, "top_p is 0"},
		{"/v1/chat/completions", map[string]any{"messages": message, "temperature": -1}, 400, "temperature is -1"},
		{"/v1/chat/completions", map[string]any{"messages": message, "repetition_penalty": 1.1}, 400, "no penalties"},
		{"/v1/chat/completions", map[string]any{"messages": message, "response_format": map[string]any{"type": "json_object"}}, 400, "text only"},
		{"/v1/chat/completions", map[string]any{"messages": message, "max_tokens": 0}, 400, "at least 1"},
		{"/v1/chat/completions", map[string]any{"messages": message, "max_tokens": 2999}, 400, "maximum context length is 3000 tokens"},
		{"/v1/chat/completions", map[string]any{"messages": message, "tool_choice": "required"}, 400, "tool_choice"},
		{"/v1/chat/completions", map[string]any{"messages": message, "top_logprobs": 3}, 400, "top_logprobs"},
		{"/v1/chat/completions", map[string]any{"messages": []any{map[string]any{"role": "user", "content": strings.Repeat("x", 3000)}}}, 400, "maximum context length is 3000 tokens"},
		{"/v1/chat/completions", map[string]any{"messages": []any{map[string]any{"role": "robot"}}}, 400, "robot"},
		{"/v1/chat/completions", map[string]any{"messages": []any{map[string]any{"role": "user", "content": []any{map[string]any{"type": "image_url"}}}}}, 400, "only text"},
		{"/v1/completions", map[string]any{"prompt": []int{1, 265}}, 400, "token id 265"},
		{"/v1/completions", map[string]any{"prompt": []int{-1}}, 400, "token id -1"},
		{"/v1/completions", map[string]any{"prompt": ""}, 400, "prompt is empty"},
		{"/v1/completions", map[string]any{"prompt": "a", "echo": true}, 400, "echo"},
		{"/tokenize", map[string]any{}, 400, "neither prompt nor messages"},
		{"/detokenize", map[string]any{"tokens": []int{999}}, 400, "token id 999"},
	}
	for _, c := range cases {
		status, out, raw := post(t, s, c.path, "", c.body)
		e, _ := out["error"].(map[string]any)
		if status != c.status || e == nil || !strings.Contains(e["message"].(string), c.text) || e["code"].(float64) != float64(c.status) {
			t.Errorf("%s %v: %d %s", c.path, c.body, status, raw)
		}
	}
	// The client sees an overflow as such.
	r := question("s")
	r.Messages[1].Content = strings.Repeat("x", 3000)
	_, err := client(t, infer.Options{BaseURL: s.URL()}).Chat(context.Background(), r)
	var e *infer.Error
	if !errors.As(err, &e) || e.Kind != infer.Overflow {
		t.Errorf("got %v", err)
	}
}

func TestAddressInUse(t *testing.T) {
	s := start(t, simulated.Options{})
	_, err := simulated.Start(simulated.Options{Address: strings.TrimPrefix(s.URL(), "http://")})
	if err == nil || !strings.Contains(err.Error(), "choose another address") {
		t.Errorf("got %v", err)
	}
	if _, err := simulated.Start(simulated.Options{Behaviour: simulated.Behaviour{Right: 2}}); err == nil {
		t.Error("a probability of 2 was taken")
	}
}

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for !holds() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}
