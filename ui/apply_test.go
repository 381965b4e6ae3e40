package ui

import (
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// Feedback is shown as waiting until a model call has carried it.
func TestFeedbackWaits(t *testing.T) {
	f := fakeWhole()
	b := open(t, f, 120, 40, nil)
	b.keys("jj")
	k := b.w.chosenKey()
	f.write(fakeNow(), k, sessions.KindIntervention, sessions.Intervention{Verb: "inject", Turn: 7, At: sessions.AfterReply, After: "Mind the docs."})
	b.pull()
	if !strings.Contains(b.w.View(), "✎ waits") || !strings.Contains(b.w.View(), "Mind the docs.") {
		t.Error("the feedback that waits is not shown")
	}
	f.write(fakeNow(), k, sessions.KindReply, sessions.ReplyMade{Turn: 8})
	b.pull()
	if strings.Contains(b.w.View(), "Mind the docs.") {
		t.Error("it still waits after a reply")
	}
}

// A change that is committed while the turn is being read is not lost.
func TestChangedWhileRead(t *testing.T) {
	f := fakeWhole()
	b := open(t, f, 120, 40, nil)
	b.keys("jj")
	k := b.w.chosenKey()
	done := func() {
		f.write(fakeNow(), k, sessions.KindTurnDone, sessions.TurnDone{Turn: 7})
		b.w.route(b.w.pull()())
		b.w.settle()
	}
	done()
	read := b.w.loadTurns()
	old := read() // the store is read here, before the next change
	turns := f.turns[k]
	turns[len(turns)-1].Content = "changed meanwhile"
	done()
	b.send(old)
	if !strings.Contains(b.w.View(), "changed meanwhile") {
		t.Error("the change is not shown")
	}
}

// Only one watch and one tick are ever under way.
func TestOneWatch(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	if b.w.watch() != nil || b.w.tick() != nil {
		t.Error("a second watch or tick was started")
	}
	b.w.route(wakeMsg{})
	b.w.route(tickMsg{status: fakeStatus()})
	if b.w.watch() == nil || b.w.ticking != true {
		t.Error("the watch or the tick is not started again")
	}
}

// Warnings and holds that nobody asked for are told.
func TestTold(t *testing.T) {
	f := fakeWhole()
	b := open(t, f, 120, 40, nil)
	k := sessions.Key{Instance: "flask-4045", ID: 3}
	f.write(fakeNow(), sessions.Key{}, sessions.KindWarning, sessions.Warning{Text: "endpoint is slow"})
	f.write(fakeNow(), k, sessions.KindState, sessions.StateChange{State: sessions.Held, Held: sessions.HeldStep, At: sessions.AfterTool})
	f.write(fakeNow(), k, sessions.KindState, sessions.StateChange{State: sessions.Held, Held: sessions.HeldError, At: sessions.AfterTool, Why: "tool failed"})
	b.pull()
	var got []string
	for _, m := range b.w.toasts.all {
		got = append(got, m.text)
	}
	if want := "endpoint is slow; flask-4045#3: held: error tool failed"; strings.Join(got, "; ") != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

// Two pulls that overlap: what both bring counts once, and the older states do
// not come back.
func TestOverlappingPulls(t *testing.T) {
	f := fakeWhole()
	b := open(t, f, 120, 40, nil)
	b.keys("jj")
	k := sessions.Key{Instance: "flask-4045", ID: 2}
	early := b.w.pull()() // before the injection
	f.write(fakeNow(), k, sessions.KindIntervention, sessions.Intervention{Verb: "inject", After: "Look at ctx.py"})
	f.trajs = slices.Clone(f.trajs)
	f.trajs[2].Intervened = true
	first, second := b.w.pull()(), b.w.pull()()
	for _, m := range []tea.Msg{first, second, early} {
		b.send(m)
	}
	if got := b.w.feedback[k]; len(got) != 1 || got[0] != "Look at ctx.py" {
		t.Errorf("feedback %q", got)
	}
	if chosen, _ := b.w.list.chosen(); chosen.Key != k || !chosen.Intervened {
		t.Errorf("an older state came back: %+v", chosen)
	}
	f.write(fakeNow(), k, sessions.KindReply, sessions.ReplyMade{Turn: 7, Version: 2, Source: sessions.FromOperator})
	b.pull()
	if len(b.w.feedback[k]) != 1 {
		t.Error("an edited call carried the feedback away")
	}
	f.write(fakeNow(), k, sessions.KindReply, sessions.ReplyMade{Turn: 8, Version: 1, Source: sessions.FromModel})
	b.pull()
	if len(b.w.feedback[k]) != 0 {
		t.Error("feedback still waits although the policy has answered")
	}
}

func TestEventDetail(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"turn": 3, "version": 0, "tools": ["bash"], "why": ""}`, `tools=["bash"] turn=3`},
		{`{"reward": 0, "parts": {}, "wall_ns": 1240000000}`, "reward=0 wall=1.2 s"},
		{`{"reward": null, "note": "timed out\u001b[31m"}`, "note=timed out"},
		{`{"exit": 0, "open": false, "all": false}`, "exit=0 open=false"},
		{`{"after": "a\nb"}`, "after=a ⏎ b"},
		{`not json`, "not json"},
	} {
		if got := eventDetail([]byte(c.in)); got != c.want {
			t.Errorf("%s: %q, want %q", c.in, got, c.want)
		}
	}
}
