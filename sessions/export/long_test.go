package export

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"

	"rollbench/sessions"
)

// longRun is a run of n trajectories of the given number of tokens in 50
// turns, as an endpoint would report them: ids below 150,000, logprobs that are
// 32-bit numbers, and texts. Nothing of it is kept.
type longRun struct {
	sessions.Reader
	n, tokens int
}

func (r longRun) Run() sessions.Run { return sessions.Run{ID: "r-long", Model: "m"} }

func (r longRun) key(i int) sessions.Key {
	return sessions.Key{Instance: fmt.Sprintf("i-%d", i/8), ID: i % 8}
}

func (r longRun) Trajectories(context.Context) ([]sessions.Trajectory, int64, error) {
	list := make([]sessions.Trajectory, r.n)
	for i := range list {
		list[i] = sessions.Trajectory{Key: r.key(i), Attempt: 1, State: sessions.Done, Turn: 50, Finish: string(sessions.FinishTool), Reward: one(float64(i % 2))}
	}
	return list, 1, nil
}

func (r longRun) Turns(_ context.Context, key sessions.Key, _, _, _ int, _ bool) ([]sessions.Turn, error) {
	return longTurns(key, r.tokens), nil
}

func longTurns(key sessions.Key, tokens int) []sessions.Turn {
	rng := rand.New(rand.NewPCG(uint64(key.ID), 7))
	const turns = 50
	sequence := make([]int32, 0, tokens)
	more := func(n int) {
		for range n {
			sequence = append(sequence, rng.Int32N(150_000))
		}
	}
	list := make([]sessions.Turn, turns)
	for i := range list {
		t := &list[i]
		*t = sessions.Turn{Key: key, Attempt: 1, Index: i + 1, Version: 1, Source: sessions.FromModel, Finish: "tool_calls", Content: "I look."}
		more(tokens / turns / 2)
		t.PromptIDs = sequence[:len(sequence):len(sequence)]
		at := len(sequence)
		more(tokens / turns / 2)
		t.OutputIDs = sequence[at:len(sequence):len(sequence)]
		for range t.OutputIDs {
			t.Logprobs = append(t.Logprobs, float64(float32(-math.Abs(rng.NormFloat64()))))
		}
		t.New = []sessions.Message{{Role: "user", Content: fmt.Sprint("Result ", i), Source: sessions.FromHarness}}
	}
	return list
}

// The figure is megabytes written in a second of one core, from the session
// file; MB/s is by the clock, which other programs slow down.
func BenchmarkExport(b *testing.B) {
	keys := make([]sessions.Key, 8)
	for i := range keys {
		keys[i] = longRun{}.key(i)
	}
	s, err := sessions.Create(b.Context(), b.TempDir(), sessions.Run{ID: "r-1", Created: t0, Members: keys})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for i, key := range keys {
		for _, t := range longTurns(key, 32_000) {
			if err := s.Commit(b.Context(), sessions.Write{Turn: &t, Events: []sessions.Event{
				sessions.NewEvent(t0, key, sessions.KindReply, sessions.ReplyMade{Turn: t.Index, Source: t.Source})}}); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Commit(b.Context(), sessions.Write{Events: []sessions.Event{
			sessions.NewEvent(t0, key, sessions.KindFinish, sessions.Finished{Reason: sessions.FinishTool}),
			sessions.NewEvent(t0, key, sessions.KindReward, sessions.Rewarded{Reward: one(float64(i % 2))}),
			sessions.NewEvent(t0, key, sessions.KindState, sessions.StateChange{State: sessions.Done})}}); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		format string
		opt    Options
	}{{"transitions", Options{}}, {"transitions", Options{Prompt: "delta"}}, {"skyrl", Options{}}, {"skyrl", Options{Rows: "step"}},
		{"verl", Options{}}, {"verl-parquet", Options{}}, {"tinker", Options{}}, {"chat", Options{}}} {
		b.Run(c.format+c.opt.Prompt+c.opt.Rows, func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			var total counter
			began := cpuTime(b)
			for b.Loop() {
				var n counter
				if _, err := Write(b.Context(), &n, c.format, s, c.opt); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(n))
				total += n
			}
			b.ReportMetric(float64(total)/1e6/(cpuTime(b)-began), "MB/cpu-s")
		})
	}
}

// cpuTime that this process used, in seconds.
func cpuTime(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// heapGauge looks at the live heap every so many bytes.
type heapGauge struct{ since, most uint64 }

func (g *heapGauge) Write(p []byte) (int, error) {
	if g.since += uint64(len(p)); g.since > 20<<20 {
		g.since = 0
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		g.most = max(g.most, m.HeapAlloc)
	}
	return len(p), nil
}

// slowed by the race detector.
var slowed bool

// Exporting a run of 50 MB and more keeps one trajectory (about one megabyte)
// in memory, and for Parquet a row group.
func TestMemoryIsBounded(t *testing.T) {
	if testing.Short() || slowed {
		t.Skip("writes 50 MB a format")
	}
	for format, n := range map[string]int{"transitions": 12, "skyrl": 80, "verl": 80, "verl-parquet": 500, "tinker": 60} {
		var before runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var g heapGauge
		if _, err := Write(t.Context(), &g, format, longRun{n: n, tokens: 32_000}, Options{}); err != nil {
			t.Fatal(err)
		}
		bound := int64(16 << 20)
		if format == "verl-parquet" {
			bound = 64 << 20
		}
		if grown := int64(g.most) - int64(before.HeapAlloc); g.most == 0 || grown > bound {
			t.Errorf("%s: the heap grew by %d MB, want at most %d", format, grown>>20, bound>>20)
		}
	}
}

// A check reads at some tens of megabytes a second: each row is decoded twice,
// once for its keys.
func BenchmarkCheck(b *testing.B) {
	for _, format := range []string{"transitions", "skyrl", "tinker"} {
		b.Run(format, func(b *testing.B) {
			var out bytes.Buffer
			run := longRun{n: 8, tokens: 32_000}
			sum, err := Write(b.Context(), &out, format, run, Options{})
			if err != nil {
				b.Fatal(err)
			}
			opt, err := Options{}.normal(format)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(out.Len()))
			for b.Loop() {
				report, err := check(b.Context(), bytes.NewReader(out.Bytes()), int64(out.Len()), NewMeta(run.Run(), sum, opt, t0))
				if err != nil || report.Total > 0 {
					b.Fatalf("%+v, %v", report, err)
				}
			}
		})
	}
}
