package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// longSession is a trajectory of 50 turns, each of which printed 2 MiB. The last
// reply has 50,000 tokens.
func longSession(b *testing.B) (home string) {
	b.Helper()
	home = b.TempDir()
	k := sessions.Key{Instance: "long"}
	s, err := sessions.Create(b.Context(), home, sessions.Run{ID: "r-1", Created: t0, Title: "long", N: 1, Members: []sessions.Key{k}, Model: "m"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	commit := func(w sessions.Write) {
		if err := s.Commit(b.Context(), w); err != nil {
			b.Fatal(err)
		}
	}
	var text strings.Builder
	for i := 0; text.Len() < 2<<20; i++ {
		fmt.Fprintf(&text, "src/module_%d.py:%d: \x1b[31mdef\x1b[0m handler_%d(request, 漢字=None): # %s\n", i%97, i, i, strings.Repeat("x", i%60))
	}
	commit(sessions.Write{Events: []sessions.Event{sessions.NewEvent(t0, k, sessions.KindState, sessions.StateChange{State: sessions.Running, Budget: 1 << 20, Turns: 50})}})
	prompt := []int32{1, 2, 3}
	var before []sessions.Message
	for n := 1; n <= 50; n++ {
		t := sessions.Turn{Key: k, Attempt: 1, Index: n, Version: 1, Source: sessions.FromModel, Complete: true, New: before, PromptIDs: prompt, Raw: "look again", Content: "look again"}
		tokens := 20
		if n == 50 {
			tokens = 50_000
			t.Raw = strings.Repeat("again\n", tokens)
		}
		for i := range tokens {
			t.OutputIDs, t.Logprobs = append(t.OutputIDs, int32(10+i%5000)), append(t.Logprobs, -0.1)
		}
		t.Calls = []sessions.Call{{ID: "c", Name: "execute_bash", Arguments: `{"command":"grep -rn handler"}`}}
		out := fmt.Sprintf("turn %d\n%s", n, text.String())
		t.Observations = []sessions.Observation{{CallID: "c", Tool: "execute_bash", Text: out, Status: "ok", Source: sessions.FromTool}}
		commit(sessions.Write{Turn: &t, Events: []sessions.Event{sessions.NewEvent(t0, k, sessions.KindReply, sessions.ReplyMade{Turn: n, Version: 1, Source: sessions.FromModel, OutputTokens: tokens})}})
		before = []sessions.Message{{Role: "tool", Content: out, ToolCallID: "c", Source: sessions.FromTool}}
		prompt = append(append(prompt[:len(prompt):len(prompt)], t.OutputIDs...), 5, 6, 7)
	}
	return home
}

// settled runs what the screen asks for until it asks for nothing more.
func settled(b *testing.B, w *Workbench) {
	b.Helper()
	for {
		w.settle()
		load := w.loadTurns()
		if load == nil {
			load = w.loadTokens()
		}
		if load == nil {
			return
		}
		w.route(load())
	}
}

// BenchmarkLongTrajectory is from the start to the screen of a view of a 100 MB
// trajectory.
func BenchmarkLongTrajectory(b *testing.B) {
	home := longSession(b)
	for _, v := range []struct {
		name string
		tab  tab
	}{{"text", textTab}, {"raw", rawTab}, {"messages", messagesTab}, {"tokens", tokensTab}} {
		b.Run(v.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := sessions.OpenReader(b.Context(), home, "r-1")
				if err != nil {
					b.Fatal(err)
				}
				w, err := New(b.Context(), Options{Reader: r, Output: &strings.Builder{}})
				if err != nil {
					b.Fatal(err)
				}
				w.w, w.h, w.focus, w.tab = 120, 40, viewFocus, v.tab
				w.route(w.pull()())
				settled(b, w)
				if view := w.View(); strings.Contains(view, "  …  ") {
					b.Fatalf("not there yet:\n%s", view)
				}
				w.Close()
				if err := r.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTokenKey is a key in a turn of 50,000 tokens to its frame, 200x60.
func BenchmarkTokenKey(b *testing.B) {
	home := longSession(b)
	r, err := sessions.OpenReader(b.Context(), home, "r-1")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close() })
	w, err := New(b.Context(), Options{Reader: r, Output: &strings.Builder{}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Close)
	w.w, w.h, w.focus, w.tab = 200, 60, viewFocus, tokensTab
	w.route(w.pull()())
	settled(b, w)
	keys := []tea.KeyMsg{{Type: tea.KeyPgDown}, {Type: tea.KeyRunes, Runes: []rune("G")}, {Type: tea.KeyRunes, Runes: []rune("k")}, {Type: tea.KeyRunes, Runes: []rune("g")}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		w.Update(keys[i%len(keys)])
		if len(w.View()) == 0 {
			b.Fatal("no frame")
		}
	}
}

// BenchmarkHunt looks through a 100 MB trajectory for a text that is not there.
func BenchmarkHunt(b *testing.B) {
	home := longSession(b)
	r, err := sessions.OpenReader(b.Context(), home, "r-1")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close() })
	w, err := New(b.Context(), Options{Reader: r, Output: &strings.Builder{}, Clock: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Close)
	b.SetBytes(100 << 20)
	for b.Loop() {
		cmd := w.beginHunt(&w.across.hunt, "no such text", textTab, []target{{key: sessions.Key{Instance: "long"}, attempt: 1, turns: 50}}, true)
		for cmd != nil {
			m := cmd().(huntMsg)
			if m.err != nil {
				b.Fatal(m.err)
			}
			cmd = nil
			if w.across.hunt.take(m) {
				cmd = w.goOn(&w.across.hunt, true)
			}
		}
	}
}
