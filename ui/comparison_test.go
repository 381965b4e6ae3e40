package ui

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"rollbench/sessions"
)

// Every comparison, at every size and without colour.
func TestComparisonScreens(t *testing.T) {
	for _, v := range []struct {
		name, keys string
	}{
		{"marked", "  <down> <up><up>"},
		{"compare-two", "  v"},
		{"compare-group", "v<right><right>"},
		{"compare-open", "  vn "},
		{"compare-patches", "  vG"},
		{"matrix", "M"},
		{"matrix-sorted", "M>>>><right>"},
		{"runs", "D"},
		{"runs-typed", "Dbund"},
		{"versus", "D<enter>"},
		{"versus-flips", "D<enter>G"},
	} {
		for size, wh := range sizes() {
			for _, mono := range []bool{false, true} {
				name := v.name + "-" + size
				if mono {
					name = v.name + "-mono-" + size
				}
				if mono && size == "200x60" {
					continue
				}
				t.Run(name, func(t *testing.T) {
					b := open(t, fakeVersed(), wh[0], wh[1], func(o *Options) { versed(o); o.NoColor = mono })
					b.keys(v.keys)
					b.check(name)
				})
			}
		}
	}
}

// What is marked is compared; else the chosen one with its siblings that made a turn.
func TestWhatIsCompared(t *testing.T) {
	for _, c := range []struct{ name, keys, compared, says string }{
		{"the siblings", "v", "0 1 2 3", ""},
		{"the chosen one first", "jjv", "2 0 1 3", ""},
		{"of a group's heading", "kv", "0 1 2 3", ""},
		{"two marked", " j v", "0 2", ""},
		{"one marked, another chosen", " jv", "0 2", ""},
		{"one marked, which is chosen", "j kv", "", "v: mark another trajectory of flask-4045 too, or choose it"},
		{"all of a group", "k jjjv", "0 1 2 3", ""},
		{"a mark taken away", "k jj v", "0 2 3", ""},
		{"marks of a group taken away", "k  jjv", "1 0 2 3", ""},
		{"of two groups", " jjjj v", "", "v: the marked trajectories are of more than one instance: compare those of one (esc clears the marks)"},
		{"marks cleared", " jjjj <esc>v", "1 0 2", ""},
		{"marks before the filter", "/flask<enter> j <esc>v", "3 0 1 2", ""},
		{"no sibling", "/777<enter>gjv", "", "v: none of its siblings has made a turn yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, fakeSiblings(), 120, 40, nil)
			b.keys(c.keys)
			var ids []string
			if b.w.sheet != nil {
				for _, k := range b.w.compare.keys {
					ids = append(ids, fmt.Sprint(k.ID))
				}
			}
			if got := strings.Join(ids, " "); got != c.compared {
				t.Errorf("compares %q, want %q", got, c.compared)
			}
			if said, _ := b.w.toasts.shown(b.w.now); said.text != c.says {
				t.Errorf("says %q, want %q", said.text, c.says)
			}
		})
	}
	b := open(t, fakeSiblings(), 120, 40, nil)
	b.keys("/flask<enter> <esc>")
	if b.w.list.filter != "flask" || len(b.w.list.marks) > 0 {
		t.Errorf("esc left the filter %q and %d marks", b.w.list.filter, len(b.w.list.marks))
	}
	if b.keys("<esc>"); b.w.list.filter != "" {
		t.Error("the second esc left the filter")
	}
}

// here is the row with the cursor, without its mark.
func (b *bench) here() string {
	for row := range strings.SplitSeq(ansi.Strip(b.w.View()), "\n") {
		if i := strings.Index(row, "▌"); i >= 0 {
			return strings.Join(strings.Fields(strings.Trim(row[i:], "▌│ ")), " ")
		}
	}
	return ""
}

// n goes to where rows begin to differ, enter to the turn, v back to the row.
func TestCompareWalk(t *testing.T) {
	b := open(t, fakeSiblings(), 120, 40, nil)
	b.keys("  v")
	for _, want := range []string{"~ 4 bash", "≠ 8 editor", "≠ 10 bash", "+ · │ 19 bash", "+ +"} {
		if got := b.here(); !strings.HasPrefix(got, want) && !strings.Contains(got, want) {
			t.Errorf("at %q, want %q", got, want)
		}
		b.keys("n")
	}
	b.keys("g")
	b.asks("N", "", "that was the first difference")
	b.keys("nn<enter>")
	if turn, _ := b.w.turnHere(); b.w.sheet != nil || b.w.chosenKey().ID != 0 || turn != 8 || b.w.focus != viewFocus {
		t.Errorf("at turn %d of %v", turn, b.w.chosenKey())
	}
	b.keys("v")
	if got := b.here(); !strings.HasPrefix(got, "≠ 8 editor") {
		t.Errorf("came back to %q", got)
	}
	b.keys("<right><enter>")
	if turn, _ := b.w.turnHere(); b.w.chosenKey().ID != 1 || turn != 8 {
		t.Errorf("at turn %d of %v", turn, b.w.chosenKey())
	}
	if b.keys("v"); b.w.compare.col != 1 || b.w.compare.keys[0].ID != 0 {
		t.Errorf("came back to column %d of %v", b.w.compare.col, b.w.compare.keys)
	}
}

// A run that goes on: what comes in shows, and the cursor stays on its call although
// the rows above it become more.
func TestCompareFollows(t *testing.T) {
	f := fakeSiblings()
	b := open(t, f, 120, 60, nil)
	b.keys(" j vgn ") // #0 and #2, which is held at turn 7: that row is open
	for range 30 {
		if b.keys("j"); strings.HasPrefix(b.here(), "+ 9 editor") {
			break
		}
	}
	at, row := b.here(), b.w.sheet.scroll.cursor.row
	if !strings.HasPrefix(at, "+ 9 editor") {
		t.Fatalf("at %q", at)
	}
	k := sessions.Key{Instance: "flask-4045", ID: 2}
	f.mu.Lock()
	turns := f.turns[k]
	last := &turns[len(turns)-1]
	last.Complete = true
	last.Observations = []sessions.Observation{{CallID: "c1", Tool: "execute_bash", Text: "they are gone\n" + strings.Repeat("all of them\n", 20), Status: "ok", Source: sessions.FromTool}}
	f.turns[k] = append(turns, fakeTurn(k, 8))
	for i := range f.trajs {
		if f.trajs[i].Key == k {
			f.trajs[i].State, f.trajs[i].Turn = sessions.Running, 8
		}
	}
	n := len(f.asked)
	f.mu.Unlock()
	f.write(fakeNow(), k, sessions.KindTurnDone, sessions.TurnDone{Turn: 7})
	f.write(fakeNow(), k, sessions.KindReply, sessions.ReplyMade{Turn: 8})
	b.pull()
	if got := b.here(); got != at || b.w.sheet.scroll.cursor.row <= row {
		t.Errorf("the cursor is at row %d, %q, was at %d, %q", b.w.sheet.scroll.cursor.row, got, row, at)
	}
	if view := ansi.Strip(b.w.View()); !strings.Contains(view, "they are gone") || !strings.Contains(view, "8 editor view blueprints.py lines 170–210     ✔ │   8 editor view blueprints.py lines 170–210     ✔ │ same") {
		t.Error(view)
	}
	// The turn that was under way was read, and what came after it; of the other one
	// its last turn.
	if got := f.asked[n:]; !reflect.DeepEqual(got, [][2]int{{18, 18}, {7, 8}}) {
		t.Errorf("asked for %v", got)
	}
	f.write(fakeNow(), sessions.Key{Instance: "xarray-3305", ID: 1}, sessions.KindReply, sessions.ReplyMade{Turn: 3})
	n = len(f.asked)
	if b.pull(); len(f.asked) != n {
		t.Errorf("a trajectory that is not compared made it read %v", f.asked[n:])
	}
}

// An open row shows what was seen from two lines before the first that differs.
func TestCompareOpensAtTheDifference(t *testing.T) {
	f := fakeSiblings()
	for id := range 2 {
		turns := f.turns[sessions.Key{Instance: "flask-4045", ID: id}]
		turns[3].Observations[0].Text = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight of " + fmt.Sprint(id)
	}
	b := open(t, f, 120, 40, nil)
	b.keys("  v ")
	view := ansi.Strip(b.w.View())
	if !strings.Contains(view, ", from line 6") || !strings.Contains(view, "six") || strings.Contains(view, "five") || !strings.Contains(view, "eight of 1") {
		t.Error(view)
	}
	if b.keys(" "); strings.Contains(ansi.Strip(b.w.View()), "eight of 1") {
		t.Error("space did not close the row")
	}
}

// broken reading is said, and asked for again when something is new.
func TestCompareThatCannotBeRead(t *testing.T) {
	f := fakeSiblings()
	b := open(t, f, 120, 40, func(o *Options) { o.Reader = noPatches{f} })
	b.keys("v")
	if view := ansi.Strip(b.w.View()); !strings.Contains(view, "✘ the disk is gone") {
		t.Error(view)
	}
}

type noPatches struct{ *fakeRun }

func (noPatches) Patch(_ context.Context, _ sessions.Key) ([]byte, error) {
	return nil, errors.New("the disk is gone\x1b[2J")
}

// Enter opens the member under the cursor, whatever the order.
func TestMatrixKeys(t *testing.T) {
	for _, c := range []struct {
		keys string
		id   int
	}{
		{"M<enter>", 0}, {"jM<enter>", 1}, {"M>gj<enter>", 0}, {"M>>gj<enter>", 1}, {"M>>~gj<enter>", 2}, {"jjM>>><enter>", 2}, {"M~gj<enter>", 3},
	} {
		b := open(t, fakeSiblings(), 120, 40, nil)
		b.keys(c.keys)
		if b.w.sheet != nil || b.w.chosenKey().ID != c.id || b.w.focus != viewFocus {
			t.Errorf("%s: at %v, want #%d", c.keys, b.w.chosenKey(), c.id)
		}
	}
	b := open(t, fakeSiblings(), 120, 40, nil)
	b.asks("Mg<up><enter>", "", "enter: put the cursor on a trajectory")
}

// The picker narrows, completes, refuses what cannot be read and leaves this run out.
func TestRunPicker(t *testing.T) {
	for _, c := range []struct{ name, keys, opened string }{
		{"the newest", "D<enter>", "r-0413"},
		{"by its name", "D13<enter>", "r-0413"},
		{"completed", "Dr<tab><tab><enter>", "r-0413"},
		{"moved", "D<down><up><enter>", "r-0413"},
		{"one that cannot be read", "D09<enter>", ""},
		{"none", "Dzzz<enter>", ""},
		{"this run", "D0412<enter>", ""},
		{"left", "D<esc>", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, fakeVersed(), 120, 40, versed)
			b.keys(c.keys)
			got := ""
			if v, open := b.w.side().(*versusView); open {
				got = v.other
			}
			if got != c.opened {
				t.Errorf("compares with %q, want %q", got, c.opened)
			}
		})
	}
	b := open(t, fakeVersed(), 120, 40, func(o *Options) { o.Runs = fakeRuns{broken: errors.New("the folder is gone")} })
	b.asks("D", "", "the folder is gone")
	b.send(keyMsg(t, "esc"))
	b = open(t, fakeVersed(), 120, 40, nil)
	b.asks("D", "", "D: no other run is known here: rollbench compare r-0412 RUN")
}

// The numbers of two runs: intervened ones only when asked in; enter goes to a flip.
func TestVersusKeys(t *testing.T) {
	b := open(t, fakeVersed(), 120, 40, versed)
	b.keys("D<enter>")
	v := b.w.side().(*versusView)
	r := v.report
	// Left out of a: 1 intervened and ended (requests#2), 1 intervened and not (sympy#2).
	if r == nil || len(r.Shared) != 4 || r.A.Left["intervened"] != 2 || len(r.Settings) != 2 {
		t.Fatalf("%+v", r)
	}
	b.keys("a")
	if r = v.report; r.A.Left["intervened"] != 0 || !r.Intervened {
		t.Errorf("%+v", r.A)
	}
	b.keys("an<enter>")
	if g, _ := b.w.list.chosenGroup(); b.w.sheet != nil || g.instance != "requests-2317" || b.w.focus != listFocus {
		t.Errorf("went to %q", g.instance)
	}
	b.keys("D<down><enter>")
	if view := ansi.Strip(b.w.View()); !strings.Contains(view, "✘ no such run: r-0411") {
		t.Error(view)
	}
}

// However many settings differ, what came of them is on the first screen of the smallest
// terminal, and that they differ above it.
func TestVersusResultsFirst(t *testing.T) {
	f := fakeVersed()
	f.run.Print = []byte(`{"endpoint":{` + manySettings(18) + `}}`)
	b := open(t, f, 80, 24, versed)
	b.keys("D<enter>")
	view := ansi.Strip(b.w.View())
	differ, result := strings.Index(view, "settings differ"), strings.Index(view, "pass@1 ")
	if differ < 0 || result < differ || strings.Contains(view, "capability_17") {
		t.Error(view)
	}
	b.keys("G")
	if view = ansi.Strip(b.w.View()); !strings.Contains(view, "endpoint.capability_17") {
		t.Error(view)
	}
}

// manySettings as JSON fields.
func manySettings(n int) string {
	fields := make([]string, n)
	for i := range fields {
		fields[i] = fmt.Sprintf(`"capability_%d":true`, i)
	}
	return strings.Join(fields, ",")
}

// A run that goes on is compared anew, but not at every event.
func TestVersusFollows(t *testing.T) {
	f := fakeVersed()
	b := open(t, f, 120, 40, versed)
	b.keys("D<enter>")
	v := b.w.side().(*versusView)
	first := v.report
	end := func(i int, reward float64) {
		f.mu.Lock()
		f.trajs[i] = ended(f.trajs[i].Instance, f.trajs[i].ID, sessions.Done, sessions.FinishTool, 9, 900, &reward)
		f.mu.Unlock()
		f.write(fakeNow(), f.trajs[i].Key, sessions.KindState, sessions.StateChange{State: sessions.Done})
		b.pull()
	}
	end(2, 1)
	if v.report != first {
		t.Error("read again at once")
	}
	b.send(versusAgainMsg{v})
	if v.report == first || v.report.A.Rated != first.A.Rated+1 {
		t.Errorf("%d rewards, then %d", first.A.Rated, v.report.A.Rated)
	}
}

// Whatever a session says, comparisons hold no escape sequence but colours and keep
// their shape; any size does.
func TestHostileComparisons(t *testing.T) {
	f := fakeVersed()
	others := fakeOthers()
	for _, f := range []*fakeRun{f, others.other} {
		f.run.Title, f.run.Model = hostile, hostile
		for i := range f.run.Members {
			f.run.Members[i].Instance = hostile + f.run.Members[i].Instance
		}
		for i := range f.trajs {
			t := &f.trajs[i]
			old := t.Key
			t.Instance = hostile + t.Instance
			if t.Finish != "" {
				t.Finish = hostile
			}
			turns := f.turns[old]
			for j := range turns {
				soil(&turns[j])
			}
			f.turns[t.Key] = turns
			f.patch[t.Key] = []byte(fakePatch + hostile + strings.Repeat("x\n", i))
			f.write(fakeNow(), t.Key, sessions.KindToolFinished, sessions.ToolFinished{Turn: 99, Tool: hostile})
		}
	}
	f.run.Print, others.other.run.Print = []byte(`{"a":"\u001b[2J"}`), []byte(`{"a\u001b[2J":2}`)
	for i := range others.list {
		s := &others.list[i]
		s.Title, s.Model, s.Problem = hostile, hostile, strings.Repeat(hostile, i/3)
	}
	for _, wh := range [][2]int{{80, 24}, {120, 40}, {200, 60}, {60, 20}, {41, 11}, {30, 8}} {
		for _, keys := range []string{"  ", "v", "vn n ", "v<right><right>G", "M", "M>", "D", "D<enter>", "D<enter>G"} {
			b := open(t, f, wh[0], wh[1], func(o *Options) { o.Runs = others })
			b.keys(keys)
			rows := strings.Split(b.w.View(), "\n")
			if len(rows) != wh[1] {
				t.Fatalf("%v %q: %d rows", wh, keys, len(rows))
			}
			for i, r := range rows {
				checkEscapes(t, r)
				if n := ansi.StringWidth(r); n != wh[0] {
					t.Errorf("%v %q: row %d is %d columns wide: %q", wh, keys, i, n, r)
				}
				if strings.Contains(r, "owned") {
					t.Errorf("%v %q: row %d shows what an escape sequence carried: %q", wh, keys, i, r)
				}
			}
		}
	}
}

// A comparison that was closed takes no answer any more.
func TestComparisonClosed(t *testing.T) {
	b := open(t, fakeVersed(), 120, 40, versed)
	for _, keys := range []string{"v", "M", "D<enter>"} {
		b.keys(keys)
		c := b.w.side()
		b.keys("<esc>")
		if b.w.sheet != nil {
			t.Fatalf("%s: esc left the sheet open", keys)
		}
		var late tea.Msg
		switch v := c.(type) {
		case *compareView:
			late = besideMsg{view: v, err: errors.New("late")}
		case *matrixView:
			late = matrixMsg{view: v, err: errors.New("late")}
		case *versusView:
			late = versusMsg{view: v, err: errors.New("late")}
		}
		b.send(late)
		if said, shown := b.w.toasts.shown(b.w.now.Add(time.Hour)); shown {
			t.Errorf("%s: says %q", keys, said.text)
		}
	}
}
