package ui

import (
	"strings"
	"testing"
	"time"

	"rollbench/engine"
	"rollbench/sessions"
)

// heldKey is held at after-reply with a call that has not run.
var heldKey = sessions.Key{Instance: "flask-4045", ID: 2}

// resampled gives the reply that waits two fresh ones to the same prompt, the
// first without logprobs.
func (f *fakeRun) resampled() *fakeRun {
	turns := f.turns[heldKey]
	old := &turns[len(turns)-1]
	old.Logprobs = []float64{-0.25, -4.2, -0.05}
	two, three := *old, *old
	two.Version, two.Superseded, two.Logprobs, two.OutputTokens = 2, true, nil, 80
	two.Reasoning, two.Content, two.Calls = "", "The tests are wrong, so they can go.", nil
	three.Version, three.Superseded, three.Logprobs, three.OutputTokens = 3, true, []float64{-0.5, -0.25}, 64
	three.Reasoning = "Only the failing test matters."
	three.Calls = []sessions.Call{{ID: "c1", Name: "execute_bash", Arguments: `{"command": "python -m pytest -q tests/test_blueprints.py::test_dotted_name"}`}}
	f.turns[heldKey] = append(turns, two, three)
	return f
}

func TestChanges(t *testing.T) {
	const tool = "/sympy-20590#0<enter>" // held at after-tool
	for _, c := range []struct{ name, keys, call, says string }{
		{"resample", "jjr<ctrl+u>3<enter>", "resample flask-4045#2 3", "flask-4045#2 is asked for 3 fresh replies"},
		{"resample one", "jjr<enter>", "resample flask-4045#2 1", "flask-4045#2 is asked for 1 fresh reply"},
		{"too many", "jjr7<enter>", "", `"17": ask for 1 to 16 replies`},
		{"nothing to resample", tool + "r", "", "r: no call waits to run: it is held at after-tool (s goes to the next gate)"},
		{"edit an observation", tool + "e<ctrl+u>nothing<ctrl+s>", `observation sympy-20590#0 0 "....F...\n\x1b[31mFAILED\x1b[0m tests/test_blueprints.py::test_dotted_name - DID NOT RAISE\nnothing"`, "the policy of sympy-20590#0 will read the edited observation"},
		{"an observation as it was", tool + "e<ctrl+s>", "", "nothing is changed yet: esc leaves it as it is"},
		{"raise", "jjl<ctrl+u>80<tab><ctrl+u>65536<ctrl+s>", "raise flask-4045#2 80 65536", "flask-4045#2 may use 80 turns and 65536 tokens from its next gate on"},
		{"lower", "jjl<ctrl+u>8<ctrl+s>", "", "limits are raised only: it has 50 turns and 32768 tokens"},
		{"raise nothing", "jjl<ctrl+s>", "", "nothing is raised yet: esc leaves them as they are"},
		{"a word", "jjlx<ctrl+s>", "", "use whole numbers"},
		{"mark", "jjtodd hard<tab>reads the tests<ctrl+s>", `mark flask-4045#2 false false ["odd" "hard"] "reads the tests"`, "flask-4045#2 is marked"},
		{"mask an ended one", "t<up><ctrl+u>mask<ctrl+s>", `mark flask-4045#0 true false [] ""`, "flask-4045#0 is marked"},
		{"drop", "t<up><ctrl+u>drop<ctrl+s>", `mark flask-4045#0 false true [] ""`, "flask-4045#0 is marked"},
		{"neither", "t<up>!<ctrl+s>", "", `training is "yes!": write yes, mask or drop`},
		{"look", "jj!git status<ctrl+s>", `run flask-4045#2 "git status" true`, "the command runs in a copy of the sandbox of flask-4045#2"},
		{"change", "jj!touch a<enter>touch b<tab><ctrl+u>change<enter>", `run flask-4045#2 "touch a\ntouch b" false`, "the command runs in the sandbox of flask-4045#2"},
		{"replace", "jj!ls \"a\"<tab><ctrl+u>replace<enter>", `edit flask-4045#2 0 execute_bash {"command":"ls \"a\""}`, "the call of flask-4045#2 is replaced: c runs it"},
		{"replace nothing", tool + "!ls<tab><ctrl+u>replace<enter>", "", "no call waits to be replaced: it is held at after-tool"},
		{"to nowhere", "jj!ls<tab>x<enter>", "", `to is "lookx": write look, change or replace`},
		{"no command", "jj!<ctrl+s>", "", "there is no command yet"},
		{"a running one", "jjj!", "", "!: flask-4045#3 is not held: p pauses it at its next gate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, fakeWhole(), 120, 40, nil)
			b.asks(c.keys, c.call, c.says)
		})
	}
}

// With several replies r compares them; it begins with the newest.
func TestPicker(t *testing.T) {
	for _, c := range []struct{ name, keys, call string }{
		{"the newest", "jjr<enter>", "pick flask-4045#2 3"},
		{"the one before", "jjr<left><enter>", "pick flask-4045#2 2"},
		{"the old one", "jjr<tab><enter>", "pick flask-4045#2 1"},
		{"later", "jjr<esc>", ""},
		{"more", "jjrr<ctrl+u>2<enter>", "resample flask-4045#2 2"},
	} {
		b := open(t, fakeWhole().resampled(), 120, 40, nil)
		b.keys(c.keys)
		if got := strings.Join(b.f.calls, "; "); got != c.call {
			t.Errorf("%s: engine was asked %q, want %q", c.name, got, c.call)
		}
		if b.w.dialog != nil {
			t.Errorf("%s: a dialog is still open", c.name)
		}
	}
}

// What a command by hand printed is shown to who asked for it, unless something
// else is open.
func TestHandRun(t *testing.T) {
	out := sessions.HandRun{Turn: 7, At: sessions.AfterReply, Script: "git status", Look: true, Exit: 1, Output: "fatal: \x1b]0;x\anot a repository\n"}
	answer := func(b *bench) {
		b.f.write(fakeNow(), heldKey, sessions.KindHandRun, out)
		b.pull()
	}
	b := open(t, fakeWhole(), 120, 40, nil)
	b.keys("jj!git status<ctrl+s>")
	answer(b)
	if view := b.w.View(); b.w.sheet == nil || !strings.Contains(view, "not a repository") || strings.Contains(view, "\x1b]0") || !strings.Contains(view, "exit 1") {
		t.Errorf("it is not shown:\n%s", view)
	}
	for _, keys := range []string{"", "jj!git status<ctrl+s>?"} { // not asked for; the help is open
		b := open(t, fakeWhole(), 120, 40, nil)
		b.keys(keys)
		answer(b)
		if said, _ := b.w.toasts.shown(b.w.now); said.text != "flask-4045#2: command by hand: exit 1: fatal: not a repository" {
			t.Errorf("says %q", said.text)
		}
	}
}

// Tags, notes and what was dropped are found in the list, and shown.
func TestMarksAreFound(t *testing.T) {
	f := fakeWhole()
	f.trajs[1].Tags, f.trajs[1].Note, f.trajs[1].Dropped = []string{"odd"}, "reads the tests", true
	for _, filter := range []string{"tag=odd", "dropped", "reads"} {
		b := open(t, f, 120, 40, nil)
		b.keys("/" + filter + "<enter>")
		if n := len(b.w.list.rows); n != 2 || b.w.chosenKey().ID != 1 {
			t.Errorf("%s: %d rows", filter, n)
		}
		if view := b.w.View(); !strings.Contains(view, "dropped: in no export and no baseline") || !strings.Contains(view, "reads the tests") {
			t.Errorf("the marks are not shown:\n%s", view)
		}
	}
}

// A command by hand that runs is shown below what holds the trajectory, and C
// ends it without asking.
func TestCancelByHand(t *testing.T) {
	f := fakeWhole()
	f.status.Streams[heldKey.String()] = engine.Stream{Key: heldKey, Turn: 7, What: engine.HandName, Text: "building\n", Since: fakeNow().Add(-5 * time.Second)}
	b := open(t, f, 120, 40, nil)
	b.keys("jj")
	if view := b.w.View(); !strings.Contains(view, "running for 5s: C cancels it") || !strings.Contains(view, "building") {
		t.Errorf("it is not shown:\n%s", view)
	}
	b.keys("C")
	if got := strings.Join(f.calls, "; "); got != "cancel call flask-4045#2 00:00:00" {
		t.Errorf("engine was asked %q", got)
	}
}
