package ui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"rollbench/engine"
	"rollbench/sessions"
)

const hostile = "\x1b]0;owned\x07\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1b[31m漢\u202e\u200b\x00\x9b5m👩‍👩‍👧\t\r\nend"

// Whatever any field of a session says, the screen holds no escape sequence
// but its own colours and keeps its shape.
func TestHostileEverywhere(t *testing.T) {
	f := fakeTokenized()
	for id := range f.vocabulary {
		f.vocabulary[id] = hostile + f.vocabulary[id]
	}
	f.run.ID, f.run.Title, f.run.Model, f.run.Endpoint, f.run.Policy = hostile, hostile, hostile, hostile, hostile
	for i := range f.trajs {
		t := &f.trajs[i]
		old := t.Key
		t.Instance, t.HeldWhy, t.Tool, t.EvalNote, t.Causes = hostile+t.Instance, hostile, hostile, hostile, []string{hostile, hostile}
		if t.Finish != "" {
			t.Finish = hostile
		}
		turns := f.turns[old]
		for j := range turns {
			soil(&turns[j])
		}
		f.turns[t.Key] = turns
		f.patch[t.Key], f.log[t.Key] = []byte(fakePatch+hostile), []byte(hostile)
		f.status.Streams[t.Key.String()] = engine.Stream{Key: t.Key, Turn: 3, What: hostile, Text: hostile, Since: fakeNow()}
		f.write(fakeNow(), t.Key, sessions.Kind(hostile), sessions.Warning{Text: hostile})
		f.write(fakeNow(), t.Key, sessions.KindIntervention, sessions.Intervention{Verb: "inject", Turn: 1, After: hostile})
	}
	f.status.Notes, f.status.LimitedBy, f.status.Policy = []string{hostile}, hostile, hostile
	f.endpoints(3, 1)
	for i := range f.status.Endpoints {
		e := &f.status.Endpoints[i]
		e.URL, e.Problem, e.Capabilities.Server = hostile, hostile, hostile
	}
	for _, wh := range [][2]int{{80, 24}, {120, 40}, {60, 20}, {30, 8}} {
		for _, keys := range []string{"", "jj<enter>", "jj3", "jj4", "jj5", "jj6", "6{g", "jj7", "7g", "jj8", "8g", "<ctrl+f>end<enter>", "<ctrl+f>end<enter>jj<enter>", "jj<enter>/end<enter>n", "k", "jje", "jjX", "jji", "q", "E", "?", "cm", "/x", "jjxno<ctrl+s>", "G<enter>g"} {
			b := open(t, f, wh[0], wh[1], func(o *Options) { o.Export = fakeExport })
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
				// The form to edit a call shows its text in full, controls as dots; the
				// views of what was exactly said, by their signs.
				if keys != "jje" && !strings.ContainsAny(keys, "678") && strings.Contains(r, "owned") {
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
