package ui

import (
	"strings"
	"testing"

	"rollbench/sessions"
)

// A fork from a snapshot names the programs that ran there and do not run here.
func TestForkLeadOfASnapshot(t *testing.T) {
	fork := sessions.Trajectory{State: sessions.Held, Turn: 1, Differs: 1, Fork: &sessions.Fork{Parent: 0, Turn: 2, Count: 1, Group: 4}}
	r := &sessions.Rebuilt{By: sessions.BySnapshot, Differs: []sessions.Difference{{Turn: 1, Call: -1, Tool: "python3 -m http.server", Why: "it ran in the parent's sandbox"}}}
	var texts []string
	for _, b := range forkLead(fork, r) {
		texts = append(texts, strings.TrimSpace(b.label+" "+b.text))
	}
	got := strings.Join(texts[1:], "\n")
	want := "≠ sandbox from a snapshot of the parent's; a program that ran in its parent's sandbox does not run in its own. c goes on all the same, X drops it.\n≠ turn 1 python3 -m http.server\nit ran in the parent's sandbox"
	if got != want {
		t.Errorf("says\n%s\nwant\n%s", got, want)
	}
}
