package ui

import (
	"os"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// Scopes that act at the same time may not share a key, but for esc-like keys
// that a pane takes first.
func TestNoDoubleKeys(t *testing.T) {
	together := [][]scope{{debugger, anywhere, inReplay, inList}, {debugger, anywhere, inReplay, inView}, {debugger, anywhere, inReplay, inTokens}}
	for _, scopes := range together {
		seen := map[string]string{}
		for _, b := range keyTable() {
			for _, s := range scopes {
				if b.scope != s {
					continue
				}
				for _, k := range b.Keys() {
					if other := seen[k]; other != "" {
						t.Errorf("key %q is both %q and %q", k, other, b.Help().Desc)
					}
					seen[k] = b.Help().Desc
				}
			}
		}
	}
}

// In a sheet its own keys, those over all sheets and the moves are apart.
func TestNoDoubleSheetKeys(t *testing.T) {
	for _, sheet := range []scope{inWhatIf, inBreaks, inCompare, inMatrix, inVersus} {
		seen := map[string]string{"esc": "close", "q": "close", "ctrl+c": "close"}
		for _, k := range []string{"up", "k", "down", "j", "pgup", "pgdown", "g", "home", "G", "end", "{", "}"} {
			seen[k] = "a move"
		}
		for _, b := range keyTable() {
			if !b.over && b.scope != sheet {
				continue
			}
			for _, k := range b.Keys() {
				if seen[k] != "" {
					t.Errorf("key %q is both %q and %q", k, seen[k], b.Help().Desc)
				}
				seen[k] = b.Help().Desc
			}
		}
	}
}

func TestKeyTable(t *testing.T) {
	// tmux and terminals take these, or they are the same bytes as others.
	barred := []string{"ctrl+h", "ctrl+j", "ctrl+k", "ctrl+l", "ctrl+b", "alt+enter", "ctrl+i", "ctrl+m", "ctrl+["}
	for _, b := range keyTable() {
		if b.Help().Desc == "" || len(b.Keys()) == 0 {
			t.Errorf("%v has no help or no key", b)
		}
		if b.do == nil && b.scope != inList && b.scope != inView && b.scope != inTokens {
			t.Errorf("%s does nothing", b.Help().Key)
		}
		for _, k := range b.Keys() {
			for _, no := range barred {
				if k == no {
					t.Errorf("%s is barred", k)
				}
			}
		}
	}
}

func TestKeysDoc(t *testing.T) {
	const file = "../docs/keys.md"
	if *update {
		if err := os.WriteFile(file, []byte(KeysMarkdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != KeysMarkdown() {
		t.Error("docs/keys.md is stale: go test ./ui -run TestKeysDoc -update")
	}
}

// Each verb reaches the engine with what it was asked for.
func TestVerbs(t *testing.T) {
	const atReply, running = "jj", "jjj" // flask-4045 #2 is held at after-reply, #3 runs
	for _, c := range []struct{ name, keys, want string }{
		{"continue", atReply + "c", "continue flask-4045#2"},
		{"continue by F5", atReply + "<f5>", "continue flask-4045#2"},
		{"into", atReply + "s", "step flask-4045#2 into"},
		{"into by F11", atReply + "<f11>", "step flask-4045#2 into"},
		{"over", atReply + "n", "step flask-4045#2 over"},
		{"over by F10", atReply + "<f10>", "step flask-4045#2 over"},
		{"out", atReply + "f", "step flask-4045#2 out"},
		{"pause", running + "p", "pause flask-4045#3"},
		{"pause all", "P", "pause #0"},
		{"inject", running + "iLook at ctx.py<ctrl+s>", `inject flask-4045#3 "Look at ctx.py"`},
		{"inject needs text", running + "i<ctrl+s><esc>", ""},
		{"inject, left", running + "itext<esc>", ""},
		{"reject", atReply + "xNo.<enter>Keep them.<ctrl+s>", `reject flask-4045#2 "No.\nKeep them."`},
		{"edit unchanged is not sent", atReply + "e<ctrl+s><esc>", ""},
		{"edit unchanged as JSON is not sent", atReply + "e<ctrl+t><ctrl+s><esc>", ""},
		{"edit keeps the tab", atReply + "e x<ctrl+s>", `edit flask-4045#2 0 execute_bash {"command": "rm -rf tests && \\\n\tpython -m pytest -q x"}`},
		{"edit", atReply + "e<ctrl+u><up><end><ctrl+u>ls \\\"<down><ctrl+s>", `edit flask-4045#2 0 execute_bash {"command": "ls \\\"\n"}`},
		{"edit as JSON", atReply + "e<ctrl+t><ctrl+u>{\"command\":\"ls\"}<ctrl+s>", `edit flask-4045#2 0 execute_bash {"command":"ls"}`},
		{"edit as bad JSON is not sent", atReply + "e<ctrl+t><ctrl+u>{\"command<ctrl+s><esc>", ""},
		{"cancel asks, enter keeps", atReply + "X<enter>", ""},
		{"cancel asks, X again does nothing", atReply + "XX<esc>", ""},
		{"cancel", atReply + "Xy", "cancel flask-4045#2"},
		{"cancel by button", atReply + "X<right><enter>", "cancel flask-4045#2"},
		{"wrap up", running + "Wy", "finish flask-4045#3"},
		{"ended: nothing", "cnsfexipXW", ""},
		{"group: nothing", "kcnsfexipXW", ""},
		{"running: no step", running + "cnsfex", ""},
		{"held before model: no edit", "/sympy-20590#2<enter>ex", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, fakeWhole(), 120, 40, nil)
			b.keys(c.keys)
			if got := strings.Join(b.f.calls, "; "); got != c.want {
				t.Errorf("engine was asked %q, want %q", got, c.want)
			}
		})
	}
}

// When everything is paused, P continues everything.
func TestContinueAll(t *testing.T) {
	f := fakeWhole()
	f.status.Paused = true
	b := open(t, f, 120, 40, nil)
	b.keys("P")
	if got := strings.Join(f.calls, ""); got != "continue #0" {
		t.Errorf("P asked for %q", got)
	}
}

// A key that does not apply says why, and so does a refused verb.
func TestWhyNot(t *testing.T) {
	for _, c := range []struct {
		name, keys, want string
		change           func(*Options)
	}{
		{"ended", "c", "c: flask-4045#0 has ended", nil},
		{"group", "kX", "X: choose one trajectory first (a group is chosen)", nil},
		{"not held", "jjjs", "s: flask-4045#3 is not held: p pauses it at its next gate", nil},
		{"held already", "jjp", "p: flask-4045#2 is held already: c continues it", nil},
		{"no call", "/sympy-20590#2<enter>e", "e: no call waits to run: it is held at before-model (s goes to the next gate)", nil},
		{"past its run stage", "/xarray-3305#3<enter>i", "i: its run stage is over: no model call is ahead", nil},
		{"held at its end", "/sympy-20590#1<enter>i", "i: its run stage is over: no model call is ahead", nil},
		{"read only", "jjc", "c: read only: this run is not driven from here", func(o *Options) { o.Commands = nil }},
		{"under a sheet", "jjBo", "o: esc closes what covers the panes first", nil},
		{"no exporter", "E", "E: nothing to export with here: rollbench export r-0412", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, fakeWhole(), 120, 40, c.change)
			b.keys(c.keys)
			got, shown := b.w.toasts.shown(b.w.now)
			if !shown || got.text != c.want {
				t.Errorf("says %q, want %q", got.text, c.want)
			}
		})
	}
	f := fakeWhole()
	f.refuse = os.ErrDeadlineExceeded
	b := open(t, f, 120, 40, nil)
	b.keys("jjc")
	if got, _ := b.w.toasts.shown(b.w.now); got.level != trouble || got.text != os.ErrDeadlineExceeded.Error() {
		t.Errorf("a refused verb says %v", got)
	}
}

// Esc goes back step by step and never stops anything.
func TestEscNeverStops(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.keys("/flask<enter>jj<enter>z<esc><esc><esc><esc><esc>")
	if len(b.f.calls) != 0 || b.w.zoom || b.w.focus != listFocus || b.w.list.filter != "" || b.w.dialog != nil {
		t.Errorf("after esc: calls %v zoom %v focus %v filter %q", b.f.calls, b.w.zoom, b.w.focus, b.w.list.filter)
	}
}

// Several keys in one delivery act one by one; a paste is not keys.
func TestKeysInOnePiece(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("jj")})
	if got := b.w.chosenKey(); got != (sessions.Key{Instance: "flask-4045", ID: 2}) {
		t.Errorf("jj chose %v", got)
	}
	b.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("Xy"), Paste: true})
	if len(b.f.calls) != 0 || b.w.dialog != nil {
		t.Errorf("a paste acted: %v", b.f.calls)
	}
	b.keys("i")
	b.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("two\nlines\x1b"), Paste: true})
	if got := b.w.dialog.(*form).values()[0]; got != "two\nlines" {
		t.Errorf("pasted %q", got)
	}
}

// Quitting asks only while work is running here.
func TestQuit(t *testing.T) {
	_, quits := tea.Quit().(tea.QuitMsg)
	if !quits {
		t.Fatal("tea.Quit changed")
	}
	for _, c := range []struct {
		name, keys string
		change     func(*Options)
		quit, left bool
	}{
		{"running, enter stays", "q<enter>", nil, false, false},
		{"running, q twice stays", "qq<esc>", nil, false, false},
		{"running, l leaves", "ql", nil, true, true},
		{"ctrl+c is q", "<ctrl+c>l", nil, true, true},
		{"read only", "q", func(o *Options) { o.Commands = nil }, true, false},
	} {
		b := open(t, fakeWhole(), 120, 40, c.change)
		b.keys(c.keys)
		_, quit := b.last.(tea.QuitMsg)
		if quit != c.quit || b.w.left != c.left {
			t.Errorf("%s: quit %v left %v", c.name, quit, b.w.left)
		}
	}
	b := open(t, fakeWhole(), 120, 40, nil)
	b.send(engineDoneMsg{})
	b.keys("q")
	if _, quit := b.last.(tea.QuitMsg); !quit || b.w.left {
		t.Error("q asks although the engine has finished")
	}
}

func TestExport(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, func(o *Options) { o.Export = fakeExport })
	b.keys("E<esc>")
	if _, shown := b.w.toasts.shown(b.w.now); shown {
		t.Error("esc exported")
	}
	b.keys("E<enter>")
	b.w.now = b.w.now.Add(time.Hour) // where the file is stays until a key
	if got, _ := b.w.toasts.shown(b.w.now); got.text != "exported to /tmp/r-0412.jsonl: 812 transitions of 11 trajectories" {
		t.Errorf("export says %q", got.text)
	}
}

// A rejected call does not wait any more: it can neither be edited nor
// rejected again.
func TestRejectedCall(t *testing.T) {
	f := fakeWhole()
	k := sessions.Key{Instance: "flask-4045", ID: 2}
	last := &f.turns[k][len(f.turns[k])-1]
	last.Complete = false
	for _, c := range last.Calls {
		last.Observations = append(last.Observations, sessions.Observation{CallID: c.ID, Tool: c.Name, Status: "rejected", Text: "No.", Source: sessions.FromOperator})
	}
	b := open(t, f, 120, 40, nil)
	b.keys("jje")
	if got, _ := b.w.toasts.shown(b.w.now); got.text != "e: its call is rejected already: c goes on" {
		t.Errorf("e says %q", got.text)
	}
	b.keys("x")
	if got, _ := b.w.toasts.shown(b.w.now); got.text != "x: its call is rejected already: c goes on" {
		t.Errorf("x says %q", got.text)
	}
	if view := b.w.View(); !strings.Contains(view, "The call above does not run") || !strings.Contains(view, "i inject") {
		t.Error("the transcript says that the call has not run")
	}
}

// Keys that do not act here are not offered in the transcript of a run that is
// only watched.
func TestWatchedTranscript(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, func(o *Options) { o.Commands = nil })
	b.keys("jj")
	if view := b.w.View(); !strings.Contains(view, "The call above has not run.") || strings.Contains(view, "e edit") {
		t.Error("a watched run offers to edit the call")
	}
}
