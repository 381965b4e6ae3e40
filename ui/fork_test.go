package ui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rollbench/engine"
	"rollbench/sessions"
)

// forked gives the trajectory that is held two children at its turn 7, one that
// has ended and one that is held because its sandbox differs, and that one a child
// of its own, which is queued.
func (f *fakeRun) forked() *fakeRun {
	child := func(t sessions.Trajectory, parent, turn, group, of int) sessions.Trajectory {
		t.Intervened = true
		t.Fork = &sessions.Fork{Parent: parent, Attempt: 1, Turn: turn, Shared: turn - 1, Group: group, Count: of}
		return t
	}
	four := child(ended("flask-4045", 4, sessions.Done, sessions.FinishTool, 9, 12100, ptr(1.0)), 2, 7, 4, 2)
	five := child(held("flask-4045", 5, 6, 10100, sessions.HeldPaused, sessions.BeforeModel, "paused by the fork: 2 of 6 recorded calls answer differently in its sandbox"), 2, 7, 4, 2)
	five.Differs = 2
	six := child(member("flask-4045", 6, sessions.Queued), 5, 3, 6, 1)
	six.Turn, six.Tokens = 2, 2100
	f.trajs = append(f.trajs, four, five, six)
	parent := f.turns[heldKey]
	for _, t := range []sessions.Trajectory{four, five, six} {
		for _, turn := range parent {
			if turn.Index < t.Fork.Turn && !turn.Superseded {
				turn.Key, turn.Origin = t.Key, &sessions.Key{Instance: "flask-4045", ID: 2}
				f.turns[t.Key] = append(f.turns[t.Key], turn)
			}
		}
	}
	for n := 7; n <= 9; n++ {
		f.turns[four.Key] = append(f.turns[four.Key], fakeTurn(four.Key, n))
	}
	f.turns[four.Key][6].New = []sessions.Message{{Role: "user", Content: "Leave the tests alone; look at Scaffold.", Source: sessions.FromOperator}}
	f.write(t0.Add(11*time.Minute), five.Key, sessions.KindForked, sessions.Forked{Fork: *five.Fork, Feedback: "Look at Scaffold.", Sampling: json.RawMessage(`{"temperature":1.2}`), By: "operator"})
	f.write(t0.Add(11*time.Minute), five.Key, sessions.KindRebuilt, fakeRebuilt())
	return f
}

func fakeRebuilt() sessions.Rebuilt {
	return sessions.Rebuilt{By: sessions.ByReplay, Why: "the parent is held at another turn", Calls: 5, Wall: 2100 * time.Millisecond, Differs: []sessions.Difference{
		{Turn: 1, Call: 0, Tool: "execute_bash", Args: `{"command": "ls src/flask && git log --oneline | head -3"}`, Was: "sessions.py\n9a1c2e4 Merge pull request\n", Now: "sessions.py\n\x1b]0;owned\x07b07c2aa Merge pull request\n"},
		{Turn: 4, Call: -1, Tool: engine.HandName, Args: "pip install ./wheel", Why: "a command by hand did not run to its end, and what it had done by then cannot be repeated"}}}
}

func TestForkVerb(t *testing.T) {
	const says = "2 children of flask-4045#2 from turn 7: first in the queue"
	for _, c := range []struct{ name, keys, call, says string }{
		{"from where it is held", "jjo<ctrl+s>", `fork flask-4045#2 7 n=2 "" {} 0 0 false`, says},
		{"from the turn under the cursor", "jj<enter>{{{{o<ctrl+s>", `fork flask-4045#2 5 n=2 "" {} 0 0 false`, "2 children of flask-4045#2 from turn 5: first in the queue"},
		{"from the turn of the tokens", "jj<enter>6{{o<ctrl+s>", `fork flask-4045#2 5 n=2 "" {} 0 0 false`, "2 children of flask-4045#2 from turn 5: first in the queue"},
		{"after the tool", "/sympy-20590#0<enter>o<ctrl+s>", `fork sympy-20590#0 5 n=2 "" {} 0 0 false`, "2 children of sympy-20590#0 from turn 5: first in the queue"},
		{"an ended one", "o<ctrl+s>", `fork flask-4045#0 18 n=2 "" {} 0 0 false`, "2 children of flask-4045#0 from turn 18: first in the queue"},
		{"all of it", "jjoUse Scaffold.<shift+tab><ctrl+u>3<shift+tab><ctrl+u>1<tab><tab><tab>1.25<tab>0.9<tab>7<tab>60<tab>50000<tab><ctrl+u>yes<enter>",
			`fork flask-4045#2 3 n=1 "Use Scaffold." {"temperature":1.25,"top_p":0.9,"seed":7} 60 50000 true`, "1 child of flask-4045#2 from turn 3: first in the queue"},
		{"no child", "jjo<shift+tab><shift+tab><ctrl+u>0<ctrl+s>", "", `children is "0": use a whole number from 1 to 16`},
		{"no turn", "jjo<shift+tab>x<ctrl+s>", "", `from turn is "7x": use a whole number from 1 on`},
		{"no temperature", "jjo<tab>warm<ctrl+s>", "", `temperature is "warm": use a number, or leave it empty`},
		{"no seed", "jjo<tab><tab><tab>1.5<ctrl+s>", "", `seed is "1.5": use a whole number, or leave it empty`},
		{"no limit", "jjo<tab><tab><tab><tab>0<ctrl+s>", "", `turns is "0": use a whole number from 1 on`},
		{"neither", "jjo<shift+tab><shift+tab><shift+tab>!<ctrl+s>", "", `hold is "no!": write yes or no`},
		{"a group", "<up>o", "", "o: choose one trajectory first (a group is chosen)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, fakeWhole(), 120, 40, nil)
			b.asks(c.keys, c.call, c.says)
		})
	}
}

// Without an engine the key says what forks then.
func TestForkNeedsAnEngine(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, func(o *Options) { o.Commands = nil })
	b.asks("o", "", "o: read only: this run is not driven from here")
	b = open(t, fakeWhole(), 120, 40, nil)
	b.send(engineDoneMsg{})
	b.asks("o", "", "o: the run has ended and its engine with it: rollbench fork r-0412 goes on with it")
	b = open(t, fakeWhole(), 120, 40, func(o *Options) { o.Commands = nil; o.Written = func() (bool, error) { return false, nil } })
	b.asks("o", "", "o: no engine works on this run any more: rollbench fork r-0412 goes on with it")
}

// Forks stand below their parents and are in no count of the set: not in the head,
// not in the group's rewards.
func TestForksInTheList(t *testing.T) {
	plainly, b := open(t, fakeWhole(), 120, 40, nil), open(t, fakeWhole().forked(), 120, 40, nil)
	var ids []string
	for _, r := range b.w.list.rows[:8] {
		if r.member >= 0 {
			ids = append(ids, fmt.Sprint(b.w.list.groups[r.group].members[r.member].ID))
		}
	}
	if got := strings.Join(ids, " "); got != "0 1 2 4 5 6 3" {
		t.Errorf("rows %s", got)
	}
	was, now := plainly.w.gauges.tally, b.w.gauges.tally
	if before, after := plainly.w.gauges.verdicts, b.w.gauges.verdicts; after.mean != before.mean || after.counted != before.counted {
		t.Errorf("mean reward %v of %d, want %v of %d", after.mean, after.counted, before.mean, before.counted)
	}
	if now.forks != 3 || now.all != was.all || now.ended != was.ended || now.solved != was.solved || now.intervened != was.intervened {
		t.Errorf("tally %+v, want that of %+v", now, was)
	}
	if now.still != was.still+2 || now.held != was.held+1 || now.queued != was.queued+1 {
		t.Errorf("what goes on: %+v, was %+v", now, was)
	}
	group := func(b *bench) string {
		l := b.w.list.groupRow(b.w.list.groups[0], columnsFor(60))
		text := ""
		for _, s := range l {
			text += s.text
		}
		return strings.Join(strings.Fields(text), " ")
	}
	if a, c := group(plainly), group(b); c != strings.Replace(a, "0.50", "╰3 0.50", 1) && !strings.Contains(c, "0.50") {
		t.Errorf("heading %q, was %q", c, a)
	}
	b.keys("/fork<enter>")
	if n := len(b.w.list.rows); n != 4 { // the heading and three
		t.Errorf("%d rows match fork", n)
	}
	b.keys("/<ctrl+u>parent=5<enter>")
	if k := b.w.chosenKey(); k.ID != 6 {
		t.Errorf("parent=5 finds %v", k)
	}
}

// What differs is read from the session's past where the run is opened later, shown
// above what the child does next, and cannot reach the terminal; live it is told.
func TestForkDifferencesAreShown(t *testing.T) {
	b := open(t, fakeWhole().forked(), 120, 60, nil)
	b.keys("/#5<enter>")
	view := b.w.View()
	if !strings.Contains(view, "c goes on all the same,") {
		t.Errorf("it does not say what to do:\n%s", view)
	}
	for _, want := range []string{"forked from #2 at turn 7", "5 calls replayed in 2.1 s: 2 of 6", "≠ turn 1", "9a1c2e4 Merge", "b07c2aa Merge", "by hand: pip install", "(no snapshot: the parent is held", "◆ held"} {
		if !strings.Contains(view, want) {
			t.Errorf("no %q in\n%s", want, view)
		}
	}
	if strings.Contains(view, "\x1b]0") {
		t.Error("the title can be set")
	}
	b.f.write(fakeNow(), sessions.Key{Instance: "flask-4045", ID: 6}, sessions.KindRebuilt, fakeRebuilt())
	b.pull()
	if said, _ := b.w.toasts.shown(b.w.now); said.text != "flask-4045#6: 2 of 6 recorded calls answer differently in its sandbox" {
		t.Errorf("says %q", said.text)
	}
	// In a child that went on, it stands above the first turn of its own, below those of the parent.
	b.keys("<esc>/<ctrl+u>#4<enter><enter>g")
	var text []string
	for i := range 9 {
		s := b.w.turns.section(i)
		if s == nil {
			b.pull()
			s = b.w.turns.section(i)
		}
		for _, block := range s.blocks {
			if block.kind == heading {
				row := ""
				for _, seg := range block.title {
					row += seg.text
				}
				text = append(text, row)
			}
		}
	}
	got := strings.Join(text, "\n")
	if !strings.Contains(got, "turn 6 · of #2\n╰ forked from #2 at turn 7 · 2 children, #4 to #5\nturn 7\n") || strings.Contains(got, "turn 7 · of") {
		t.Errorf("headings\n%s", got)
	}
}

// A search of all turns finds what stands before a fork once, in the parent.
func TestAcrossFindsParentsTurnsOnce(t *testing.T) {
	count := func(f *fakeRun) (n int) {
		b := open(t, f, 120, 40, nil)
		b.keys("<ctrl+f>careful engineer<enter>")
		return len(b.w.across.hunt.hits)
	}
	if was, now := count(fakeWhole()), count(fakeWhole().forked()); was == 0 || was != now {
		t.Errorf("%d hits with forks, %d without", now, was)
	}
}

// The tokens of the parent's turns say why they do not train.
func TestParentsTokens(t *testing.T) {
	f := fakeWhole().forked().tokenized(sessions.Key{Instance: "flask-4045", ID: 4})
	b := open(t, f, 120, 40, nil)
	b.keys("/#4<enter><enter>6{{{{{")
	v := &b.w.tokens
	for i := range v.spans {
		if s := &v.spans[i]; s.kind == parents {
			if ok, why := v.trains(s); ok || why != "the parent's: it was sampled before the fork" {
				t.Errorf("turn %d: %v, %s", v.turn, ok, why)
			}
			return
		}
	}
	t.Errorf("no span of turn %d is the parent's", v.turn)
}

func TestForkScreens(t *testing.T) {
	for _, v := range []struct{ name, keys string }{
		{"form", "jjoUse Scaffold.<tab>1.2"},
		{"differs", "/#5<enter>"},
		{"child", "/#4<enter><enter>{{"},
		{"group", "k"},
		{"events", "/#5<enter><enter>5"},
	} {
		for size, wh := range sizes() {
			t.Run(v.name+"-"+size, func(t *testing.T) {
				b := open(t, fakeWhole().forked(), wh[0], wh[1], nil)
				b.keys(v.keys)
				b.check("fork-" + v.name + "-" + size)
			})
		}
		t.Run(v.name+"-mono", func(t *testing.T) {
			b := open(t, fakeWhole().forked(), 80, 24, func(o *Options) { o.NoColor = true })
			b.keys(v.keys)
			b.check("fork-" + v.name + "-mono-80x24")
		})
	}
}

// A shell that a person worked at has no command to show, and says what it was.
func TestForkShellDifference(t *testing.T) {
	row := sessions.Trajectory{Fork: &sessions.Fork{Turn: 3, Count: 1}, Differs: 1}
	blocks := forkLead(row, &sessions.Rebuilt{By: sessions.ByReplay, Calls: 2, Differs: []sessions.Difference{{Turn: 2, Call: -1, Tool: "a shell", Why: "it cannot be repeated"}}})
	i := slices.IndexFunc(blocks, func(b block) bool { return b.label == "≠ turn 2" })
	if i < 0 || blocks[i].text != "a shell" || blocks[i+1].text != "it cannot be repeated" {
		t.Errorf("%+v", blocks)
	}
	if !strings.Contains(blocks[1].text, "1 of 3 recorded calls answer differently") {
		t.Errorf("%q", blocks[1].text)
	}
}
