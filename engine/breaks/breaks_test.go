package breaks

import (
	"strings"
	"testing"

	"rollbench/sessions"
)

func reward(v float64) *float64 { return &v }

// rm is a place after a reply that wants to remove a folder.
func rm(at sessions.Gate) Place {
	p := Place{Key: sessions.Key{Instance: "flask-4045", ID: 2}, At: at, Turn: 7, Share: 0.75,
		Calls: []sessions.Call{{Name: "execute_bash", Arguments: `{"command": "cd /x &&\nrm -rf \"tests\""}`}, {Name: "finish", Arguments: `{`, Problem: "no JSON"}}}
	if at == sessions.AfterTool {
		p.Observations = []sessions.Observation{{Status: "error", Text: "rm: cannot remove"}, {Status: "invalid", Text: "no JSON"}}
	}
	return p
}

func TestMatch(t *testing.T) {
	const reply, tool, model, eval = sessions.AfterReply, sessions.AfterTool, sessions.BeforeModel, sessions.BeforeEval
	for _, c := range []struct {
		text string
		at   sessions.Gate // where it is looked at
		want bool
	}{
		{"tool=bash", reply, true},
		{"tool=execute_bash", reply, true},
		{"tool=ash", reply, false},
		{"tool=editor", reply, false},
		{"tool~/^exec/", reply, true},
		{"args~/rm -rf/", reply, true},
		{`args~/rm -rf "tests"/`, reply, true},  // the quote is escaped in the JSON
		{`args~/&&$/`, reply, false},            // $ is the end of the text
		{`args~/(?m)&&$/`, reply, true},         // the newline is one
		{`args~/cd \/x/`, reply, true},          // a slash
		{`args~/"command"/`, reply, true},       // the JSON itself
		{"tool=finish args~/rm/", reply, false}, // of two calls, one each
		{"tool=bash args~/rm -rf/ turn>=5", reply, true},
		{"tool=bash turn>=8", reply, false},
		{"turn>6 turn<8", model, true},
		{"turn=7", model, true},
		{"turn<=6", model, false},
		{"context>=75%", model, true},
		{"context>0.75", model, false},
		{"malformed", reply, true},
		{"tool=bash malformed", reply, false},
		{"malformed at=after-tool", tool, true},
		{"obs~/cannot/", tool, true},
		{"tool=finish obs~/cannot/", tool, false},
		{"error", tool, true},
		{"error=invalid", tool, true},
		{"tool=bash error=invalid", tool, false},
		{"error=timeout", tool, false},
		{"tool=bash at=after-tool", tool, true},
		{"at=before-model", model, true},
		{"in=flask-4045", model, false}, // says no more than where
		{"in=flask-4045 at=before-model", model, true},
		{"in=flask-4045#2 at=before-model", model, true},
		{"in=flask-4045#1 at=before-model", model, false},
		{"error=stuck_in_a_loop", eval, true},
		{"error=max_iterations_reached", eval, false},
		{"reward<1 log", afterEval, true},
		{"reward>0.5 log in=flask-4045", afterEval, false},
	} {
		cond, err := Parse(c.text)
		if err != nil {
			if c.text != "in=flask-4045" {
				t.Errorf("%s: %v", c.text, err)
			}
			continue
		}
		if cond.At != c.at {
			t.Errorf("%s is looked at at %q, want %q", c.text, cond.At, c.at)
		}
		for _, at := range append(gates, afterEval) {
			p := rm(at)
			if at == eval {
				p.Finish = sessions.StuckInALoop
			}
			if at == afterEval {
				p.Reward = reward(0.5)
			}
			if got := cond.Match(&p); got != (c.want && at == c.at) {
				t.Errorf("%s at %q: %v", c.text, at, got)
			}
		}
	}
}

// A call that could not even be read has no name and no arguments.
func TestUnread(t *testing.T) {
	p := Place{At: sessions.AfterReply, Turn: 1, Unread: true}
	for text, want := range map[string]bool{"malformed": true, "malformed tool=bash": false, "tool=bash": false} {
		c, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if c.Match(&p) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

func TestBadBreakpoints(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "a breakpoint needs a condition",
		"log":                          "a breakpoint needs a condition",
		"every=3 log":                  "a breakpoint needs a condition",
		"rm -rf":                       "rm is no condition: tool=bash",
		"/rm/":                         `"/rm/" is no condition`,
		"args=rm":                      "args takes an expression between slashes: args~/rm -rf/",
		"args~rm":                      "args takes an expression between slashes",
		"args~/rm":                     "args~ has no closing slash",
		`args~/rm\/`:                   "args~ has no closing slash",
		"args~/(/":                     "args~/(/: error parsing regexp",
		"args~//":                      "args takes an expression",
		"args~/a/b":                    "a space must follow args",
		"tool":                         "tool takes a name or an expression",
		`tool="bash`:                   "tool has no closing quote",
		"turn":                         "turn takes a comparison with a number: turn>=5",
		"turn>=five":                   "turn takes a comparison",
		"turn>=NaN":                    "turn takes a comparison",
		"turn>=inf":                    "turn takes a comparison",
		"turn=1 every=0":               "every takes a number from 1 on",
		"turn=1 every=3 every=4":       "every is given twice",
		"turn=1 log=1":                 "log stands alone",
		"at=noon":                      "at is one of before-model",
		"in=":                          "in takes an instance",
		"error=noise":                  "error is one of error, timeout, invalid, denied, cancelled, rejected, context_window_exceeded",
		"error=force_finished":         "error is one of",
		"reward<1":                     "a reward is known when nothing is left to hold: add log",
		"reward<1 tool=bash log":       "reward stands with in, every and log only",
		"tool=bash at=before-model":    "a call is looked at at after-reply or after-tool",
		"obs~/x/ at=after-reply":       "what a call answered is looked at at after-tool",
		"error=stuck_in_a_loop tool=x": "error=stuck_in_a_loop is how the run stage ends",
		"args~/" + strings.Repeat("a", 1000) + "/": "the breakpoint has 1007 bytes: 1000 are allowed",
	} {
		_, err := Parse(text)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// What is read is written so that it is read again, and means the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`tool=bash args~/rm -rf\/x/ turn>=5 every=3 log`, `in="a b#1" context>80% at=before-model`, `tool="/x" obs~/a"b/`, "reward<=0.5 log", "error=timeout", "malformed", `tool="\xff"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") && !strings.Contains(text, "\n") {
				t.Errorf("%q: an error of several lines: %v", text, err)
			}
			return
		}
		again, err := Parse(c.String())
		if err != nil || again.String() != c.String() || again.At != c.At {
			t.Errorf("%q is written as %q, which is read as %v, %v", text, c, again, err)
		}
		for _, at := range gates {
			p := rm(at)
			if c.Match(&p) != again.Match(&p) {
				t.Errorf("%q and %q differ at %s", text, c, at)
			}
		}
	})
}

func FuzzForCall(f *testing.F) {
	f.Add("execute_bash", `{"command": "rm -rf a/b"}`)
	f.Add("a b", `{"path": "/x", "command": "view"}`)
	f.Fuzz(func(t *testing.T, tool, arguments string) {
		if tool == "" || len(arguments) > 200 || len(tool) > 100 {
			return
		}
		text := ForCall(tool, arguments)
		c, err := Parse(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		p := Place{At: sessions.AfterReply, Calls: []sessions.Call{{Name: tool, Arguments: arguments}}}
		if !c.Match(&p) {
			t.Errorf("%q does not mean %s %s", text, tool, arguments)
		}
	})
}

func TestForCall(t *testing.T) {
	for _, c := range [][3]string{
		{"execute_bash", `{"command": "  rm -rf tests\nls"}`, `tool=execute_bash args~/rm -rf tests/`},
		{"str_replace_editor", `{"command": "view", "path": "/testbed/a.py"}`, `tool=str_replace_editor args~/\/testbed\/a\.py/`},
		{"finish", `{}`, `tool=finish`},
		{"bash", `no JSON`, `tool=bash`},
		{"bash", `{"command": "0123456789012345678901234567890123456789xxx"}`, `tool=bash args~/0123456789012345678901234567890123456789/`},
	} {
		if got := ForCall(c[0], c[1]); got != c[2] {
			t.Errorf("%s %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

// What is made of a line matches that line as it was printed, and parses.
func TestForAnswer(t *testing.T) {
	for _, c := range []struct{ tool, shown, want, printed string }{
		{"execute_bash", "  E   KeyError: 'a/b' ", `tool=execute_bash obs~/E\s+KeyError: 'a\/b'/`, "x\nE\tKeyError: 'a/b'\n"},
		{"bash", "", "tool=bash", "anything"},
		{"str_replace_editor", "    12  def f():", `tool=str_replace_editor obs~/def f\(\):/`, "    13\tdef f():"},
		{"bash", "FAILED (errors=1)", `tool=bash obs~/FAILED \(errors=1\)/`, "FAILED (errors=1)"},
		{"bash", "0123456789012345678901234567890123456789xxx", `tool=bash obs~/0123456789012345678901234567890123456789/`, "0123456789012345678901234567890123456789xyz"},
	} {
		got := ForAnswer(c.tool, c.shown)
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.shown, got, c.want)
		}
		parsed, err := Parse(got)
		if err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		if parsed.String() != got {
			t.Errorf("%s is read as %s", got, parsed.String())
		}
		if parsed.Obs != nil && !parsed.Obs.re.MatchString(c.printed) {
			t.Errorf("%s does not match %q", got, c.printed)
		}
	}
}

func TestSet(t *testing.T) {
	s := &Set{}
	if s.Any() {
		t.Error("an empty set must be asked")
	}
	put := func(text string, off bool, id int) {
		t.Helper()
		if err := s.Put(sessions.Breakpoint{ID: id, Text: text, Off: off}); err != nil {
			t.Fatal(err)
		}
	}
	put("tool=bash every=3", false, s.NextID())
	put("tool=bash log", false, s.NextID())
	put("tool=finish", true, s.NextID())
	var got []string
	for range 6 {
		for _, h := range s.Meet(rm(sessions.AfterReply)) {
			got = append(got, Breakpoint{ID: h.ID, Text: h.Text}.String())
		}
	}
	// #1 at the 3rd and the 6th match, #2 at all six, #3 is off.
	if want := "#2,#2,#1,#2,#2,#2,#1,#2"; strings.Join(ids(got), ",") != want {
		t.Errorf("hits %q", got)
	}
	s.Recall(sessions.BreakpointHit{ID: 1, Hits: 7, Matches: 22})
	put("tool=bash every=3", true, 1)
	if b, err := s.Get(1); err != nil || b.Hits != 7 || b.Matches != 22 || !b.Off || b.At != sessions.AfterReply {
		t.Errorf("%+v %v", b, err)
	}
	s.Remove(2)
	s.Remove(2)
	if s.Any() || len(s.List()) != 2 || s.NextID() != 4 {
		t.Errorf("any %v, %+v", s.Any(), s.List())
	}
	if _, err := s.Get(2); err == nil || err.Error() != "there is no breakpoint #2" {
		t.Error(err)
	}
}

func ids(list []string) []string {
	for i := range list {
		list[i], _, _ = strings.Cut(list[i], " ")
	}
	return list
}

// What an empty set costs at each of the four gates of a turn.
func BenchmarkNone(b *testing.B) {
	s := &Set{}
	for b.Loop() {
		if s.Any() {
			b.Fatal("it is empty")
		}
	}
}

func BenchmarkMeet(b *testing.B) {
	s := &Set{}
	for i, text := range []string{"tool=bash args~/rm -rf/ turn>=99", "turn=99", "obs~/Traceback/"} {
		if err := s.Put(sessions.Breakpoint{ID: i + 1, Text: text}); err != nil {
			b.Fatal(err)
		}
	}
	p := rm(sessions.AfterReply)
	for b.Loop() {
		s.Meet(p)
	}
}
