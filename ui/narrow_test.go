package ui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"rollbench/sessions"
)

// The help is looked through by words of keys and texts; esc goes back by steps.
func TestNarrowHelp(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.keys("?/pause")
	n := b.w.sheet.narrow
	texts := func() string {
		var out []string
		for _, blk := range n.page().sections[0].blocks {
			if blk.kind == heading {
				out = append(out, "# "+blk.id)
			} else {
				out = append(out, strings.TrimSpace(blk.label))
			}
		}
		return strings.Join(out, " ")
	}
	if got := texts(); got != "# The chosen trajectory c F5 n F10 s F11 f p # Anywhere P" && !strings.HasSuffix(got, "p # Anywhere P") {
		t.Errorf("pause: %s", got)
	}
	b.keys(" all")
	if got := texts(); got != "# Anywhere P" {
		t.Errorf("pause all: %s", got)
	}
	b.keys("<enter>q") // q closes again, it is not typed
	if b.w.sheet != nil {
		t.Error("q does not close what is narrowed")
	}
	b.keys("?/zzzz")
	if !strings.Contains(ansi.Strip(b.w.View()), "Nothing here has all these words.") {
		t.Error("nothing is not said")
	}
	b.keys("<esc>")
	if b.w.sheet == nil || b.w.sheet.narrow.takesEsc() {
		t.Error("the first esc closes, or shows not all again")
	}
	b.keys("<esc>")
	if b.w.sheet != nil {
		t.Error("the second esc does not close")
	}
	b.keys(":help queues<enter>")
	if got := b.w.sheet.narrow; got.input.Value() != "queues" || b.w.View() == "" || got.n == 0 {
		t.Errorf("help queues shows %d rows of %q", got.n, got.input.Value())
	}
}

func TestNarrowMessages(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.keys("sm/not held")
	if n := b.w.sheet.narrow; b.w.View() == "" || n.n != 0 {
		t.Errorf("%d messages", n.n)
	}
	b.keys("<ctrl+u>ended")
	if n := b.w.sheet.narrow; b.w.View() == "" || n.n != 1 {
		t.Errorf("%d messages have ended", n.n)
	}
	b.keys("<esc>")
	b.w.toasts.add(b.w.now, note, "a message that comes while they are looked at")
	b.w.toasts.until = b.w.now
	if !strings.Contains(ansi.Strip(b.w.View()), "a message that comes while they are looked at") {
		t.Error("a new message is not shown")
	}
}

// O acts anywhere in the block of a call, also where a turn has several.
func TestOutputOfTheCall(t *testing.T) {
	for id, want := range map[string]string{"3.1.c0": "3.1.0", "3.1.o0": "3.1.0", "3.1.c1.p": "3.1.1", "3.2.o10.cut": "3.2.10", "3.1": "", "3.1.think": "", "3.1.m0": "", "tail": "", "3.1.x0": ""} {
		if got := callPart(id); got != want {
			t.Errorf("%s is of the call %q, not %q", id, got, want)
		}
	}
}

// Of two calls in a turn the one that the cursor is in is opened, from its command as
// from what it returned.
func TestOutputOfTwoCalls(t *testing.T) {
	f := withOutput(testLog(10), 100, 0)
	k := sessions.Key{Instance: "flask-4045"}
	turn := &f.turns[k][0]
	second, seen := turn.Calls[0], turn.Observations[0]
	second.ID, seen.CallID = "second", "second"
	second.Arguments = `{"command": "second command"}`
	turn.Calls, turn.Observations = append(turn.Calls, second), append(turn.Observations, seen)
	f.output[sessions.CallPlace{Key: k, Turn: 1, Call: 1}] = []byte("what the second printed\n")
	for _, c := range []struct{ at, want string }{{"1.1.c0", "collected 4000 items"}, {"1.1.o0", "collected 4000 items"}, {"1.1.c1", "what the second printed"}, {"1.1.o1.cut", "what the second printed"}, {"1.1.think", ""}} {
		b := open(t, f, 120, 40, nil)
		b.keys("<enter>g")
		for range 80 {
			if blk := b.w.scroller().block(b.w.document(), b.w.viewWidth()); blk != nil && blk.id == c.at {
				break
			}
			b.keys("j")
		}
		b.keys("O")
		if open := b.w.sheet != nil; open != (c.want != "") || open && !strings.Contains(ansi.Strip(b.w.View()), c.want) {
			t.Errorf("at %s: open %v, not with %q", c.at, open, c.want)
		}
	}
}
