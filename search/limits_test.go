package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestExpandBraces(t *testing.T) {
	for pattern, want := range map[string][]string{
		"a{b,c}d":     {"abd", "acd"},
		"{a,b}{c,d}":  {"ac", "ad", "bc", "bd"},
		"{a,b":        {"{a,b"},
		"x.{py,}":     {"x.py", "x."},
		"{a}{b,c}{d}": {"abd", "acd"},
	} {
		if got := expandBraces(pattern, 64); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
	// Each brace would double the work, and one with three alternatives triple it.
	for pattern, want := range map[string]int{strings.Repeat("{a,b}", 50): 64, strings.Repeat("{a,b,}", 40) + "*": 3 * 3 * 3 * 2, "{" + strings.Repeat("a,", 100) + "b}": 64} {
		if got := expandBraces(pattern, 64); len(got) != want {
			t.Errorf("%s: %d patterns, want %d", pattern, len(got), want)
		}
	}
	if isGlob(strings.Repeat("*", longestGlob+1)) {
		t.Error("a glob of any length is tried")
	}
}

// definitions is a view of n files with 40 functions each.
func definitions(n int) *View {
	var files []File
	for i := range n {
		files = append(files, File{Path: fmt.Sprintf("p%d/m%d.py", i%50, i),
			Content: []byte(strings.Repeat(fmt.Sprintf("def f%d(a, b):\n    if a == b:\n        raise ValueError(a)\n    return g%d(a, (b, [a, b, {a: b}]))\n\n", i, i), 40))})
	}
	return Build(files).View()
}

// A pattern that goes back and forth ends by its count of steps, and says so.
func TestAPatternThatTakesTooMuchWork(t *testing.T) {
	v := definitions(400)
	q := Query{Pattern: "def " + strings.Repeat("$$$ ", 30) + "return q"}
	got := v.Query(q).Text
	if !strings.Contains(got, "(stopped: too much work)") {
		t.Error(got)
	}
	if again := v.Query(q).Text; again != got {
		t.Errorf("first %q\nthen %q", got, again)
	}
	// An ordinary one of the same repository is nowhere near that.
	if got := v.Query(Query{Pattern: "raise ValueError($E)"}).Text; strings.Contains(got, "work") || !strings.Contains(got, "$E = a") {
		t.Error(got)
	}
}

// A name of a megabyte is no name, and is answered like any other that is unknown.
func TestANameThatIsTooLong(t *testing.T) {
	v := definitions(50)
	if got := v.nearestOf(strings.Repeat("f", longestName+1)); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if a := v.Query(Query{Terms: []string{strings.Repeat("f", 1<<20)}}); a.Text == "" || len(a.Text) > 2000 {
		t.Errorf("%d characters", len(a.Text))
	}
}

func (v *View) nearestOf(name string) []near {
	l, err := v.look()
	if err != nil {
		panic(err)
	}
	return l.nearest(name, 5)
}

// Matches beyond the first 200 are said to be there, in tests as well.
func TestAPatternWithManyMatches(t *testing.T) {
	var files []File
	for i := range 30 {
		text := []byte(strings.Repeat("def f(a):\n    raise ValueError(a)\n\n", 40))
		files = append(files, File{Path: fmt.Sprintf("m%d.py", i), Content: text}, File{Path: fmt.Sprintf("tests/test_m%d.py", i), Content: text})
	}
	if got := Build(files).View().Query(Query{Pattern: "raise ValueError($E)"}).Text; !strings.Contains(got, "200 found (only the first matches)") {
		t.Error(got[:100])
	}
}
