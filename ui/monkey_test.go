package ui

import (
	"math/rand/v2"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// Any keys in any order at any size: nothing breaks, every frame keeps its
// shape.
func TestMonkey(t *testing.T) {
	t.Setenv("TMUX", "") // what it copies goes nowhere
	t.Setenv("TMPDIR", t.TempDir())
	var keys []string
	for _, b := range keyTable() {
		keys = append(keys, b.Keys()...)
	}
	for k := range keyTypes {
		keys = append(keys, k)
	}
	keys = append(keys, "h", "\"", "y", "l", "a", ":", ":", "c", "o", "n", "=", "#")
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := fakeMeasured().printed(testLog(4000), 100000, 77)
		f.recordUse()
		b := open(t, f, 120, 40, func(o *Options) { measured(o); versed(o) })
		var sent []string
		for range 700 {
			k := keys[r.IntN(len(keys))]
			switch {
			case k == "ctrl+z" || k == "ctrl+e" || k == "Y": // leave the terminal
				continue
			case k == "y" && b.w.dialog == nil:
				continue
			}
			if r.IntN(12) == 0 { // the mouse, too
				b.send(tea.MouseMsg{X: r.IntN(b.w.w + 2), Y: r.IntN(b.w.h + 2), Action: tea.MouseActionPress,
					Button: []tea.MouseButton{tea.MouseButtonLeft, tea.MouseButtonLeft, tea.MouseButtonWheelUp, tea.MouseButtonWheelDown}[r.IntN(4)]})
				sent = append(sent, "<mouse>")
			}
			if typ, ok := map[string]tea.KeyType{"f5": tea.KeyF5, "f10": tea.KeyF10, "f11": tea.KeyF11}[k]; ok {
				b.send(tea.KeyMsg{Type: typ})
			} else {
				b.send(keyMsg(t, k))
			}
			sent = append(sent, k)
			if r.IntN(9) == 0 {
				b.send(tea.WindowSizeMsg{Width: 1 + r.IntN(220), Height: 1 + r.IntN(70)})
			}
			rows := strings.Split(b.w.View(), "\n")
			if len(rows) != b.w.h {
				t.Fatalf("seed %d: %d rows at %dx%d after %q", seed, len(rows), b.w.w, b.w.h, sent)
			}
			for _, row := range rows {
				if ansi.StringWidth(row) != b.w.w {
					t.Fatalf("seed %d: a row is not %d wide after %q: %q", seed, b.w.w, sent, row)
				}
			}
		}
	}
}
