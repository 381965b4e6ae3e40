package sessions

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
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

// BenchmarkGrowth is what a turn of 500 new tokens adds to the session's file,
// in bytes, among the first 20 turns of a trajectory and among its last 20 of
// 100: the prompt grows from 2,000 to 52,000 tokens, the turn does not.
func BenchmarkGrowth(b *testing.B) {
	for b.Loop() {
		key := Key{Instance: "x"}
		home := b.TempDir()
		s, err := Create(b.Context(), home, Run{ID: "r-bench", Created: time.Now(), N: 1, Members: []Key{key}})
		if err != nil {
			b.Fatal(err)
		}
		prompt := make([]int32, 2000)
		size := func() float64 {
			var pages, bytes int64
			if err := s.db.QueryRowContext(b.Context(), "SELECT page_count, page_size FROM pragma_page_count(), pragma_page_size()").Scan(&pages, &bytes); err != nil {
				b.Fatal(err)
			}
			return float64(pages * bytes)
		}
		var at [101]float64
		for i := 1; i <= 100; i++ {
			out := make([]int32, 300)
			logprobs := make([]float64, len(out))
			for k := range out {
				out[k], logprobs[k] = int32(i*7919+k*31)%150_000, -float64(k%97)/31
			}
			t := &Turn{Key: key, Attempt: 1, Index: i, Version: 1, Source: FromModel, PromptIDs: prompt, OutputIDs: out, Logprobs: logprobs, Complete: true}
			if err := s.Commit(b.Context(), Write{Turn: t}); err != nil {
				b.Fatal(err)
			}
			prompt = append(append(prompt[:len(prompt):len(prompt)], out...), out[:200]...)
			at[i] = size()
		}
		b.ReportMetric((at[21]-at[1])/20, "B/turn-early")
		b.ReportMetric((at[100]-at[80])/20, "B/turn-late")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
