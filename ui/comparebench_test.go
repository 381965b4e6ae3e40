package ui

import (
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// siblingSession is a group of eight trajectories of 50 turns with 4 kB of observation
// and 300 new ids each; they go the same way for 20 turns, then their own ones.
func siblingSession(b *testing.B) (home string) {
	b.Helper()
	home = b.TempDir()
	run := sessions.Run{ID: "r-1", Created: t0, Title: "siblings", N: 8, Model: "m"}
	for id := range 8 {
		run.Members = append(run.Members, sessions.Key{Instance: "x", ID: id})
	}
	s, err := sessions.Create(b.Context(), home, run)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	commit := func(w sessions.Write) {
		if err := s.Commit(b.Context(), w); err != nil {
			b.Fatal(err)
		}
	}
	saw := strings.Repeat("src/module.py:12: def handler(request):\n", 100)
	for _, k := range run.Members {
		prompt := make([]int32, 20_000)
		for n := 1; n <= 50; n++ {
			way := 0
			if n > 20 && n%7 > 1 {
				way = k.ID
			}
			t := sessions.Turn{Key: k, Attempt: 1, Index: n, Version: 1, Source: sessions.FromModel, Complete: true, PromptIDs: prompt[:300*n], OutputIDs: []int32{int32(n), int32(way)}}
			t.Calls = []sessions.Call{{ID: "c", Name: "execute_bash", Arguments: fmt.Sprintf(`{"command":"grep -rn handler_%d_%d src"}`, n, way)}}
			t.Observations = []sessions.Observation{{CallID: "c", Tool: "execute_bash", Text: saw + fmt.Sprint(way), Status: "ok", Source: sessions.FromTool}}
			commit(sessions.Write{Turn: &t, Events: []sessions.Event{
				sessions.NewEvent(t0, k, sessions.KindReply, sessions.ReplyMade{Turn: n, Version: 1, Source: sessions.FromModel, Tools: []string{"execute_bash"}}),
				sessions.NewEvent(t0, k, sessions.KindToolFinished, sessions.ToolFinished{Turn: n, Tool: "execute_bash", Status: "ok"}),
				sessions.NewEvent(t0, k, sessions.KindTurnDone, sessions.TurnDone{Turn: n}),
			}})
		}
		commit(sessions.Write{Patch: []byte(strings.Repeat(fakePatch, 1+k.ID)), Key: k, Attempt: 1, Events: []sessions.Event{sessions.NewEvent(t0, k, sessions.KindState, sessions.StateChange{State: sessions.Done})}})
	}
	return home
}

func siblingBench(b *testing.B, r sessions.Reader) *Workbench {
	b.Helper()
	w, err := New(b.Context(), Options{Reader: r, Output: &strings.Builder{}})
	if err != nil {
		b.Fatal(err)
	}
	w.w, w.h = 200, 60
	w.route(w.pull()())
	settled(b, w)
	w.list.at = 1
	doCompare(w)
	w.route(w.loadComparison()())
	if view := w.View(); w.compare.read == nil || !strings.Contains(view, "≠") {
		b.Fatalf("not there yet:\n%s", view)
	}
	return w
}

// BenchmarkCompare is from the start to the screen of eight trajectories of 50 turns
// side by side, 200x60.
func BenchmarkCompare(b *testing.B) {
	home := siblingSession(b)
	b.ReportAllocs()
	for b.Loop() {
		r, err := sessions.OpenReader(b.Context(), home, "r-1")
		if err != nil {
			b.Fatal(err)
		}
		siblingBench(b, r).Close()
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompareKey is a key there to its frame: moves, and other columns, for which
// all rows are laid out anew.
func BenchmarkCompareKey(b *testing.B) {
	r, err := sessions.OpenReader(b.Context(), siblingSession(b), "r-1")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close() })
	w := siblingBench(b, r)
	b.Cleanup(w.Close)
	for _, v := range []struct {
		name string
		keys []tea.KeyMsg
	}{
		{"move", []tea.KeyMsg{{Type: tea.KeyDown}, {Type: tea.KeyPgDown}, {Type: tea.KeyRunes, Runes: []rune("n")}, {Type: tea.KeyRunes, Runes: []rune("g")}}},
		{"column", []tea.KeyMsg{{Type: tea.KeyRight}, {Type: tea.KeyLeft}}},
	} {
		b.Run(v.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				w.Update(v.keys[i%len(v.keys)])
				if len(w.View()) == 0 {
					b.Fatal("no frame")
				}
			}
		})
	}
}
