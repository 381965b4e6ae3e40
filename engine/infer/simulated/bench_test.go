package simulated_test

import (
	"context"
	"strings"
	"testing"

	"rollbench/engine/infer"
	"rollbench/engine/infer/simulated"
)

// One call with a prompt of 30,000 bytes, client and server together.
func BenchmarkChat30k(b *testing.B) {
	s, err := simulated.Start(simulated.Options{Latency: -1, TokensPerSecond: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}()
	c, err := infer.New(infer.Options{BaseURL: s.URL()})
	if err != nil {
		b.Fatal(err)
	}
	s.Register("s", fix)
	r := question("s")
	r.Messages[1].Content = strings.Repeat("def total(a, b): pass\n", 1364)
	r.Stream = func(string) {}
	for b.Loop() {
		if _, err := c.Chat(context.Background(), r); err != nil {
			b.Fatal(err)
		}
	}
}

// The same prompt as ids, by vLLM's completions.
func BenchmarkComplete30k(b *testing.B) {
	s, err := simulated.Start(simulated.Options{Latency: -1, TokensPerSecond: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}()
	c, err := infer.New(infer.Options{BaseURL: s.URL()})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.Probe(context.Background()); err != nil {
		b.Fatal(err)
	}
	s.Register("s", fix)
	chat := question("s")
	chat.Messages[1].Content = strings.Repeat("def total(a, b): pass\n", 1364)
	ids, err := c.Tokenize(context.Background(), chat.Messages, chat.Tools, true)
	if err != nil {
		b.Fatal(err)
	}
	r := infer.TokenRequest{Prompt: ids, MaxTokens: 4000, SessionID: "s", Stream: func(string) {}}
	for b.Loop() {
		if _, err := c.Complete(context.Background(), r); err != nil {
			b.Fatal(err)
		}
	}
}
