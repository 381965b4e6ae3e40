package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"rollbench/sessions"

	"rollbench/engine/infer"
)

// A run whose process is gone says so at once, and nothing in it runs; once a
// process writes it again all is as the session has it.
func TestGone(t *testing.T) {
	written := false
	b := open(t, fakeWhole(), 120, 40, func(o *Options) {
		o.Commands, o.Written = nil, func() (bool, error) { return written, nil }
	})
	view := ansi.Strip(b.w.View())
	for _, want := range []string{"◌ stopped", "stopped: 12 have not ended, rollbench resume goes on", "▶0", "not watched"} {
		if !strings.Contains(view, want) {
			t.Errorf("%q is not said:\n%s", want, view)
		}
	}
	if strings.Contains(view, "▶ running") || strings.Contains(view, "◆ held") {
		t.Error("something runs")
	}
	if d := b.w.tickAfter(); d != idleEvery {
		t.Errorf("it is looked at every %v", d)
	}
	written = true
	b.send(tickMsg{b.w.gauges.status, false})
	b.pull()
	if view := ansi.Strip(b.w.View()); !strings.Contains(view, "▶ running") || strings.Contains(view, "stopped") {
		t.Errorf("it is written again:\n%s", view)
	}
}

func TestGoneScreens(t *testing.T) {
	for size, wh := range sizes() {
		b := open(t, fakeWhole(), wh[0], wh[1], func(o *Options) {
			o.Commands, o.Written = nil, func() (bool, error) { return false, nil }
		})
		b.keys("jj<enter>")
		b.check("gone-" + size)
	}
}

// Everything is paused only when nothing is on its way to a gate any more.
func TestPausing(t *testing.T) {
	f := fakeWhole()
	f.status.Paused = true // flask-4045#3, xarray-3305#1 and 数学-漢字-777#0 run
	b := open(t, f, 120, 40, nil)
	if view := b.w.View(); !strings.Contains(view, "◆ pausing: 3 run on to their next gates, 3 start, up to their first gates, 2 are evaluated to their end") || strings.Contains(view, "everything is paused") {
		t.Error("paused is said too early")
	}
	hold := func(list ...int) {
		for _, i := range list {
			f.trajs[i] = f.trajs[2]
			f.trajs[i].ID = i
		}
		b.pull()
	}
	hold(3, 13, 16, 17, 18, 19)
	if view := b.w.View(); !strings.Contains(view, "◆ pausing: 2 are evaluated to their end") {
		t.Error("a verifier that runs is said to be paused")
	}
	hold(14, 15)
	if view := b.w.View(); !strings.Contains(view, "◆ everything is paused") {
		t.Error("paused is not said")
	}
	// What is queued behind those that are held does not start.
	f.trajs[19].State, f.trajs[18].State = sessions.Queued, sessions.Queued
	for blocked, want := range map[string]string{
		"":          "◆ pausing: 2 start, up to their first gates",
		"sandboxes": "◆ everything is paused, 2 wait for a sandbox of those held",
		"run":       "◆ everything is paused, 2 queued",
	} {
		f.status.Init.Blocked = blocked
		b.pull()
		if view := ansi.Strip(b.w.View()); !strings.Contains(view, want) {
			t.Errorf("blocked by %q: no %q in\n%s", blocked, want, view)
		}
	}
}

// A scrape without a share of prefix hits leaves the last one, with its age.
func TestPrefixHits(t *testing.T) {
	f := fakeWhole()
	now := fakeNow()
	b := open(t, f, 120, 40, func(o *Options) { o.Clock = func() time.Time { return now } })
	line := func() string {
		for _, r := range strings.Split(ansi.Strip(b.w.View()), "\n") {
			if _, rest, ok := strings.Cut(r, "prefix hits "); ok {
				rest, _, _ = strings.Cut(rest, "  0 errors")
				return strings.TrimSpace(rest)
			}
		}
		return ""
	}
	scrape := func(after time.Duration, share *float64, reached bool) {
		now = now.Add(after)
		s := *f.status
		s.At = now
		s.Endpoints = append(s.Endpoints[:0:0], s.Endpoints...)
		g := *s.Endpoints[0].Gauges
		g.PrefixHitRate = share
		if s.Endpoints[0].Gauges = &g; !reached {
			s.Endpoints[0].Gauges = nil
		}
		b.send(tickMsg{status: &s})
	}
	for _, c := range []struct {
		after   time.Duration
		share   *float64
		reached bool
		want    string
	}{
		{0, ptr(0.88), true, "88%"},
		{time.Second, nil, true, "88%"},
		{11 * time.Second, nil, true, "88% 12s ago"},
		{time.Second, ptr(0.5), true, "50%"},
		{time.Second, nil, false, "N/A"},
		{time.Second, nil, true, "N/A"}, // an endpoint that was away has another cache
	} {
		scrape(c.after, c.share, c.reached)
		if got := line(); got != c.want {
			t.Errorf("after %v: %q, want %q", c.after, got, c.want)
		}
	}
	if (infer.Gauges{}) == *f.status.Endpoints[0].Gauges || *f.status.Endpoints[0].Gauges.PrefixHitRate != 0.88 {
		t.Error("the engine's own snapshot was changed")
	}
}

// A message hides no keys and leaves nothing of the rows it covers, wherever it
// stands.
func TestToastPlace(t *testing.T) {
	const text = "a message that is long enough to take two rows on a screen of eighty columns, as those of engines are"
	for _, c := range []struct {
		keys string
		w, h int
	}{
		{"jj", 80, 24}, {"jj<enter>", 80, 24}, {"jj<enter>z", 80, 24}, {"z", 80, 24}, {"jj<enter>", 60, 20}, {"jj", 120, 40}, {"?", 80, 24}, {"jj<enter>/x", 80, 24}, {"/x", 60, 20},
	} {
		b := open(t, fakeWhole(), c.w, c.h, nil)
		b.keys(c.keys)
		before := strings.Split(ansi.Strip(b.w.View()), "\n")
		b.w.toasts.add(b.w.now, caution, text)
		rows := strings.Split(ansi.Strip(b.w.View()), "\n")
		shown, box := "", b.w.toastBox(len(rows))
		for i, r := range rows {
			if ansi.StringWidth(r) != c.w {
				t.Fatalf("%q: row %d is %d wide", c.keys, i, ansi.StringWidth(r))
			}
			if r == before[i] {
				continue
			}
			cell := ansi.Cut(r, box.x, box.x+box.w)
			shown += " " + strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(cell), "▲"))
			if strings.Contains(before[i], "c continue") || strings.Contains(before[i], "/x") {
				t.Errorf("%q at %dx%d: the message hides %q", c.keys, c.w, c.h, before[i])
			}
		}
		if got := strings.TrimSpace(shown); got != text {
			t.Errorf("%q at %dx%d: the rows say %q", c.keys, c.w, c.h, got)
		}
	}
}
