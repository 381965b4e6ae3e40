package infer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// completer is a client that continues ids by a protocol.
func completer(t *testing.T, protocol string, handle http.HandlerFunc) *Client {
	t.Helper()
	c := serve(t, handle)
	c.complete.Store(&protocol)
	return c
}

var goOn = TokenRequest{Prompt: []int32{7, 8}, MaxTokens: 7}

// one answers every path but those of the Tinker API with the same body, and
// the latter with the body as a sample's result.
func one(t *testing.T, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var err error
		switch r.URL.Path {
		case "/detokenize":
			w.WriteHeader(http.StatusNotFound)
		case "/api/v1/create_session":
			_, err = io.WriteString(w, `{"type":"create_session","session_id":"session_1"}`)
		case "/api/v1/create_sampling_session":
			_, err = io.WriteString(w, `{"type":"create_sampling_session","sampling_session_id":"sampling_1"}`)
		case "/api/v1/asample":
			_, err = io.WriteString(w, `{"future_id":"5","status":"pending","request_id":"5"}`)
		default:
			_, err = w.Write(body)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// Answers in the shapes of formats/inference.md; what each gives, by reading it.
func TestRecordedContinuations(t *testing.T) {
	prompt := []int32{7, 8}
	cases := []struct {
		protocol, file string
		want           Reply
		text           string // streamed, for streams
	}{
		{byCompletions, "vllm_completions.json", Reply{EndsTurn: true, OutputIDs: []int32{31, 2}, Logprobs: []float64{-0.5, -9999}, Raw: " ok<|im_end|>", FinishReason: "stop", OutputTokens: 2, CachedTokens: number(1)}, ""},
		{byCompletions, "vllm_old_completions.json", Reply{OutputIDs: []int32{31}, Logprobs: []float64{-0.125}, Raw: `a"<é>`, FinishReason: "length", OutputTokens: 1}, ""},
		{byCompletions, "vllm_completions.sse", Reply{OutputIDs: []int32{31, 32, 33, 34}, Logprobs: []float64{-0.5, -1, -0.25, -2}, Raw: "plan</a>", FinishReason: "stop", StopReason: "</a>", OutputTokens: 4}, "pl|an</a>"},
		{byGenerate, "vllm_old_generate.json", Reply{EndsTurn: true, OutputIDs: []int32{31, 2}, Logprobs: []float64{-0.5, -0.25}, FinishReason: "stop", OutputTokens: 2}, ""},
		{byGenerate, "vllm_generate.json", Reply{OutputIDs: []int32{31, 32}, Logprobs: []float64{-0.5, -0.125}, FinishReason: "length", OutputTokens: 2}, ""},
		{byGenerate, "vllm_generate.sse", Reply{OutputIDs: []int32{31, 32, 2}, Logprobs: []float64{-0.5, -1.5, -3}, Raw: "plan<|im_end|>", FinishReason: "stop", StopReason: "repetition", OutputTokens: 3}, "pl|an<|im_end|>"},
		{bySGLang, "sglang_generate.json", Reply{EndsTurn: true, OutputIDs: []int32{31, 2}, Logprobs: []float64{-0.5, -0.25}, Raw: " ok<|im_end|>", FinishReason: "stop", StopReason: "2", OutputTokens: 2, CachedTokens: number(1), PolicyVersion: "default"}, ""},
		{bySGLang, "sglang_old_generate.json", Reply{OutputIDs: []int32{31, 32}, Logprobs: []float64{-0.5, -0.25}, Raw: "ab", FinishReason: "length", OutputTokens: 2, CachedTokens: number(0)}, ""},
		{bySGLang, "sglang_generate.sse", Reply{OutputIDs: []int32{31, 32, 33}, Logprobs: []float64{-0.5, -1, -2}, Raw: "plan</a>", FinishReason: "stop", StopReason: "</a>", OutputTokens: 3, CachedTokens: number(0)}, "pl|an</a>"},
		{bySGLang, "sglang_incremental.sse", Reply{OutputIDs: []int32{31, 32, 33, 34}, Logprobs: []float64{-0.5, -1, -1.5, -2}, Raw: "aaaabc", FinishReason: "length", OutputTokens: 4, CachedTokens: number(0)}, "aa|aab|c"},
		{bySGLang, "sglang_new_ids_only.sse", Reply{OutputIDs: []int32{31, 32, 33}, Logprobs: []float64{-0.5, -1, -1.5}, Raw: "aab", FinishReason: "length", OutputTokens: 3, CachedTokens: number(0)}, "aa|b"},
		{byTinker, "tinker_sample.json", Reply{EndsTurn: true, OutputIDs: []int32{31, 2}, Logprobs: []float64{-0.5, -0.25}, FinishReason: "stop", OutputTokens: 2}, ""},
	}
	for _, c := range cases {
		t.Run(c.file, func(t *testing.T) {
			client := completer(t, c.protocol, one(t, recorded(t, c.file)))
			var pieces []string
			r := goOn
			if strings.HasSuffix(c.file, ".sse") {
				r.Stream = func(s string) { pieces = append(pieces, s) }
			}
			got, err := client.Complete(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			if got.Wall <= 0 || got.FirstToken <= 0 || got.FirstToken > got.Wall {
				t.Errorf("wall %v, first token %v", got.Wall, got.FirstToken)
			}
			got.Wall, got.FirstToken = 0, 0
			c.want.PromptIDs, c.want.PromptTokens, c.want.Model, c.want.Endpoint = prompt, 2, "demo-8b", client.URL()
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			if text := strings.Join(pieces, "|"); text != c.text {
				t.Errorf("streamed %q, want %q", text, c.text)
			}
		})
	}
}

// What is sent, by the names of each server. Ids of attempts are replaced.
func TestContinuationBodies(t *testing.T) {
	temperature, topP, off, minP, penalty, seed := 0.5, 0.9, 0, 0.1, 1.1, int64(3)
	full := TokenRequest{Prompt: []int32{7, 8}, MaxTokens: 5, SessionID: "run/task#1", StopIDs: []int32{2},
		Sampling: Sampling{Temperature: &temperature, TopP: &topP, TopK: &off, MinP: &minP, RepetitionPenalty: &penalty, Seed: &seed, Stop: []string{"</a>"}}}
	narrow := full // what the Tinker API has names for
	narrow.Sampling.MinP, narrow.Sampling.RepetitionPenalty, narrow.StopIDs = nil, nil, nil
	settings := `"temperature":0.5,"top_p":0.9,"top_k":0,"min_p":0.1,"repetition_penalty":1.1,"seed":3,"stop":["</a>"],"stop_token_ids":[2],"max_tokens":5,
		"logprobs":0,"skip_special_tokens":false,"spaces_between_special_tokens":false,"include_stop_str_in_output":true`
	cases := []struct {
		protocol string
		request  TokenRequest
		path     string
		want     string
	}{
		{byCompletions, full, "/v1/completions", `{"prompt":[7,8],"model":"demo-8b",` + settings + `,"return_token_ids":true,"return_tokens_as_token_ids":true,"stream":true,"stream_options":{"include_usage":true}}`},
		{byGenerate, full, "/inference/v1/generate", `{"token_ids":[7,8],"request_id":"ID","model":"demo-8b","sampling_params":{` + settings + `},"return_token_ids":true,"output_mode":"text","stream":true,"stream_options":{"include_usage":true}}`},
		{bySGLang, full, "/generate", `{"input_ids":[7,8],"rid":"ID","return_logprob":true,"logprob_start_len":-1,"stream":true,"sampling_params":{"temperature":0.5,"top_p":0.9,"top_k":-1,"min_p":0.1,
			"repetition_penalty":1.1,"sampling_seed":3,"stop":["</a>"],"stop_token_ids":[2],"max_new_tokens":5,"skip_special_tokens":false,"spaces_between_special_tokens":false,"no_stop_trim":true}}`},
		{byTinker, narrow, "/api/v1/asample", `{"prompt":{"chunks":[{"type":"encoded_text","tokens":[7,8]}]},"num_samples":1,"sampling_session_id":"sampling_1","seq_id":1518753549,"type":"sample",
			"sampling_params":{"max_tokens":5,"temperature":0.5,"top_p":0.9,"top_k":-1,"seed":3,"stop":["</a>"]}}`},
	}
	for _, c := range cases {
		t.Run(c.protocol, func(t *testing.T) {
			var got map[string]any
			client := completer(t, c.protocol, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == c.path {
					if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
						t.Error(err)
					}
					if session := r.Header.Get("X-Session-ID"); session != "run/task#1" {
						t.Errorf("session %q", session)
					}
				}
				one(t, recorded(t, "tinker_sample.json"))(w, r)
			})
			r := c.request
			r.Stream = func(string) {}
			_, err := client.Complete(context.Background(), r)
			if (err == nil) != (c.protocol == byTinker) {
				t.Errorf("got %v", err)
			}
			for _, key := range []string{"request_id", "rid"} {
				if id, ok := got[key].(string); ok && strings.HasPrefix(id, "rollbench-") && len(id) == 42 {
					got[key] = "ID"
				}
			}
			var want map[string]any
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("sent %v\nwant %v", got, want)
			}
		})
	}
}

// Prompt, ids, logprobs and usage must agree, and ids must be there.
func TestContinuationsDisagree(t *testing.T) {
	vllm := func(choice, rest string) string {
		return `{"choices":[{"finish_reason":"stop",` + choice + `}]` + rest + `}`
	}
	native := func(ids, meta string) string {
		return `{"text":"a",` + ids + `"meta_info":{"finish_reason":{"type":"stop"},` + meta + `}}`
	}
	cases := []struct{ protocol, body, want string }{
		{byCompletions, vllm(`"token_ids":[1],"prompt_token_ids":[7,9]`, ""), "another prompt: 2 ids and 2, different from position 1 on"},
		{byCompletions, vllm(`"token_ids":[1],"prompt_token_ids":[7]`, ""), "another prompt: 2 ids and 1, different from position 1 on"},
		{byCompletions, vllm(`"token_ids":[1,2],"logprobs":{"tokens":["token_id:1"],"token_logprobs":[-1]}`, ""), "2 token ids but 1 logprobs"},
		{byCompletions, vllm(`"token_ids":[1,2],"logprobs":{"tokens":["token_id:1","token_id:3"],"token_logprobs":[-1,-1]}`, ""), "logprobs are of other tokens than the ids: 2 ids and 2, different from position 1 on"},
		{byCompletions, vllm(`"token_ids":[1]`, `,"usage":{"prompt_tokens":2,"completion_tokens":2}`), "1 token ids but usage counts 2"},
		{byCompletions, vllm(`"token_ids":[1]`, `,"usage":{"prompt_tokens":3,"completion_tokens":1}`), "2 prompt ids but usage counts 3"},
		{byCompletions, vllm(`"text":"a","logprobs":{"tokens":["a"],"token_logprobs":[-1]}`, ""), "the reply holds no token ids"},
		{byCompletions, vllm(`"token_ids":[1],"logprobs":{"tokens":["token_id:1"],"token_logprobs":[0.5]}`, ""), "the logprob of token 0 is 0.5, above 0"},
		{byGenerate, vllm(`"token_ids":[1],"logprobs":{"content":[{"token_id":2,"logprob":-1}]}`, ""), "logprobs are of other tokens"},
		{bySGLang, native(`"output_ids":[1],`, `"prompt_tokens":2,"completion_tokens":2`), "1 token ids after 0, but 2 are counted"},
		{bySGLang, native(`"output_ids":[1],`, `"prompt_tokens":2,"completion_tokens":1,"output_token_logprobs":[]`), "0 logprobs after 0, but 1 tokens are counted"},
		{bySGLang, native(`"output_ids":[1],`, `"prompt_tokens":9,"completion_tokens":1`), "2 prompt ids but usage counts 9"},
		{bySGLang, native(``, `"prompt_tokens":2,"completion_tokens":1`), "the reply holds no token ids"},
		{byTinker, `{"sequences":[{"stop_reason":"stop","tokens":[1,2],"logprobs":[-1]}]}`, "2 token ids but 1 logprobs"},
		{byTinker, `{"sequences":[{"stop_reason":"stop","logprobs":[-1]}]}`, "the reply holds no token ids"},
	}
	for _, c := range cases {
		client := completer(t, c.protocol, one(t, []byte(c.body)))
		_, err := client.Complete(context.Background(), goOn)
		var e *Error
		if !errors.As(err, &e) || e.Kind != Mismatch || !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: got %v", c.want, err)
		}
	}
}

// An event of a stream was lost on the way.
func TestStreamWithAHole(t *testing.T) {
	event := func(id int, finish string, count int) string {
		return fmt.Sprintf(`data: {"text":"a","output_ids":[%d],"meta_info":{"finish_reason":%s,"completion_tokens":%d}}`, id, finish, count) + "\n\n"
	}
	body := event(1, "null", 1) + event(3, `{"type":"stop"}`, 3) + "data: [DONE]\n\n"
	r := goOn
	r.Stream = func(string) {}
	client := completer(t, bySGLang, one(t, []byte(body)))
	_, err := client.Complete(context.Background(), r)
	var e *Error
	if !errors.As(err, &e) || e.Kind != Mismatch || !strings.Contains(e.Message, "1 token ids after 1, but 3 are counted") {
		t.Errorf("got %v", err)
	}
}

// A logprob that is no number makes all absent; −9999 is one.
func TestLogprobsWithoutNumbers(t *testing.T) {
	cases := []struct {
		protocol, body string
		want           []float64
	}{
		{byCompletions, `{"choices":[{"finish_reason":"stop","token_ids":[1,2],"logprobs":{"tokens":["token_id:1","token_id:2"],"token_logprobs":[-1,%s]}}]}`, nil},
		{byGenerate, `{"choices":[{"finish_reason":"stop","token_ids":[1,2],"logprobs":{"content":[{"logprob":-1},{"logprob":%s}]}}]}`, nil},
		{bySGLang, `{"output_ids":[1,2],"meta_info":{"finish_reason":{"type":"stop"},"completion_tokens":2,"output_token_logprobs":[[-1,1,null],[%s,2,null]]}}`, nil},
		{byTinker, `{"sequences":[{"stop_reason":"stop","tokens":[1,2],"logprobs":[-1,%s]}]}`, nil},
	}
	for _, c := range cases {
		for text, want := range map[string][]float64{"null": nil, "NaN": nil, "-Infinity": nil, "-1e999": nil, "-9999.0": {-1, -9999}, "-0.0": {-1, 0}} {
			client := completer(t, c.protocol, one(t, fmt.Appendf(nil, c.body, text)))
			reply, err := client.Complete(context.Background(), goOn)
			if err != nil || len(reply.OutputIDs) != 2 || (reply.Logprobs == nil) != (want == nil) || len(reply.Logprobs) != len(want) {
				t.Errorf("%s %s: %+v, %v", c.protocol, text, reply, err)
			}
			for i, p := range want {
				if reply.Logprobs[i] != p {
					t.Errorf("%s %s: %v", c.protocol, text, reply.Logprobs)
				}
			}
		}
	}
}

// Every server's words for a prompt that is too long.
func TestOverflowOfContinuations(t *testing.T) {
	cases := []struct {
		protocol string
		status   int
		body     string
	}{
		{byCompletions, 400, `{"error":{"message":"This model's maximum context length is 4 tokens. However, your request has 9","type":"BadRequestError","param":null,"code":400}}`},
		{byGenerate, 400, `{"error":{"message":"too many","type":"BadRequestError","param":"input_tokens","code":400}}`},
		{bySGLang, 400, `{"error":{"message":"The input (9 tokens) is longer than the model's context length (4 tokens)."}}`},
		{bySGLang, 200, `{"text":"","output_ids":[],"meta_info":{"finish_reason":{"type":"abort","message":"Requested token count exceeds the model's maximum context length of 4 tokens.","status_code":400},"prompt_tokens":9,"completion_tokens":0}}`},
		{byTinker, 400, `{"detail":"prompt of 9 tokens exceeds the maximum context length 4"}`},
	}
	for _, c := range cases {
		asked := 0
		client := completer(t, c.protocol, func(w http.ResponseWriter, r *http.Request) {
			asked++
			if !strings.HasPrefix(r.URL.Path, "/api/v1/") || r.URL.Path == "/api/v1/retrieve_future" {
				w.WriteHeader(c.status)
			}
			one(t, []byte(c.body))(w, r)
		})
		client.opt.Retries = 3
		_, err := client.Complete(context.Background(), goOn)
		var e *Error
		if !errors.As(err, &e) || e.Kind != Overflow {
			t.Errorf("%s: got %v", c.protocol, err)
		}
		if asked > 1 && c.protocol != byTinker {
			t.Errorf("%s: asked %d times", c.protocol, asked)
		}
	}
}

func TestCompleteRefuses(t *testing.T) {
	client := completer(t, "", one(t, nil))
	if _, err := client.Complete(context.Background(), goOn); !errors.Is(err, ErrNoComplete) {
		t.Errorf("without a protocol: %v", err)
	}
	minP := 0.5
	for _, c := range []struct {
		protocol string
		r        TokenRequest
		want     string
	}{
		{byCompletions, TokenRequest{MaxTokens: 1}, "no token ids"},
		{byCompletions, TokenRequest{Prompt: []int32{1}}, "at least 1"},
		{byCompletions, TokenRequest{Prompt: []int32{1, -2}, MaxTokens: 1}, "token id -2"},
		{byTinker, TokenRequest{Prompt: []int32{1}, MaxTokens: 1, Sampling: Sampling{MinP: &minP}}, "min_p"},
		{byTinker, TokenRequest{Prompt: []int32{1}, MaxTokens: 1, StopIDs: []int32{1}, Sampling: Sampling{Stop: []string{"a"}}}, "not both"},
	} {
		client := completer(t, c.protocol, one(t, nil))
		_, err := client.Complete(context.Background(), c.r)
		var e *Error
		if !errors.As(err, &e) || e.Kind != BadRequest || !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: got %v", c.want, err)
		}
	}
}

// Text that a protocol lacks is asked for; without a route it stays unknown.
func TestTextOfIDs(t *testing.T) {
	client := completer(t, byGenerate, site{"/inference/v1/generate": string(recorded(t, "vllm_generate.json")), "/detokenize": `{"prompt":"ab"}`}.ServeHTTP)
	r := goOn
	streamed := ""
	reply, err := client.Complete(context.Background(), r)
	if err != nil || reply.Raw != "ab" {
		t.Errorf("got %q, %v", reply.Raw, err)
	}
	client = completer(t, byTinker, one(t, recorded(t, "tinker_sample.json")))
	r.Stream = func(s string) { streamed += s }
	if reply, err = client.Complete(context.Background(), r); err != nil || reply.Raw != "" || streamed != "" {
		t.Errorf("got %q, streamed %q, %v", reply.Raw, streamed, err)
	}
}

// An event that repeats what came before it repeats it: one that does not,
// without a count that says it is new, is refused, not guessed at.
func TestSGLangEventsThatDoNotFit(t *testing.T) {
	for name, counts := range map[string][2]string{"no count": {"", ""}, "fewer": {`"completion_tokens":2,`, `"completion_tokens":1,`}} {
		body := `data: {"text":"ab","output_ids":[31,32],"meta_info":{` + counts[0] + `"finish_reason":null}}` + "\n\n" +
			`data: {"text":"c","output_ids":[33],"meta_info":{` + counts[1] + `"finish_reason":{"type":"stop"}}}` + "\n\ndata: [DONE]\n\n"
		r := goOn
		r.Stream = func(string) {}
		got, err := completer(t, bySGLang, one(t, []byte(body))).Complete(t.Context(), r)
		var e *Error
		if !errors.As(err, &e) || e.Kind != Mismatch {
			t.Errorf("%s: %v, %v; want a mismatch", name, got.OutputIDs, err)
		}
	}
}
