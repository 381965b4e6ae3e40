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

// site answers by path; a path it lacks is 404, as FastAPI answers it.
type site map[string]string

func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, ok := s[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		body = `{"detail":"Not Found"}`
	}
	if _, err := io.WriteString(w, body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

const (
	withIDs = `{"prompt_token_ids":[1],"choices":[{"message":{"content":"a"},"finish_reason":"length","token_ids":[9],
		"logprobs":{"content":[{"token":"a","logprob":-1,"bytes":[97]}]}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`
	withLogprobs = `{"choices":[{"message":{"content":"a"},"finish_reason":"length",
		"logprobs":{"content":[{"token":"a","logprob":-1,"bytes":[97]}]}}]}`
)

func TestProbeServers(t *testing.T) {
	cases := []struct {
		name string
		site site
		want Capabilities
	}{
		{"vllm", site{
			"/v1/models":           `{"object":"list","data":[{"id":"demo-8b","object":"model","owned_by":"vllm","max_model_len":40960}]}`,
			"/version":             `{"version":"0.26.0"}`,
			"/metrics":             "vllm:num_requests_running 0\n",
			"/tokenize":            `{"count":1,"max_model_len":40960,"tokens":[64],"token_strs":null}`,
			"/v1/chat/completions": withIDs,
		}, Capabilities{Server: "vllm", Version: "0.26.0", Models: []string{"demo-8b"}, MaxModelLen: 40960, Chat: true, TokenIDs: true, Logprobs: true, Tokenize: true, Metrics: true}},
		{"sglang", site{
			"/v1/models":           `{"object":"list","data":[{"id":"demo-8b","owned_by":"sglang","max_model_len":32768}]}`,
			"/get_server_info":     `{"model_path":"x","version":"0.5.3","context_length":null,"internal_states":[]}`,
			"/v1/chat/completions": withLogprobs,
		}, Capabilities{Server: "sglang", Version: "0.5.3", Models: []string{"demo-8b"}, MaxModelLen: 32768, Chat: true, Logprobs: true}},
		{"sglang by its model info", site{
			"/v1/models":           `{"data":[{"id":"demo-8b","owned_by":"me"}]}`,
			"/get_model_info":      `{"model_path":"x"}`,
			"/v1/chat/completions": withLogprobs,
		}, Capabilities{Server: "sglang", Models: []string{"demo-8b"}, Chat: true, Logprobs: true}},
		{"llama.cpp", site{
			"/v1/models":           `{"data":[{"id":"demo-8b","owned_by":"llamacpp","meta":{"n_ctx_train":8192}}]}`,
			"/tokenize":            `{"tokens":[]}`,
			"/v1/chat/completions": goodAnswer,
		}, Capabilities{Server: "llama.cpp", Models: []string{"demo-8b"}, MaxModelLen: 8192, Chat: true}},
		{"vllm that continues ids", site{
			"/v1/models":           `{"data":[{"id":"demo-8b","owned_by":"vllm","max_model_len":40960}]}`,
			"/version":             `{"version":"0.26.0"}`,
			"/v1/chat/completions": withIDs,
			"/v1/completions":      `{"choices":[{"text":"a","finish_reason":"length","token_ids":[9],"prompt_token_ids":[1],"logprobs":{"tokens":["token_id:9"],"token_logprobs":[-1]}}]}`,
		}, Capabilities{Server: "vllm", Version: "0.26.0", Models: []string{"demo-8b"}, MaxModelLen: 40960, Chat: true, TokenIDs: true, Logprobs: true, Complete: "completions"}},
		{"vllm without ids in completions", site{
			"/v1/models":             `{"data":[{"id":"demo-8b","owned_by":"vllm"}]}`,
			"/version":               `{"version":"0.26.0"}`,
			"/v1/chat/completions":   withLogprobs,
			"/v1/completions":        `{"choices":[{"text":"a","finish_reason":"length"}]}`,
			"/inference/v1/generate": `{"choices":[{"finish_reason":"length","token_ids":[9]}]}`,
		}, Capabilities{Server: "vllm", Version: "0.26.0", Models: []string{"demo-8b"}, Chat: true, Logprobs: true, Complete: "generate"}},
		{"sglang that continues ids", site{
			"/v1/models":           `{"data":[{"id":"demo-8b","owned_by":"sglang","max_model_len":32768}]}`,
			"/get_server_info":     `{"model_path":"x","version":"0.5.3"}`,
			"/v1/chat/completions": withLogprobs,
			"/generate":            `{"text":"a","output_ids":[9],"meta_info":{"finish_reason":{"type":"length","length":1},"prompt_tokens":1,"completion_tokens":1,"output_token_logprobs":[[-1,9,null]]}}`,
		}, Capabilities{Server: "sglang", Version: "0.5.3", Models: []string{"demo-8b"}, MaxModelLen: 32768, Chat: true, Logprobs: true, Complete: "sglang"}},
		{"tinker", site{
			"/api/v1/healthz":                 `{"status":"ok"}`,
			"/api/v1/get_server_capabilities": `{"supported_models":[{"model_name":"demo-8b"}],"supported_loss_fns":["ppo"]}`,
			"/api/v1/create_session":          `{"session_id":"a"}`,
			"/api/v1/create_sampling_session": `{"sampling_session_id":"b"}`,
			"/api/v1/asample":                 `{"future_id":"5","status":"pending","request_id":"5"}`,
			"/api/v1/retrieve_future":         `{"sequences":[{"stop_reason":"length","tokens":[9],"logprobs":[-1]}],"prompt_logprobs":null}`,
		}, Capabilities{Server: "tinker", Models: []string{"demo-8b"}, TokenIDs: true, Logprobs: true, Complete: "tinker"}},
		{"text only", site{
			"/v1/models":           `{"data":[{"id":"demo-8b","owned_by":"x"},{"id":"other"}]}`,
			"/v1/chat/completions": goodAnswer,
		}, Capabilities{Server: "openai", Models: []string{"demo-8b", "other"}, Chat: true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			client := serve(t, c.site.ServeHTTP)
			got, err := client.Probe(context.Background())
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, c.want)
			}
			if got.Trainable() != (got.TokenIDs || got.Complete != "") || *client.complete.Load() != got.Complete {
				t.Errorf("trainable %v, protocol %q", got.Trainable(), *client.complete.Load())
			}
		})
	}
}

// A server that is not known and gives no ids is not asked to continue some:
// every call may cost.
func TestProbeSparesTheUnknown(t *testing.T) {
	var asked []string
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			asked = append(asked, r.URL.Path)
		}
		site{"/v1/models": `{"data":[{"id":"demo-8b"}]}`, "/v1/chat/completions": goodAnswer}.ServeHTTP(w, r)
	})
	caps, err := client.Probe(context.Background())
	if want := []string{"/tokenize", "/v1/chat/completions"}; err != nil || caps.Trainable() || !reflect.DeepEqual(asked, want) {
		t.Errorf("asked %v, %+v, %v", asked, caps, err)
	}
	if n := client.Errors(); n != 0 {
		t.Errorf("%d errors are counted: what it does not have is no failed call", n)
	}
}

// vLLM without a tokenizer refuses to give text; whether it can be told to stop
// a request is found out without a call that would stop some.
func TestProbeGenerate(t *testing.T) {
	for _, route := range []bool{false, true} {
		var modes []any
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/inference/v1/generate":
				var body map[string]any
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				modes = append(modes, body["output_mode"])
				if body["output_mode"] != nil {
					w.WriteHeader(400)
				}
			case "/abort_requests":
				if r.Method != http.MethodGet {
					t.Error("requests were stopped")
				}
				if route {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
			}
			site{"/v1/models": `{"data":[{"id":"demo-8b","owned_by":"vllm"}]}`, "/version": `{"version":"1"}`, "/v1/chat/completions": withIDs,
				"/inference/v1/generate": `{"choices":[{"finish_reason":"length","token_ids":[9]}]}`}.ServeHTTP(w, r)
		})
		caps, err := client.Probe(context.Background())
		if err != nil || caps.Complete != "generate" || !client.textless.Load() || client.stops.Load() != route || !reflect.DeepEqual(modes, []any{"text", nil}) {
			t.Errorf("%+v, %v, modes %v, textless %v, stops %v", caps, err, modes, client.textless.Load(), client.stops.Load())
		}
	}
}

func TestProbeRefusals(t *testing.T) {
	cases := []struct {
		name, model, models, want string
	}{
		{"unknown model", "no-such", `{"data":[{"id":"a"},{"id":"b"}]}`, `it has no model "no-such"; it serves: a, b (choose with --model)`},
		{"none chosen", "", `{"data":[{"id":"a"},{"id":"b"}]}`, "choose one with --model: a, b"},
		{"no model", "", `{"data":[]}`, "it serves no model"},
		{"a web page", "", `<!DOCTYPE html><title>Login</title>`, "web page (Login)"},
	}
	for _, c := range cases {
		client := serve(t, site{"/v1/models": c.models}.ServeHTTP)
		client.model.Store(&c.model)
		_, err := client.Probe(context.Background())
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	client := serve(t, site{}.ServeHTTP)
	if _, err := client.Probe(context.Background()); err == nil || !strings.Contains(err.Error(), "no /v1/models there") {
		t.Errorf("no route: %v", err)
	}
}

func TestProbeOfDeadEngine(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			w.WriteHeader(503)
			return
		}
		site{"/v1/models": `{"data":[{"id":"demo-8b"}]}`}.ServeHTTP(w, r)
	})
	_, err := client.Probe(context.Background())
	var e *Error
	if !errors.As(err, &e) || e.Kind != Unavailable || e.Status != 503 {
		t.Errorf("got %v", err)
	}
}

// The only model is taken, and used from then on.
func TestOnlyModel(t *testing.T) {
	client := serve(t, site{"/v1/models": `{"data":[{"id":"one"}]}`, "/v1/chat/completions": goodAnswer}.ServeHTTP)
	none := ""
	client.model.Store(&none)
	if _, err := client.Probe(context.Background()); err != nil || client.Model() != "one" {
		t.Errorf("model %q, %v", client.Model(), err)
	}
}

// A strict server refuses what it does not know: less is asked for, step by step.
func TestStrictServer(t *testing.T) {
	for _, refused := range [][]string{{}, {"return_token_ids"}, {"return_token_ids", "logprobs"}} {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/chat/completions" {
				site{"/v1/models": `{"data":[{"id":"demo-8b"}]}`}.ServeHTTP(w, r)
				return
			}
			var body map[string]any
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			for _, key := range refused {
				if _, ok := body[key]; ok {
					w.WriteHeader(400)
					fmt.Fprintf(w, `{"error":{"message":"Unrecognized request argument: %s"}}`, key)
					return
				}
			}
			fmt.Fprint(w, withLogprobs)
		})
		caps, err := client.Probe(context.Background())
		if err != nil || !caps.Chat {
			t.Errorf("refusing %v: %+v, %v", refused, caps, err)
		}
		if got := int(client.extras.Load()); got != len(refused) {
			t.Errorf("refusing %v: extras %d", refused, got)
		}
	}
}

func TestTokenize(t *testing.T) {
	var sent []string
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent = append(sent, strings.TrimSpace(string(data)))
		site{"/tokenize": `{"count":2,"max_model_len":9,"tokens":[5,6],"token_strs":null}`, "/detokenize": `{"prompt":"ab"}`}.ServeHTTP(w, r)
	})
	ctx := context.Background()
	for range 2 {
		ids, err := client.TokenizeText(ctx, "ab")
		if err != nil || !reflect.DeepEqual(ids, []int32{5, 6}) {
			t.Errorf("text: %v, %v", ids, err)
		}
	}
	ids, err := client.Tokenize(ctx, []Message{{Role: "user", Content: "ab"}}, []Tool{{Name: "f"}}, false)
	if err != nil || len(ids) != 2 {
		t.Errorf("messages: %v, %v", ids, err)
	}
	if text, err := client.Detokenize(ctx, nil); err != nil || text != "ab" {
		t.Errorf("detokenize: %q, %v", text, err)
	}
	want := []string{
		`{"add_special_tokens":false,"model":"demo-8b","prompt":"ab"}`,
		`{"add_special_tokens":false,"model":"demo-8b","prompt":"ab"}`,
		`{"add_generation_prompt":false,"add_special_tokens":false,"messages":[{"role":"user","content":"ab"}],"model":"demo-8b","tools":[{"type":"function","function":{"name":"f"}}]}`,
		`{"model":"demo-8b","tokens":[]}`,
	}
	if !reflect.DeepEqual(sent, want) {
		t.Errorf("sent %s", strings.Join(sent, "\n"))
	}
}

func TestNoTokenize(t *testing.T) {
	client := serve(t, site{"/detokenize": `{"text":"sglang"}`, "/tokenize": `{"count":3,"tokens":[1]}`}.ServeHTTP)
	if text, err := client.Detokenize(context.Background(), []int32{1}); err != nil || text != "sglang" {
		t.Errorf("sglang's detokenize: %q, %v", text, err)
	}
	var e *Error
	if _, err := client.TokenizeText(context.Background(), "a"); !errors.As(err, &e) || e.Kind != Mismatch {
		t.Errorf("wrong count: %v", err)
	}
	client = serve(t, site{}.ServeHTTP)
	if _, err := client.TokenizeText(context.Background(), "a"); !errors.Is(err, ErrNoTokenize) {
		t.Errorf("no route: %v", err)
	}
	if _, err := client.Detokenize(context.Background(), nil); !errors.Is(err, ErrNoTokenize) {
		t.Errorf("no route: %v", err)
	}
}

func TestHealth(t *testing.T) {
	for _, s := range []site{{"/health": ""}, {"/v1/models": "{}"}} {
		if err := serve(t, s.ServeHTTP).Health(context.Background()); err != nil {
			t.Error(err)
		}
	}
	sick := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	var e *Error
	if err := sick.Health(context.Background()); !errors.As(err, &e) || e.Kind != Unavailable {
		t.Errorf("got %v", err)
	}
}

// A /tokenize that takes text alone renders no messages: the probe does not say
// that it does, else every first prompt of a run would fail.
func TestProbeOfTextTokenizer(t *testing.T) {
	pages := site{
		"/v1/models":           `{"data":[{"id":"demo-8b","owned_by":"sglang","max_model_len":32768}]}`,
		"/get_server_info":     `{"model_path":"x","version":"0.5.3"}`,
		"/v1/chat/completions": withLogprobs,
		"/generate":            `{"text":"a","output_ids":[9],"meta_info":{"finish_reason":{"type":"length"},"prompt_tokens":1,"completion_tokens":1}}`,
	}
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/tokenize" {
			pages.ServeHTTP(w, r)
			return
		}
		var body struct {
			Prompt *string `json:"prompt"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Prompt == nil {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"object":"error","message":"prompt: Field required","code":400}`)
			return
		}
		_, _ = io.WriteString(w, `{"tokens":[64],"count":1,"max_model_len":32768}`)
	})
	caps, err := client.Probe(t.Context())
	if err != nil || caps.Tokenize {
		t.Errorf("%+v, %v", caps, err)
	}
}
