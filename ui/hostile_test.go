package ui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"rollbench/sessions"
)

const hostile = "\x1b]0;owned\x07\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1b[31m漢\u202e\u200b\x00\x9b5m👩‍👩‍👧\t\r\nend"

// Whatever any field of a session says, the screen holds no escape sequence
// but its own colours and keeps its shape.
func TestHostileEverywhere(t *testing.T) {
	f := hostileRun()
	for i := range f.trajs {
		f.write(fakeNow(), f.trajs[i].Key, sessions.KindIntervention, sessions.Intervention{Verb: "inject", Turn: 1, After: hostile})
	}
	f.endpoints(3, 1)
	for i := range f.status.Endpoints {
		e := &f.status.Endpoints[i]
		e.URL, e.Problem, e.Capabilities.Server = hostile, hostile, hostile
	}
	for _, wh := range [][2]int{{80, 24}, {120, 40}, {60, 20}, {30, 8}} {
		for _, keys := range []string{"", "jj<enter>", "jj3", "jj4", "jj5", "jj6", "6{g", "jj7", "7g", "jj8", "8g", "<ctrl+f>end<enter>", "<ctrl+f>end<enter>jj<enter>", "jj<enter>/end<enter>n", "k", "jje", "jjX", "jji", "q", "E", "?", "cm", "/x", "jjxno<ctrl+s>", "G<enter>g", "jjx", "jjl", "jjt", "jj!", "jjr", "Q", "w", "L", "B", "B<enter>", "b", "m", "jjR", "P", "jjO"} {
			b := open(t, f, wh[0], wh[1], func(o *Options) { o.Export, o.WhatIf, o.Search = fakeExport, fakeWhatIf, fakeSearch })
			f.write(fakeNow(), f.trajs[0].Key, sessions.KindWarning, sessions.Warning{Text: hostile})
			b.pull()
			b.keys(keys)
			rows := strings.Split(b.w.View(), "\n")
			if len(rows) != wh[1] {
				t.Fatalf("%v %q: %d rows", wh, keys, len(rows))
			}
			for i, r := range rows {
				checkEscapes(t, r)
				if n := ansi.StringWidth(r); n != wh[0] {
					t.Errorf("%v %q: row %d is %d columns wide: %q", wh, keys, i, n, r)
				}
				// Forms show their texts in full, controls as dots; the views of what was
				// exactly said, by their signs.
				if form := keys == "jje" || keys == "jjt" || keys == "b" || keys == "B<enter>"; !form && !strings.ContainsAny(keys, "678") && strings.Contains(r, "owned") {
					t.Errorf("%v %q: row %d shows what an escape sequence carried: %q", wh, keys, i, r)
				}
			}
		}
	}
}

// soil every text of a turn.
func soil(t *sessions.Turn) {
	t.Reasoning, t.Content, t.Finish, t.Model, t.Raw = hostile, hostile, hostile, hostile, t.Raw+hostile
	for i := range t.New {
		t.New[i].Content, t.New[i].Role = hostile, hostile
	}
	for i := range t.Calls {
		c := &t.Calls[i]
		c.Name, c.Problem = hostile, hostile
		if i == 0 && t.Index%2 == 0 {
			c.Arguments = hostile
		}
	}
	for i := range t.Observations {
		o := &t.Observations[i]
		o.Text, o.Status, o.Tool, o.Before, o.Dropped = hostile, hostile, hostile, hostile, 12
	}
}
