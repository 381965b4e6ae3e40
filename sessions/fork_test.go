package sessions

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// family is a run with one member of three turns, whose second turn was sampled
// twice. The whole token sequence is 1, 2 … in the order in which it grew.
func family(t *testing.T) (*Store, Key) {
	t.Helper()
	key := Key{Instance: "a", ID: 0}
	s, err := Create(t.Context(), t.TempDir(), Run{ID: "r-fork", Created: at(0), N: 1, Members: []Key{key}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	observed := strings.Repeat("what the first call printed ", 8) // long enough to be echoed
	put(t, s, Turn{Key: key, Attempt: 1, Index: 1, Version: 1, Source: FromModel, PromptIDs: []int32{1, 2}, OutputIDs: []int32{3}, Logprobs: []float64{-1}, PromptTokens: 2, OutputTokens: 1,
		New: []Message{{Role: "user", Content: "do it", Source: FromTask}}, Observations: []Observation{{Text: observed, Output: &Output{Size: 5, Head: 5}}}, Complete: true})
	chunk := &Chunk{CallPlace: CallPlace{Key: key, Attempt: 1, Turn: 1}, Data: []byte("whole")}
	commit(t, s, Write{Chunk: chunk})
	put(t, s, Turn{Key: key, Attempt: 1, Index: 2, Version: 1, Superseded: true, Source: FromModel, PromptIDs: []int32{1, 2, 3, 4}, OutputIDs: []int32{9, 9}, Logprobs: []float64{-9, -9}, PromptTokens: 4, OutputTokens: 2,
		New: []Message{{Role: "tool", Content: observed, Source: FromTool}}})
	put(t, s, Turn{Key: key, Attempt: 1, Index: 2, Version: 2, Source: FromModel, PromptIDs: []int32{1, 2, 3, 4}, OutputIDs: []int32{5}, Logprobs: []float64{-2}, PromptTokens: 4, OutputTokens: 1,
		New: []Message{{Role: "tool", Content: observed, Source: FromTool}}, Observations: []Observation{{Text: "second"}}, Complete: true})
	put(t, s, Turn{Key: key, Attempt: 1, Index: 3, Version: 1, Source: FromModel, PromptIDs: []int32{1, 2, 3, 4, 5, 6}, OutputIDs: []int32{7}, Logprobs: []float64{-3}, PromptTokens: 6, OutputTokens: 1,
		New: []Message{{Role: "tool", Content: "second", Source: FromTool}}})
	return s, key
}

func at(n int) time.Time { return time.Unix(1700000000+int64(n), 0).UTC() }

func put(t *testing.T, s *Store, turn Turn) {
	t.Helper()
	commit(t, s, Write{Turn: &turn, Events: []Event{NewEvent(at(turn.Index), turn.Key, KindReply,
		ReplyMade{Turn: turn.Index, Version: turn.Version, Source: turn.Source, OutputTokens: turn.OutputTokens, Tokens: turn.PromptTokens + turn.OutputTokens - 2, FirstLen: 2})}})
}

func forkEvent(child Key, f Fork) Event {
	return NewEvent(at(50), child, KindForked, Forked{Fork: f, By: "operator"})
}

// shown are the prompts and outputs of an attempt's turns, with whose they are.
func shown(t *testing.T, r Reader, key Key, from, to int) (out []string) {
	t.Helper()
	turns, err := r.Turns(t.Context(), key, 0, from, to, true)
	if err != nil {
		t.Fatal(err)
	}
	plainly, err := r.Turns(t.Context(), key, 0, from, to, false)
	if err != nil || len(plainly) != len(turns) {
		t.Fatalf("%d turns with ids, %d without: %v", len(turns), len(plainly), err)
	}
	for i, turn := range turns {
		if turn.Key != key || plainly[i].New[0].Content != turn.New[0].Content {
			t.Errorf("turn %d of %s: %q and %q", turn.Index, turn.Key, turn.New[0].Content, plainly[i].New[0].Content)
		}
		text, err := json.Marshal([]any{turn.Index, turn.Version, turn.PromptIDs, turn.OutputIDs, turn.Origin, turn.New[0].Content[:2]})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}

const origin = `{"instance_id":"a","trajectory_id":0}`

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A child has its parent's turns before the fork and its own after it, in any
// process, whole or in part; the parent is as it was.
func TestForkReadsItsParentsTurns(t *testing.T) {
	s, key := family(t)
	before := shown(t, s, key, 0, 0)
	child := Key{Instance: "a", ID: 1}
	commit(t, s, Write{Events: []Event{forkEvent(child, Fork{Parent: 0, Attempt: 1, Turn: 3, Shared: 2, Group: 1, Count: 1, Tokens: 3, FirstLen: 2})}})
	put(t, s, Turn{Key: child, Attempt: 1, Index: 3, Version: 1, Source: FromModel, PromptIDs: []int32{1, 2, 3, 4, 5, 6, 60}, OutputIDs: []int32{70}, Logprobs: []float64{-4}, PromptTokens: 7, OutputTokens: 1,
		New: []Message{{Role: "user", Content: "other", Source: FromOperator}}})
	want := []string{
		`[1,1,[1,2],[3],` + origin + `,"do"]`,
		`[2,2,[1,2,3,4],[5],` + origin + `,"wh"]`,
		`[3,1,[1,2,3,4,5,6,60],[70],null,"ot"]`,
	}
	reader, err := OpenReader(t.Context(), s.Dir()[:strings.Index(s.Dir(), "/runs/")], "r-fork")
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, r := range []Reader{s, reader} {
		equal(t, shown(t, r, child, 0, 0), want...)
		equal(t, shown(t, r, child, 2, 3), want[1:]...)
		equal(t, shown(t, r, child, 3, 0), want[2:]...)
		equal(t, shown(t, r, child, 1, 1), want[:1]...)
		equal(t, shown(t, r, key, 0, 0), before...)
		data, err := r.Output(t.Context(), CallPlace{Key: child, Turn: 1}, 0, 100)
		if err != nil || string(data) != "whole" {
			t.Errorf("output of the parent's call: %q, %v", data, err)
		}
		rows, _, err := r.Trajectories(t.Context())
		if err != nil || len(rows) != 2 || rows[1].Key != child || rows[1].Turn != 3 || rows[1].Tokens != 6 || rows[1].Sampled != 1 {
			t.Errorf("rows %+v, %v", rows, err)
		}
	}
	var stored int
	if err := s.db.QueryRow("SELECT count(*) FROM turn").Scan(&stored); err != nil || stored != 5 {
		t.Errorf("%d turns are stored, want the parent's 4 and the child's 1 (%v)", stored, err)
	}
	var prompt int
	if err := s.db.QueryRow("SELECT length(prompt) FROM tokens ORDER BY turn DESC LIMIT 1").Scan(&prompt); err != nil || prompt != 4 {
		t.Errorf("the child's prompt takes %d bytes, want 4: format, 5 kept, and the ids 6 and 60 (%v)", prompt, err)
	}
}

// What a reopened writer adds goes on where the child was; a child's child reads
// through both; a copied last turn is the child's own row and the parent's turn.
func TestForkOfAForkAndACopy(t *testing.T) {
	s, key := family(t)
	child, grand := Key{Instance: "a", ID: 1}, Key{Instance: "a", ID: 2}
	turns, err := s.Turns(t.Context(), key, 1, 2, 2, true)
	if err != nil {
		t.Fatal(err)
	}
	copied := turns[1]
	copied.Key = child
	commit(t, s, Write{Turn: &copied, Events: []Event{forkEvent(child, Fork{Attempt: 1, Turn: 3, Shared: 1, Group: 1, Count: 1, Tokens: 3, FirstLen: 2})}})
	home := s.Dir()[:strings.Index(s.Dir(), "/runs/")]
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), home, "r-fork"); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put(t, s, Turn{Key: child, Attempt: 1, Index: 3, Version: 1, Source: FromModel, PromptIDs: []int32{1, 2, 3, 4, 5, 6}, OutputIDs: []int32{77}, Logprobs: []float64{-4}, PromptTokens: 6, OutputTokens: 1,
		New: []Message{{Role: "tool", Content: "second", Source: FromTool}}, Observations: []Observation{{Text: "third"}}, Complete: true})
	commit(t, s, Write{Events: []Event{forkEvent(grand, Fork{Parent: 1, Attempt: 1, Turn: 4, Shared: 3, Group: 2, Count: 1, Tokens: 5, FirstLen: 2})}})
	one := `{"instance_id":"a","trajectory_id":1}`
	equal(t, shown(t, s, child, 0, 0), `[1,1,[1,2],[3],`+origin+`,"do"]`, `[2,2,[1,2,3,4],[5],`+origin+`,"wh"]`, `[3,1,[1,2,3,4,5,6],[77],null,"se"]`)
	equal(t, shown(t, s, grand, 0, 0), `[1,1,[1,2],[3],`+origin+`,"do"]`, `[2,2,[1,2,3,4],[5],`+one+`,"wh"]`, `[3,1,[1,2,3,4,5,6],[77],`+one+`,"se"]`)
	put(t, s, Turn{Key: grand, Attempt: 1, Index: 4, Version: 1, Source: FromModel, PromptIDs: []int32{1, 2, 3, 4, 5, 6, 77, 8}, OutputIDs: []int32{80}, Logprobs: []float64{-5}, PromptTokens: 8, OutputTokens: 1,
		New: []Message{{Role: "tool", Content: "third", Source: FromTool}}})
	equal(t, shown(t, s, grand, 4, 0), `[4,1,[1,2,3,4,5,6,77,8],[80],null,"th"]`)
	// The child starts again: its copy of the parent's turn is there, its own turn is of the attempt before.
	commit(t, s, Write{Events: []Event{NewEvent(at(70), child, KindAttempt, Attempt{N: 2})}})
	equal(t, shown(t, s, child, 0, 0), `[1,1,[1,2],[3],`+origin+`,"do"]`, `[2,2,[1,2,3,4],[5],`+origin+`,"wh"]`)
	put(t, s, Turn{Key: child, Attempt: 2, Index: 3, Version: 1, Source: FromModel, PromptIDs: []int32{1, 2, 3, 4, 5, 6}, OutputIDs: []int32{99}, PromptTokens: 6, OutputTokens: 1,
		New: []Message{{Role: "tool", Content: "second", Source: FromTool}}})
	equal(t, shown(t, s, child, 3, 0), `[3,1,[1,2,3,4,5,6],[99],null,"se"]`)
	equal(t, shown(t, s, grand, 3, 3), `[3,1,[1,2,3,4,5,6],[77],`+one+`,"se"]`)
}

// The row of a fork is the reduction of its events; a new attempt begins at the
// fork, not at the task.
func TestForkRowEqualsItsReplay(t *testing.T) {
	s, _ := family(t)
	child := Key{Instance: "a", ID: 1}
	f := Fork{Attempt: 1, Turn: 3, Shared: 2, Group: 1, Count: 1, Tokens: 3, FirstLen: 2}
	commit(t, s, Write{Events: []Event{forkEvent(child, f), NewEvent(at(50), child, KindIntervention, Intervention{Verb: "fork", Turn: 3, At: BeforeModel})}})
	commit(t, s, Write{Events: []Event{NewEvent(at(51), child, KindRebuilt, Rebuilt{By: ByReplay, Calls: 2, Differs: []Difference{{Turn: 1}}, More: 1})}})
	commit(t, s, Write{Events: []Event{NewEvent(at(52), child, KindState, StateChange{State: Running, Budget: 100, Turns: 9})}})
	check := func() Trajectory {
		t.Helper()
		events, err := s.Since(t.Context(), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		row := NewTrajectory(child, at(0))
		for _, e := range events {
			if e.Key == child {
				if err := Apply(&row, e); err != nil {
					t.Fatal(err)
				}
			}
		}
		rows, _, err := s.Trajectories(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(rows[1], row) {
			t.Errorf("stored %+v\nreplayed %+v", rows[1], row)
		}
		return row
	}
	if row := check(); row.Differs != 2 || row.Turn != 2 || row.Tokens != 3 || row.FirstLen != 2 || !row.Intervened || row.Sampled != 0 || !row.Since.Equal(at(52)) {
		t.Errorf("row %+v", row)
	}
	commit(t, s, Write{Events: []Event{NewEvent(at(60), child, KindAttempt, Attempt{N: 2})}})
	if row := check(); row.Attempt != 2 || row.Turn != 2 || row.Tokens != 3 || row.Fork == nil || *row.Fork != f {
		t.Errorf("the next attempt %+v", row)
	}
}

// What makes no sense is refused, alone, and leaves nothing; a file without forks
// stays one that older readers take.
func TestForkRefused(t *testing.T) {
	s, key := family(t)
	version := func() (v int) {
		if err := s.db.QueryRow("PRAGMA user_version").Scan(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	good := Fork{Attempt: 1, Turn: 3, Shared: 2, Group: 1, Count: 1}
	with := func(change func(*Fork)) Fork { f := good; change(&f); return f }
	child := Key{Instance: "a", ID: 1}
	for name, e := range map[string]Event{
		"is a parent":        forkEvent(key, good),
		"no parent":          forkEvent(child, with(func(f *Fork) { f.Parent = 7 })),
		"other instance":     forkEvent(Key{Instance: "b", ID: 1}, good),
		"turn to come":       forkEvent(child, with(func(f *Fork) { f.Turn, f.Shared = 5, 4 })),
		"turn 0":             forkEvent(child, with(func(f *Fork) { f.Turn = 0 })),
		"shares its own":     forkEvent(child, with(func(f *Fork) { f.Shared = 3 })),
		"lacks turns":        forkEvent(child, with(func(f *Fork) { f.Shared = 0 })),
		"attempt to come":    forkEvent(child, with(func(f *Fork) { f.Attempt = 2 })),
		"outside its group":  forkEvent(Key{Instance: "a", ID: 3}, good),
		"payload is no fork": NewEvent(at(50), child, KindForked, "x"),
	} {
		if err := s.Commit(t.Context(), Write{Events: []Event{e}}); err == nil || errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The fork itself is fine, and what is committed with it is not.
	bad := Turn{Key: child, Attempt: 1, Index: 1, Version: 1, Source: FromModel}
	if err := s.Commit(t.Context(), Write{Turn: &bad, Events: []Event{forkEvent(child, good)}}); err == nil {
		t.Error("a turn before the fork was stored")
	}
	if rows, _, err := s.Trajectories(t.Context()); err != nil || len(rows) != 1 || version() != 3 {
		t.Fatalf("%d rows, version %d: %v", len(rows), version(), err)
	}
	commit(t, s, Write{Events: []Event{forkEvent(child, good)}})
	if err := s.Commit(t.Context(), Write{Events: []Event{forkEvent(child, good)}}); err == nil {
		t.Error("the same child twice")
	}
	rows, _, err := s.Trajectories(t.Context())
	if err != nil || len(rows) != 2 || version() != 4 {
		t.Errorf("%d rows, version %d: %v", len(rows), version(), err)
	}
	if sum := Summarize(s.Run(), rows); sum.Members != 1 || sum.Forks != 1 || sum.ForksOpen != 1 {
		t.Errorf("summary %+v", sum)
	}
}

// Calls that could not run again are counted among those that should have answered.
func TestRebuiltRecorded(t *testing.T) {
	r := Rebuilt{Calls: 1, Differs: []Difference{{Was: "a", Now: "b"}, {Why: "a shell"}, {Why: "cancelled"}}}
	if n := r.Recorded(); n != 3 {
		t.Errorf("%d, want the one that ran and two that did not", n)
	}
	r.More = 7 // of which nothing more is known
	if n := r.Recorded(); n != 10 {
		t.Errorf("%d with 10 differences", n)
	}
}
