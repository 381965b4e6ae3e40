package ui

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

var update = flag.Bool("update", false, "rewrite the golden screens and docs/keys.md")

// bench drives a Workbench as tea would, running its commands at once. Only
// those that wait (for a wake, a timer) are left alone.
type bench struct {
	t    *testing.T
	w    *Workbench
	f    *fakeRun
	last tea.Msg // of the last command
}

func open(t *testing.T, f *fakeRun, cols, rows int, change func(*Options)) *bench {
	t.Helper()
	opt := Options{Reader: f, Commands: f, Clock: fakeNow, Editor: "true", Output: &strings.Builder{}}
	if change != nil {
		change(&opt)
	}
	w, err := New(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	b := &bench{t: t, w: w, f: f}
	b.send(tea.WindowSizeMsg{Width: cols, Height: rows})
	b.pull()
	return b
}

// pull reads the session once, as a wake would make it do.
func (b *bench) pull() { b.send(b.w.pull()()) }

// send a message and all that follows from it.
func (b *bench) send(m tea.Msg) {
	b.t.Helper()
	b.w.now = b.w.opt.Clock()
	cmd := b.w.route(m)
	if _, isKey := m.(tea.KeyMsg); isKey {
		b.do(cmd)
	}
	b.w.settle()
	b.do(b.w.loadTurns())
	b.do(b.w.loadPage())
}

// do what a key asked for, and take its message.
func (b *bench) do(cmd tea.Cmd) {
	b.t.Helper()
	if cmd == nil {
		return
	}
	m := cmd()
	b.last = m
	switch m.(type) {
	case verbMsg, exportMsg, copiedMsg, turnsMsg, pageMsg, editedMsg:
		b.send(m)
	}
}

// keys types: single characters, or names in angle brackets as in <enter>.
func (b *bench) keys(s string) {
	b.t.Helper()
	for s != "" {
		name := s[:1]
		if s[0] == '<' {
			name = s[1:strings.IndexByte(s, '>')]
			s = s[len(name)+2:]
		} else {
			s = s[1:]
		}
		b.send(keyMsg(b.t, name))
	}
}

var keyTypes = map[string]tea.KeyType{
	"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "up": tea.KeyUp, "down": tea.KeyDown,
	"left": tea.KeyLeft, "right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd,
	"f5": tea.KeyF5, "f10": tea.KeyF10, "f11": tea.KeyF11, "ctrl+s": tea.KeyCtrlS, "ctrl+e": tea.KeyCtrlE, "ctrl+t": tea.KeyCtrlT,
	"ctrl+c": tea.KeyCtrlC, "ctrl+u": tea.KeyCtrlU, "ctrl+w": tea.KeyCtrlW, "ctrl+z": tea.KeyCtrlZ, "backspace": tea.KeyBackspace, "delete": tea.KeyDelete,
}

func keyMsg(t *testing.T, name string) tea.KeyMsg {
	t.Helper()
	if name == " " || name == "space" {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}}
	}
	if k, ok := keyTypes[name]; ok {
		return tea.KeyMsg{Type: k}
	}
	if len([]rune(name)) != 1 {
		t.Fatalf("no key %q", name)
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

// check the screen against testdata/NAME.golden. Colours are written as ANSI,
// so a golden also holds what is coloured how.
func (b *bench) check(name string) {
	b.t.Helper()
	got := b.w.View()
	for i, row := range strings.Split(got, "\n") {
		if n := ansi.StringWidth(row); n != b.w.w {
			b.t.Errorf("%s: row %d is %d columns wide, not %d: %q", name, i, n, b.w.w, row)
		}
	}
	if n := strings.Count(got, "\n") + 1; n != b.w.h {
		b.t.Errorf("%s: %d rows, not %d", name, n, b.w.h)
	}
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
			b.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatalf("%v (go test ./ui -update makes it; then read it)", err)
	}
	if string(want) != got+"\n" {
		b.t.Errorf("%s differs from %s; got:\n%s", name, file, ansi.Strip(got))
	}
}

func sizes() map[string][2]int {
	return map[string][2]int{"80x24": {80, 24}, "120x40": {120, 40}, "200x60": {200, 60}}
}

// Every view and dialog, at every size.
func TestScreens(t *testing.T) {
	views := []struct{ name, keys string }{
		{"list", ""},
		{"held", "jj<enter>"},
		{"text", "<enter>g"},
		{"group", "k"},
		{"patch", "3"},
		{"verifier", "4"},
		{"events", "jj5"},
		{"failed", "/requests<enter>G<enter>"},
		{"running", "jjj<enter>"},
		{"zoom", "jj<enter>z"},
		{"filter", "/masked"},
		{"help", "?"},
		{"messages", "sm"},
		{"cancel", "jjX"},
		{"edit", "jje"},
		{"inject", "jjiKeep going.<enter>Tests stay."},
		{"quit", "q"},
		{"export", "E"},
	}
	for _, v := range views {
		for size, wh := range sizes() {
			t.Run(v.name+"-"+size, func(t *testing.T) {
				b := open(t, fakeWhole(), wh[0], wh[1], func(o *Options) { o.Export = fakeExport })
				b.keys(v.keys)
				b.check(v.name + "-" + size)
			})
		}
	}
}
