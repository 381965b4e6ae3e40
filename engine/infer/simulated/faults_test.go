package simulated_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"rollbench/engine/infer"
	"rollbench/engine/infer/simulated"
)

const chatPath = "/v1/chat/completions"

// every answers all chat calls with a fault.
func every(f simulated.Fault) func(int, string) simulated.Fault {
	return func(_ int, path string) simulated.Fault {
		if path == chatPath {
			return f
		}
		return simulated.Fault{}
	}
}

// Each fault, as the client reports it, whole and streamed.
func TestFaults(t *testing.T) {
	vllm := `{"error":{"message":"engine died","type":"InternalServerError","param":null,"code":500}}`
	cases := []struct {
		name          string
		fault         simulated.Fault
		whole, stream infer.ErrorKind // "" for success
	}{
		{"none", simulated.Fault{}, "", ""},
		{"reset", simulated.Fault{Reset: true}, infer.Unavailable, infer.Unavailable},
		{"slow", simulated.Fault{Delay: time.Minute}, infer.TimedOut, infer.TimedOut},
		{"cut JSON", simulated.Fault{CutAfter: 700}, infer.Unavailable, infer.Unavailable},
		{"wrong counts", simulated.Fault{CountOff: 1}, infer.Mismatch, infer.Mismatch},
		{"400", simulated.Fault{Status: 400, Body: `{"error":{"message":"bad"}}`}, infer.BadRequest, infer.BadRequest},
		{"404", simulated.Fault{Status: 404, Body: `{"detail":"Not Found"}`}, infer.BadRequest, infer.BadRequest},
		{"429", simulated.Fault{Status: 429}, infer.Busy, infer.Busy},
		{"500", simulated.Fault{Status: 500, Body: vllm}, infer.Unavailable, infer.Unavailable},
		{"empty reply", simulated.Fault{Empty: true}, "", ""},
		{"no logprobs", simulated.Fault{NoLogprobs: true}, "", ""},
		{"no ids", simulated.Fault{NoTokenIDs: true}, "", ""},
		{"stalled stream", simulated.Fault{Stall: true}, "", infer.TimedOut},
		{"endless stream", simulated.Fault{Endless: true}, "", infer.TimedOut},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, simulated.Options{Faults: every(c.fault)})
			cl := client(t, infer.Options{BaseURL: s.URL(), Retries: -1, RequestLimit: 400 * time.Millisecond, IdleLimit: 200 * time.Millisecond})
			for _, streamed := range []bool{false, true} {
				want, r := c.whole, question("s")
				if streamed {
					want, r.Stream = c.stream, func(string) {}
				}
				reply, err := cl.Chat(context.Background(), r)
				var e *infer.Error
				if want == "" && err != nil || want != "" && (!errors.As(err, &e) || e.Kind != want) {
					t.Errorf("streamed %v: got %v, want %q", streamed, err, want)
				}
				if err == nil {
					checkAbsent(t, c.fault, reply)
				}
			}
		})
	}
}

// What the endpoint does not report is absent, never made up.
func checkAbsent(t *testing.T, f simulated.Fault, r infer.Reply) {
	t.Helper()
	switch {
	case f.Empty:
		if r.OutputIDs == nil || len(r.OutputIDs) != 0 || len(r.Logprobs) != 0 || r.OutputTokens != 0 || r.Content+r.Reasoning != "" {
			t.Errorf("an empty reply became %+v", r)
		}
	case f.NoLogprobs:
		if r.Logprobs != nil || r.OutputIDs == nil || r.Raw != "" {
			t.Errorf("without logprobs: %v, raw %q", r.Logprobs, r.Raw)
		}
	case f.NoTokenIDs:
		if r.OutputIDs != nil || r.PromptIDs != nil || r.Logprobs == nil || r.Raw == "" {
			t.Errorf("without ids: %v", r.OutputIDs)
		}
	default:
		if len(r.OutputIDs) == 0 || len(r.OutputIDs) != len(r.Logprobs) || len(r.PromptIDs) != r.PromptTokens || r.Raw == "" {
			t.Errorf("got %+v", r)
		}
	}
}

// One reset, then well: the retry gives one whole reply.
func TestRecovers(t *testing.T) {
	s := start(t, simulated.Options{Faults: func(n int, path string) simulated.Fault {
		return simulated.Fault{Reset: n == 1 && path == chatPath}
	}})
	s.Register("s", fix)
	c := client(t, infer.Options{BaseURL: s.URL()})
	reply, err := c.Chat(context.Background(), question("s"))
	if err != nil || len(reply.OutputIDs) == 0 {
		t.Errorf("got %+v, %v", reply, err)
	}
}

func gauges(t *testing.T, c *infer.Client) (running, waiting float64) {
	t.Helper()
	g, err := c.Scrape(context.Background())
	if err != nil || g.Running == nil || g.Waiting == nil || g.KVUse == nil {
		t.Fatalf("%+v, %v", g, err)
	}
	return *g.Running, *g.Waiting
}

// With one place, a second request waits and is seen to; cancelling the first
// lets it in, and the metrics count the abort.
func TestQueueAndCancel(t *testing.T) {
	s := start(t, simulated.Options{Concurrency: 1, Faults: func(n int, path string) simulated.Fault {
		return simulated.Fault{Stall: n == 1 && path == chatPath}
	}})
	c := client(t, infer.Options{BaseURL: s.URL()})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	first, second := make(chan error, 1), make(chan error, 1)
	piece := make(chan struct{}, 1000)
	go func() {
		r := question("a")
		r.Stream = func(string) { piece <- struct{}{} }
		_, err := c.Chat(ctx, r)
		first <- err
	}()
	<-piece
	go func() {
		_, err := c.Chat(context.Background(), question("b"))
		second <- err
	}()
	eventually(t, "one runs and one waits", func() bool {
		running, waiting := gauges(t, c)
		return running == 1 && waiting == 1
	})
	if g, err := c.Scrape(context.Background()); err != nil || *g.KVUse <= 0 || *g.KVUse >= 1 {
		t.Errorf("KV use %v, %v", g.KVUse, err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("first: %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("second: %v", err)
	}
	eventually(t, "none runs", func() bool {
		running, waiting := gauges(t, c)
		return running == 0 && waiting == 0
	})
	status, body := get(t, s.URL()+"/metrics")
	if status != 200 || !strings.Contains(body, `finished_reason="abort"} 1`) {
		t.Errorf("%d %s", status, body)
	}
}

// The second turn finds the first in the prefix cache, in blocks of 16 tokens.
func TestPrefixCache(t *testing.T) {
	s := start(t, simulated.Options{})
	c := client(t, infer.Options{BaseURL: s.URL()})
	if _, err := c.Scrape(context.Background()); err != nil {
		t.Fatal(err)
	}
	r := question("s")
	one, err := c.Chat(context.Background(), r)
	if err != nil || one.CachedTokens == nil || *one.CachedTokens != 0 {
		t.Fatalf("first turn: %+v, %v", one.CachedTokens, err)
	}
	r.Messages = append(r.Messages, infer.Message{Role: "assistant", Content: one.Content, Reasoning: one.Reasoning, ToolCalls: one.Calls}, infer.Message{Role: "tool", Content: "x"})
	two, err := c.Chat(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := (len(one.PromptIDs) + len(one.OutputIDs)) / 16 * 16
	if two.CachedTokens == nil || *two.CachedTokens != want {
		t.Errorf("second turn: %v cached, want %d", *two.CachedTokens, want)
	}
	g, err := c.Scrape(context.Background())
	if err != nil || g.PrefixHitRate == nil || *g.PrefixHitRate != float64(want)/float64(len(one.PromptIDs)+len(two.PromptIDs)) {
		t.Errorf("hit rate %+v, %v", g.PrefixHitRate, err)
	}
}

// Close ends calls in progress.
func TestCloseEndsCalls(t *testing.T) {
	s, err := simulated.Start(simulated.Options{Latency: -1, TokensPerSecond: -1, Faults: every(simulated.Fault{Stall: true})})
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, infer.Options{BaseURL: s.URL(), Retries: -1})
	piece, done := make(chan struct{}, 1000), make(chan error, 1)
	go func() {
		r := question("s")
		r.Stream = func(string) { piece <- struct{}{} }
		_, err := c.Chat(context.Background(), r)
		done <- err
	}()
	<-piece
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	var e *infer.Error
	if err := <-done; !errors.As(err, &e) || e.Kind != infer.Unavailable {
		t.Errorf("got %v", err)
	}
}
