package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// A help on a narrow terminal has the words of the whole one, and no flag's line is
// broken by the terminal.
func TestFlagsWrapped(t *testing.T) {
	help := func(columns int) string {
		var out bytes.Buffer
		root := (&app{defaults: embedded(), out: &out, err: &out}).root()
		if columns > 0 {
			wrapFlags(root, columns)
		}
		root.SetArgs([]string{"validate", "--help"})
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	whole, narrow := help(0), help(80)
	if a, b := strings.Fields(whole), strings.Fields(narrow); strings.Join(a, " ") != strings.Join(b, " ") {
		t.Errorf("other words:\n%s", narrow)
	}
	_, flags, _ := strings.Cut(narrow, "\nFlags:\n")
	for line := range strings.Lines(flags) {
		if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > 80 {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
}
