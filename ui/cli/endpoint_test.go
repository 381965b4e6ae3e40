package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// plainServer is an OpenAI-compatible endpoint without token ids: it reports
// logprobs, and every reply calls finish. After good replies it refuses.
func plainServer(t *testing.T, good int64) string {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/models":
			fmt.Fprint(w, `{"object":"list","data":[{"id":"plain","object":"model","owned_by":"someone"}]}`)
		case r.URL.Path != "/v1/chat/completions":
			http.NotFound(w, r)
		case n.Add(1) > good:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"tools are not supported: start the server with a tool parser","type":"invalid_request_error"}}`)
		default:
			fmt.Fprint(w, `{"model":"plain","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[
				{"id":"call_1","type":"function","function":{"name":"finish","arguments":"{\"message\":\"done\"}"}}]},
				"logprobs":{"content":[{"token":"x","logprob":-0.5,"bytes":[120]}]},"finish_reason":"tool_calls"}],
				"usage":{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11}}`)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// An endpoint that gives logprobs but no ids works; what it sampled is text
// only and trains nothing.
func TestTextOnlyEndpoint(t *testing.T) {
	s := newShop(t)
	args := []string{"run", "--headless", "--json", "--limit", "1", "--sandbox", "local", "--set", "endpoint.streaming=false"}
	var o outcome
	if err := json.Unmarshal([]byte(s.run(append(args, "--endpoint", plainServer(t, 1000))...)), &o); err != nil {
		t.Fatal(err)
	}
	if o.Done != 4 || o.Simulated || o.Solved != 0 {
		t.Errorf("outcome %+v", o)
	}
	file := filepath.Join(s.home, "t.jsonl")
	if out := s.run("export", "latest", "-o", file); !strings.Contains(out, "4 replies without token ids") || !strings.Contains(out, "0 of ") {
		t.Errorf("export says %s", out)
	}
	rows, err := readTransitions(file)
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, r := range rows {
		if r.Output != nil || r.Prompt != nil || r.Mask != nil || r.Simulated {
			t.Errorf("made up: %+v", r)
		}
	}
}

// When nothing worked the run is an error that says why.
func TestEveryTrajectoryFails(t *testing.T) {
	s := newShop(t)
	cmd := s.command("run", "--headless", "--limit", "1", "--sandbox", "local", "--endpoint", plainServer(t, 1), "--set", "endpoint.streaming=false")
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); err == nil || code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if text := string(out); !strings.Contains(text, "all 4 trajectories failed: ") || strings.Count(text, "start the server with a tool parser") != 5 {
		t.Errorf("it does not say why, on each line and at the end:\n%s", text)
	}
}
