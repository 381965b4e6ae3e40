package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
)

// scriptedCall is what a policy of a script does in a turn.
type scriptedCall struct {
	tool string
	args map[string]any
}

// Ids of the scripted endpoint: a byte is its own token.
const (
	assistantID = 1000 // begins a reply, and is what the policy continues
	otherID     = 1001 // begins any other message
	endID       = 1002 // ends a message, and is sampled by the policy
)

// scriptedServer is an endpoint like vLLM's that gives ids and logprobs, and
// whose policy makes the calls of a script, the n-th in the n-th turn.
func scriptedServer(t *testing.T, script []scriptedCall) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		answer(t, w, map[string]any{"data": []any{map[string]any{"id": "scripted", "owned_by": "vllm", "max_model_len": 1 << 20}}})
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		var prompt []int32
		turn := 0
		for _, m := range asked.Messages {
			if m.Role == "assistant" { // the history is what was sampled, to the token
				prompt = append(append(prompt, assistantID), script[turn].ids(t)...)
				turn++
				continue
			}
			prompt = append(append(append(prompt, otherID), idsOf(m.Content)...), endID)
		}
		prompt = append(prompt, assistantID)
		if turn >= len(script) || asked.Messages[0].Role == "user" && len(asked.Messages[0].Content) == 2 {
			turn = len(script) - 1 // a probe says Hi, and gets a reply of the right shape
		}
		answer(t, w, script[turn].reply(t, prompt))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func answer(t *testing.T, w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		t.Error(err)
	}
}

func idsOf(text string) []int32 {
	ids := make([]int32, len(text))
	for i := range len(text) {
		ids[i] = int32(text[i])
	}
	return ids
}

func (c scriptedCall) arguments(t *testing.T) string {
	text, err := json.Marshal(c.args)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// ids that are sampled for the call.
func (c scriptedCall) ids(t *testing.T) []int32 {
	return append(idsOf(c.tool+c.arguments(t)), endID)
}

func (c scriptedCall) reply(t *testing.T, prompt []int32) map[string]any {
	ids := c.ids(t)
	logprobs := make([]any, len(ids))
	for i := range ids {
		logprobs[i] = map[string]any{"token": "x", "logprob": -0.25}
	}
	call := map[string]any{"id": "call_1", "type": "function", "function": map[string]any{"name": c.tool, "arguments": c.arguments(t)}}
	return map[string]any{
		"model": "scripted", "prompt_token_ids": prompt,
		"choices": []any{map[string]any{
			"index": 0, "finish_reason": "tool_calls", "token_ids": ids, "logprobs": map[string]any{"content": logprobs},
			"message": map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{call}},
		}},
		"usage": map[string]any{"prompt_tokens": len(prompt), "completion_tokens": len(ids), "total_tokens": len(prompt) + len(ids)},
	}
}
