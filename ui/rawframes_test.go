package ui

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"rollbench/engine"
	"rollbench/sessions"
)

// hostileRun has escape sequences in every text of a session.
func hostileRun() *fakeRun {
	f := fakeTokenized()
	for id := range f.vocabulary {
		f.vocabulary[id] = hostile + f.vocabulary[id]
	}
	f.run.ID, f.run.Title, f.run.Model, f.run.Endpoint, f.run.Policy = hostile, hostile, hostile, hostile, hostile
	for i := range f.trajs {
		t := &f.trajs[i]
		old := t.Key
		t.Instance, t.HeldWhy, t.Tool, t.EvalNote, t.Causes = hostile+t.Instance, hostile, hostile, hostile, []string{hostile, hostile}
		t.Tags, t.Note, t.Sandbox = []string{hostile}, hostile, hostile
		turns := f.turns[old]
		for j := range turns {
			soil(&turns[j])
		}
		f.turns[t.Key] = turns
		f.patch[t.Key], f.log[t.Key] = []byte(fakePatch+hostile), []byte(hostile)
		f.status.Streams[t.Key.String()] = engine.Stream{Key: t.Key, Turn: 3, What: hostile, Text: hostile, Since: fakeNow()}
		f.write(fakeNow(), t.Key, sessions.Kind(hostile), sessions.Warning{Text: hostile})
	}
	f.status.Notes, f.status.LimitedBy, f.status.Policy = []string{hostile}, hostile, hostile
	f.status.Breakpoints = []engine.Breakpoint{{ID: 1, Text: hostile}}
	for i := range f.status.Endpoints {
		e := &f.status.Endpoints[i]
		e.URL, e.Problem, e.Capabilities.Server = hostile, hostile, hostile
	}
	return f
}

// What reaches the terminal are colours, the moves and modes of the screen library, and
// nothing else, whatever is looked at: no title, no clipboard, no move of the policy's.
func TestRawFrames(t *testing.T) {
	for _, keys := range []string{"", "jj\r", "jj3", "jj4", "jj5", "jj6", "jj7", "jj8", "k", "?", "Q", "w", "B", "m", "G\rg"} {
		t.Run(fmt.Sprintf("%q", keys), func(t *testing.T) {
			f := hostileRun()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := start(t, ctx, Options{Reader: f, Commands: f, Export: fakeExport, WhatIf: fakeWhatIf, Search: fakeSearch})
			s.out.until("flask-4045")
			// Each key alone: many at once are a paste.
			for _, k := range keys {
				s.press(t, string(k))
			}
			f.write(fakeNow(), f.trajs[0].Key, sessions.KindWarning, sessions.Warning{Text: "\x1b]0;owned\x07and so on\x1b[2J"})
			s.out.until("and so on")
			cancel()
			<-s.done
			if bad := foreign(s.out.text()); bad != "" {
				t.Errorf("the terminal was sent %s", bad)
			}
		})
	}
}

// foreign is the first sequence in what a terminal was sent that the screen library
// does not make, "" when there is none.
func foreign(out string) string {
	for i := 0; i < len(out); i++ {
		c := out[i]
		switch {
		case c == '\r' || c == '\n' || c >= 0x20 && c != 0x7f:
			continue
		case c != 0x1b:
			return fmt.Sprintf("a control character %#x in %q", c, around(out, i))
		}
		if i+1 >= len(out) || out[i+1] != '[' {
			return fmt.Sprintf("an escape that is no CSI in %q", around(out, i))
		}
		end := i + 2
		for end < len(out) && strings.IndexByte("0123456789;?", out[end]) >= 0 {
			end++
		}
		if end == len(out) {
			return "a sequence without an end"
		}
		seq := out[i : end+1]
		switch out[end] {
		case 'm': // colours
		case 'A', 'B', 'C', 'D', 'H', 'K', 'J': // the library's moves
		case 'h', 'l':
			if seq[2] != '?' {
				return fmt.Sprintf("a mode %q", seq)
			}
		default:
			return fmt.Sprintf("a sequence %q in %q", seq, around(out, i))
		}
		i = end
	}
	return ""
}

func around(s string, i int) string { return s[max(0, i-30):min(len(s), i+30)] }

// The check itself: what a policy would send is found.
func TestForeign(t *testing.T) {
	for _, bad := range []string{"\x1b]0;t\x07", "\x1b]52;c;YQ==\x07", "\x1b[6n", "\x1bc", "\x07", "\x1b[4l", "\x1bP1$r\x1b\\", "a\x1b[", "\x9b5m"[:0] + "\x7f"} {
		if foreign("ok\x1b[1;31mred\x1b[0m\r\n\x1b[?25l\x1b[2;1H"+bad) == "" {
			t.Errorf("%q passes", bad)
		}
	}
	if bad := foreign("ok\x1b[1;31mred\x1b[0m\r\n\x1b[?25l\x1b[2;1H漢字"); bad != "" {
		t.Error(bad)
	}
}
