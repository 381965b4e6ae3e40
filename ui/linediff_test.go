package ui

import (
	"strings"
	"testing"
)

func TestDiffLines(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"nothing", "", "", ""},
		{"put in", "", "a\nb\n", "+ a|+ b"},
		{"taken out", "a\n\nb", "", "- a|- |- b"},
		{"one line of three", "a\nb\nc", "a\nx\nc", "  a|- b|+ x|  c"},
		{"moved", "a\nb\nc", "b\nc\na", "- a|  b|  c|+ a"},
		{"two places", "a\nb\nc\nd\ne", "a\nB\nc\nD\ne", "  a|- b|+ B|  c|- d|+ D|  e"},
		{"repeated lines", "x\nx", "x\nx\nx", "  x|  x|+ x"},
		{"like a header", "-- a/x", "++ b/x", "- -- a/x|+ ++ b/x"},
	} {
		if got := strings.Join(diffLines(textLines(c.old), textLines(c.new)), "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Where the table would be too large all goes out and all comes in.
func TestDiffLinesLarge(t *testing.T) {
	old, new := textLines(strings.Repeat("a\n", 2000)+"end"), textLines(strings.Repeat("b\n", 2000)+"end")
	got := diffLines(old, new)
	if len(got) != 4001 || got[0] != "- a" || got[1999] != "- a" || got[2000] != "+ b" || got[4000] != "  end" {
		t.Errorf("%d lines", len(got))
	}
}
