package ui

import (
	"testing"

	"rollbench/sessions"
)

func fakeTokenized() *fakeRun {
	return fakeWhole().tokenized(sessions.Key{Instance: "flask-4045"}, heldKey)
}

// The views of a turn, at every size, and without colour.
func TestTurnViews(t *testing.T) {
	for _, v := range []struct{ name, keys string }{
		{"tokens", "6"},
		{"tokens-low", "6JJ"},
		{"tokens-first", "6{{{{{{{{{{{{{{{{{g"},
		{"tokens-edited", "jj<enter>6{{"},
		{"raw", "7"},
		{"raw-edited", "jj<enter>7{{"},
		{"json", "8"},
		{"json-first", "8g"},
		{"tokens-absent", "jjj6"},
		{"raw-absent", "jjj7"},
	} {
		for size, wh := range sizes() {
			t.Run(v.name+"-"+size, func(t *testing.T) {
				b := open(t, fakeTokenized(), wh[0], wh[1], nil)
				b.keys(v.keys)
				b.check(v.name + "-" + size)
			})
		}
		t.Run(v.name+"-mono", func(t *testing.T) {
			b := open(t, fakeTokenized(), 120, 40, func(o *Options) { o.NoColor = true })
			b.keys(v.keys)
			b.check(v.name + "-mono-120x40")
		})
	}
}
