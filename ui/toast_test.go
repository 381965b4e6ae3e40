package ui

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"rollbench/sessions"
)

func TestToasts(t *testing.T) {
	now := t0
	var ts toasts
	ts.add(now, ok, "first\nline \x1b[31mtwo")
	if got, shown := ts.shown(now.Add(toastFor - 1)); !shown || got.text != "first ⏎ line two" {
		t.Errorf("shown %v %q", shown, got.text)
	}
	if _, shown := ts.shown(now.Add(toastFor)); shown {
		t.Error("shown after its time")
	}
	ts.add(now, trouble, "broken")
	if _, shown := ts.shown(now.Add(time.Hour)); !shown {
		t.Error("trouble went away by itself")
	}
	ts.dismiss()
	if _, shown := ts.shown(now); shown {
		t.Error("trouble stays after a key")
	}
	for range keptToasts + 10 {
		ts.add(now, note, "more")
	}
	if len(ts.all) != keptToasts {
		t.Errorf("%d messages are kept", len(ts.all))
	}
}

// What there was to tell before the screen is in the messages; the first is shown, and
// how many more there are.
func TestNotices(t *testing.T) {
	var ts toasts
	ts.open(t0, nil)
	if len(ts.all) != 0 {
		t.Errorf("nothing: %v", ts.all)
	}
	ts.open(t0, []string{"first \x1b[31mred", "second", "third"})
	texts := []string{}
	for _, one := range ts.all {
		texts = append(texts, one.text)
	}
	if got, shown := ts.shown(t0); !shown || got.text != "first red (2 more: m)" || !slices.Equal(texts, []string{"first red", "second", "third"}) {
		t.Errorf("shown %v %q, kept %q", shown, got.text, texts)
	}
	ts.open(t0, []string{"alone"})
	if got, _ := ts.shown(t0); got.text != "alone" {
		t.Errorf("%q", got.text)
	}
}

// The same trouble with the session is told once, not at every pull.
func TestComplainOnce(t *testing.T) {
	b := open(t, fakeWhole(), 80, 24, nil)
	for range 5 {
		b.send(dataMsg{err: errors.New("read run r-0412: database is locked"), seq: 0})
	}
	if n := len(b.w.toasts.all); n != 1 {
		t.Errorf("%d messages for one trouble", n)
	}
	if !strings.Contains(b.w.View(), "database is locked") {
		t.Error("the trouble is not shown")
	}
}

// Nothing ticks once all has ended; a stream ticks fast, a held run slowly.
func TestTickAfter(t *testing.T) {
	f := fakeWhole()
	b := open(t, f, 80, 24, nil)
	if d := b.w.tickAfter(); d != gaugeEvery {
		t.Errorf("running: every %v", d)
	}
	b.keys("jjj")
	if d := b.w.tickAfter(); d != streamEvery {
		t.Errorf("streaming: every %v", d)
	}
	f.trajs = f.trajs[:3]
	b.pull()
	if d := b.w.tickAfter(); d != idleEvery {
		t.Errorf("all held: every %v", d)
	}
	f.trajs = f.trajs[:2]
	b.pull()
	if d := b.w.tickAfter(); d != 0 || b.w.tick() != nil {
		t.Errorf("all ended: every %v", d)
	}
	if view := b.w.View(); !strings.Contains(view, "finished") {
		t.Error("the end is not said")
	}
}

// A stopped engine leaves a run that can go on, and the screen says so.
func TestStopped(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.send(engineDoneMsg{})
	b.pull()
	if view := b.w.View(); !strings.Contains(view, "12 have not ended, rollbench resume goes on") {
		t.Errorf("the head says nothing of it:\n%s", view)
	}
	if got, _ := b.w.toasts.shown(b.w.now); got.text != "the engine has stopped: 12 have not ended, rollbench resume r-0412 goes on" {
		t.Errorf("says %q", got.text)
	}
	whole := fakeWhole()
	whole.trajs = whole.trajs[:2]
	b = open(t, whole, 120, 40, nil)
	b.send(engineDoneMsg{})
	b.pull()
	if got, _ := b.w.toasts.shown(b.w.now); got.text != "the run has finished: E exports its transitions, enter reads the chosen one, 4 its verifier, v compares siblings, Q shows where the time went, q leaves" {
		t.Errorf("says %q", got.text)
	}
}

// The list keeps the chosen trajectory when rows come, go and fold.
func TestListKeepsItsPlace(t *testing.T) {
	b := open(t, fakeWhole(), 80, 24, nil)
	want := sessions.Key{Instance: "sympy-20590", ID: 1}
	b.w.list.find(want.Instance, want.ID)
	is := func(when string, k sessions.Key) {
		t.Helper()
		if got := b.w.chosenKey(); got != k {
			t.Errorf("%s: %v is chosen, want %v", when, got, k)
		}
	}
	b.pull()
	is("after a pull", want)
	b.keys("/before-eval<enter>")
	is("filtered to it", want)
	b.keys("<esc>")
	is("filter cleared", want)
	b.keys("/!sympy<enter>")
	if got := b.w.chosenKey(); got.Instance == "sympy-20590" || got.IsZero() {
		t.Errorf("filtered away: %v is chosen", got)
	}
	b.keys("<esc>")
	b.w.list.find(want.Instance, want.ID)
	b.keys("<left>")
	is("on the heading", sessions.Key{})
	b.keys("<left>")
	if n := len(b.w.list.rows); n != 21 {
		t.Errorf("folded: %d rows, want 21", n)
	}
	b.keys("-")
	if n := len(b.w.list.rows); n != 5 {
		t.Errorf("all folded: %d rows, want 5", n)
	}
	b.keys("+")
	if n := len(b.w.list.rows); n != 25 {
		t.Errorf("all unfolded: %d rows, want 25", n)
	}
}

// What is chosen stays chosen when it passes the filter no more: the next key is
// meant for it. It goes when another row is chosen, or with the filter.
func TestFilterKeepsTheChosen(t *testing.T) {
	f := fakeWhole()
	b := open(t, f, 120, 40, nil)
	want := sessions.Key{Instance: "sympy-20590", ID: 1}
	b.w.list.find(want.Instance, want.ID)
	b.keys("/held<enter>")
	for i := range f.trajs {
		if f.trajs[i].Key == want {
			f.trajs[i].State = sessions.Running
		}
	}
	b.pull()
	if got := b.w.chosenKey(); got != want {
		t.Errorf("it goes on: %v is chosen", got)
	}
	if view := b.w.View(); !strings.Contains(view, `3 match "held"`) {
		t.Errorf("it is counted:\n%s", view)
	}
	b.keys("<down>")
	b.pull()
	if shown := b.rowsShown(); strings.Contains(shown, "sympy 0 1") {
		t.Errorf("another is chosen, and it is still there: %s", shown)
	}
	b.w.list.show(want)
	b.keys("/held")
	if got := b.w.chosenKey(); got == want {
		t.Error("a new filter shows what it does not match")
	}
}

func TestFilterTerms(t *testing.T) {
	for _, c := range []struct {
		filter string
		want   int
	}{
		{"", 20}, {"held", 4}, {"HELD breakpoint", 1}, {"masked", 6}, {"intervened", 2}, {"solved", 2}, {"wrong", 3},
		{"!held !done", 10}, {"flask #2", 1}, {"reward=–", 15}, {"nothing like it", 0},
	} {
		var p listPane
		p.filter = c.filter
		p.apply(fakeTrajectories())
		n := 0
		for _, g := range p.groups {
			n += len(g.shown)
		}
		if n != c.want {
			t.Errorf("%q matches %d, want %d", c.filter, n, c.want)
		}
	}
}

func TestTally(t *testing.T) {
	// By hand from fakeTrajectories: done 1,0 | 0,0,1,failed | cancelled | error_evaluation.
	c := count(fakeTrajectories())
	want := tally{all: 20, ended: 8, running: 3, held: 4, queued: 1, solved: 2, unsolved: 3, absent: 3, masked: 6,
		failed: 1, cancelled: 1, intervened: 2, still: 12, starting: 2, evaluating: 2}
	if c != want {
		t.Errorf("tally %+v, want %+v", c, want)
	}
	if mean, n := meanReward(fakeTrajectories()); mean != 0.25 || n != 4 {
		t.Errorf("mean %v of %d, want 0.25 of 4: absent rewards are not zeros, and a changed one does not count", mean, n)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{short(0), "0"}, {short(999), "999"}, {short(1000), "1.0k"}, {short(14049), "14.0k"}, {short(99_949), "99.9k"}, {short(99_950), "100k"}, {short(999_499), "999k"}, {short(1_250_000), "1.2M"},
		{thousands(0), "0"}, {thousands(-1234), "-1,234"}, {thousands(1234567), "1,234,567"}, {thousands(123), "123"},
		{age(59 * time.Second), "59s"}, {age(time.Minute), "1m"}, {age(2 * time.Hour), "2h"}, {age(49 * time.Hour), "2d"}, {age(-1), "0s"},
		{took(900 * time.Microsecond), "<1 ms"}, {took(8 * time.Millisecond), "8 ms"}, {took(1240 * time.Millisecond), "1.2 s"}, {took(185 * time.Second), "3m05s"}, {took(59*time.Minute + 59*time.Second), "59m59s"}, {took(125 * time.Minute), "2h05m"},
		{clock(12*time.Minute + 41*time.Second), "00:12:41"}, {clock(100 * time.Hour), "100:00:00"},
		{reward(nil), "–"}, {reward(ptr(0.0)), "0"}, {reward(ptr(1.0 / 3)), "0.3333"},
		{percent(nil), "N/A"}, {percent(ptr(0.0)), "0%"}, {percent(ptr(0.715)), "72%"}, {amount(nil), "N/A"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// Somebody new is told what to press until a key is pressed, and at the end of the
// run what to do with it.
func TestWelcome(t *testing.T) {
	whole := fakeWhole()
	b := open(t, whole, 80, 24, func(o *Options) { o.Welcome = true })
	b.w.now = b.w.now.Add(time.Hour)
	if got, shown := b.w.toasts.shown(b.w.now); !shown || !strings.HasPrefix(got.text, "new here? ↑ ↓ choose") {
		t.Errorf("shows %v %q", shown, got.text)
	}
	b.keys("j")
	if got, shown := b.w.toasts.shown(b.w.now); shown {
		t.Errorf("after a key shows %q", got.text)
	}
	if rows := len(wrap(welcome, 76)); rows > 2 {
		t.Errorf("it takes %d rows of a small terminal", rows)
	}
}
