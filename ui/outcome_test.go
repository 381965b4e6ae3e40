package ui

import (
	"slices"
	"testing"
	"time"

	"rollbench/engine"
	"rollbench/sessions"
)

// Two groups of two have ended: a with 1 of 2, b with an absent reward and one solved;
// c goes on. pass@1 = (½ + 1)/2, pass@2 = 1 − C(1,2)/C(2,2) = 1 of a alone.
func TestOutcome(t *testing.T) {
	rows := []sessions.Trajectory{
		ended("a", 0, sessions.Done, sessions.FinishTool, 3, 10, ptr(1.0)), ended("a", 1, sessions.Done, sessions.ContextWindowExceeded, 3, 10, ptr(0.0)),
		ended("b", 0, sessions.Done, sessions.FinishTool, 3, 10, ptr(1.0)), ended("b", 1, sessions.Failed, sessions.ErrorInitialization, 0, 0, nil),
		ended("c", 0, sessions.Done, sessions.ContextWindowExceeded, 3, 10, ptr(0.5)), busy("c", 1, 3, 10, "", 0),
	}
	p := gaugePane{tally: count(rows), verdicts: judge(rows, 2)}
	for w, want := range map[int]string{
		160: " done 5/6 ✔2 ✘2 –1 ⊘3: 2 context_window_exceeded, 1 error_initialization  mean reward 0.62  pass@1 0.75 over 2  pass@2 1.00 over 1 of 3 groups",
		115: " done 5/6 ✔2 ✘2 –1 ⊘3: 2 context, 1 init  mean reward 0.62  pass@1 0.75 over 2  pass@2 1.00 over 1 of 3 groups",
		105: " done 5/6 ✔2 ✘2 –1 ⊘3: 2 context …  mean reward 0.62  pass@1 0.75 over 2  pass@2 1.00 over 1 of 3 groups",
		95:  " done 5/6 ✔2 ✘2 –1 ⊘3  mean reward 0.62  pass@1 0.75 over 2  pass@2 1.00 over 1 of 3 groups",
	} {
		if got := plainText(p.outcome(w)); got != want {
			t.Errorf("%d columns: %q, want %q", w, got, want)
		}
	}
	if got := plainText(p.scores()); got != "  mean 0.62  pass@2 1.00" {
		t.Errorf("%q", got)
	}
	// Neither is of what a person changed, or dropped: (1 + 0)/2, and a's pass@2 alone.
	changed := slices.Clone(rows)
	changed[2].Intervened, changed[4].Dropped = true, true
	p = gaugePane{tally: count(changed), verdicts: judge(changed, 2)}
	if got, want := plainText(p.outcome(95)), " done 5/6 ✔2 ✘2 –1 ✎1 ⊘3  mean reward 0.50  pass@1 0.50  pass@2 1.00 over 1 of 3 groups"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	none := gaugePane{tally: count(rows[5:]), verdicts: judge(rows[5:], 2)}
	if got := plainText(none.outcome(120)); got != " done 0/1 ✔0 ✘0 ⊘0  mean reward –  pass@1 –  pass@2 – over 0 of 1 groups" || none.scores() != nil {
		t.Errorf("%q", got)
	}
	alone := gaugePane{tally: count(rows[:1]), verdicts: judge(rows[:1], 1)}
	if got := plainText(alone.outcome(120)); got != " done 1/1 ✔1 ✘0 ⊘0  mean reward 1.00  pass@1 1.00 over 1 of 1 groups" {
		t.Errorf("%q", got)
	}
}

func TestETA(t *testing.T) {
	m := func(v float64) time.Duration { return time.Duration(v * float64(time.Minute)) }
	high := func(v float64) *time.Duration { d := m(v); return &d }
	for _, c := range []struct {
		f    *engine.Forecast
		want string
	}{
		{nil, "–"},
		{&engine.Forecast{ETA: m(26), Low: m(19), High: high(41)}, "26 min (19–41)"},
		{&engine.Forecast{ETA: m(0.5), Low: m(0.25), High: high(1.5)}, "30 s (15–90)"},
		{&engine.Forecast{ETA: m(150), Low: m(120), High: high(200)}, "2.5 h (2.0–3.3)"},
		{&engine.Forecast{ETA: m(26), Low: m(19)}, "26 min (≥19)"},
		{&engine.Forecast{ETA: m(1), Low: m(0.9), High: high(1.1)}, "1 min"},
	} {
		if got := eta(c.f) + etaSpread(c.f); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Hosts are named where there are several; a name cannot hold what moves a cursor.
func TestGPUNames(t *testing.T) {
	one := []engine.GPU{{Host: "a", Index: 0}, {Host: "a", Index: 1, Part: "7"}}
	two := append(one, engine.GPU{Host: "\x1b[2Jb-with-a-very-long-name", Index: 0})
	for want, gpus := range map[string][]engine.GPU{"gpu0 gpu1/7": one, "a:0 a:1/7 b-with-a-very…:0": two} {
		got := ""
		for i, n := range gpuNames(gpus, len(gpuHosts(gpus)) > 1) {
			if i > 0 {
				got += " "
			}
			got += n
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
