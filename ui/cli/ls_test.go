package cli

import (
	"strings"
	"testing"
	"time"

	"rollbench/sessions"
	"rollbench/ui"
)

func listedRuns() []sessions.Summary {
	half, most, all := 0.5, 0.75, 1.0
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.Local)
	return []sessions.Summary{
		{ID: "r-0301-1000", Created: at, Title: "swe-mini", Model: "qwen3-32b", Policy: "async_pipeline", State: sessions.RunFinished, Members: 96, Done: 90, Failed: 6, Solved: 41, Masked: 3, Size: 40 << 20,
			Outcome: sessions.Outcome{Groups: 24, N: 4, Turns: 1400, Sampled: 812_345, MeanReward: &half, PassAt1: &half, PassAtN: &most}},
		{ID: "r-0228-0900", Created: at.Add(-25 * time.Hour), Title: "数学 dapo with a very long name that goes on", Model: "qwen3-8b", Policy: "async_batch_bounded", State: sessions.RunStopped, Members: 512, Done: 12, Solved: 12, Size: 900 << 20,
			Outcome: sessions.Outcome{Groups: 64, N: 8, Turns: 36, Sampled: 1_500_000, MeanReward: &all, PassAt1: &all, PassAtN: &all}},
		{ID: "r-0227-0900", Created: at.Add(-49 * time.Hour), Title: "bundled", Model: "simulated", Simulated: true, Policy: "async_pipeline", State: sessions.RunRunning, PID: 42, Members: 24, Size: 1 << 20, Outcome: sessions.Outcome{N: 4}},
		{ID: "r-bad", Problem: "file is damaged: what is this \x1b]0;title\x07 it is no database at all, and it says so at length"},
	}
}

// At each width the columns that stand are the ones stated, and no row is wider.
func TestTable(t *testing.T) {
	for w, want := range map[int]string{
		0:   "RUN STARTED TASKS STATE DONE FAILED SOLVED MASKED REWARD PASS@1 PASS@N TURNS TOKENS MODEL POLICY SIZE",
		160: "RUN STARTED TASKS STATE DONE FAILED SOLVED MASKED REWARD PASS@1 PASS@N TURNS TOKENS MODEL",
		120: "RUN STARTED TASKS STATE DONE FAILED SOLVED MASKED REWARD PASS@1 PASS@N",
		80:  "RUN TASKS STATE DONE SOLVED REWARD PASS@1",
		40:  "RUN TASKS STATE DONE SOLVED REWARD",
	} {
		lines := strings.Split(strings.TrimSuffix(table(listedRuns(), w), "\n"), "\n")
		if got := strings.Join(strings.Fields(lines[0]), " "); got != want {
			t.Errorf("%d columns wide: %s\nwant %s", w, got, want)
		}
		if len(lines) != 5 {
			t.Errorf("%d lines", len(lines))
		}
		for _, l := range lines {
			if n := ui.Columns(l); w >= 80 && n > w || strings.Contains(l, "\x1b") {
				t.Errorf("%d columns wide: %d in %q", w, n, l)
			}
		}
	}
	short := table(listedRuns()[:1], 80)
	if !strings.Contains(short, "r-0301-1000  swe-mini  finished  90/96      41   0.500   0.500   0.750") {
		t.Errorf("a short one:\n%s", short)
	}
}

// Filters and orders, each by hand.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		q    listed
		want string
	}{
		{listed{sort: "started"}, "1000 0900 0900 bad"},
		{listed{sort: "-started"}, "0227 0228 0301 bad"},
		{listed{sort: "size"}, "0228 0301 0227 bad"},
		{listed{sort: "-size"}, "0227 0301 0228 bad"},
		{listed{sort: "reward"}, "0228 0301 0227 bad"},
		{listed{sort: "run"}, "0227 0228 0301 bad"},
		{listed{sort: "done", limit: 2}, "0301 0228"},
		{listed{sort: "started", state: "stopped"}, "0228"},
		{listed{sort: "started", state: "unreadable"}, "bad"},
		{listed{sort: "started", tasks: "DAPO"}, "0228"},
		{listed{sort: "started", words: []string{"qwen", "pipeline"}}, "0301"},
		{listed{sort: "started", words: []string{"qwen", "nothing"}}, ""},
	} {
		if err := c.q.check(); err != nil {
			t.Error(err)
		}
		var got []string
		for _, r := range c.q.choose(listedRuns()) {
			got = append(got, strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(r.ID, "r-"), "-0900"), "-1000"))
		}
		want := strings.ReplaceAll(c.want, "1000 0900 0900", "0301 0228 0227")
		if strings.Join(got, " ") != want {
			t.Errorf("%+v: %v, want %s", c.q, got, want)
		}
	}
	for _, q := range []listed{{sort: "x"}, {sort: "started", state: "x"}, {sort: "started", limit: -1}} {
		if q.check() == nil {
			t.Errorf("%+v is taken", q)
		}
	}
}
