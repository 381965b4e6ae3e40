package ui

import (
	"math/rand/v2"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// shaped: the screen is exactly as large as the terminal, and the terminal is sent
// nothing but text and colours.
func (b *bench) shaped(where string) {
	b.t.Helper()
	view := b.w.View()
	rows := strings.Split(view, "\n")
	if len(rows) != b.w.h {
		b.t.Fatalf("%s at %dx%d: %d rows", where, b.w.w, b.w.h, len(rows))
	}
	for i, r := range rows {
		if n := ansi.StringWidth(r); n != b.w.w {
			b.t.Fatalf("%s at %dx%d: row %d is %d wide: %q", where, b.w.w, b.w.h, i, n, r)
		}
		checkEscapes(b.t, r)
	}
}

// places are keys to every view, dialog and sheet.
var places = []string{
	"", "k", "jj<enter>", "jj<enter>z", "z", "3", "4", "5", "6", "6J", "7", "8", "/masked", "jj<enter>/tests<enter>", "6/rm<enter>", "<ctrl+f>tests<enter>",
	"?", "?/view", "m", "Q", "w", "B", "b", "E", "q", "jjX", "jje", "jje<ctrl+t>", "jji", "jjx", "jjr", "jj!", "jjl", "jjt", "L", "jjjR", "G<enter>",
	":", ":pa", ":goto ", ":theme ", ":limits ", ":continue<enter>", ":break tool=", "jj:inject ", "jjR",
}

// Every place at sizes from 1x1 to 300x100, the edges of the layouts among them; a
// size is gone to and come back from, as a window that is dragged does.
func TestEverySize(t *testing.T) {
	edges := []int{1, 2, 3, 4, 9, 10, 11, 23, 24, 29, 30, 39, 40, 41, 59, 60, 79, 80, 99, 100, 119, 120, 199, 200, 300}
	r := rand.New(rand.NewPCG(7, 7))
	pick := func(most int) int {
		if n := edges[r.IntN(len(edges))]; n <= most && r.IntN(2) == 0 {
			return n
		}
		return 1 + r.IntN(most)
	}
	for _, keys := range places {
		b := open(t, fakeMeasured().printed(testLog(400), 10000, 77), 120, 40, measured)
		b.keys(keys)
		b.shaped(keys)
		for range 24 {
			b.send(tea.WindowSizeMsg{Width: pick(300), Height: pick(100)})
			b.shaped(keys)
		}
		for _, wh := range [][2]int{{1, 1}, {40, 10}, {39, 9}, {39, 100}, {300, 9}, {60, 20}, {300, 100}, {120, 40}} {
			b.send(tea.WindowSizeMsg{Width: wh[0], Height: wh[1]})
			b.shaped(keys)
		}
	}
}

// A storm of sizes between keys leaves the same screen as no storm.
func TestResizeStorm(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for _, keys := range []string{"jj<enter>{{", "6J", "?", ":pa", "jje", "k"} {
		calm, storm := open(t, fakeMeasured(), 120, 40, measured), open(t, fakeMeasured(), 120, 40, measured)
		calm.keys(keys)
		storm.keys(keys)
		for range 120 {
			storm.send(tea.WindowSizeMsg{Width: 40 + r.IntN(260), Height: 30 + r.IntN(70)})
		}
		storm.send(tea.WindowSizeMsg{Width: 120, Height: 40})
		storm.shaped(keys)
		if got, want := storm.where(), calm.where(); got != want {
			t.Errorf("%q: after a storm at %s, not %s", keys, got, want)
		}
	}
}

// where the person is: the chosen trajectory, the view, the block and the dialog.
func (b *bench) where() string {
	out := b.w.chosenKey().String() + " " + tabNames[b.w.tab]
	if s := b.w.scroller(); s != nil {
		if blk := s.block(b.w.document(), b.w.viewWidth()); blk != nil {
			out += " " + blk.id
		}
	}
	if b.w.dialog != nil {
		out += " " + b.w.dialog.title()
	}
	if b.w.sheet != nil {
		out += " " + b.w.sheet.title
	}
	return out
}

// On a terminal of one line no key acts whose effect nobody sees; q asks in that line.
func TestUnseenKeys(t *testing.T) {
	b := open(t, fakeWhole(), 39, 9, nil)
	last := func() string {
		rows := strings.Split(ansi.Strip(b.w.View()), "\n")
		return strings.TrimRight(rows[len(rows)-1], " ")
	}
	b.keys("jjcnsfpPXyWyilt!eLbE<enter>:")
	if len(b.f.calls) > 0 || b.w.dialog != nil || b.w.list.at != 1 {
		t.Errorf("keys that nobody sees asked for %v (%T)", b.f.calls, b.w.dialog)
	}
	b.keys("q")
	if got := last(); got != "l leaves, resumable  esc stays" {
		t.Errorf("q says %q", got)
	}
	b.keys("<esc>")
	if b.w.dialog != nil || b.w.left {
		t.Error("esc does not stay")
	}
	b.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	b.keys("jjX")
	b.send(tea.WindowSizeMsg{Width: 39, Height: 9})
	b.keys("y<right><enter>")
	if got := last(); len(b.f.calls) > 0 || got != "esc closes what is open" {
		t.Errorf("a question that nobody sees is answered: %v, %q", b.f.calls, got)
	}
	b.keys("<esc>q")
	b.send(tea.WindowSizeMsg{Width: 12, Height: 1})
	b.keys("l")
	if b.w.left {
		t.Error("a question that does not fit is answered")
	}
	b.send(tea.WindowSizeMsg{Width: 39, Height: 1})
	b.keys("l")
	if !b.w.left {
		t.Error("l does not leave")
	}
}
