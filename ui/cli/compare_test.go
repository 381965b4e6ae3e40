package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"rollbench/sessions/compare"
)

func known(n int, mean, se float64) compare.Estimate {
	return compare.Estimate{N: n, Mean: &mean, SE: &se}
}

func within95(n int, mean, se, low, high float64) compare.Estimate {
	e := known(n, mean, se)
	e.Low, e.High = &low, &high
	return e
}

// The table as a person reads it; what runs and fingerprints say cannot break it.
func TestCompareText(t *testing.T) {
	const evil = "x\x1b]0;owned\x07\nA  fake"
	r := compare.Report{
		A:      compare.Counted{Run: "r-1", Title: evil, Model: "m1", Members: 96, Ended: 90, Rated: 88, Left: map[string]int{compare.NoReward: 2, compare.Intervened: 5, compare.Dropped: 1}},
		B:      compare.Counted{Run: "r-2", Title: "swe", Model: "m2", Simulated: true, Members: 96, Ended: 96, Rated: 96},
		Shared: make([]string, 24), OnlyA: []string{"a1", "a2", "a3", "a4", evil}, OnlyB: []string{},
		Settings: []compare.Setting{{Key: "generator.sampling_params.temperature", A: "1", B: "0.7"}, {Key: "tool_texts", A: `"` + evil + `"`}},
		Metrics: []compare.Metric{
			{Name: "reward", A: known(24, 0.52, 0.0512), B: known(24, 0.61, 0.048), Diff: within95(24, 0.09, 0.02, 0.049, 0.131)},
			{Name: "turns", A: known(24, 18.25, 1.5), B: known(24, 1210, 0), Diff: within95(24, -3.25, 1, -5.32, 1.18)},
			{Name: "search calls", A: compare.Estimate{}, B: compare.Estimate{}, Diff: compare.Estimate{}},
		},
		Pass:   []compare.PassAt{{K: 1, A: known(1, 0.5, 0), B: known(1, 1, 0), Diff: known(1, 0.5, 0)}},
		Finish: []compare.Finish{{Reason: "finish_tool", A: 90, B: 48}, {Reason: "", A: 0, B: 48}},
		Flips:  []compare.Flip{{Instance: "flask", A: compare.Score{Solved: 0, Of: 4}, B: compare.Score{Solved: 4, Of: 4}}, {Instance: evil, A: compare.Score{Solved: 2, Of: 4}, B: compare.Score{Solved: 0, Of: 3}}},
		Rated:  24,
	}
	const want = `A  r-1  x A fake  m1
B  r-2  swe  m2 (simulated)
instances in both: 24; only in A: a1, a2, a3 and 2 more
A  96 trajectories of them: 90 count, 88 with a reward (out: 2 no reward, 5 intervened, 1 dropped)
B  96 trajectories of them: 96 count, 96 with a reward
2 settings differ, see the end

                 n              A              B     B − A 95 % interval of it
reward          24  0.520 ± 0.051  0.610 ± 0.048    +0.090   +0.049 … +0.131 *
pass@1           1          0.500           1.00    +0.500                   –
turns           24     18.2 ± 1.5           1210     −3.25       −5.32 … +1.18
search calls     0              –              –         –                   –
± standard error over the n instances; * an interval without 0

FINISH REASON                            A               B
finish_tool                     90 (100 %)       48 (50 %)
not recorded                       0 (0 %)       48 (50 %)

2 of 24 instances flip between never, sometimes and always solved:
1 more often, 1 less often
  flask                                 0 of 4    4 of 4  never → always
  x A fake                              2 of 4    0 of 3  sometimes → never

THEY DIFFER IN
  generator.sampling_params.tempera… 1                    0.7
  tool_texts                         "x A fake"           –
`
	got := comparison(r)
	if got != want {
		t.Errorf("got\n%s", got)
	}
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(line); n > 80 && !strings.Contains(line, "(out: ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestCompareNothing(t *testing.T) {
	r := compare.Report{A: compare.Counted{Run: "r-1", Title: "x", Model: "m"}, B: compare.Counted{Run: "r-2", Title: "y", Model: "m"}, OnlyA: []string{"a"}, OnlyB: []string{"b"}}
	const want = "A  r-1  x  m\nB  r-2  y  m\ninstances in both: 0; only in A: a; only in B: b\nThere is nothing to compare.\n"
	if got := comparison(r); got != want {
		t.Errorf("got %q", got)
	}
}
