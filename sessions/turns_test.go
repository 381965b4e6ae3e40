package sessions

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

func fullTurn() *Turn {
	exit, cached := 3, 0
	return &Turn{Key: keyA0, Attempt: 1, Index: 1, Version: 1, Source: FromModel,
		New: []Message{{Role: "system", Content: "s<&>\xff", Source: FromTask},
			{Role: "assistant", Reasoning: "r", Calls: []Call{{ID: "c", Name: "bash", Arguments: "{\"a\": \"\x80\"}"}}, Source: FromModel}},
		PromptIDs: []int32{11, 12, 13}, OutputIDs: []int32{21, 22}, Logprobs: []float64{-0.1, math.Inf(-1)},
		NewSample: true, BreakAt: 4, Raw: "raw\xfe", Reasoning: "why", Content: "c", Calls: []Call{{ID: "1", Name: "bash", Arguments: "{", Problem: "cut off"}},
		Finish: "tool_calls", Observations: []Observation{{CallID: "1", Tool: "bash", Text: "\x00\xffout", Status: "ok", Exit: &exit, Started: t0, Wall: time.Second, Source: FromTool, Before: "b"}},
		Model: "m", Sampling: json.RawMessage(`{"temperature":1}`), PromptTokens: 3, OutputTokens: 2, CachedTokens: &cached, Started: t0, ModelWall: 5, FirstToken: 2}
}

func TestTurnComesBackExactly(t *testing.T) {
	s := newStore(t, t.TempDir(), "r-1", keyA0)
	want := fullTurn()
	reply := *want
	reply.Observations = nil
	commit(t, s, Write{Turn: &reply}) // first the reply,
	commit(t, s, Write{Turn: want})   // then again with its observations
	bare := &Turn{Key: keyA0, Attempt: 1, Index: 2, Version: 1, Calls: []Call{}, OutputIDs: []int32{}, Logprobs: []float64{}}
	commit(t, s, Write{Turn: bare})
	got, err := s.Turns(t.Context(), keyA0, 0, 0, 0, true)
	if err != nil || len(got) != 2 {
		t.Fatalf("%d turns, %v", len(got), err)
	}
	if !reflect.DeepEqual(&got[0], fullTurn()) {
		t.Errorf("got  %+v\nwant %+v", got[0], *want)
	}
	if !reflect.DeepEqual(&got[1], bare) {
		t.Errorf("got  %+v\nwant %+v", got[1], *bare)
	}
	got, err = s.Turns(t.Context(), keyA0, 1, 1, 1, false)
	want.PromptIDs, want.OutputIDs, want.Logprobs = nil, nil, nil
	if err != nil || len(got) != 1 || !reflect.DeepEqual(&got[0], want) {
		t.Errorf("without ids: %+v, %v", got, err)
	}
}

// A stored turn that comes again without token arrays keeps those it has.
func TestTokensStayWhenNotGivenAgain(t *testing.T) {
	s := newStore(t, t.TempDir(), "r-1", keyA0)
	turn := fullTurn()
	commit(t, s, Write{Turn: turn})
	turn.PromptIDs, turn.OutputIDs, turn.Logprobs = nil, nil, nil
	commit(t, s, Write{Turn: turn})
	got, err := s.Turns(t.Context(), keyA0, 0, 0, 0, true)
	if err != nil || !reflect.DeepEqual(&got[0], fullTurn()) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Sizes by hand: one format byte, one byte for the length kept, one byte for
// each id below 128 and two for one below 16384.
func TestSizeGrowsWithNewTokensOnly(t *testing.T) {
	s := newStore(t, t.TempDir(), "r-1", keyA0)
	steps := []struct {
		prompt, output []int32
		size           int
	}{
		{[]int32{11, 12, 13}, []int32{21, 22}, 1 + 1 + 3},
		{[]int32{11, 12, 13, 21, 22, 31}, []int32{23, 300}, 1 + 1 + 1},
		{[]int32{11, 12, 13, 21, 22, 31, 23, 300, 500, 501}, []int32{}, 1 + 1 + 2*2},
		{[]int32{11, 12, 13, 21, 22, 31, 23, 300, 500, 501}, nil, 1 + 1},
		{[]int32{11, 12, 99}, nil, 1 + 1 + 1},
		{nil, nil, 0},
		{[]int32{11, 12, 99, 1}, nil, 1 + 1 + 1},
	}
	for i, step := range steps {
		commit(t, s, Write{Turn: &Turn{Key: keyA0, Attempt: 1, Index: i + 1, Version: 1, PromptIDs: step.prompt, OutputIDs: step.output}})
		var size int
		err := s.db.QueryRow("SELECT coalesce(length(prompt), 0) FROM turn JOIN tokens USING (turn) WHERE idx = ?", i+1).Scan(&size)
		if err != nil || size != step.size {
			t.Errorf("prompt of turn %d takes %d bytes, want %d; %v", i+1, size, step.size, err)
		}
	}
	got, err := s.Turns(t.Context(), keyA0, 0, 0, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range steps {
		if !reflect.DeepEqual(got[i].PromptIDs, step.prompt) || !reflect.DeepEqual(got[i].OutputIDs, step.output) {
			t.Errorf("turn %d: %v %v, want %v %v", i+1, got[i].PromptIDs, got[i].OutputIDs, step.prompt, step.output)
		}
	}
	for from := 2; from <= len(steps); from++ {
		part, err := s.Turns(t.Context(), keyA0, 0, from, from, true)
		if err != nil || len(part) != 1 || !reflect.DeepEqual(part[0].PromptIDs, steps[from-1].prompt) {
			t.Errorf("turn %d alone: %v, %v", from, part, err)
		}
	}
}

func TestEditedTurn(t *testing.T) {
	s := newStore(t, t.TempDir(), "r-1", keyA0)
	turn := func(index, version int, prompt, output []int32) *Turn {
		return &Turn{Key: keyA0, Attempt: 1, Index: index, Version: version, PromptIDs: prompt, OutputIDs: output}
	}
	old := turn(1, 1, []int32{1, 2}, []int32{3, 4})
	edited := turn(1, 2, []int32{1, 2}, []int32{3, 5, 6})
	next := turn(2, 1, []int32{1, 2, 3, 5, 6, 7}, []int32{8})
	commit(t, s, Write{Turn: old})
	commit(t, s, Write{Turn: edited, Supersede: 1})
	commit(t, s, Write{Turn: next})
	old.Complete = true
	commit(t, s, Write{Turn: old}) // a late second commit keeps it superseded
	old.Superseded = true
	got, err := s.Turns(t.Context(), keyA0, 0, 0, 0, true)
	if err != nil || !reflect.DeepEqual(got, []Turn{*old, *edited, *next}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Replies to one prompt are stored as superseded; the one that is picked takes
// the place of the one in effect, before or behind it, and back again.
func TestPickedTurn(t *testing.T) {
	s := newStore(t, t.TempDir(), "r-1", keyA0)
	var all []*Turn
	for v := range 3 {
		all = append(all, &Turn{Key: keyA0, Attempt: 1, Index: 1, Version: v + 1, Superseded: v > 0, PromptIDs: []int32{1, 2}, OutputIDs: []int32{3, int32(v)}})
		commit(t, s, Write{Turn: all[v]})
	}
	pick := func(version, before int) {
		t.Helper()
		all[version-1].Superseded, all[before-1].Superseded = false, true
		commit(t, s, Write{Turn: all[version-1], Supersede: before})
		got, err := s.Turns(t.Context(), keyA0, 0, 0, 0, true)
		if err != nil || !reflect.DeepEqual(got, []Turn{*all[0], *all[1], *all[2]}) {
			t.Errorf("reply %d picked: got %+v, %v", version, got, err)
		}
	}
	pick(2, 1)
	pick(3, 2)
	pick(1, 3)
	pick(2, 1)
	commit(t, s, Write{Turn: &Turn{Key: keyA0, Attempt: 1, Index: 2, Version: 1, PromptIDs: []int32{1, 2, 3, 1, 9}, OutputIDs: []int32{8}}})
	if got, err := s.Turns(t.Context(), keyA0, 0, 2, 2, true); err != nil || !reflect.DeepEqual(got[0].PromptIDs, []int32{1, 2, 3, 1, 9}) {
		t.Errorf("the next prompt is %v, %v", got, err)
	}
}

// Random conversations, written by two processes' worth of stores (the second
// rebuilds the sequence from the file), come back as they were.
func TestRandomConversations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	home := t.TempDir()
	s := newStore(t, home, "r-1", keyA0)
	var want []Turn
	var seq []int32
	for i := range 60 {
		if i == 30 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			var err error
			if s, err = Open(t.Context(), home, "r-1"); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
		}
		turn := Turn{Key: keyA0, Attempt: 1, Index: i + 1, Version: 1}
		if rng.IntN(5) > 0 {
			keep := len(seq)
			if rng.IntN(4) == 0 {
				keep = rng.IntN(keep + 1)
			}
			turn.PromptIDs = append(append([]int32{}, seq[:keep]...), randomIDs(rng)...)
		}
		if rng.IntN(5) > 0 {
			turn.OutputIDs = append([]int32{}, randomIDs(rng)...)
			if rng.IntN(2) == 0 {
				turn.Logprobs = make([]float64, len(turn.OutputIDs))
				for j := range turn.Logprobs {
					turn.Logprobs[j] = math.Log(rng.Float64())
				}
			}
		}
		if turn.PromptIDs != nil {
			seq = append(append([]int32{}, turn.PromptIDs...), turn.OutputIDs...)
		}
		commit(t, s, Write{Turn: &turn})
		want = append(want, turn)
	}
	got, err := s.Turns(t.Context(), keyA0, 0, 0, 0, true)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("turns differ from what was written; %v", err)
	}
}

func randomIDs(rng *rand.Rand) []int32 {
	ids := make([]int32, rng.IntN(50))
	for i := range ids {
		ids[i] = int32(rng.Uint32() >> rng.IntN(32))
	}
	return ids
}

func FuzzTokenBlobs(f *testing.F) {
	f.Add([]byte{1, 5, 1, 2, 3}, []byte{1, 0, 7})
	f.Add([]byte{1, 0x80}, []byte{})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, prompt, output []byte) {
		ids, err := decodeIDs(output)
		if err == nil && output != nil {
			back, err := decodeIDs(encodeIDs(ids))
			if err != nil || !reflect.DeepEqual(back, ids) {
				t.Errorf("%v became %v, %v", ids, back, err)
			}
		}
		if lp, err := decodeLogprobs(output); err == nil && output != nil {
			if got := encodeLogprobs(lp); !reflect.DeepEqual(got, output) {
				t.Errorf("%v became %v", output, got)
			}
		}
		c := chain{seq: []int32{1, 2, 3, 4, 5}}
		whole, err := c.next(prompt, ids)
		if err != nil || prompt == nil {
			return
		}
		again := chain{seq: []int32{1, 2, 3, 4, 5}}
		back, err := again.next(encodePrompt(again.seq, whole), ids)
		if err != nil || !reflect.DeepEqual(back, whole) {
			t.Errorf("%v became %v, %v", whole, back, err)
		}
	})
}
