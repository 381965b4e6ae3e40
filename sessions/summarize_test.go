package sessions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Three groups of four: a has rewards 1 1 0 and an absent one, b 0 0 1 of which the 1 is
// a person's, c none. So pass@1 is (2/3 + 0/2) / 2 = 1/3 and pass@4 is 1/2. A fork of c
// is solved and counts as a trajectory only.
func TestOutcome(t *testing.T) {
	run := testRun("r-1")
	run.N = 4
	one, none := 1.0, 0.0
	var rows []Trajectory
	add := func(instance string, id int, reward *float64) *Trajectory {
		k := Key{instance, id}
		if id < 4 {
			run.Members = append(run.Members, k)
		}
		rows = append(rows, Trajectory{Key: k, State: Done, Turn: 3, Sampled: 10, Reward: reward})
		return &rows[len(rows)-1]
	}
	run.Members = nil
	for i, r := range []*float64{&one, &one, &none, nil} {
		add("a", i, r)
	}
	for i, r := range []*float64{&none, &none, &one} {
		add("b", i, r).Intervened = i == 2
	}
	add("c", 0, nil)
	add("c", 4, &one)
	s := Summarize(run, rows)
	if s.Groups != 3 || s.N != 4 || s.Turns != 27 || s.Sampled != 90 || s.Solved != 4 || s.Members != 9 {
		t.Errorf("%+v", s)
	}
	if got := fmt.Sprintf("%.4f %.4f %.4f", *s.PassAt1, *s.PassAtN, *s.MeanReward); got != "0.3333 0.5000 0.4000" { // 2 of 5
		t.Errorf("pass@1, pass@4 and mean are %s", got)
	}
	rows[0].Dropped = true // a has 1 0: (1/2 + 0/2) / 2
	if s = Summarize(run, rows); *s.PassAt1 != 0.25 || *s.PassAtN != 0.5 {
		t.Errorf("with a dropped one pass@1 is %v, pass@4 %v", *s.PassAt1, *s.PassAtN)
	}
	if s = Summarize(run, rows[7:8]); s.PassAt1 != nil || s.PassAtN != nil || s.MeanReward != nil {
		t.Errorf("without a reward there is %+v", s)
	}
}

// A removed run is gone; one that is written stays whole, as does what lies beside it.
func TestRemove(t *testing.T) {
	home := t.TempDir()
	open := newStore(t, home, "r-1", keyA0)
	shut := newStore(t, home, "r-2", keyA0)
	if err := shut.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Remove(t.Context(), home, "r-1"); !errors.Is(err, ErrLocked) {
		t.Errorf("a run that is written: %v", err)
	}
	if err := Remove(t.Context(), home, "r-2"); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"r-2", "../runs/r-1", "", ".", "r-3"} {
		if err := Remove(t.Context(), home, id); err == nil {
			t.Errorf("%q was removed", id)
		}
	}
	left, err := os.ReadDir(filepath.Join(home, "runs"))
	if err != nil || len(left) != 1 || left[0].Name() != "r-1" {
		t.Errorf("left is %v, %v", left, err)
	}
	commit(t, open, Write{Events: []Event{event(keyA0, 1, KindTurnDone, TurnDone{Turn: 1})}})
}

// A link out of the runs is not followed.
func TestRemoveLink(t *testing.T) {
	home, outside := t.TempDir(), t.TempDir()
	s := newStore(t, home, "r-1", keyA0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(outside, "kept")
	if err := os.WriteFile(kept, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(home, "runs", "r-1", "link")); err != nil {
		t.Fatal(err)
	}
	if err := Remove(t.Context(), home, "r-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}

// BenchmarkList lists 200 runs of 48 trajectories each.
func BenchmarkList(b *testing.B) {
	home := b.TempDir()
	var keys []Key
	for i := range 48 {
		keys = append(keys, Key{fmt.Sprint(i / 4), i % 4})
	}
	for i := range 200 {
		run := testRun(fmt.Sprintf("r-%03d", i), keys...)
		run.Created = t0.Add(time.Duration(i) * time.Minute)
		s, err := Create(context.Background(), home, run)
		if err != nil {
			b.Fatal(err)
		}
		for _, k := range keys {
			if err := s.Commit(context.Background(), Write{Events: []Event{event(k, 1, KindState, StateChange{State: Done})}}); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		runs, err := List(context.Background(), home)
		if err != nil || len(runs) != 200 || runs[0].Done != 48 {
			b.Fatalf("%d runs, %v", len(runs), err)
		}
	}
}
