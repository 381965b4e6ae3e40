package engine

import (
	"slices"
	"testing"
)

// The sandboxes of an instance that wait for one image all hear of it; a person
// hears once.
func TestNotesOfOneImage(t *testing.T) {
	n := &notes{}
	for _, line := range []string{"Step 1", "Step 1", "Step 1", "---> Using cache", "Step 2", "---> Using cache"} {
		n.add("a", line)
		n.add("b", line)
	}
	want := []string{"a: Step 1", "b: Step 1", "a: ---> Using cache", "b: ---> Using cache", "a: Step 2", "b: Step 2", "a: ---> Using cache", "b: ---> Using cache"}
	if got := n.snapshot(); !slices.Equal(got, want) {
		t.Errorf("notes %q, want %q", got, want)
	}
}
