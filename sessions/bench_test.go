package sessions

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// benchTurn is of a usual size: 200 new prompt tokens, 100 sampled, 4 kB of
// text, 50 turns an attempt.
func benchTurn(key Key, i int) Write {
	attempt := (i-1)/50 + 1
	i = (i-1)%50 + 1
	t := &Turn{Key: key, Attempt: attempt, Index: i, Version: 1, Content: fmt.Sprintf("%04000d", i),
		PromptIDs: make([]int32, 300*(i-1)+200), OutputIDs: make([]int32, 100), Logprobs: make([]float64, 100)}
	return Write{Turn: t, Events: []Event{
		event(key, i, KindReply, ReplyMade{Turn: i, Source: FromModel, OutputTokens: 100}),
		event(key, i, KindToolStarted, ToolStarted{Turn: i, Tool: "bash", Args: "{}"}),
		event(key, i, KindToolFinished, ToolFinished{Turn: i, Tool: "bash"}),
	}}
}

func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 32} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			var keys []Key
			for i := range writers {
				keys = append(keys, Key{"demo", i})
			}
			s, err := Create(context.Background(), b.TempDir(), testRun("r-1", keys...))
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ResetTimer()
			for _, key := range keys {
				wg.Go(func() {
					for i := 1; next.Add(1) <= int64(b.N); i++ {
						if err := s.Commit(context.Background(), benchTurn(key, i)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// BenchmarkOpen opens a run of 512 trajectories with 50 turns each (76,800
// events) up to its first list.
func BenchmarkOpen(b *testing.B) {
	home := b.TempDir()
	var keys []Key
	for i := range 512 {
		keys = append(keys, Key{"demo", i})
	}
	ctx := context.Background()
	s, err := Create(ctx, home, testRun("r-1", keys...))
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for k := w; k < len(keys); k += 32 {
				for i := 1; i <= 50; i++ {
					if err := s.Commit(ctx, benchTurn(keys[k], i)); err != nil {
						b.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := OpenReader(ctx, home, "r-1")
		if err != nil {
			b.Fatal(err)
		}
		if rows, _, err := r.Trajectories(ctx); err != nil || len(rows) != 512 {
			b.Fatal(len(rows), err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
