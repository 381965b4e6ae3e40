package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"rollbench/engine"
	"rollbench/sessions"
	"rollbench/sessions/stats"
)

func measured(o *Options) { o.Export, o.WhatIf, o.Search = fakeExport, fakeWhatIf, fakeSearch }

// The queues, the what-if view, the limits and a stall, at every size.
func TestMeasuredScreens(t *testing.T) {
	views := []struct {
		name, keys string
		change     func(*fakeRun)
	}{
		{"head-measured", "", nil},
		{"queues", "Q", nil},
		{"queues-bare", "Q", func(f *fakeRun) { *f = *fakeWhole() }},
		{"whatif", "w", nil},
		{"limits", "L", nil},
		{"outlook", "w<enter>", nil},
		{"stall", "", func(f *fakeRun) { f.status.Stall = fakeStall() }},
	}
	for _, v := range views {
		for size, wh := range sizes() {
			t.Run(v.name+"-"+size, func(t *testing.T) {
				f := fakeMeasured()
				if v.change != nil {
					v.change(f)
				}
				b := open(t, f, wh[0], wh[1], measured)
				b.keys(v.keys)
				b.check(v.name + "-" + size)
			})
		}
		f := fakeMeasured()
		if v.change != nil {
			v.change(f)
		}
		b := open(t, f, 80, 24, func(o *Options) { measured(o); o.NoColor = true })
		b.keys(v.keys)
		b.check(v.name + "-mono-80x24")
	}
	b := open(t, fakeMeasured(), 40, 10, measured)
	b.keys("L<up>")
	b.check("single-limits-40x10")
	for size, wh := range sizes() {
		b := open(t, tuned(), wh[0], wh[1], measured)
		b.keys("L" + strings.Repeat("<tab>", 5) + "<ctrl+n>")
		b.check("limits-tuned-" + size)
	}
	b = open(t, tuned(), 80, 24, measured)
	b.keys("QG")
	b.check("queues-tuned-80x24")
	b = open(t, fakeMeasured(), 60, 20, measured)
	b.keys("Q")
	b.check("single-queues-60x20")
}

// shape checks that every row is as wide as the terminal.
func (b *bench) shape(when string) {
	b.t.Helper()
	rows := strings.Split(b.w.View(), "\n")
	if len(rows) != b.w.h {
		b.t.Fatalf("%s: %d rows at %dx%d", when, len(rows), b.w.w, b.w.h)
	}
	for i, r := range rows {
		if n := ansi.StringWidth(r); n != b.w.w {
			b.t.Fatalf("%s at %dx%d: row %d is %d wide: %q", when, b.w.w, b.w.h, i, n, r)
		}
	}
}

func TestSheetsResize(t *testing.T) {
	for _, keys := range []string{"Q", "w", "L", "w<enter>", "QG"} {
		b := open(t, fakeMeasured(), 120, 40, measured)
		b.keys(keys)
		for _, wh := range [][2]int{{40, 10}, {41, 11}, {79, 23}, {80, 24}, {200, 60}, {20, 5}, {500, 12}, {40, 200}, {120, 30}, {1, 1}} {
			b.send(tea.WindowSizeMsg{Width: wh[0], Height: wh[1]})
			b.shape(keys)
		}
	}
}

// Names and reasons of a session do not drive the terminal.
func TestMeasuredHostile(t *testing.T) {
	f := fakeMeasured()
	for i := range f.status.Tools {
		f.status.Tools[i].Name = hostile
		f.status.Tools[i].Timeouts = f.status.Tools[i].Calls
	}
	f.status.Adaptive, f.status.Init.Blocked, f.status.LimitedBy, f.status.Isolation = hostile, hostile, hostile, hostile
	f.status.Init.BlockedFor = map[string]time.Duration{hostile: time.Minute}
	f.write(fakeNow(), sessions.Key{}, sessions.KindLimits, sessions.Limits{Who: hostile, Why: hostile, MaxAgents: 3})
	simulate := func(context.Context) (engine.Advice, error) {
		a := fakeAdvice()
		a.Text = hostile
		for i := range a.Outlooks {
			a.Outlooks[i].Change = hostile
		}
		return a, nil
	}
	for _, stall := range []*engine.Stall{nil, {For: time.Minute, Waits: []engine.Wait{{What: hostile, N: 2, Key: sessions.Key{Instance: hostile}}, {What: hostile, N: 1}}}} {
		f.status.Stall = stall
		for _, wh := range [][2]int{{40, 10}, {60, 20}, {80, 24}, {120, 40}, {200, 60}} {
			for _, keys := range []string{"", "Q", "QG", "w", "w<enter>", "L", "m"} {
				b := open(t, f, wh[0], wh[1], func(o *Options) { o.WhatIf = simulate })
				f.write(fakeNow(), sessions.Key{}, sessions.KindLimits, sessions.Limits{Who: hostile, Why: hostile, MaxAgents: 4})
				b.pull()
				b.keys(keys)
				b.shape(keys)
				view := b.w.View()
				checkEscapes(t, strings.ReplaceAll(view, "\n", ""))
				if strings.Contains(view, "owned") {
					t.Errorf("%v %q shows what an escape sequence carried", wh, keys)
				}
			}
		}
	}
}

// The numbers of the tables, read off the screen.
func TestQueuesSay(t *testing.T) {
	b := open(t, fakeMeasured(), 120, 60, measured)
	b.keys("Q")
	view := ansi.Strip(b.w.View())
	for _, want := range []string{
		"init      1     1/8 run         41.2 s    1m12s    2m41s   100 ms    3m10s    3m23s      0",
		"ready          1/16",
		"run       1     3/4              6m05s    6m42s   11m41s   21.0 s    3m04s    3m23s      1",
		"Waited with a free place so far: init 4m10s for run, 12s for a sandbox · eval 1m02s for run",
		"▲ execute_bash", "37   9%      3 0.20 / 0.67",
		"▲ execute_bash: 9% of 412 calls timed out; mean reward 0.20 of 5 that met one, 0.67 of 3 that met none",
		"adaptive: endpoint moves max_parallel_agents",
		"10:09:00  adaptive  max_parallel_agents 6 → 4 · 6 requests wait, KV cache 97 % in use",
		"10:04:00  operator  max_live_sandboxes 16 → 12 · the disk fills up",
		"10:00:00  config    as configured: init 8 · run 6 · eval 2 · sandboxes 16 · ready default",
		"now       init 8 · run 4 · eval 2 · sandboxes 16 · ready default",
	} {
		if !strings.Contains(view, want) {
			t.Errorf("the queues do not say %q:\n%s", want, view)
		}
	}
}

// What the engine never measured is said to be absent, for a finished run and
// one of another process, too.
func TestQueuesAbsent(t *testing.T) {
	f := fakeWhole()
	b := open(t, f, 120, 60, func(o *Options) { o.Commands = nil })
	b.keys("Q")
	for _, want := range []string{"How long the stages took was not kept.", "No call of a tool was measured.", "The session has no time series", "now       init 8 · run 4 · eval 2 · sandboxes 16 · ready 16", "init      1     1/8"} {
		if view := ansi.Strip(b.w.View()); !strings.Contains(view, want) {
			t.Errorf("does not say %q:\n%s", want, view)
		}
	}
	f.status = nil
	b = open(t, f, 120, 60, func(o *Options) { o.Commands = nil })
	b.keys("Q")
	if view := ansi.Strip(b.w.View()); !strings.Contains(view, "The engine of this run has left no gauges.") {
		t.Errorf("nothing is said of the gauges:\n%s", view)
	}
	f = fakeMeasured()
	f.trajs = slices.DeleteFunc(f.trajs, func(t sessions.Trajectory) bool { return !t.State.Ended() })
	b = open(t, f, 120, 60, nil)
	b.keys("Q")
	if view := ansi.Strip(b.w.View()); !strings.Contains(view, "as last reported at 10:12:41") || !strings.Contains(view, "max_live_sandboxes 16 → 12") {
		t.Errorf("a finished run:\n%s", view)
	}
	if cmd := b.w.loadHistory(); cmd != nil {
		t.Error("a finished run is read again and again")
	}
}

// The view stays up to date while it is open: gauges at once, the series every
// few seconds, a change of limits when it happens.
func TestQueuesLive(t *testing.T) {
	f := fakeMeasured()
	now := fakeNow()
	b := open(t, f, 120, 60, func(o *Options) { o.Clock = func() time.Time { return now } })
	b.keys("Q")
	has := func(want string) bool { return strings.Contains(ansi.Strip(b.w.View()), want) }
	s := *f.status
	s.Eval.Waiting = 77
	f.status = &s
	b.send(tickMsg{status: f.status})
	if !has("eval     77") {
		t.Errorf("the gauges are not followed:\n%s", ansi.Strip(b.w.View()))
	}
	f.mu.Lock()
	f.series = f.series[:100]
	f.mu.Unlock()
	now = now.Add(seriesLooked - 1)
	b.send(tickMsg{status: f.status})
	if !has("10:12:40") {
		t.Error("the series was read before its time")
	}
	now = now.Add(1)
	b.send(tickMsg{status: f.status})
	if has("10:12:40") || !has("10:01:39") {
		t.Errorf("the series is not read again:\n%s", ansi.Strip(b.w.View()))
	}
	f.write(now, sessions.Key{}, sessions.KindLimits, sessions.Limits{Who: "adaptive", MaxInit: 8, MaxAgents: 5, MaxEval: 2, MaxLive: 16})
	b.pull()
	if !has("adaptive  max_parallel_agents 4 → 5") {
		t.Errorf("the change is not there:\n%s", ansi.Strip(b.w.View()))
	}
}

// The log of the limits is bounded, and a resume with the same ones is no change.
func TestLimitLog(t *testing.T) {
	f := &fakeRun{}
	for i := range keptChanges + 12 {
		f.write(t0, sessions.Key{Instance: "a"}, sessions.KindTurnDone, sessions.TurnDone{Turn: 1})
		f.write(t0, sessions.Key{}, sessions.KindLimits, sessions.Limits{Who: "adaptive", MaxAgents: i + 1})
		f.write(t0, sessions.Key{}, sessions.KindLimits, sessions.Limits{Who: "config", MaxAgents: i + 1})
	}
	var l limitLog
	l, err := l.read(t.Context(), f)
	if err != nil || len(l.changes) != keptChanges || l.dropped != 12 || l.seq != 3*(keptChanges+12) {
		t.Errorf("%d changes, %d dropped, up to %d, %v", len(l.changes), l.dropped, l.seq, err)
	}
	if got := l.changes[keptChanges-1].what; got != fmt.Sprintf("max_parallel_agents %d → %d", keptChanges+11, keptChanges+12) {
		t.Errorf("the newest is %q", got)
	}
	f.write(t0, sessions.Key{}, sessions.KindLimits, sessions.Limits{Who: "operator"})
	more, err := l.read(t.Context(), f)
	if err != nil || more.changes[keptChanges-1].what != fmt.Sprintf("max_parallel_agents %d → none", keptChanges+12) {
		t.Errorf("%v, %v", more.changes[keptChanges-1], err)
	}
	if l.changes[0] == more.changes[0] {
		t.Error("the old log was changed while the screen draws it")
	}
}

// A failed read is told once and tried again later.
func TestHistoryFails(t *testing.T) {
	b := open(t, fakeMeasured(), 120, 40, nil)
	b.send(historyMsg{err: errors.New("read run r-0412: series: broken")})
	if got, _ := b.w.toasts.shown(b.w.now); got.text != "read run r-0412: series: broken" {
		t.Errorf("says %q", got.text)
	}
	b.w.openSheet(&sheet{opener: queuesKey, page: b.w.queuesPage})
	b.w.engineDone = true
	b.w.settleEnd()
	if b.w.history.series == nil || b.w.loadHistory() != nil {
		t.Error("what was read before is gone, or the read is tried at once")
	}
	b.w.now = b.w.now.Add(seriesEvery)
	if b.w.loadHistory() == nil {
		t.Error("the read is never tried again")
	}
}

// A point that came as JSON from the engine is drawn as it was meant.
func TestPointsAsWritten(t *testing.T) {
	data, err := json.Marshal(engine.Point{At: t0, Busy: [3]int{1, 2, 3}, Limit: [3]int{4, 5, 0}, KVUse: ptr(0.0)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := readSeries([]json.RawMessage{data})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range charts {
		rows := c.draw(s, 0, 4, 1)
		got[c.name] = strings.Join(strings.Fields(plainText(rows[0])[len(c.name):]), " ")
	}
	for name, want := range map[string]string{"init busy": "▂▂▂▂ 1 1 4", "run busy": "▃▃▃▃ 2 2 5", "eval busy": "████ 3 3 3", "KV cache": "▁▁▁▁ 0% 0% 100%", "GPU": "N/A"} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

func TestToolTrouble(t *testing.T) {
	for _, c := range []struct {
		tool stats.Tool
		want string
	}{
		{stats.Tool{Name: "a", Calls: 10, Timeouts: 1}, "▲ a: 10% of 10 calls timed out: the policy learns the machine's load."},
		{stats.Tool{Name: "a", Calls: 1000, Timeouts: 500, Met: 2, MetReward: ptr(0.0)}, "▲ a: 50% of 1,000 calls timed out; mean reward 0.00 of 2 that met one: the policy learns the machine's load."},
	} {
		if got := toolTrouble(c.tool); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
