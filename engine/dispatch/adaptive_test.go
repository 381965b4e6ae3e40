package dispatch

import (
	"math"
	"math/rand/v2"
	"testing"
)

// trial gives a controller one look a second. Done is not known, so that a
// generation is 120 s.
type trial struct {
	t     *testing.T
	a     Adaptive
	limit int
	load  Load
}

// newTrial has a run limit that binds: all slots busy, and trajectories wait.
func newTrial(t *testing.T, limit int, kv, tokens float64) *trial {
	return &trial{t: t, limit: limit, load: Load{Busy: limit, Waiting: 5, Done: math.NaN(), Running: float64(limit), KVUse: kv, Tokens: tokens}}
}

// after so many seconds in which nothing must change, the next look gives why
// ("" for no change either).
func (x *trial) after(seconds int, why string) {
	x.t.Helper()
	for n := 0; n <= seconds; n++ {
		to, got := x.a.Next(x.limit, x.load)
		x.load.Seconds++
		want := ""
		if n == seconds {
			want = why
		}
		if got != want {
			x.t.Fatalf("after %d s: %d → %d, %q; want %q", n, x.limit, to, got, want)
		}
		if got == "" && to != x.limit {
			x.t.Fatalf("after %d s: %d → %d without a reason", n, x.limit, to)
		}
		if to != x.limit {
			x.limit, x.load.Busy = to, to
		}
	}
}

// Below Low a step is given 0.15 of a generation, at least 20 s, and measured
// for a quarter: 18 + 30 s. It is half of the limit.
func TestAdaptiveClimbsFast(t *testing.T) {
	x := newTrial(t, 8, 0.2, 100)
	x.after(48, "KV 20 %, 100 tokens/s, trying more: 8 → 12")
	x.load.Tokens = 140
	// The limit changed with the last look, so the next one is the first with 12 busy.
	x.after(48, "KV 20 %, 140 tokens/s, trying more: 12 → 18")
}

// Between the marks a step takes 0.75 and is measured for 1 generation. Half of
// the limit more must bring 0.3 of that in throughput: ln 1.1 ÷ ln 1.5 is 0.24.
func TestAdaptiveTakesBack(t *testing.T) {
	x := newTrial(t, 8, 0.6, 100)
	x.after(210, "KV 60 %, 100 tokens/s, trying more: 8 → 12")
	x.load.Tokens = 110
	x.after(210, "KV 60 %, 110 tokens/s instead of 100: 12 → 8")
	// Then down by a fifth, which must bring more, and does not.
	x.load.Tokens = 100
	x.after(210, "KV 60 %, 100 tokens/s, trying fewer: 8 → 6")
	x.load.Tokens = 99
	x.after(210, "KV 60 %, 99 tokens/s instead of 100: 6 → 8")
	// Between 6 and 12 is 10: another step up.
	x.load.Tokens = 100
	x.after(210, "KV 60 %, 100 tokens/s, trying more: 8 → 10")
	x.load.Tokens = 120
	// It is kept. 12 is near; between 8 and 10 is 9, which is worse. Then four
	// generations of rest, after which the step up is larger.
	x.after(210, "KV 60 %, 120 tokens/s, trying fewer: 10 → 9")
	x.load.Tokens = 110
	x.after(210, "KV 60 %, 110 tokens/s instead of 120: 9 → 10")
	x.load.Tokens = 120
	x.after(210+4*120+1, "KV 60 %, 120 tokens/s, trying more: 10 → 12")
}

// From High on it does not climb; the middle to the limit it came from is tried.
func TestAdaptiveStopsAtHigh(t *testing.T) {
	x := newTrial(t, 8, 0.6, 100)
	x.after(210, "KV 60 %, 100 tokens/s, trying more: 8 → 12")
	x.load.Tokens, x.load.KVUse = 150, 0.96
	x.after(210, "KV 96 %, 150 tokens/s, trying fewer: 12 → 10")
}

func TestAdaptiveOnlyWhenTheLimitBinds(t *testing.T) {
	x := newTrial(t, 8, 0.2, 100)
	x.load.Waiting = 0
	x.after(3600, "")
	x.load.Busy, x.load.Waiting = 5, 0
	x.after(3600, "")
}

// Without token rates KV use alone lets it climb.
func TestAdaptiveWithoutTokens(t *testing.T) {
	x := newTrial(t, 8, 0.6, math.NaN())
	x.after(210, "KV 60 %, tokens/s unknown, trying more: 8 → 12")
	x.after(210, "KV 60 %, tokens/s unknown, trying more: 12 → 18")
	x.load.KVUse = 0.96
	x.after(3600, "")
}

// 27 wait at 30 running, more than 0.8 of them, for half a generation: 15 are
// to remain, so 12 go. A queue of 24 is none.
func TestAdaptiveTrims(t *testing.T) {
	x := newTrial(t, 48, 0.94, 100)
	x.after(0, "")
	x.a.climbed = true
	x.load.Running, x.load.Queued = 30, 27
	x.after(60, "KV 94 %, 27 waiting, 30 running: 48 → 36")
	x.load.Queued = 24
	x.after(100, "")
}

// A queue at a limit that was not climbed to: 0.8 of the 40 that fit. While the
// others drain nothing changes; then it climbs.
func TestAdaptiveCutsFromAbove(t *testing.T) {
	x := newTrial(t, 96, 0.99, 100)
	x.load.Running, x.load.Queued = 40, 56
	x.after(20, "KV 99 %, 56 waiting, 40 running: 96 → 32")
	x.load.Busy = 33
	x.after(600, "")
	x.load.Busy, x.load.Running, x.load.Queued, x.load.KVUse = 32, 20, 0, 0.4
	x.after(48, "KV 40 %, 100 tokens/s, trying more: 32 → 40")
}

// 20 of 30 preempted at once: of the 30 that fit 0.8 stay. A few do not matter,
// nor do counters that begin again.
func TestAdaptiveCutsWhenPreempting(t *testing.T) {
	x := newTrial(t, 48, 0.94, 100)
	x.load.Running, x.load.Preemptions, x.load.Done = 30, 100, 50
	x.after(5, "")
	x.load.Preemptions = 104
	x.after(5, "")
	x.load.Preemptions, x.load.Done = 0, 0
	x.after(5, "")
	x.load.Preemptions, x.load.Queued = 20, 18
	x.after(0, "KV 94 %, 18 waiting, 20 preempted: 48 → 24")
}

func TestAdaptiveBlind(t *testing.T) {
	x := newTrial(t, 8, math.NaN(), 100)
	x.after(0, "the endpoint does not show KV use, running and waiting requests: the limit stays 8")
	x.after(3600, "")
}

func TestAdaptiveBounds(t *testing.T) {
	x := newTrial(t, 300, 0.2, 100)
	x.a.Min, x.a.Max = 16, 20
	x.after(0, "bounds are 16 to 20: 300 → 20")
	x.after(3600, "")
	x.limit, x.load.Busy = 2, 2
	x.after(0, "bounds are 16 to 20: 2 → 16")
}

// Whatever is reported, the limit stays within its bounds, and every change has
// a reason.
func TestAdaptiveRandom(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		a := Adaptive{Min: rng.IntN(5), Max: 5 + rng.IntN(300)}
		limit, l := a.Max, Load{}
		number := func(scale float64) float64 {
			switch rng.IntN(40) {
			case 0:
				return math.NaN()
			case 1:
				return math.Inf(1)
			case 2:
				return -scale
			}
			return scale * rng.Float64()
		}
		for range 3000 {
			l.Seconds += 20 * rng.Float64()
			l.Busy, l.Waiting = limit, rng.IntN(3)
			if rng.IntN(10) == 0 {
				l.Busy = rng.IntN(2 * limit)
			}
			l.Running, l.KVUse, l.Tokens = number(100), number(1), number(1000)
			l.Queued = number(100) * float64(rng.IntN(2))
			l.Preemptions, l.Done = l.Preemptions+number(8), l.Done+number(5)
			if rng.IntN(100) == 0 {
				l.Preemptions, l.Done, l.Seconds = 0, 0, l.Seconds-100
			}
			to, why := a.Next(limit, l)
			if to < max(1, a.Min) || to > a.Max || to != limit && why == "" {
				t.Fatalf("seed %d: %d → %d, %q; bounds %d to %d", seed, limit, to, why, a.Min, a.Max)
			}
			limit = to
		}
	}
}
