package infer

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A reply says who gave it, which weights, and what its logprobs are of: what the
// answer carries, else what the probe or the last look saw.
func TestReplyIsSigned(t *testing.T) {
	models := `{"data":[{"id":"demo-8b","owned_by":"vllm"}]}`
	for _, c := range []struct {
		name    string
		site    site
		mode    string
		version string
		later   string // at the same route, and then in replies
	}{
		{"vllm", site{"/v1/models": models, "/version": `{"version":"0.26.0"}`, "/weight_info": `{"weight_version":"7"}`,
			"/server_info": `{"vllm_config":{"model_config":{"logprobs_mode":"raw_logprobs"}}}`, "/v1/chat/completions": withIDs}, "raw", "7", "8"},
		{"vllm without them", site{"/v1/models": models, "/version": `{"version":"0.26.0"}`, "/v1/chat/completions": withIDs}, "", "", ""},
		{"sglang", site{"/v1/models": `{"data":[{"id":"demo-8b","owned_by":"sglang"}]}`, "/get_model_info": `{"model_path":"x","weight_version":"default"}`,
			"/v1/chat/completions": withIDs}, "", "default", "9"},
		{"simulated", site{"/v1/models": `{"data":[{"id":"demo-8b","owned_by":"rollbench-simulated"}]}`, "/version": `{"version":"x"}`,
			"/v1/chat/completions": withIDs}, "processed", "", ""},
		{"without logprobs", site{"/v1/models": models, "/version": `{"version":"0.26.0"}`,
			"/server_info": `{"vllm_config":{"model_config":{"logprobs_mode":"processed_logprobs"}}}`, "/v1/chat/completions": goodAnswer}, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.site.ServeHTTP(w, r) }))
			defer s.Close()
			client, err := New(Options{BaseURL: "http://bob:secret@" + s.Listener.Addr().String(), Retries: -1})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if _, err := client.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
			check := func(version string) {
				t.Helper()
				r, err := client.Chat(t.Context(), ask)
				if err != nil {
					t.Fatal(err)
				}
				if r.Endpoint != s.URL || r.LogprobsMode != c.mode || r.PolicyVersion != version {
					t.Errorf("signed %q %q %q, want %q %q %q", r.Endpoint, r.LogprobsMode, r.PolicyVersion, s.URL, c.mode, version)
				}
			}
			check(c.version)
			for _, route := range []string{"/weight_info", "/get_model_info"} {
				c.site[route] = `{"model_path":"x","weight_version":"` + c.later + `"}`
			}
			if err := client.AskPolicyVersion(t.Context()); err != nil {
				t.Fatal(err)
			}
			check(c.later)
		})
	}
}
