package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"rollbench/sessions"
)

func callOf(name, args string) sessions.Call {
	return sessions.Call{ID: "c1", Name: name, Arguments: args}
}

// rowsPage has one section for each count, with so many one-row blocks.
func rowsPage(counts ...int) *page {
	p := &page{}
	for i, n := range counts {
		s := &section{}
		for j := range n {
			s.add(block{id: thousands(int64(i*100 + j)), text: thousands(int64(i*100 + j))})
		}
		p.sections = append(p.sections, s)
	}
	return p
}

func TestScrollerKeys(t *testing.T) {
	p := rowsPage(5, 1, 10) // rows 0–4, 100, 200–209
	for _, c := range []struct {
		keys        []string
		top, cursor place
	}{
		{nil, place{0, 0}, place{0, 0}},
		{[]string{"down"}, place{0, 0}, place{0, 1}},
		{[]string{"up"}, place{0, 0}, place{0, 0}},
		{[]string{"down", "down", "down", "down"}, place{0, 1}, place{0, 4}},
		{[]string{"G"}, place{2, 6}, place{2, 9}},
		{[]string{"G", "up"}, place{2, 6}, place{2, 8}},
		{[]string{"G", "g"}, place{0, 0}, place{0, 0}},
		{[]string{"}"}, place{1, 0}, place{1, 0}},
		{[]string{"}", "}"}, place{2, 0}, place{2, 0}},
		{[]string{"}", "}", "down", "{"}, place{2, 0}, place{2, 0}},
		{[]string{"}", "}", "{"}, place{1, 0}, place{1, 0}},
		{[]string{"pgdown"}, place{0, 3}, place{0, 3}},
		{[]string{"pgdown", "pgdown"}, place{2, 0}, place{2, 0}},
		{[]string{"pgdown", "pgup"}, place{0, 0}, place{0, 0}},
		{[]string{"G", "pgup"}, place{2, 3}, place{2, 6}},
	} {
		s := scroller{}
		for _, k := range c.keys {
			s.key(p, k, 40, 4)
		}
		s.settle(p, 40, 4)
		if s.top != c.top || s.cursor != c.cursor {
			t.Errorf("%v: top %v cursor %v, want %v %v", c.keys, s.top, s.cursor, c.top, c.cursor)
		}
	}
}

// Following ends with a move up and comes back at the end.
func TestFollow(t *testing.T) {
	s := scroller{follow: true}
	p := rowsPage(20)
	s.settle(p, 40, 4)
	if s.cursor != (place{0, 19}) {
		t.Errorf("follow stands at %v", s.cursor)
	}
	s.key(p, "up", 40, 4)
	grown := rowsPage(30)
	s.settle(grown, 40, 4)
	if s.cursor != (place{0, 18}) || s.follow {
		t.Errorf("after a move up: %v follow %v", s.cursor, s.follow)
	}
	s.key(grown, "G", 40, 4)
	s.settle(rowsPage(40), 40, 4)
	if s.cursor != (place{0, 39}) {
		t.Errorf("after G: %v", s.cursor)
	}
}

// A long trajectory opens with its end: only the turns on the screen are read,
// and those of the start once it is gone to.
func TestReadsOnlyWhatIsShown(t *testing.T) {
	f := fakeWhole()
	k := sessions.Key{Instance: "flask-4045", ID: 0}
	f.trajs[0].Turn = 5000
	f.turns[k] = fakeTurns(f.trajs[0])
	b := open(t, f, 120, 40, nil)
	b.keys("<enter>g")
	b.keys("jjj")
	read := 0
	for _, r := range f.asked {
		read += r[1] - r[0] + 1
	}
	if read > 60 {
		t.Errorf("%d turns were read for two screens: %v", read, f.asked)
	}
	if !strings.Contains(ansi.Strip(b.w.View()), "turn 1 ─") {
		t.Error("g does not show turn 1")
	}
}

// A turn that changes is read again and drawn anew; the others are not.
func TestStaleTurn(t *testing.T) {
	f := fakeWhole()
	b := open(t, f, 120, 40, nil)
	b.keys("jj")
	f.asked = nil
	k := sessions.Key{Instance: "flask-4045", ID: 2}
	turns := f.turns[k]
	turns[len(turns)-1].Observations = []sessions.Observation{{CallID: "c1", Tool: "execute_bash", Text: "brand new output", Status: "ok", Exit: ptr(0)}}
	turns[len(turns)-1].Complete = true
	f.write(fakeNow(), k, sessions.KindTurnDone, sessions.TurnDone{Turn: 7})
	b.pull()
	if !strings.Contains(b.w.View(), "brand new output") {
		t.Error("the new observation is not shown")
	}
	if len(f.asked) != 1 || f.asked[0] != [2]int{7, 7} {
		t.Errorf("read turns %v, want 7 only", f.asked)
	}
	if len(b.w.turns.waits) != 0 {
		t.Error("a complete turn still has a call that waits")
	}
}

// Folding: a long observation shows a few rows, enter shows all, enter hides.
func TestFold(t *testing.T) {
	s := &section{}
	s.add(block{id: "o", text: clean(strings.Repeat("row\n", 100)), fold: 8})
	p, sc := onePage(s), scroller{}
	if got := sc.rowsOf(p, 0, 40); got != 9 {
		t.Errorf("folded: %d rows, want 9", got)
	}
	sc.fold(p, 40, nil)
	if got := sc.rowsOf(p, 0, 40); got != 100 {
		t.Errorf("unfolded: %d rows, want 100", got)
	}
	sc.key(p, "G", 40, 10)
	sc.fold(p, 40, nil)
	if got := sc.rowsOf(p, 0, 40); got != 9 || sc.cursor.row != 0 {
		t.Errorf("folded again: %d rows, cursor %v", got, sc.cursor)
	}
}

// Ten megabytes with escapes, CJK, emoji and lines of a megabyte: cleaned away
// from the screen in reasonable time, then drawn and scrolled at once.
func TestHugeObservation(t *testing.T) {
	if testing.Short() {
		return
	}
	raw := strings.Repeat("\x1b[31mred\x1b[0m 漢字 👍🏽 plain text of some length\n", 1<<17) + strings.Repeat("x", 1<<20) + "\n" + strings.Repeat("漢", 1<<20)
	s := &section{}
	start := time.Now()
	s.add(block{id: "o", text: clean(raw), fold: 8})
	cleaned := time.Since(start)
	th := testTheme("dark")
	p, sc := onePage(s), scroller{}
	start = time.Now()
	sc.render(&th, p, 124, 50, true)
	sc.fold(p, 124, nil)
	sc.key(p, "G", 124, 50)
	sc.render(&th, p, 124, 50, true)
	first := time.Since(start)
	start = time.Now()
	for range 100 {
		sc.key(p, "pgup", 124, 50)
		for _, r := range sc.render(&th, p, 124, 50, true) {
			checkEscapes(t, r)
		}
	}
	scroll := time.Since(start) / 100
	t.Logf("%d MB: clean %v, first screen and end %v, a page %v", len(raw)>>20, cleaned, first, scroll)
	if first > 2*time.Second || scroll > 50*time.Millisecond {
		t.Errorf("too slow: first screen and end %v, a page %v", first, scroll)
	}
}
