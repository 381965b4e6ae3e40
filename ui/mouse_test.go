package ui

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// point at a cell with a button.
func (b *bench) point(x, y int, button tea.MouseButton) {
	b.t.Helper()
	b.send(tea.MouseMsg{X: x, Y: y, Action: tea.MouseActionPress, Button: button})
}

// pointAt the first place of a text on the screen.
func (b *bench) pointAt(text string, button tea.MouseButton) {
	b.t.Helper()
	for y, row := range strings.Split(ansi.Strip(b.w.View()), "\n") {
		if i := strings.Index(row, text); i >= 0 {
			b.point(width(row[:i]), y, button)
			return
		}
	}
	b.t.Fatalf("%q is not on the screen:\n%s", text, ansi.Strip(b.w.View()))
}

const left, wheelUp, wheelDown = tea.MouseButtonLeft, tea.MouseButtonWheelUp, tea.MouseButtonWheelDown

func TestMouseList(t *testing.T) {
	for _, wh := range [][2]int{{120, 40}, {80, 24}, {60, 20}, {200, 60}} {
		b := open(t, fakeWhole(), wh[0], wh[1], nil)
		b.pointAt("◆ held", left)
		if got := b.w.chosenKey(); got != heldKey {
			t.Errorf("%v: a click chose %v", wh, got)
		}
		if b.w.focus != listFocus {
			t.Errorf("%v: the first click opens", wh)
		}
		b.pointAt("◆ held", left) // the row itself is the first place
		if b.w.focus != viewFocus {
			t.Errorf("%v: the second click does not open", wh)
		}
		if wh[0] < 80 { // the list is not on the screen any more
			continue
		}
		b.pointAt("▾ requests-2317", left)
		if g, _ := b.w.list.chosenGroup(); g.instance != "requests-2317" || b.w.focus != listFocus {
			t.Errorf("%v: chose %v", wh, g.instance)
		}
		b.pointAt("▾ requests-2317", left)
		if !b.w.list.folded["requests-2317"] {
			t.Errorf("%v: a second click on a group does not fold it", wh)
		}
	}
}

func TestMouseWheel(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.point(5, 20, wheelDown)
	if b.w.list.at != 4 || b.w.focus != listFocus {
		t.Errorf("the wheel over the list: row %d", b.w.list.at)
	}
	b.point(5, 20, wheelUp)
	s := b.w.scroller()
	s.settle(b.w.document(), b.w.viewWidth(), 30)
	top := s.top
	b.point(100, 20, wheelUp)
	if s = b.w.scroller(); !before(s.top, top) || s.follow || b.w.focus != listFocus {
		t.Errorf("the wheel over the view: from %v to %v, follow %v, focus %v", top, s.top, s.follow, b.w.focus)
	}
	b.point(100, 2, wheelUp) // over the head: nothing
	b.keys("?")
	before := b.w.sheet.scroll.top
	b.point(50, 20, wheelDown)
	if got := b.w.sheet.scroll.top; got.row != before.row+wheelRows {
		t.Errorf("the wheel over a sheet: %v", got)
	}
}

func TestMouseView(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.keys("jj<enter>g")
	b.pointAt("⋯", left) // a folded block
	blk := b.w.scroller().block(b.w.document(), b.w.viewWidth())
	if blk == nil || b.w.focus != viewFocus || b.w.scroller().folds.open[blk.id] {
		t.Fatalf("the first click unfolds, or chose nothing: %v", blk)
	}
	b.pointAt("⋯", left)
	if !b.w.scroller().folds.open[blk.id] {
		t.Error("the second click does not unfold")
	}
}

// Each name of a view is where it is clicked, framed, stacked and alone.
func TestMouseTabs(t *testing.T) {
	for _, wh := range [][2]int{{120, 40}, {200, 60}, {80, 24}, {79, 23}} {
		for n, full := range tabNames {
			b := open(t, fakeWhole(), wh[0], wh[1], nil)
			b.keys("<enter>g")
			name := full
			rows := strings.Split(ansi.Strip(b.w.View()), "\n")
			edge := -1
			for y, r := range rows {
				if strings.Contains(r, "text·patch") || strings.Contains(r, "text · patch") {
					edge = y
				}
			}
			if edge < 0 {
				t.Fatalf("%v: the views are not named:\n%s", wh, strings.Join(rows, "\n"))
			}
			at := strings.LastIndex(rows[edge], name)
			if at < 0 {
				name = tabShorts[n]
				at = strings.LastIndex(rows[edge], name)
			}
			b.point(width(rows[edge][:at]), edge, left)
			if b.w.tab != tab(n) || b.w.focus != viewFocus {
				t.Errorf("%v: a click on %s shows %s", wh, name, tabNames[b.w.tab])
			}
		}
	}
	b := open(t, fakeWhole(), 60, 20, nil)
	b.keys("<enter>")
	b.pointAt("1 2", left) // "1" is the list
	if b.w.focus != listFocus {
		t.Error("a click on the list's number does not show it")
	}
}

func TestMouseTokens(t *testing.T) {
	b := openTokens(t, tokenTurn(), nil)
	b.pointAt("rf", left)
	if got := b.infoLines(); !strings.HasPrefix(got, `3/4  id 12`) {
		t.Errorf("a click on the third token: %s", got)
	}
	b.pointAt("rm", left)
	if got := b.infoLines(); !strings.HasPrefix(got, `1/4  id 10`) {
		t.Errorf("a click on the first token: %s", got)
	}
}

func TestMousePalette(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.keys("jjj:paus")
	b.pointAt("pause            p", left)
	if p := b.w.dialog.(*palette); p.rows[p.at].name != "pause" || len(b.f.calls) > 0 {
		t.Errorf("a click chose %q and asked for %v", p.rows[p.at].name, b.f.calls)
	}
	b.pointAt("pause            p", left)
	if b.w.dialog != nil {
		t.Error("a second click does not run it")
	}
}

// The wheel changes nothing in a dialog that asks, and a press of another button,
// a move, or a press outside of everything does nothing.
func TestMouseNothing(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.keys("jjX")
	for _, m := range []tea.MouseMsg{{X: 60, Y: 20, Action: tea.MouseActionPress, Button: wheelDown}, {X: 60, Y: 20, Action: tea.MouseActionPress, Button: left}} {
		b.send(m)
		if q, ok := b.w.dialog.(*question); !ok || q.at != 0 {
			t.Errorf("%v changed the question", m)
		}
	}
	b.keys("<esc>")
	view := b.w.View()
	for _, m := range []tea.MouseMsg{
		{X: 5, Y: 12, Action: tea.MouseActionPress, Button: tea.MouseButtonRight}, {X: 5, Y: 12, Action: tea.MouseActionMotion, Button: left},
		{X: 5, Y: 12, Action: tea.MouseActionRelease, Button: left}, {X: -3, Y: 12, Action: tea.MouseActionPress, Button: left}, {X: 500, Y: 500, Action: tea.MouseActionPress, Button: left},
		{X: 5, Y: 2, Action: tea.MouseActionPress, Button: left},
	} {
		if b.send(m); b.w.View() != view {
			t.Errorf("%+v changed the screen", m)
		}
	}
}

// The mouse is asked for where it is wanted and only there, and given back at the
// end; after another program had the terminal it is asked for again.
func TestMouseModes(t *testing.T) {
	const on, off = "\x1b[?1002h", "\x1b[?1002l"
	for _, c := range []struct {
		name  string
		mouse bool
		keys  string
		want  bool
	}{
		{"off", false, "", false}, {"on", true, "", true}, {"turned on", false, ":mouse on\r", true}, {"turned on and off", false, ":mouse\r:mouse\r", true},
	} {
		s := start(t, t.Context(), Options{Reader: fakeWhole(), Mouse: c.mouse})
		s.out.until("read only")
		for k := range strings.SplitSeq(c.keys, "") {
			s.press(t, k)
		}
		if c.keys != "" {
			s.out.until(on)
		}
		s.press(t, "q")
		if err := <-s.done; err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		text := s.out.text()
		if strings.Contains(text, "\x1b[?1003h") || strings.Contains(text, "\x1b[?1000h") || strings.Contains(text, on) != c.want {
			t.Errorf("%s: the mouse was asked for: %v", c.name, !c.want)
		}
		if strings.LastIndex(text, off) < strings.LastIndex(text, on) {
			t.Errorf("%s: the mouse is not given back", c.name)
		}
	}
	b := open(t, fakeWhole(), 120, 40, func(o *Options) { o.Mouse = true })
	for _, m := range []tea.Msg{tea.ResumeMsg{}, editedMsg{}} {
		if cmd := b.w.route(m); cmd == nil || cmd() != tea.EnableMouseCellMotion() {
			t.Errorf("%T: the mouse is not asked for again", m)
		}
	}
	b = open(t, fakeWhole(), 120, 40, nil)
	if b.w.route(tea.ResumeMsg{}) != nil {
		t.Error("the mouse is asked for although it is off")
	}
}
