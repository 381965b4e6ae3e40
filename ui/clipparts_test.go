package ui

import "testing"

// A part that has no room is left out as a whole: half a number would be another one.
func TestClipParts(t *testing.T) {
	l := line{{plain, " KV "}, {live, "71%"}, {plain, "  2.9k tok/s  "}, {dim, "hits "}, {plain, "88%"}}
	for _, c := range []struct {
		w    int
		want string
	}{
		{29, " KV 71%  2.9k tok/s  hits 88%"},
		{28, " KV 71%  2.9k tok/s"},
		{19, " KV 71%  2.9k tok/s"},
		{18, " KV 71%"},
		{7, " KV 71%"},
		{6, " KV 7…"},
	} {
		if got := clipParts(l, c.w).text(); got != c.want {
			t.Errorf("in %d columns %q, want %q", c.w, got, c.want)
		}
	}
}
