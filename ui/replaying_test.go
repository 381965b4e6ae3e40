package ui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"rollbench/engine"
	"rollbench/sessions"
	"rollbench/ui/replay"
)

// fakeRecording is a run of two processes: the first one was killed at 2:00, the other
// one went on an hour later. Each of its six trajectories has six turns of 20 s.
func fakeRecording(t *testing.T) *fakeRun {
	t.Helper()
	f := &fakeRun{run: fakeWhole().run, turns: map[sessions.Key][]sessions.Turn{}, status: fakeStatus()}
	f.run.N, f.run.Members = 3, nil
	var all []sessions.Event
	add := func(at time.Duration, k sessions.Key, kind sessions.Kind, payload any) {
		if at > 2*time.Minute {
			at += time.Hour
		}
		all = append(all, sessions.NewEvent(t0.Add(at), k, kind, payload))
	}
	for i := range 6 {
		k := sessions.Key{Instance: []string{"flask-4045", "requests-2317"}[i/3], ID: i % 3}
		f.run.Members = append(f.run.Members, k)
		at := time.Duration(i) * 20 * time.Second
		add(at, k, sessions.KindState, sessions.StateChange{State: sessions.Init})
		add(at+5*time.Second, k, sessions.KindState, sessions.StateChange{State: sessions.Running, Budget: 32768, Turns: 50})
		for n := 1; n <= 6; n++ {
			at += 20 * time.Second
			add(at, k, sessions.KindReply, sessions.ReplyMade{Turn: n, Version: 1, Source: sessions.FromModel, Tools: []string{"execute_bash"}, OutputTokens: 40, Tokens: 1000 * n})
			add(at+time.Second, k, sessions.KindToolStarted, sessions.ToolStarted{Turn: n, Tool: "execute_bash"})
			add(at+9*time.Second, k, sessions.KindToolFinished, sessions.ToolFinished{Turn: n, Tool: "execute_bash", Status: "ok", Wall: 8 * time.Second})
			add(at+9*time.Second, k, sessions.KindTurnDone, sessions.TurnDone{Turn: n})
			f.turns[k] = append(f.turns[k], sessions.Turn{Key: k, Attempt: 1, Index: n, Version: 1, Source: sessions.FromModel, Complete: true,
				Content: fmt.Sprintf("I look at part %d.", n), Calls: []sessions.Call{{ID: "c", Name: "execute_bash", Arguments: fmt.Sprintf(`{"command":"sed -n %dp notes"}`, n)}},
				Observations: []sessions.Observation{{CallID: "c", Tool: "execute_bash", Text: fmt.Sprintf("part %d says nothing", n), Status: "ok", Source: sessions.FromTool, Wall: 8 * time.Second}}})
		}
		add(at+10*time.Second, k, sessions.KindFinish, sessions.Finished{Reason: sessions.FinishTool})
		add(at+11*time.Second, k, sessions.KindReward, sessions.Rewarded{Reward: ptr(float64(i % 2))})
		add(at+11*time.Second, k, sessions.KindState, sessions.StateChange{State: sessions.Done})
	}
	start := sessions.NewEvent(t0, sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{PID: 1})
	again := sessions.NewEvent(t0.Add(time.Hour+2*time.Minute), sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{PID: 2, Resumed: true})
	limits := sessions.NewEvent(t0, sessions.Key{}, sessions.KindLimits, sessions.Limits{Who: "config", MaxInit: 8, MaxAgents: 6, MaxEval: 2, MaxLive: 16, Policy: "async_pipeline"})
	f.events = sorted(append([]sessions.Event{start, limits, again}, all...))
	for _, k := range f.run.Members {
		row := sessions.NewTrajectory(k, t0)
		for _, e := range f.events {
			if e.Key == k {
				if err := sessions.Apply(&row, e); err != nil {
					t.Fatal(err)
				}
			}
		}
		f.trajs = append(f.trajs, row)
	}
	for i := range 60 {
		f.series = append(f.series, pointAt(t, time.Duration(i)*5*time.Second))
	}
	return f
}

// replayed opens a workbench on a paused replay, at a position.
func replayed(t *testing.T, f *fakeRun, cols, rows int, at time.Duration, change func(*Options)) (*bench, *replay.Player) {
	t.Helper()
	p, err := replay.Open(t.Context(), f, at, 10)
	if err != nil {
		t.Fatal(err)
	}
	p.Pause()
	b := open(t, f, cols, rows, func(o *Options) {
		o.Commands, o.Replay, o.Written = nil, p, func() (bool, error) { return !p.Position().Over, nil }
		if change != nil {
			change(o)
		}
	})
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, p
}

// The bar of a replay: going on, standing still, at the end; and what is known of a
// run at a moment.
func TestReplayScreens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for size, wh := range sizes() {
			for _, mono := range []bool{false, true} {
				name := "replay-"
				if mono {
					name += "mono-"
				}
				b, p := replayed(t, fakeRecording(t), wh[0], wh[1], 0, func(o *Options) { o.NoColor = mono })
				p.Skip(95 * time.Second)
				b.pull()
				b.keys("jj<enter>")
				b.check(name + "paused-" + size)
				b.keys("|")
				time.Sleep(5 * time.Second) // of fifty of the run
				b.pull()
				b.check(name + "going-" + size)
				time.Sleep(time.Minute)
				b.pull()
				b.check(name + "over-" + size)
			}
		}
		b, _ := replayed(t, fakeRecording(t), 60, 20, 95*time.Second, nil)
		b.check("replay-paused-60x20")
	})
}

// After going back the screen is that of a replay that was never further, whatever was
// looked at; what was being read of the time ahead is dropped.
func TestReplayBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, keys := range []string{"", "jj<enter>", "jj3", "jj5", "jj6", "jj7", "jj8", "jj<enter>/part<enter>", "Q"} {
			b, p := replayed(t, fakeRecording(t), 120, 40, 95*time.Second, nil)
			want, _ := replayed(t, fakeRecording(t), 120, 40, 95*time.Second, nil)
			b.keys("jj<enter>2")
			p.Skip(time.Hour)
			b.pull()
			late := []tea.Msg{b.w.pull()(), b.w.loadPageOf(eventsTab)}
			p.Skip(95*time.Second - p.Position().At)
			b.w.rewind()
			b.w.been = 95 * time.Second
			b.pull()
			for _, m := range late {
				b.send(m)
			}
			b.keys("<esc>gjj")
			want.keys("gjj")
			for _, one := range []*bench{b, want} {
				one.keys(strings.TrimPrefix(keys, "jj"))
				time.Sleep(toastFor)
				one.w.list.top, one.w.toasts.stays = 0, false
			}
			got, was := ansi.Strip(b.w.View()), ansi.Strip(want.w.View())
			if got != was {
				t.Errorf("%q: after going back it shows\n%s\nand without\n%s", keys, got, was)
			}
		}
	})
}

// loadPageOf reads a page of the chosen trajectory as the screen would.
func (w *Workbench) loadPageOf(t tab) tea.Msg {
	before := w.tab
	w.tab = t
	cmd := w.loadPage()
	w.tab = before
	if cmd == nil {
		return nil
	}
	return cmd()
}

// The keys of a replay do what they say, and say so where there is none.
func TestReplayKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, p := replayed(t, fakeRecording(t), 120, 40, 60*time.Second, nil)
		is := func(keys string, at time.Duration, speed float64, paused bool) {
			t.Helper()
			b.keys(keys)
			if got := p.Position(); got.At != at || got.Speed != speed || got.Paused != paused {
				t.Errorf("%q: it is at %s, speed %g, paused %v", keys, got.At, got.Speed, got.Paused)
			}
		}
		is("(", 60*time.Second, 5, true)
		is("((((", 60*time.Second, 0.2, true)
		is(";", 83100*time.Millisecond, 0.2, true) // a tenth of 3:51
		is(",,", 36900*time.Millisecond, 0.2, true)
		is(",,", 0, 0.2, true)
		is("|)))", 0, 2, false)
		time.Sleep(10 * time.Second)
		is("", 20*time.Second, 2, false)
		is(")))))", 20*time.Second, 100, false)
		is(";", 231*time.Second, 100, false) // five seconds at ×100 are more than there is
		b.pull()
		if said, _ := b.w.toasts.shown(b.w.now); said.text != "the end of the recording: , goes back, q leaves" {
			t.Errorf("at the end it says %q", said.text)
		}
		b.keys(";")
		if said, _ := b.w.toasts.shown(b.w.now); said.text != ";: the recording is over: , goes back" {
			t.Errorf("; says %q", said.text)
		}
		b.keys("q")
		if _, quit := b.last.(tea.QuitMsg); !quit {
			t.Error("q does not leave")
		}
		plain := open(t, fakeWhole(), 120, 40, nil)
		plain.asks("|", "", "|: this is no replay: rollbench replay r-0412")
	})
}

// Where another process went on, that is told, and the hour between is not waited for.
func TestReplayGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := replayed(t, fakeRecording(t), 120, 40, 115*time.Second, nil)
		b.keys("|")
		time.Sleep(time.Second)
		b.pull()
		if said, _ := b.w.toasts.shown(b.w.now); said.text != "the run was left here and resumed 1h00m later, which the replay leaves out" {
			t.Errorf("it says %q", said.text)
		}
		if now := b.w.opt.Clock(); !now.Equal(t0.Add(time.Hour + 125*time.Second)) {
			t.Errorf("the clock says %s", now)
		}
	})
}

// A run that was left says so at the end of its recording, not before.
func TestReplayOfLeftRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeRecording(t)
		for i, e := range f.events {
			if e.Time.After(t0.Add(2 * time.Minute)) {
				f.events = f.events[:i-1] // without the second start
				break
			}
		}
		b, p := replayed(t, f, 120, 40, 100*time.Second, nil)
		if view := ansi.Strip(b.w.View()); strings.Contains(view, "stopped") {
			t.Errorf("it is said to have stopped:\n%s", view)
		}
		p.Skip(time.Hour)
		b.pull()
		if view := ansi.Strip(b.w.View()); !strings.Contains(view, "stopped: 6 have not ended, rollbench resume goes on") || !strings.Contains(view, "■ end of the recording  00:02:00") {
			t.Errorf("its end:\n%s", view)
		}
	})
}

// pointAt is a point of the series of the recording, by the run's clock.
func pointAt(t *testing.T, at time.Duration) []byte {
	t.Helper()
	if at > 2*time.Minute {
		at += time.Hour
	}
	return mustJSON(t, engine.Point{At: t0.Add(at), Busy: [3]int{1, 3, 0}, Limit: [3]int{8, 6, 2}, Requests: ptr(3.0), Queued: ptr(1.0), KVUse: ptr(0.4), Tokens: ptr(2100.0), GPU: ptr(0.8)})
}

// sorted events, in the order they happened, each with its Seq.
func sorted(events []sessions.Event) []sessions.Event {
	slices.SortStableFunc(events, func(a, b sessions.Event) int { return a.Time.Compare(b.Time) })
	for i := range events {
		events[i].Seq = int64(i + 1)
	}
	return events
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What is a person's and of no time of the run stays when a replay goes back: the
// mouse, what was typed into the palette, and where the last export went.
func TestReplayBackKeepsWhatIsAPersons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, p := replayed(t, fakeRecording(t), 120, 40, 95*time.Second, func(o *Options) { o.Mouse = true })
		b.w.ran, b.w.file = []string{"sort reward"}, "out.jsonl"
		p.Skip(-time.Minute)
		b.w.rewind()
		b.pull()
		if b.w.rewound || !b.w.mouse || !slices.Equal(b.w.ran, []string{"sort reward"}) || b.w.file != "out.jsonl" {
			t.Errorf("rewound %v, mouse %v, palette %q, export %q", b.w.rewound, b.w.mouse, b.w.ran, b.w.file)
		}
	})
}
