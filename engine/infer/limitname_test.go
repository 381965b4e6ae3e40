package infer

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Servers differ in the name of the token limit: one refuses max_tokens, one
// the newer name, one takes the newer name and ignores it. The probe finds out.
func TestNameOfTheTokenLimit(t *testing.T) {
	for _, c := range []struct {
		refuses, heeds string
		want           string
	}{
		{"max_tokens", "max_completion_tokens", "max_completion_tokens"},
		{"max_completion_tokens", "max_tokens", "max_tokens"},
		{"", "max_tokens", "max_tokens"},
	} {
		var last map[string]json.RawMessage
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/v1/models":
				fmt.Fprint(w, `{"object":"list","data":[{"id":"m","object":"model","owned_by":"someone"}]}`)
				return
			case "/v1/chat/completions":
			default:
				http.NotFound(w, r)
				return
			}
			last = nil
			if err := json.NewDecoder(r.Body).Decode(&last); err != nil {
				t.Error(err)
			}
			if _, both := last[c.refuses]; both {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"error":{"message":"Unsupported parameter: %s is not supported here","type":"invalid_request_error"}}`, c.refuses)
				return
			}
			n := 9 // what a server without a limit says
			if _, ok := last[c.heeds]; ok {
				n = 1
			}
			fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":%d,"total_tokens":2}}`, n)
		}))
		client, err := New(Options{BaseURL: s.URL, Retries: -1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Probe(context.Background()); err != nil {
			t.Errorf("refuses %q: %v", c.refuses, err)
		}
		if _, err := client.Chat(context.Background(), Request{Messages: []Message{{Role: "user", Content: "x"}}, MaxTokens: 5}); err != nil {
			t.Errorf("refuses %q: %v", c.refuses, err)
		}
		if string(last[c.want]) != "5" || last["max_tokens"] != nil && last["max_completion_tokens"] != nil {
			t.Errorf("refuses %q: sent %v, want %s alone", c.refuses, last, c.want)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		s.Close()
	}
}
