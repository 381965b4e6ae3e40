package infer

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
)

// Template arguments go wherever the server renders messages.
func TestTemplateArguments(t *testing.T) {
	got := map[string]any{}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		got[r.URL.Path] = body["chat_template_kwargs"]
		if r.URL.Path == "/tokenize" {
			_, _ = w.Write([]byte(`{"count":1,"max_model_len":9,"tokens":[1]}`))
			return
		}
		_, _ = w.Write([]byte(`{"model":"demo-8b","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`))
	})
	c.opt.Template = map[string]any{"enable_thinking": false}
	if _, err := c.Chat(context.Background(), ask); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Tokenize(context.Background(), ask.Messages, nil, true); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/chat/completions", "/tokenize"} {
		if args, ok := got[path].(map[string]any); !ok || args["enable_thinking"] != false {
			t.Errorf("%s was sent %v", path, got[path])
		}
	}
}
