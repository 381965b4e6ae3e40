package cli

import (
	"strings"
	"testing"

	"rollbench/sessions"
	"rollbench/sessions/stats"
)

// Names of tools that a model makes up, and reasons that people type, cannot
// write to the terminal what they like, nor make up a row.
func TestStatsOfHostileText(t *testing.T) {
	const evil = "a\x1b]0;owned\x07\nwarning: b"
	var out strings.Builder
	a := &app{out: &out}
	if err := a.printStats(runStats{Tools: []stats.Tool{{Name: evil, Calls: 1}},
		Limits: []at[sessions.Limits]{{Fact: sessions.Limits{Who: "operator", Why: evil}}},
		Struck: []struckLimit{{LimitStruck: sessions.LimitStruck{For: evil}}}}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\x07") {
		t.Errorf("control characters in %q", out.String())
	}
	if strings.Contains(out.String(), "\nwarning: b") {
		t.Errorf("a made-up row in %q", out.String())
	}
}
