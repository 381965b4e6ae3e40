package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"rollbench/sessions"
)

// happened are events of one trajectory, each so many seconds after the run was made.
type happened struct {
	after   float64
	kind    sessions.Kind
	payload any
}

func state(s sessions.State, held sessions.HeldReason) sessions.StateChange {
	return sessions.StateChange{State: s, Held: held}
}

// fakeTimes are a trajectory's events: it waits 2 s, is prepared in 3 s, waits for a
// slot for 5 s, and takes three turns and a bit; it is held for a minute before the
// second call runs.
var fakeTimes = []happened{
	{2, sessions.KindState, state(sessions.Init, "")},
	{5, sessions.KindState, state(sessions.Ready, "")},
	{10, sessions.KindState, state(sessions.Running, "")},
	{10, sessions.KindModelCalled, sessions.ModelCalled{Turn: 1}},
	{14, sessions.KindReply, sessions.ReplyMade{Turn: 1}},
	{14, sessions.KindToolStarted, sessions.ToolStarted{Turn: 1, Tool: "execute_bash"}},
	{15, sessions.KindToolFinished, sessions.ToolFinished{Turn: 1, Tool: "execute_bash", Status: "ok"}},
	{15, sessions.KindToolStarted, sessions.ToolStarted{Turn: 1, Tool: "str_replace_editor"}},
	{16, sessions.KindToolFinished, sessions.ToolFinished{Turn: 1, Tool: "str_replace_editor", Status: "error"}},
	{16, sessions.KindTurnDone, sessions.TurnDone{Turn: 1}},
	{16.5, sessions.KindModelCalled, sessions.ModelCalled{Turn: 2}},
	{26.5, sessions.KindReply, sessions.ReplyMade{Turn: 2}},
	{26.5, sessions.KindState, state(sessions.Held, sessions.HeldBreakpoint)},
	{86.5, sessions.KindState, state(sessions.Held, sessions.HeldLimit)},
	{88.5, sessions.KindState, state(sessions.Running, "")},
	{88.5, sessions.KindToolStarted, sessions.ToolStarted{Turn: 2, Tool: "execute_bash"}},
	{118.5, sessions.KindToolFinished, sessions.ToolFinished{Turn: 2, Tool: "execute_bash", Status: "timeout"}},
	{118.5, sessions.KindModelCalled, sessions.ModelCalled{Turn: 3}},
	{121.5, sessions.KindReply, sessions.ReplyMade{Turn: 3}},
	{121.5, sessions.KindToolStarted, sessions.ToolStarted{Turn: 3, Tool: "evil\x1b[2J\ntool"}},
}

// fakeEnd goes on to the reward.
var fakeEnd = []happened{
	{123.5, sessions.KindToolFinished, sessions.ToolFinished{Turn: 3, Tool: "finish", Status: "ok"}},
	{124.5, sessions.KindState, state(sessions.Ran, "")},
	{130.5, sessions.KindState, state(sessions.Evaluating, "")},
	{140.5, sessions.KindState, state(sessions.Done, "")},
	{150, sessions.KindMarks, sessions.Marks{Tags: []string{"odd"}}},
}

func lineOf(t *testing.T, all ...[]happened) *timeline {
	t.Helper()
	l := &timeline{}
	for _, list := range all {
		for _, h := range list {
			e := sessions.NewEvent(t0.Add(time.Duration(h.after*float64(time.Second))), sessions.Key{Instance: "x"}, h.kind, h.payload)
			s, known, err := stepOf(e)
			if err != nil {
				t.Fatal(err)
			}
			if known {
				l.see(s, t0)
			}
		}
	}
	return l
}

func saidSums(s sums) string {
	var out []string
	for k, d := range s {
		if d != 0 {
			out = append(out, fmt.Sprintf("%s %v", useLooks[k].name, d))
		}
	}
	return strings.Join(out, ", ")
}

// Worked out by hand from the events above.
func TestTimeline(t *testing.T) {
	at := func(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }
	l := lineOf(t, fakeTimes)
	if got := saidSums(l.total(at(122.5))); got != "rest 500ms, waits 9s, init 3s, model 17s, tools 33s, held 1m0s" {
		t.Errorf("under way: %s", got)
	}
	var perTurn []string
	for i := range l.turns {
		var s sums
		s.add(l.turns[i].spans, at(122.5))
		perTurn = append(perTurn, saidSums(s))
	}
	if got := strings.Join(perTurn, "; "); got != "rest 500ms, model 4s, tools 2s; waits 2s, model 10s, tools 30s, held 1m0s; model 3s, tools 1s" {
		t.Errorf("turns: %s", got)
	}
	if model, tool := l.slowest(at(122.5)); model != 1 || tool != 1 {
		t.Errorf("slowest: %d %d", model, tool)
	}
	if got := l.until(at(500), false); got != at(500) {
		t.Errorf("it goes on to %v", got)
	}
	if got := l.until(at(500), true); got != at(121.5) {
		t.Errorf("of a process that is gone to %v", got)
	}
	l = lineOf(t, fakeTimes, fakeEnd)
	if got := saidSums(l.total(at(900))); got != "rest 1.5s, waits 15s, init 3s, model 17s, tools 34s, held 1m0s, eval 10s" {
		t.Errorf("ended: %s", got)
	}
	if got := l.until(at(900), false); got != at(140.5) {
		t.Errorf("it ended at %v", got)
	}
	// A crash in turn 3 at 121.5 s, resumed at 200 s: the time between is nobody's.
	again := []happened{{200, sessions.KindState, state(sessions.Init, "")}, {201, sessions.KindState, state(sessions.Ready, "")}, {202, sessions.KindState, state(sessions.Running, "")}}
	if got := saidSums(lineOf(t, fakeTimes, again).total(at(202))); got != "rest 500ms, waits 10s, init 4s, model 17s, tools 32s, held 1m0s, away 1m18.5s" {
		t.Errorf("resumed: %s", got)
	}
	// Another attempt begins anew.
	if l := lineOf(t, fakeTimes, []happened{{300, sessions.KindAttempt, sessions.Attempt{N: 2}}, {304, sessions.KindState, state(sessions.Init, "")}}); len(l.turns) != 0 || saidSums(l.total(at(305))) != "waits 4s, init 1s" {
		t.Errorf("the next attempt: %d turns, %s", len(l.turns), saidSums(l.total(at(305))))
	}
}

// However many calls and turns there are, so many are kept, and no time is lost.
func TestTimelineIsBounded(t *testing.T) {
	list := []happened{{0, sessions.KindState, state(sessions.Running, "")}, {0, sessions.KindModelCalled, sessions.ModelCalled{Turn: 1}}, {1, sessions.KindReply, sessions.ReplyMade{Turn: 1}}}
	for i := range 1000 {
		list = append(list, happened{1 + float64(i), sessions.KindToolStarted, sessions.ToolStarted{Turn: 1, Tool: "x"}},
			happened{2 + float64(i), sessions.KindToolFinished, sessions.ToolFinished{Turn: 1, Tool: "x", Status: "ok"}})
	}
	l := lineOf(t, list)
	if n := len(l.turns[0].spans); n != mostSpans {
		t.Errorf("%d are kept", n)
	}
	if got := saidSums(l.total(t0.Add(1001 * time.Second))); got != "model 1s, tools 16m40s" {
		t.Errorf("%s", got)
	}
	if l := lineOf(t, list, []happened{{1002, sessions.KindModelCalled, sessions.ModelCalled{Turn: 1 << 60}}}); len(l.turns) != mostTurns {
		t.Errorf("%d turns", len(l.turns))
	}
}

// Ten cells for ten seconds: each is what took most of it, a short call is a cell, ✘ is
// where a call failed.
func TestBar(t *testing.T) {
	at := func(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }
	for _, c := range []struct {
		spans []stretch
		want  string
	}{
		{nil, "          "},
		{[]stretch{{kind: useModel, from: at(0), to: at(4)}, {kind: useTool, from: at(4), to: at(6.4), status: "ok"}, {kind: useHeld, from: at(6.4), to: at(9)}}, "▒▒▒▒██◇◇◇ "},
		{[]stretch{{kind: useModel, from: at(0), to: at(3)}, {kind: useTool, from: at(3), to: at(5.5), status: "timeout"}}, "▒▒▒██✘    "},
		{[]stretch{{kind: useModel, from: at(7.2), to: at(7.21)}}, "       ▒  "},
		{[]stretch{{kind: useQueue, from: at(-50), to: at(1)}, {kind: useOther, from: at(1), to: at(2)}, {kind: useModel, from: at(2)}}, "░·▒▒▒▒▒▒▒▒"},
		{[]stretch{{kind: useOther, from: at(0), to: at(0.9)}, {kind: useTool, from: at(0.9), to: at(1)}}, "█         "},
	} {
		if got := plainText(bar(c.spans, at(0), at(10), at(10), 10, true)); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := plainText(bar([]stretch{{kind: useModel, from: at(0), to: at(0)}}, at(0), at(0), at(0), 4, true)); ansi.StringWidth(got) != 4 {
		t.Errorf("no time: %q", got)
	}
}

// fakeTimed gives flask-4045#3 the events above, as of two minutes, and #0 its end.
func fakeTimed() *fakeRun {
	f := fakeWhole()
	f.trajs[3].Turn, f.trajs[0].Turn = 3, 3
	for _, id := range []int{0, 3} {
		all := fakeTimes
		if id == 0 {
			all = append(all[:len(all):len(all)], fakeEnd...)
		}
		for _, h := range all {
			f.write(t0.Add(time.Duration(h.after*float64(time.Second))), sessions.Key{Instance: "flask-4045", ID: id}, h.kind, h.payload)
		}
	}
	// sympy-20590#1: sixty turns, each slower than the one before.
	k, at := sessions.Key{Instance: "sympy-20590", ID: 1}, 10.0
	write := func(kind sessions.Kind, payload any) {
		f.write(t0.Add(time.Duration(at*float64(time.Second))), k, kind, payload)
	}
	write(sessions.KindState, state(sessions.Running, ""))
	for n := 1; n <= 60; n++ {
		write(sessions.KindModelCalled, sessions.ModelCalled{Turn: n})
		at += 0.05 * float64(n)
		write(sessions.KindReply, sessions.ReplyMade{Turn: n})
		write(sessions.KindToolStarted, sessions.ToolStarted{Turn: n, Tool: []string{"execute_bash", "search", "str_replace_editor"}[n%3]})
		at += 0.02 * float64(n%7)
		write(sessions.KindToolFinished, sessions.ToolFinished{Turn: n, Status: []string{"ok", "ok", "ok", "error", "invalid"}[n%5]})
	}
	write(sessions.KindState, state(sessions.Held, sessions.HeldPaused))
	f.trajs[9].Turn = 60
	return f
}

func TestTimelineScreens(t *testing.T) {
	now := func(o *Options) { o.Clock = func() time.Time { return t0.Add(150 * time.Second) } }
	for size, wh := range sizes() {
		for _, v := range []struct{ name, keys string }{{"running", "jjj9"}, {"ended", "9"}, {"long", "/before-eval<enter>9<pgup>"}} {
			b := open(t, fakeTimed(), wh[0], wh[1], now)
			b.keys(v.keys)
			b.check("timeline-" + v.name + "-" + size)
		}
	}
	b := open(t, fakeTimed(), 120, 40, func(o *Options) { now(o); o.NoColor = true })
	b.keys("jjj9z")
	b.check("timeline-mono-120x40")
}

// The cursor's turn is the one that enter opens, and the one that the other views are at.
func TestTimelineTurn(t *testing.T) {
	b := open(t, fakeTimed(), 120, 40, nil)
	b.keys("/before-eval<enter>9")
	if got := b.w.scroller().cursor.section; got != 59 {
		t.Fatalf("it follows: at row %d", got)
	}
	b.keys("g}}k<enter>")
	if turn, _ := b.w.turnHere(); b.w.tab != textTab || turn != 2 {
		t.Errorf("enter opens turn %d in view %d", turn, b.w.tab)
	}
	b.keys("}9")
	if got := b.w.scroller().cursor.section; got != 2 {
		t.Errorf("back at row %d", got)
	}
	b.keys("/")
	if said, _ := b.w.toasts.shown(b.w.now); !strings.Contains(said.text, "the timeline is not looked through") {
		t.Errorf("%q", said.text)
	}
	b.keys("<esc><esc><esc>/instance=requests turns=12<enter>9") // it has no events here
	if says := b.w.document().section(0).blocks[0].text; says != "No model call yet." {
		t.Errorf("%s", says)
	}
}

// Nothing of a tool's name moves the cursor of the terminal or breaks a row.
func TestTimelineHostile(t *testing.T) {
	b := open(t, fakeTimed(), 200, 60, func(o *Options) { o.NoColor = true })
	b.keys("jjj9")
	if view := b.w.View(); strings.Contains(view, "[2J") || !strings.Contains(view, "evil") {
		t.Error("the name of a tool reached the terminal as it is")
	}
}

// What comes while it is shown is added; what cannot be read is said.
func TestTimelineFollows(t *testing.T) {
	f, now := fakeTimed(), fakeNow()
	b := open(t, f, 120, 40, func(o *Options) { o.Clock = func() time.Time { return now } })
	b.keys("jjj9")
	k := sessions.Key{Instance: "flask-4045", ID: 3}
	f.write(t0.Add(125*time.Second), k, sessions.KindToolFinished, sessions.ToolFinished{Turn: 3, Tool: "x", Status: "ok"})
	f.write(t0.Add(126*time.Second), k, sessions.KindModelCalled, sessions.ModelCalled{Turn: 4})
	b.pull()
	if n := len(b.w.timelines.all[k].turns); n != 4 {
		t.Errorf("%d turns", n)
	}
	f.events = append(f.events, sessions.Event{Seq: int64(len(f.events) + 1), Time: t0, Key: k, Kind: sessions.KindState, Data: []byte(`{"state": 3}`)})
	b.pull()
	if said, _ := b.w.toasts.shown(b.w.now); !strings.Contains(said.text, "read event") {
		t.Errorf("%q", said.text)
	}
	f.events[len(f.events)-1].Data = []byte(`{"state": "held", "held": "paused"}`) // it can be read again
	b.pull()
	if open := b.w.timelines.all[k].open(); open == nil || open.kind != useModel {
		t.Errorf("tried again at once: %+v", open)
	}
	now = now.Add(timelineRetry)
	b.pull()
	if open := b.w.timelines.all[k].open(); open == nil || open.kind != useHeld || len(b.w.timelines.all[k].turns) != 4 {
		t.Errorf("%+v", open)
	}
}

// BenchmarkTimeline is a frame of a timeline of 500 turns, 200x60.
func BenchmarkTimeline(b *testing.B) {
	w := benchOpen(b)
	l := &timeline{}
	for n := 1; n <= 500; n++ {
		at := t0.Add(time.Duration(n) * 3 * time.Second)
		l.see(step{at: at, kind: sessions.KindModelCalled, turn: n}, t0)
		l.see(step{at: at.Add(time.Second), kind: sessions.KindReply, turn: n}, t0)
		l.see(step{at: at.Add(time.Second), kind: sessions.KindToolStarted, turn: n, name: "execute_bash"}, t0)
		l.see(step{at: at.Add(2 * time.Second), kind: sessions.KindToolFinished, turn: n, status: "ok"}, t0)
	}
	w.timelines.all = map[sessions.Key]*timeline{w.chosenKey(): l}
	w.focus = viewFocus
	w.toTab(timelineTab)
	b.ReportAllocs()
	for b.Loop() {
		w.settle()
		if len(w.View()) == 0 {
			b.Fatal("no frame")
		}
	}
}
