package agent

import (
	"context"
	"fmt"
	"testing"
	"time"

	"rollbench/engine/calls"
	"rollbench/engine/infer"
	"rollbench/sessions"
	"rollbench/tools"
)

// instant answers without delay: 200 new tokens a turn on a prompt of any length.
type instant struct {
	templated
	n int
}

func (m *instant) Complete(_ context.Context, r infer.TokenRequest) (infer.Reply, error) {
	m.n++
	const text = `<tool_call>{"name": "bash", "arguments": {"a": %d}}</tool_call>`
	raw := fmt.Sprintf(text, m.n)
	out := m.ids(raw)
	for len(out) < 199 {
		out = append(out, 'x')
	}
	out = append(out, m.ids("<|im_end|>")...)
	logprobs := make([]float64, len(out))
	for i := range logprobs {
		logprobs[i] = -0.25
	}
	return infer.Reply{PromptIDs: r.Prompt, OutputIDs: out, Logprobs: logprobs, Raw: raw + "<|im_end|>", FinishReason: "stop",
		PromptTokens: len(r.Prompt), OutputTokens: len(out)}, nil
}

// BenchmarkTurn is what one turn costs beside model and tool: the prompt from
// the ids before, the check of the prefix, the calls, and both commits to the
// session on disk, at contexts of 2,000 and of 32,000 tokens.
func BenchmarkTurn(b *testing.B) {
	for _, context := range []int{2_000, 32_000} {
		b.Run(fmt.Sprint(context), func(b *testing.B) {
			key := sessions.Key{Instance: "x"}
			store, err := sessions.Create(b.Context(), b.TempDir(), sessions.Run{ID: "r-bench", Created: time.Now(), N: 1, Members: []sessions.Key{key}})
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			m := &instant{templated: templated{template: qwen3}}
			box := &toolbox{answer: func(string, string) (tools.Result, error) {
				return tools.Result{Text: fmt.Sprint("result ", m.n), Status: tools.OK}, nil
			}}
			l := &Loop{Config: Config{Key: key, Attempt: 1, MaxTurns: 1 << 30, Budget: 1 << 30, CanTokenize: true, Tokens: true, Format: calls.Auto},
				Model: m, Tools: box, Record: store, Gate: NewGate(), Slot: &slots{}, Watch: blind{}, Now: time.Now}
			long := make([]byte, context)
			for i := range long {
				long[i] = 'y'
			}
			l.fresh = []sessions.Message{{Role: "user", Content: string(long), Source: sessions.FromTask}}
			turn := func() {
				if err := l.ask(b.Context()); err != nil {
					b.Fatal(err)
				}
				if err := l.finishTurn(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			turn()
			b.ResetTimer()
			for range b.N {
				turn()
				l.history = nil
				if l.turn%50 == 0 { // the context grows with every turn: back to where it began
					b.StopTimer()
					first := *l.last
					first.PromptIDs = first.PromptIDs[:context]
					l.last, l.firstLen, l.used = &first, 0, 0
					b.StartTimer()
				}
			}
		})
	}
}
