package ui

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"rollbench/engine"
	"rollbench/sessions"
	"rollbench/sessions/stats"
)

// spreadOf is a spread with its quantiles in seconds.
func spreadOf(n int, p50, p90, p99, most float64) stats.Spread {
	s := func(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }
	return stats.Spread{N: n, Mean: s(p50), P50: s(p50), P90: s(p90), P99: s(p99), Max: s(most)}
}

// fakeMeasured is the hand-made run with all that an engine measures: times,
// tools, who waits for what, changed limits, a time series, an adaptive limit.
func fakeMeasured() *fakeRun {
	f := fakeWhole()
	s := f.status
	s.Limits = engine.Limits{Init: 8, Run: 4, Eval: 2, Live: 16}
	s.Adaptive, s.Isolation, s.Notes = "endpoint", "bubblewrap", nil
	s.Init.Times = &stats.Stage{Service: spreadOf(19, 41.2, 72, 110, 161), Wait: spreadOf(20, 0.1, 190, 201, 203)}
	s.Run.Times = &stats.Stage{Service: spreadOf(11, 365, 402, 512, 701), Wait: spreadOf(15, 21, 184, 201, 203), Struck: 1}
	s.Eval.Times = &stats.Stage{Service: spreadOf(8, 31, 58, 61, 300), Wait: spreadOf(9, 0.004, 12, 14, 14.5), Struck: 1}
	s.Init.Blocked, s.Init.BlockedFor = "run", map[string]time.Duration{"run": 250 * time.Second, "sandboxes": 12 * time.Second}
	s.Eval.Blocked, s.Eval.BlockedFor = "run", map[string]time.Duration{"run": 62 * time.Second}
	s.Tools = []stats.Tool{
		{Name: "execute_bash", Calls: 412, Errors: 3, Timeouts: 37, Wall: spreadOf(412, 0.8, 9.4, 30, 30.1), Met: 5, MetReward: ptr(0.2), Free: 3, FreeReward: ptr(2.0 / 3)},
		{Name: "finish", Calls: 4, Wall: spreadOf(4, 0.0004, 0.0005, 0.0005, 0.0006), Free: 4, FreeReward: ptr(0.5)},
		{Name: "str_replace_editor", Calls: 230, Errors: 11, Wall: spreadOf(230, 0.011, 0.04, 0.2, 1.3), Free: 8, FreeReward: ptr(0.4)},
	}
	config := sessions.Limits{Who: "config", MaxInit: 8, MaxAgents: 6, MaxEval: 2, MaxLive: 16, Policy: "async_pipeline", NumMembers: 20}
	f.write(t0, sessions.Key{}, sessions.KindLimits, config)
	config.Who, config.Why, config.MaxLive = "operator", "the disk fills up", 12
	f.write(t0.Add(4*time.Minute), sessions.Key{}, sessions.KindLimits, config)
	config.Why, config.MaxLive = "", 16
	f.write(t0.Add(5*time.Minute), sessions.Key{}, sessions.KindLimits, config)
	config.Who, config.Why, config.MaxAgents = "adaptive", "6 requests wait, KV cache 97 % in use", 4
	f.write(t0.Add(9*time.Minute), sessions.Key{}, sessions.KindLimits, config)
	f.series = fakeSeries(761)
	return f
}

// fakeSeries of a run that fills its slots, waits for its endpoint, and drains.
func fakeSeries(n int) []json.RawMessage {
	out := make([]json.RawMessage, n)
	for i := range out {
		x := float64(i) / float64(n)
		rise := min(x*6, 1)
		wave := 0.5 + 0.5*math.Sin(x*40)
		p := engine.Point{
			At:    t0.Add(time.Duration(x * 761 * float64(time.Second))),
			Busy:  [3]int{int(8 * (1 - x) * wave), int(6 * rise), int(2.4 * wave * rise)},
			Limit: [3]int{8, 6, 2}, Ready: int(3 * rise * (1 - wave)), Live: int(12*rise) + int(3*wave), Ended: int(8 * x),
			Requests: ptr(5 * rise), Queued: ptr(math.Floor(8 * max(x-0.4, 0) * wave)), KVUse: ptr(min(0.2+x, 0.97) * rise), Tokens: ptr(3100 * rise * (0.8 + 0.2*wave)),
		}
		if x > 0.71 {
			p.Limit[1], p.Busy[1] = 4, min(p.Busy[1], 4)
		}
		if i > 2 {
			p.GPU = ptr(0.3 + 0.65*rise*(0.7+0.3*wave))
		}
		data, err := json.Marshal(p)
		if err != nil {
			panic(err)
		}
		out[i] = data
	}
	return out
}

func fakeStall() *engine.Stall {
	return &engine.Stall{For: 130 * time.Second, Waits: []engine.Wait{
		{What: "a reply", N: 5, Longest: 151 * time.Second, Key: sessions.Key{Instance: "flask-4045", ID: 2}},
		{What: "execute_bash", N: 2, Longest: 140 * time.Second, Key: sessions.Key{Instance: "flask-4045", ID: 3}},
		{What: "to open a docker sandbox", N: 1, Longest: 131 * time.Second, Key: sessions.Key{Instance: "xarray-3305", ID: 2}},
	}}
}

func fakeAdvice() engine.Advice {
	now := engine.Limits{Init: 8, Run: 4, Eval: 2, Live: 16}
	with := func(change func(*engine.Limits)) engine.Limits {
		l := now
		change(&l)
		return l
	}
	return engine.Advice{
		Known: 11, All: 20, Bound: 1204,
		Text: "run limits you: max_parallel_agents 4 → 6 saves 28 %",
		Outlooks: []engine.Outlook{
			{Change: "as it is", Policy: "async_pipeline", Order: "fifo", Limits: now, Makespan: 2170, MostLive: 11, RunUse: 0.94},
			{Change: "max_parallel_agents 4 → 6", Policy: "async_pipeline", Order: "fifo", Limits: with(func(l *engine.Limits) { l.Run = 6 }), Makespan: 1562, Saves: 0.28, MostLive: 14, RunUse: 0.88},
			{Change: "max_eval_parallel_agents 2 → 3", Policy: "async_pipeline", Order: "fifo", Limits: with(func(l *engine.Limits) { l.Eval = 3 }), Makespan: 2040, Saves: 0.06, MostLive: 12, RunUse: 0.95},
			{Change: "order longest_first", Policy: "async_pipeline", Order: "longest_first", Limits: now, Makespan: 2105, Saves: 0.03, MostLive: 11, RunUse: 0.96},
			{Change: "max_parallel_init 8 → 12", Policy: "async_pipeline", Order: "fifo", Limits: with(func(l *engine.Limits) { l.Init = 12 }), Makespan: 2168, Saves: 0.001, MostLive: 13, RunUse: 0.94},
			{Change: "policy async_batch_bounded", Policy: "async_batch_bounded", Order: "fifo", Limits: now, Makespan: 3160, Saves: -0.456, MostLive: 4, RunUse: 0.61},
		},
	}
}

func fakeWhatIf(context.Context) (engine.Advice, error) { return fakeAdvice(), nil }
