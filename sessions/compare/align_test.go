package compare

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func letters(seqs ...string) [][]string {
	out := make([][]string, len(seqs))
	for i, s := range seqs {
		out[i] = strings.Split(s, "")
		if s == "" {
			out[i] = nil
		}
	}
	return out
}

// drawn is the rows as columns of letters, · where there is none.
func drawn(seqs [][]string, rows [][]int) string {
	cols := make([]string, len(seqs))
	for _, row := range rows {
		for i, at := range row {
			if at < 0 {
				cols[i] += "·"
			} else {
				cols[i] += seqs[i][at]
			}
		}
	}
	return strings.Join(cols, " ")
}

// By hand.
func TestAlign(t *testing.T) {
	for _, c := range []struct {
		name string
		seqs []string
		want string
	}{
		{"nothing", []string{"", ""}, " "},
		{"alike", []string{"abc", "abc"}, "abc abc"},
		{"one is longer", []string{"ab", "abcd"}, "ab·· abcd"},
		{"one took a detour", []string{"abcd", "abxcd"}, "ab·cd abxcd"},
		{"another call in its place", []string{"abcd", "axcd"}, "abcd axcd"},
		{"places shared until they meet again", []string{"abbz", "axyyyz"}, "abb··z axyyyz"},
		{"nothing in common", []string{"ab", "xyz"}, "ab· xyz"},
		{"the earliest match", []string{"ab", "bab"}, "·ab bab"},
		{"the earliest of two equal calls", []string{"xvzv", "rv"}, "xvzv rv··"},
		{"the earliest, the other way round", []string{"rv", "xvzv"}, "rv·· xvzv"},
		{"the nearest", []string{"ava", "bba"}, "ava bba"},
		{"one did nothing", []string{"", "ab"}, "·· ab"},
		{"three", []string{"abcd", "abxd", "abcxd"}, "abc·d abx·d abcxd"},
		{"the third is like the second", []string{"az", "axyz", "axyz"}, "a··z axyz axyz"},
	} {
		seqs := letters(c.seqs...)
		rows, exact := Align(seqs, nil)
		if got := drawn(seqs, rows); got != c.want || !exact {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Between two calls that are the same, those that are alike stand together.
func TestAlignLike(t *testing.T) {
	seqs := [][]string{{"s", "bash 1", "edit 1", "e"}, {"s", "edit 2", "e"}}
	like := [][]string{{"s", "bash", "edit", "e"}, {"s", "edit", "e"}}
	rows, _ := Align(seqs, like)
	if want := [][]int{{0, 0}, {1, -1}, {2, 1}, {3, 2}}; !reflect.DeepEqual(rows, want) {
		t.Errorf("%v, want %v", rows, want)
	}
}

// lcs is the length of a longest common subsequence, from its definition.
func lcs(a, b []string) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	if a[0] == b[0] {
		return 1 + lcs(a[1:], b[1:])
	}
	return max(lcs(a[1:], b), lcs(a, b[1:]))
}

// Random sequences: each element stands once and in order, two sequences share as
// many rows as can be, and what is added at the end of the last moves no match.
func TestAlignHolds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		seqs := make([][]string, 2+r.IntN(3))
		for i := range seqs {
			for range r.IntN(9) {
				seqs[i] = append(seqs[i], string(rune('a'+r.IntN(3))))
			}
		}
		rows, exact := Align(seqs, nil)
		shared := 0
		next := make([]int, len(seqs))
		for _, row := range rows {
			some := false
			for i, at := range row {
				if at >= 0 {
					if at != next[i] {
						t.Fatalf("%v: element %d of %d stands in row %v", seqs, at, i, row)
					}
					next[i]++
					some = true
				}
			}
			if !some {
				t.Fatalf("%v: an empty row", seqs)
			}
			if row[0] >= 0 && row[1] >= 0 && seqs[0][row[0]] == seqs[1][row[1]] {
				shared++
			}
		}
		for i := range seqs {
			if next[i] != len(seqs[i]) {
				t.Fatalf("%v: %d of %d elements of %d stand in %v", seqs, next[i], len(seqs[i]), i, rows)
			}
		}
		if want := lcs(seqs[0], seqs[1]); shared < want || !exact {
			t.Fatalf("%v: %d rows are shared, want %d", seqs, shared, want)
		}
	}
}

// A common start stays where it is whatever comes after it.
func TestAlignStable(t *testing.T) {
	a := []string{"1", "2", "3", "x", "4"}
	b := []string{"1", "2", "3"}
	rows, _ := Align([][]string{a, b}, nil)
	more, _ := Align([][]string{a, append(slices.Clone(b), "x", "5")}, nil)
	if fmt.Sprint(rows[:3]) != fmt.Sprint(more[:3]) {
		t.Errorf("%v, then %v", rows, more)
	}
}

// What is too long for the table is said to be so, and loses nothing.
func TestAlignTooLong(t *testing.T) {
	a, b := make([]string, 3000), make([]string, 3000)
	for i := range a {
		a[i], b[i] = fmt.Sprint("a", i), fmt.Sprint("b", i)
	}
	a[2999], b[2999] = "z", "z"
	rows, exact := Align([][]string{a, b}, nil)
	if exact || len(rows) != 3000 || rows[2999][0] != 2999 || rows[2999][1] != 2999 {
		t.Errorf("exact %v, %d rows", exact, len(rows))
	}
}
