package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"rollbench/sessions"
)

// The breakpoint that b offers is for the call or the line of an answer under the
// cursor, else for the call that waits, else the last tool; sent as it is read.
func TestSetBreakpoint(t *testing.T) {
	for _, c := range []struct{ name, keys, call, says string }{
		{"of the waiting call", "jjb<ctrl+s>", `break 0 tool=execute_bash args~/rm -rf tests && \\/`, `breakpoint set: tool=execute_bash args~/rm -rf tests && \\/`},
		{"by F9, changed", "jj<f9><ctrl+u>turn>=5 every=3<enter>", "break 0 turn>=5 every=3", "breakpoint set: turn>=5 every=3"},
		{"of a call further up", "jj<enter>g}}}<down>b<ctrl+s>", `break 0 tool=execute_bash args~/python -m pytest -q tests\/test_blueprint/`, `breakpoint set: tool=execute_bash args~/python -m pytest -q tests\/test_blueprint/`},
		{"of a line it answered", "jj<enter>g}}}<down><down><down><down>b<ctrl+s>", `break 0 tool=execute_bash obs~/FAILED tests\/test_blueprints\.py::test_do/`, `breakpoint set: tool=execute_bash obs~/FAILED tests\/test_blueprints\.py::test_do/`},
		{"of the turn whose heading has the cursor", "jj<enter>g}}}b<ctrl+s>", `break 0 tool=execute_bash args~/python -m pytest -q tests\/test_blueprint/`, `breakpoint set: tool=execute_bash args~/python -m pytest -q tests\/test_blueprint/`},
		{"of what runs", "jjjb<ctrl+s>", "break 0 tool=str_replace_editor", "breakpoint set: tool=str_replace_editor"},
		{"for nothing", "kb<ctrl+s>", "", "a breakpoint needs a condition: tool=bash  args~/rm -rf/  obs~/error/  turn>=5  context>80%  error=timeout  malformed  reward<1 log  at=after-tool  in=INSTANCE#0  every=3  log"},
		{"a broken one", "b<ctrl+u>args~/(/<enter>", "", "args~/(/: error parsing regexp: missing closing ): `(`"},
		{"left", "b<ctrl+u>turn=1<esc>", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, fakeWhole(), 120, 40, nil)
			b.asks(c.keys, c.call, c.says)
		})
	}
}

// A condition that is longer than its field is seen whole where it is typed.
func TestLongBreakpoint(t *testing.T) {
	b := open(t, fakeWhole(), 80, 24, nil)
	b.keys("b<ctrl+u>tool=execute_bash args~/0123456789 0123456789 0123456789 0123456789/ turn>=5")
	for _, part := range []string{"tool=execute_bash args~/0123456789 0123456789 ", " turn>=5"} {
		if view := ansi.Strip(b.w.View()); !strings.Contains(view, part) {
			t.Errorf("no %q in\n%s", part, view)
		}
	}
}

func TestBreakpointList(t *testing.T) {
	for _, c := range []struct{ name, keys, call, says string }{
		{"off", "Bj<space>", "enable 2 false", "breakpoint #2 is off: it is not looked at"},
		{"on", "B<space>", "enable 1 true", "breakpoint #1 is on"},
		{"remove", "Bjjd", "remove 4", "breakpoint #4 is removed: reward<1 log"},
		{"change", "Bj<enter> turn>3<enter>", "break 2 tool=execute_bash args~/rm/ turn>3", "breakpoint #2 is now: tool=execute_bash args~/rm/ turn>3"},
		{"a new one", "Bbturn=1<enter>", "break 0 turn=1", "breakpoint set: turn=1"},
		{"no row", "Bkd", "", "d: choose a breakpoint first (b sets one)"},
		{"closes with its key", "BBjjc", "continue flask-4045#2", "flask-4045#2 goes on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, fakeWhole(), 120, 40, nil)
			b.keys(c.keys)
			if got := strings.Join(b.f.calls, "; "); got != c.call {
				t.Errorf("engine was asked %q, want %q", got, c.call)
			}
			if said, _ := b.w.toasts.shown(b.w.now); said.text != c.says {
				t.Errorf("says %q, want %q", said.text, c.says)
			}
		})
	}
	b := open(t, fakeWhole(), 120, 40, func(o *Options) { o.Commands = nil })
	b.keys("Bd")
	if said, _ := b.w.toasts.shown(b.w.now); said.text != "d: read only: this run is not driven from here" {
		t.Errorf("says %q", said.text)
	}
}

// The hit of a log-only breakpoint is kept among the messages, and is no toast.
func TestLoggedHit(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.f.write(fakeNow(), sessions.Key{Instance: "flask-4045", ID: 3}, sessions.KindBreakpointHit, sessions.BreakpointHit{ID: 4, Text: "turn>1 log", Turn: 12, Log: true, Hits: 3})
	b.pull()
	if said, shown := b.w.toasts.shown(b.w.now); shown {
		t.Errorf("says %q", said.text)
	}
	b.keys("m")
	if !strings.Contains(b.w.View(), "flask-4045#3: met #4 turn>1 log in turn 12") {
		t.Error("it is not among the messages")
	}
}

// The dialogs and lists of the debugger, at every size and without colour.
func TestDebuggerScreens(t *testing.T) {
	for _, v := range []struct{ name, keys string }{
		{"break", "jjb"},
		{"breaks", "Bj"},
		{"resample", "jjr"},
		{"picker", "jjr"},
		{"observation", "/sympy-20590#0<enter>e"},
		{"raise", "jjl<tab><backspace>9"},
		{"mark", "jjtodd<tab>reads the tests"},
		{"hand", "jj!git diff --stat"},
	} {
		for _, size := range []struct {
			name       string
			cols, rows int
			mono       bool
		}{{"80x24", 80, 24, false}, {"120x40", 120, 40, false}, {"200x60", 200, 60, false}, {"mono-80x24", 80, 24, true}} {
			name := fmt.Sprintf("debug-%s-%s", v.name, size.name)
			t.Run(name, func(t *testing.T) {
				f := fakeWhole()
				if v.name == "picker" {
					f.resampled()
				}
				b := open(t, f, size.cols, size.rows, func(o *Options) { o.NoColor = size.mono })
				b.keys(v.keys)
				b.check(name)
			})
		}
	}
}
