package ui

import (
	"testing"

	"rollbench/engine"
)

// What contains the sandboxes is said in a word, and loudly when nothing does.
func TestIsolation(t *testing.T) {
	for _, c := range []struct {
		isolation, want string
		loud            bool
	}{
		{"", "", false},
		{"bubblewrap", "  in bubblewrap", false},
		{"docker+namespaces", "  in docker+namespaces", false},
		{"none", "  sandboxes NOT ISOLATED", true},
	} {
		got, loud := "", false
		for _, s := range isolation(&engine.Status{Isolation: c.isolation}) {
			got, loud = got+s.text, loud || s.r == warn
		}
		if got != c.want || loud != c.loud {
			t.Errorf("%q is drawn %q, loud %v", c.isolation, got, loud)
		}
	}
}
