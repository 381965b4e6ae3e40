package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"rollbench/engine/infer"
)

// Each id is asked for once and alone; a part of a character stays unknown, and
// an endpoint that cannot tell is no error.
func TestSpeller(t *testing.T) {
	var mu sync.Mutex
	var asked []int32
	s := &speller{known: map[int32]string{}, detokenize: func(_ context.Context, ids []int32) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, ids...)
		switch {
		case len(ids) != 1:
			return "", fmt.Errorf("%d ids at once", len(ids))
		case ids[0] == 9:
			return "\ufffd", nil
		}
		return fmt.Sprintf(" t%d", ids[0]), nil
	}}
	want := map[int32]string{3: " t3", 4: " t4", 5: " t5"}
	for range 2 {
		if got, err := s.spell(t.Context(), []int32{3, 4, 5, 9}); err != nil || !maps.Equal(got, want) {
			t.Errorf("spelled %q, %v, want %q", got, err, want)
		}
	}
	slices.Sort(asked)
	if !slices.Equal(asked, []int32{3, 4, 5, 9}) {
		t.Errorf("asked for %v", asked)
	}
	s.detokenize = func(context.Context, []int32) (string, error) { return "", infer.ErrNoTokenize }
	if got, err := s.spell(t.Context(), []int32{3, 77}); err != nil || !maps.Equal(got, map[int32]string{3: " t3"}) {
		t.Errorf("without /detokenize: %q, %v", got, err)
	}
	many := make([]int32, spellMost+100)
	for i := range many {
		many[i] = int32(1000 + i)
	}
	s.detokenize = func(context.Context, []int32) (string, error) { return "x", nil }
	for _, n := range []int{spellMost, len(many)} {
		if got, err := s.spell(t.Context(), many); err != nil || len(got) != n {
			t.Errorf("%d of %d ids, %v, want %d", len(got), len(many), err, n)
		}
	}
}

// The simulated endpoint's ids are bytes and the markers of its template.
func TestSpellSimulated(t *testing.T) {
	got, err := spellSimulated(t.Context(), []int32{'a', 0xe6, 258, 9999, -1})
	if want := (map[int32]string{'a': "a", 0xe6: "\xe6", 258: "<|im_end|>"}); err != nil || !maps.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
