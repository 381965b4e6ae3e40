package cli

import (
	"slices"
	"testing"

	"rollbench/engine/task"
)

// An order of a seed depends on the ids alone: rows that are added or that stand
// elsewhere do not change how the others follow each other.
func TestShuffleIsOfIds(t *testing.T) {
	shuffled := func(seed int64, ids ...string) []string {
		a := &app{}
		a.flags.shuffled, a.flags.shuffle = true, seed
		at, err := a.choose(len(ids), func(i int) string { return ids[i] })
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, i := range at {
			out = append(out, ids[i])
		}
		return out
	}
	ids := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	first := shuffled(7, ids...)
	back := slices.Clone(ids)
	slices.Reverse(back)
	if got := shuffled(7, back...); !slices.Equal(got, first) {
		t.Errorf("in another order %v, want %v", got, first)
	}
	more := slices.DeleteFunc(shuffled(7, append([]string{"x", "y"}, ids...)...), func(id string) bool { return id == "x" || id == "y" })
	if !slices.Equal(more, first) {
		t.Errorf("with more rows %v, want %v", more, first)
	}
	if slices.Equal(first, ids) || slices.Equal(first, shuffled(8, ids...)) {
		t.Errorf("not shuffled, or alike for two seeds: %v", first)
	}
}

// A warning that many tasks have is told once, with the first of them.
func TestWarningsOf(t *testing.T) {
	got := warningsOf([]*task.Instance{{ID: "a", Warnings: []string{"no network", "odd"}}, {ID: "b"}, {ID: "c", Warnings: []string{"no network"}}, {ID: "d", Warnings: []string{"no network"}}})
	if want := []string{"task a and 2 more: no network", "task a: odd"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// An id that holds what patterns are made of is chosen by itself, as the files of ids
// name it that validate and mix write.
func TestInstancesThatLookLikePatterns(t *testing.T) {
	a := &app{}
	a.flags.instances = []string{"a[1]", `c\d`}
	ids := []string{"a[1]", "a1", "a2", `c\d`}
	at, err := a.choose(len(ids), func(i int) string { return ids[i] })
	if err != nil || !slices.Equal(at, []int{0, 1, 3}) {
		t.Errorf("%v, %v", at, err)
	}
}
