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

// Once a sandbox of the instance is open, or cannot be, nothing is said any more of the
// image that it waited for; said again it is news.
func TestNotesAreOver(t *testing.T) {
	n := &notes{}
	n.add("a", "pulling x:1")
	n.add("a-2", "pulling y:1")
	n.over("a")
	if got := n.snapshot(); !slices.Equal(got, []string{"a-2: pulling y:1"}) {
		t.Errorf("notes %q", got)
	}
	n.add("a", "pulling x:1")
	if got := n.snapshot(); !slices.Equal(got, []string{"a-2: pulling y:1", "a: pulling x:1"}) {
		t.Errorf("notes %q", got)
	}
}
