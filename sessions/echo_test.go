package sessions

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// What a tool returned is stored once, and every range of turns reads as it was
// written: with replaced replies, several calls, changed texts, and a store that
// is closed and opened again anywhere.
func TestEchoedTexts(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 3))
		home := t.TempDir()
		s := newStore(t, home, "r-1", keyA0)
		text := func() string { return strings.Repeat(fmt.Sprint("é\xff", rng.IntN(3)), rng.IntN(400)) } // often equal, often short
		var want []Turn
		put := func(turn Turn, supersede int) {
			t.Helper()
			commit(t, s, Write{Turn: &turn, Supersede: supersede})
		}
		var fresh []Message
		for index := 1; index <= 12; index++ {
			turn := Turn{Key: keyA0, Attempt: 1, Index: index, Version: 1, New: fresh, OutputIDs: []int32{int32(index)}, Content: text()}
			put(turn, 0)
			if rng.IntN(4) == 0 { // replaced by a person
				old := turn
				old.Superseded = true
				want = append(want, old)
				turn.Version, turn.Content = 2, text()
				put(turn, 1)
			}
			if rng.IntN(3) == 0 {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				var err error
				if s, err = Open(t.Context(), home, "r-1"); err != nil {
					t.Fatal(err)
				}
			}
			for range rng.IntN(4) {
				turn.Observations = append(turn.Observations, Observation{Text: text(), Before: text()})
			}
			for range 1 + rng.IntN(2) {
				put(turn, 0)
			}
			want = append(want, turn)
			fresh = nil
			for _, o := range turn.Observations {
				m := Message{Role: "tool", Content: o.Text, Reasoning: text(), Source: FromTool, Calls: []Call{{Arguments: text()}}}
				if rng.IntN(4) == 0 {
					m.Content += " and more"
				}
				fresh = append(fresh, m)
			}
		}
		for from := 0; from <= 12; from++ {
			for _, to := range []int{0, from, 12} {
				for _, withIDs := range []bool{true, false} {
					got, err := s.Turns(t.Context(), keyA0, 0, from, to, withIDs)
					if err != nil {
						t.Fatal(err)
					}
					var w []string
					for _, turn := range want {
						if turn.Index >= from && (to == 0 || turn.Index <= to) {
							w = append(w, textOf(turn))
						}
					}
					var g []string
					for _, turn := range got {
						g = append(g, textOf(turn))
					}
					if !reflect.DeepEqual(g, w) {
						t.Fatalf("seed %d: turns %d to %d read as\n%.2000q, want\n%.2000q", seed, from, to, g, w)
					}
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func textOf(t Turn) string {
	all := fmt.Sprintf("%d.%d %v %q %+v", t.Index, t.Version, t.Superseded, t.Content, t.New)
	for _, o := range t.Observations {
		all += fmt.Sprintf(" %q before %q", o.Text, o.Before)
	}
	return all
}

// The text of an observation adds itself to the file once, not twice.
func TestEchoIsStoredOnce(t *testing.T) {
	s := newStore(t, t.TempDir(), "r-1", keyA0)
	long := strings.Repeat("one line of output\n", 1000)
	first := Turn{Key: keyA0, Attempt: 1, Index: 1, Version: 1}
	commit(t, s, Write{Turn: &first})
	first.Observations = []Observation{{Text: "short"}, {Text: long}}
	commit(t, s, Write{Turn: &first})
	second := Turn{Key: keyA0, Attempt: 1, Index: 2, Version: 1, New: []Message{{Role: "tool", Content: "short"}, {Role: "tool", Content: long}, {Role: "user", Content: long + "!"}}}
	commit(t, s, Write{Turn: &second})
	var size int
	if err := s.db.QueryRow("SELECT length(texts) FROM turn WHERE idx = 2").Scan(&size); err != nil {
		t.Fatal(err)
	}
	if size < len(long) || size > len(long)+100 { // the user's message only
		t.Errorf("the second turn holds %d bytes of text", size)
	}
	// What it echoes cannot change any more; the same again is no change.
	commit(t, s, Write{Turn: &first})
	first.Observations = []Observation{{Text: "short"}, {Text: "other"}}
	if err := s.Commit(t.Context(), Write{Turn: &first}); err == nil || !strings.Contains(err.Error(), "they cannot change") {
		t.Errorf("an echoed observation was changed: %v", err)
	}
	turns, err := s.Turns(t.Context(), keyA0, 0, 2, 2, false)
	if err != nil || turns[0].New[1].Content != long || turns[0].New[0].Content != "short" {
		t.Errorf("%v", err)
	}
	if _, err := s.conn.conn.ExecContext(t.Context(), "UPDATE turn SET body = replace(body, '\"observation\":1', '\"observation\":7') WHERE idx = 2"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Turns(t.Context(), keyA0, 0, 0, 0, false); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a reference to nothing: %v", err)
	}
}
