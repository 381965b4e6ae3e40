package compare

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"rollbench/sessions"
)

// recorded is a run of so many trajectories, eight to an instance, of 50 turns with
// 4 kB of observation, 300 ids and four events each.
func recorded(b *testing.B, home, id string, members int) {
	b.Helper()
	run := sessions.Run{ID: id, Created: t0, N: 8, Print: []byte(`{"generator":{"temperature":1}}`)}
	for i := range members {
		run.Members = append(run.Members, sessions.Key{Instance: fmt.Sprintf("instance-%03d", i/8), ID: i % 8})
	}
	s, err := sessions.Create(b.Context(), home, run)
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	const writers = 32
	for w := range writers {
		wg.Go(func() {
			for k := w; k < members; k += writers {
				if err := rollOut(b.Context(), s, run.Members[k]); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

func rollOut(ctx context.Context, s *sessions.Store, key sessions.Key) error {
	reward := float64(key.ID % 2)
	saw := strings.Repeat("src/module.py:12: def handler(request):\n", 100)
	prompt := make([]int32, 0, 50*400)
	for i := 1; i <= 50; i++ {
		t := turn(key, i, fmt.Sprintf(`execute_bash {"command":"grep -n handler_%d src"} → %s%d`, i*(1+key.ID*(i/40)), saw, key.ID*(i/20)))
		t.PromptIDs, t.OutputIDs = prompt, make([]int32, 100)
		prompt = prompt[:len(prompt)+300]
		events := []sessions.Event{
			sessions.NewEvent(t0, key, sessions.KindReply, sessions.ReplyMade{Turn: i, Version: 1, Source: sessions.FromModel, Tools: []string{"execute_bash"}, OutputTokens: 100, Tokens: 300 * i}),
			sessions.NewEvent(t0, key, sessions.KindToolStarted, sessions.ToolStarted{Turn: i, Tool: "execute_bash", Args: t.Calls[0].Arguments}),
			sessions.NewEvent(t0, key, sessions.KindToolFinished, sessions.ToolFinished{Turn: i, Tool: "execute_bash", Status: "ok", Wall: 1e8}),
			sessions.NewEvent(t0, key, sessions.KindTurnDone, sessions.TurnDone{Turn: i}),
		}
		if i == 50 {
			events = append(events, sessions.NewEvent(t0, key, sessions.KindReward, sessions.Rewarded{Reward: &reward}),
				sessions.NewEvent(t0, key, sessions.KindState, sessions.StateChange{State: sessions.Done}))
		}
		if err := s.Commit(ctx, sessions.Write{Turn: &t, Events: events}); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkRuns opens two runs of 512 trajectories of 50 turns and compares them.
func BenchmarkRuns(b *testing.B) {
	home := b.TempDir()
	recorded(b, home, "r-a", 512)
	recorded(b, home, "r-b", 512)
	b.ReportAllocs()
	for b.Loop() {
		var readers [2]sessions.Reader
		for i, id := range []string{"r-a", "r-b"} {
			r, err := sessions.OpenReader(b.Context(), home, id)
			if err != nil {
				b.Fatal(err)
			}
			readers[i] = r
		}
		x, y, err := ReadSides(b.Context(), readers[0], readers[1], nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range readers {
			if err := r.Close(); err != nil {
				b.Fatal(err)
			}
		}
		if r, err := Runs(x, y, false); err != nil || r.Rated != 64 {
			b.Fatal(r, err)
		}
	}
}

// BenchmarkSiblings opens a run, reads eight trajectories of 50 turns, aligns their
// calls and finds where they part, by ids too.
func BenchmarkSiblings(b *testing.B) {
	home := b.TempDir()
	recorded(b, home, "r-a", 8)
	b.ReportAllocs()
	for b.Loop() {
		r, err := sessions.OpenReader(b.Context(), home, "r-a")
		if err != nil {
			b.Fatal(err)
		}
		var traces []Trace
		var signs, like [][]string
		var list []Attempt
		for _, key := range r.Run().Members {
			t, err := Follow(b.Context(), r, Trace{}, key, 1, 50)
			if err != nil {
				b.Fatal(err)
			}
			traces = append(traces, t)
			list = append(list, Attempt{key, 1, 50, true})
			s, l := t.Signs()
			signs, like = append(signs, s), append(like, l)
		}
		if rows, exact := Align(signs, like); len(rows) < 50 || !exact {
			b.Fatal(len(rows), exact)
		}
		if p := Part(traces[0], traces[1], true, true); p.Call != 40 || p.Saw != 20 {
			b.Fatal(p)
		}
		if p, err := PartTokens(b.Context(), r, list); err != nil || p[7].Turn != 0 {
			b.Fatal(p, err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
