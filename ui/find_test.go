package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"rollbench/sessions"
)

// at says where the cursor of the view is, and what is looked for.
func (b *bench) at() string {
	text := ""
	for _, s := range b.w.findTitle() {
		text += s.text
	}
	s := b.w.scroller()
	return fmt.Sprintf("turn %d · %s", s.cursor.section+1, text)
}

// "DID NOT RAISE" stands in turns 4, 10 and 16 of the 18 (fakeTurn case 4), the
// operator's words in 6, 12 and 18.
func TestFind(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.keys("<enter>g")
	for _, step := range []struct{ keys, want string }{
		{"/did not raise<enter>", "turn 4 · /did not raise 1/3"},
		{"n", "turn 10 · /did not raise 2/3"},
		{"nn", "turn 4 · /did not raise 1/3"}, // 16, and around
		{"N", "turn 16 · /did not raise 3/3"},
		{"{{{{{", "turn 12 · /did not raise 3"},
		{"n", "turn 16 · /did not raise 3/3"},
		{"/did not RAISE<enter>", "turn 16 · /did not RAISE 0"}, // a capital letter: as it is written
		{"/Leave the tests alone<enter>", "turn 18 · /Leave the tests alone 3/3"},
		{"<esc>", "turn 18 · "},
	} {
		b.keys(step.keys)
		if got := b.at(); got != step.want {
			t.Errorf("after %q: %s, want %s", step.keys, got, step.want)
		}
	}
	if b.w.focus != viewFocus || b.w.find.query != "" {
		t.Error("esc does more than end the search")
	}
}

// What stands in a folded part is unfolded; a row is where the cursor stands.
func TestFindUnfolds(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.keys("<enter>g/attribute_200<enter>")
	rows := strings.Split(ansi.Strip(b.w.View()), "\n")
	for _, r := range rows {
		if strings.Contains(r, "▌") && strings.Contains(r, "self.attribute_200") {
			return
		}
	}
	t.Errorf("the cursor is not there:\n%s", strings.Join(rows, "\n"))
}

// n is the debugger's key again once the search is over, and F10 always is.
func TestFindKeys(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.keys("jj<enter>/tests<enter>n")
	if len(b.f.calls) != 0 {
		t.Errorf("n while searching asked for %v", b.f.calls)
	}
	b.keys("<f10><esc>n")
	if got := strings.Join(b.f.calls, "; "); got != "step flask-4045#2 over; step flask-4045#2 over" {
		t.Errorf("asked for %s", got)
	}
}

// Raw text, messages and pages are looked through as well; another view or
// trajectory ends the search.
func TestFindViews(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"7g/<lt>tool_call><enter>", "turn 1 · /<tool_call> 1/19"}, // turn 5 has two replies
		{"8g/\"role\": \"user\"<enter>", "turn 1 · /\"role\": \"user\" 1/4"},
		{"3/raise<enter>", "turn 1 · /raise 1/1"},
		{"4/passed<enter>", "turn 1 · /passed 1/1"},
		{"4/nothing like it<enter>", "turn 1 · /nothing like it 0"},
	} {
		b := open(t, fakeTokenized(), 120, 40, nil)
		b.keys(c.keys)
		if got := b.at(); got != c.want {
			t.Errorf("after %q: %s, want %s", c.keys, got, c.want)
		}
		b.keys("]")
		if b.w.find.query != "" {
			t.Errorf("after %q and ]: still looking for %q", c.keys, b.w.find.query)
		}
	}
}

// A hunt goes on in steps: what is found shows, and esc stops it.
func TestFindInSteps(t *testing.T) {
	f := fakeWhole()
	now := fakeNow()
	b := open(t, f, 120, 40, func(o *Options) { o.Clock = func() time.Time { now = now.Add(huntStep / 2); return now } })
	b.keys("<enter>g/did not raise<enter>")
	if got := b.at(); got != "turn 4 · /did not raise 1/3" {
		t.Error(got)
	}
	turns := map[[2]int]bool{}
	for _, a := range f.asked {
		turns[a] = true
	}
	for _, want := range [][2]int{{1, 4}, {5, 8}, {9, 12}, {13, 16}, {17, 18}} {
		if !turns[want] {
			t.Errorf("turns %v were not read", want)
		}
	}
}

// Turns that come later are looked through by the next n.
func TestFindInNewTurns(t *testing.T) {
	f := fakeWhole()
	b := open(t, f, 120, 40, nil)
	b.keys("jjj<enter>g/did not raise<enter>") // 12 turns: 4 and 10
	k := sessions.Key{Instance: "flask-4045", ID: 3}
	f.trajs[3].Turn = 17 // the last one has no observation yet
	f.turns[k] = fakeTurns(f.trajs[3])
	b.pull()
	b.keys("nn")
	if got := b.at(); got != "turn 16 · /did not raise 3/3" {
		t.Error(got)
	}
}

// Of all trajectories: one row a turn, from which enter goes to the place.
func TestFindAcross(t *testing.T) {
	f := fakeWhole()
	b := open(t, f, 120, 40, nil)
	b.keys("/xyz<enter><ctrl+f>did not raise<enter>")
	hits := 0
	for _, tr := range f.trajs { // turns 4, 10, 16, … of each
		hits += (tr.Turn + 2) / 6
	}
	if n := len(b.w.across.hunt.hits); n != hits || b.w.across.hunt.places != hits {
		t.Errorf("%d turns, %d places, want %d", n, b.w.across.hunt.places, hits)
	}
	want := b.w.across.hunt.hits[5]
	b.keys("jjjjj<enter>")
	if got := b.w.chosenKey(); got != want.target.key || b.w.focus != viewFocus || b.w.sheet != nil {
		t.Errorf("at %v, want %v", got, want.target.key)
	}
	if got := b.w.scroller().cursor.section + 1; got != want.turn {
		t.Errorf("at turn %d, want %d", got, want.turn)
	}
	view := ansi.Strip(b.w.View())
	found := false
	for _, r := range strings.Split(view, "\n") {
		found = found || strings.Contains(r, "▌") && strings.Contains(r, "DID NOT RAISE")
	}
	if !found {
		t.Errorf("the cursor is not there:\n%s", view)
	}
	b.keys("<ctrl+f>")
	if b.w.sheet == nil || b.w.sheet.scroll.cursor.row != 5 || len(b.w.across.hunt.hits) != hits {
		t.Error("the places found are not there any more")
	}
}

// esc stops a hunt through the run, then closes; enter goes to what was found.
func TestFindAcrossStops(t *testing.T) {
	f := fakeWhole()
	b := open(t, f, 120, 40, nil)
	b.keys("<ctrl+f>did")
	b.w.across.typing = false
	cmd := b.w.beginAcross("did not raise")
	b.keys("<esc>")
	if b.w.sheet == nil || b.w.across.hunt.running {
		t.Error("esc does not stop the hunt alone")
	}
	b.send(cmd()) // what it had found comes too late
	if len(b.w.across.hunt.hits) != 0 {
		t.Error("a stopped hunt goes on")
	}
	b.keys("<esc>")
	if b.w.sheet != nil {
		t.Error("esc does not close")
	}
}

func TestSnippet(t *testing.T) {
	for _, c := range []struct {
		text     string
		from, to int
		want     string
	}{
		{"one\ntwo three\nfour", 4, 7, "two three"},
		{"   indented", 3, 8, "indented"},
		{strings.Repeat("a", 30) + "X", 30, 31, "…" + strings.Repeat("a", 24) + "X"},
		{strings.Repeat("漢", 10) + "X", 30, 31, "…" + strings.Repeat("漢", 8) + "X"},
		{"X" + strings.Repeat("漢", 100), 0, 1, "X" + strings.Repeat("漢", 66)},
	} {
		if got := snippet(c.text, c.from, c.to); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestFindScreens(t *testing.T) {
	for _, v := range []struct{ name, keys string }{
		{"find", "<enter>g/did not raise<enter>n"},
		{"find-typing", "<enter>/did not"},
		{"across", "<ctrl+f>leave the tests<enter>jjj"},
		{"across-typing", "<ctrl+f>leave"},
	} {
		for size, wh := range sizes() {
			b := open(t, fakeWhole(), wh[0], wh[1], nil)
			b.keys(v.keys)
			b.check(v.name + "-" + size)
		}
		b := open(t, fakeWhole(), 120, 40, func(o *Options) { o.NoColor = true })
		b.keys(v.keys)
		b.check(v.name + "-mono-120x40")
	}
}

// On a terminal too small to draw the rows, and with keys that come before they
// are drawn, enter goes nowhere rather than wrong.
func TestFindAcrossUndrawn(t *testing.T) {
	b := open(t, fakeWhole(), 30, 8, nil)
	b.keys("<ctrl+f>did not raise<enter>G<enter>")
	if got, _ := b.w.toasts.shown(b.w.now); b.w.sheet != nil && got.text != "enter: there is no place to go to" {
		t.Errorf("says %q", got.text)
	}
}

// The tokens are looked through by their texts, over their borders, from turn to
// turn and around. "DID NOT RAISE" is in what tools returned, whose texts nobody
// knows here; "Leave the tests" is a person's words in the prompts of turns 6, 12 and
// 18, unknown as well. What the policy says is known.
func TestFindTokens(t *testing.T) {
	b := open(t, fakeTokenized(), 120, 40, nil)
	at := func() string {
		text := ""
		for _, s := range b.w.findTitle() {
			text += s.text
		}
		id := int32(0)
		if v := &b.w.tokens; v.shows() {
			id = v.spans[v.spanOf(v.at)].ids[v.at-v.spans[v.spanOf(v.at)].start]
		}
		return fmt.Sprintf("turn %d · %s · %q", b.w.tokens.turn, text, b.w.tokens.texts[id])
	}
	b.keys("6")
	for b.w.tokens.turn > 1 {
		b.keys("{")
	}
	for _, step := range []struct{ keys, want string }{
		{"/pytest<enter>", `turn 4 · /pytest 1/1 in turn 4 · " pytest"`},
		{"n", `turn 10 · /pytest 1/1 in turn 10 · " pytest"`},
		{"n", `turn 16 · /pytest 1/1 in turn 16 · " pytest"`},
		{"n", `turn 4 · /pytest 1/1 in turn 4 · " pytest"`},
		{"N", `turn 16 · /pytest 1/1 in turn 16 · " pytest"`},
		{"/-M PYTEST<enter>", `turn 16 · /-M PYTEST 0 in turn 16 · " pytest"`},
		{"/m pytest<enter>", `turn 4 · /m pytest 1/1 in turn 4 · "m"`},
		{"<esc>", `turn 4 ·  · "m"`},
	} {
		b.keys(step.keys)
		if got := at(); got != step.want {
			t.Errorf("after %q: %s, want %s", step.keys, got, step.want)
		}
	}
}
