package ui

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"rollbench/engine"
	"rollbench/sessions"
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
	opt := Options{Reader: f, Commands: f, Clock: fakeNow, Editor: "true", Theme: "dark", Output: &strings.Builder{}}
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
	switch m.(type) {
	case tea.KeyMsg, huntMsg:
		b.do(cmd)
	}
	b.w.settle()
	b.do(b.w.loadTurns())
	b.do(b.w.loadTokens())
	b.do(b.w.loadTimelines())
	b.do(b.w.loadPage())
	b.do(b.w.loadHistory())
	b.do(b.w.loadOutput())
	b.do(b.w.loadComparison())
	b.do(b.w.loadFork())
}

// do what a key asked for, and take its message.
func (b *bench) do(cmd tea.Cmd) {
	b.t.Helper()
	if cmd == nil {
		return
	}
	m := cmd()
	b.last = m
	switch m := m.(type) {
	case crashMsg:
		b.t.Fatal(m.what)
	case agedMsg, verbMsg, exportMsg, copiedMsg, turnsMsg, tokensMsg, timelineMsg, huntMsg, pageMsg, pieceMsg, foundMsg, searchedMsg, historyMsg, whatIfMsg, editedMsg, repliesMsg, comparisonMsg, forkMsg, shellMsg, shellLeftMsg:
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

// asks types keys and compares what the engine was asked for then, and what is said of
// it: in the open form, else in a message.
func (b *bench) asks(keys, call, says string) {
	b.t.Helper()
	b.keys(keys)
	if got := strings.Join(b.f.calls, "; "); got != call {
		b.t.Errorf("engine was asked %q, want %q", got, call)
	}
	said, _ := b.w.toasts.shown(b.w.now)
	if f, open := b.w.dialog.(*form); open {
		said.text = f.failed
	}
	if said.text != says {
		b.t.Errorf("says %q, want %q", said.text, says)
	}
}

var keyTypes = map[string]tea.KeyType{
	"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "up": tea.KeyUp, "down": tea.KeyDown,
	"left": tea.KeyLeft, "right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd,
	"f5": tea.KeyF5, "f9": tea.KeyF9, "f10": tea.KeyF10, "f11": tea.KeyF11, "ctrl+s": tea.KeyCtrlS, "ctrl+e": tea.KeyCtrlE, "ctrl+t": tea.KeyCtrlT,
	"ctrl+c": tea.KeyCtrlC, "ctrl+p": tea.KeyCtrlP, "ctrl+k": tea.KeyCtrlK, "ctrl+a": tea.KeyCtrlA, "ctrl+f": tea.KeyCtrlF, "ctrl+u": tea.KeyCtrlU, "ctrl+w": tea.KeyCtrlW, "ctrl+z": tea.KeyCtrlZ, "backspace": tea.KeyBackspace, "delete": tea.KeyDelete,
}

func keyMsg(t *testing.T, name string) tea.KeyMsg {
	t.Helper()
	if name == " " || name == "space" {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}}
	}
	if alt, ok := strings.CutPrefix(name, "alt+"); ok {
		return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(alt), Alt: true}
	}
	if k, ok := keyTypes[name]; ok {
		return tea.KeyMsg{Type: k}
	}
	if name == "lt" {
		name = "<"
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
	b.checkText(name, got)
}

func (b *bench) checkText(name, got string) {
	b.t.Helper()
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
		{"sorted", ">>>>>"},
		{"nomatch", "/zzz<enter>"},
		{"help", "?"},
		{"messages", "sm"},
		{"cancel", "jjX"},
		{"edit", "jje"},
		{"inject", "jjiKeep going.<enter>Tests stay."},
		{"quit", "q"},
		{"export", "E"},
		{"reject", "jjx"},
		{"finish", "jjW"},
	}
	for _, v := range views {
		b := open(t, fakeWhole(), 80, 24, func(o *Options) { o.Export, o.NoColor = fakeExport, true })
		b.keys(v.keys)
		b.check(v.name + "-mono-80x24")
		for size, wh := range sizes() {
			t.Run(v.name+"-"+size, func(t *testing.T) {
				b := open(t, fakeWhole(), wh[0], wh[1], func(o *Options) { o.Export = fakeExport })
				b.keys(v.keys)
				b.check(v.name + "-" + size)
			})
		}
	}
}

// Small terminals: one pane, then one line.
func TestSmallScreens(t *testing.T) {
	for _, v := range []struct {
		name, keys string
		w, h       int
	}{
		{"single-list-60x20", "", 60, 20},
		{"single-text-60x20", "<enter>", 60, 20},
		{"single-edit-40x10", "jje", 40, 10},
		{"tiny-39x9", "", 39, 9},
		{"tiny-12x1", "", 12, 1},
	} {
		t.Run(v.name, func(t *testing.T) {
			b := open(t, fakeWhole(), v.w, v.h, nil)
			b.keys(v.keys)
			b.check(v.name)
		})
	}
}

// Without colour nothing is lost: no colour is set, every state has its word.
func TestNoColor(t *testing.T) {
	for size, wh := range sizes() {
		b := open(t, fakeWhole(), wh[0], wh[1], func(o *Options) { o.NoColor = true })
		b.keys("jj<enter>")
		b.check("mono-" + size)
		for _, sgr := range strings.Split(b.w.View(), "\x1b[")[1:] {
			code, _, _ := strings.Cut(sgr, "m")
			for _, p := range strings.Split(code, ";") {
				if len(p) > 1 { // colours have two digits or more; weight, faint, underline and reverse have one
					t.Fatalf("colour %q is set", code)
				}
			}
		}
	}
}

// Gauges that are not reported are N/A, never 0; a run of another process and
// a run without any gauge are said to be so.
func TestOtherHeads(t *testing.T) {
	bare := fakeWhole()
	bare.status.Endpoints[0].Gauges, bare.status.GPUs, bare.status.Forecast, bare.status.LimitedBy = nil, nil, nil, ""
	bare.status.Endpoints[0].Healthy, bare.status.Endpoints[0].Problem = false, "connection refused: is the server up?"
	many := fakeWhole()
	for i := 2; i < 12; i++ {
		many.status.GPUs = append(many.status.GPUs, many.status.GPUs[i%2])
	}
	sim := fakeWhole()
	sim.run.Simulate = true
	sim.run.Model = "simulated"
	paused := fakeWhole()
	paused.status.Paused = true
	long := fakeWhole()
	long.run.ID, long.run.Title = "20261129-184541-swe-smith-python-train", "swe-smith-python-train-with-a-long-name"
	long.run.Model = "/data/models/Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8"
	long.status.Run = engine.Queue{Waiting: 1412, Busy: 256, Limit: 256}
	finished := fakeWhole()
	finished.trajs = slices.DeleteFunc(finished.trajs, func(t sessions.Trajectory) bool { return !t.State.Ended() })
	silent := fakeWhole()
	silent.status = nil
	gone := fakeWhole()
	gone.status.At = fakeNow().Add(-time.Minute)
	hosts := fakeWhole()
	hosts.status.GPUs[0].Host, hosts.status.GPUs[1].Host = "node3", "node-with-a-long-name.cluster"
	hosts.status.GPUs = append(hosts.status.GPUs, engine.GPU{Host: "node3", Index: 1, Part: "2", Util: ptr(0.5), Celsius: ptr(50.0)})
	several, crowd, dead := fakeWhole(), fakeWhole(), fakeWhole()
	several.endpoints(3, 1)
	crowd.endpoints(12, 2)
	dead.endpoints(2, 2)
	for _, v := range []struct {
		name   string
		f      *fakeRun
		change func(*Options)
	}{
		{"head-3endpoints", several, nil}, {"head-12endpoints", crowd, nil}, {"head-endpoints-down", dead, nil},
		{"head-hosts", hosts, nil},
		{"head-bare", bare, nil}, {"head-12gpus", many, nil}, {"head-simulated", sim, nil}, {"head-paused", paused, nil}, {"head-long", long, nil},
		{"head-finished", finished, func(o *Options) { o.Export = fakeExport }},
		{"head-watched", paused, func(o *Options) { o.Commands = nil }},
		{"head-gone", gone, func(o *Options) { o.Commands = nil }},
		{"head-readonly", silent, func(o *Options) { o.Commands = nil }},
	} {
		for _, wh := range [][2]int{{80, 24}, {120, 40}} {
			b := open(t, v.f, wh[0], wh[1], v.change)
			rows := strings.Split(b.w.View(), "\n")
			b.checkText(v.name+"-"+thousands(int64(wh[0])), strings.Join(append(rows[:8:8], rows[len(rows)-1]), "\n"))
		}
	}
}

// The bottom line is the last row, whatever is open and however the size
// changes; and every row is as wide as the terminal.
func TestResize(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	for _, open := range []string{"", "jj<enter>", "e", "<esc>?", "<esc>/x"} {
		b.keys(open)
		for _, wh := range [][2]int{{120, 40}, {80, 24}, {200, 60}, {41, 11}, {79, 23}, {20, 5}, {1, 1}, {500, 12}, {40, 200}, {120, 30}} {
			b.send(tea.WindowSizeMsg{Width: wh[0], Height: wh[1]})
			rows := strings.Split(b.w.View(), "\n")
			if len(rows) != wh[1] {
				t.Fatalf("%q at %v: %d rows", open, wh, len(rows))
			}
			for i, r := range rows {
				if n := ansi.StringWidth(r); n != wh[0] {
					t.Fatalf("%q at %v: row %d is %d wide: %q", open, wh, i, n, r)
				}
			}
			if last := ansi.Strip(rows[len(rows)-1]); wh[0] >= 40 && !strings.Contains(last, "8/20") {
				t.Errorf("%q at %v: the bottom line is %q", open, wh, last)
			}
		}
	}
}
