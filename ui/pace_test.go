package ui

import (
	"strings"
	"testing"
	"time"

	"rollbench/engine"
	"rollbench/sessions"
	"rollbench/sessions/stats"
)

func plainText(l line) string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

// Which stage blocks or starves which, in words.
func TestLimitedBy(t *testing.T) {
	for _, c := range []struct{ by, init, run, eval, want string }{
		{"", "", "", "", "not limited"},
		{"run", "", "", "", "limited by run"},
		{"run", "run", "", "run", "limited by run: blocks init, starves eval"},
		{"eval", "eval", "eval", "", "limited by eval: blocks init+run"},
		{"init", "", "init", "init", "limited by init: starves run+eval"},
		{"sandboxes", "sandboxes", "", "run", "limited by sandboxes: blocks init, run starves eval"},
		{"run", "run", "", "held", "limited by run: blocks init, a hold blocks eval"},
		{"", "", "held", "", "not limited: a hold blocks run"},
		{"", "sandboxes", "", "", "not limited: the sandbox limit blocks init"},
	} {
		s := &engine.Status{LimitedBy: c.by}
		s.Init.Blocked, s.Run.Blocked, s.Eval.Blocked = c.init, c.run, c.eval
		limit, why := limitedBy(s)
		if got := plainText(limit) + plainText(why); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}

func TestStalled(t *testing.T) {
	k := sessions.Key{Instance: "flask-4045", ID: 2}
	for _, c := range []struct {
		waits []engine.Wait
		want  string
	}{
		{nil, "▲ nothing has moved for 2m10s"},
		{[]engine.Wait{{What: "a reply", N: 5, Longest: 151 * time.Second, Key: k}, {What: "execute_bash", N: 2}},
			"▲ nothing has moved for 2m10s: 5 wait for a reply (longest flask-4045#2 2m31s) · 2 for execute_bash"},
		{[]engine.Wait{{What: "to open a docker sandbox", N: 1, Longest: 131 * time.Second, Key: k}},
			"▲ nothing has moved for 2m10s: 1 waits to open a docker sandbox (flask-4045#2 2m11s)"},
	} {
		if got := plainText(stalled(&engine.Stall{For: 130 * time.Second, Waits: c.waits})); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Of parts that do not all fit the important ones stay, in their order.
func TestChoose(t *testing.T) {
	p := func(rank int, text string) part { return part{rank, line{{plain, text}}} }
	parts := []part{p(0, "limit"), p(2, "why"), p(3, "rate"), p(1, "eta"), p(noteRank, "a note that is longer than what is left")}
	for w, want := range map[int]string{3: "limit", 8: "limiteta", 11: "limitwhyeta", 15: "limitwhyrateeta", 34: "limitwhyrateeta", 35: "limitwhyrateetaa note that is long…"} {
		if got := plainText(choose(w, parts)); got != want {
			t.Errorf("%d columns: %q, want %q", w, got, want)
		}
	}
}

// The tool with the largest share above 5 % is named; 5 % itself is no warning.
func TestToolWarning(t *testing.T) {
	tool := func(name string, calls, timeouts int) stats.Tool {
		return stats.Tool{Name: name, Calls: calls, Timeouts: timeouts}
	}
	for _, c := range []struct {
		tools []stats.Tool
		want  string
	}{
		{nil, ""},
		{[]stats.Tool{tool("execute_bash", 100, 5), tool("finish", 0, 0)}, ""},
		{[]stats.Tool{tool("execute_bash", 100, 9)}, "▲ execute_bash: 9% of calls timed out"},
		{[]stats.Tool{tool("execute_bash", 100, 9), tool("search", 10, 5), tool("view", 10, 0)}, "▲ search: 50% of calls timed out (+1)"},
	} {
		p := gaugePane{status: &engine.Status{Tools: c.tools}}
		if got := plainText(p.toolWarning()); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A stall stands where the limit would, but not once all is paused, over, or
// reported by nobody.
func TestStallIsSaid(t *testing.T) {
	for _, wh := range [][2]int{{60, 20}, {80, 24}, {120, 40}} {
		f := fakeMeasured()
		f.status.Stall = fakeStall()
		says := func(when string, want bool, change func(*Options)) {
			t.Helper()
			b := open(t, f, wh[0], wh[1], change)
			view := b.w.View()
			if got := strings.Contains(view, "nothing has moved for 2m10s"); got != want {
				t.Errorf("%v, %s: stall said %v", wh, when, got)
			}
			if want && strings.Contains(view, "limited by") {
				t.Errorf("%v, %s: the limit is said beside the stall", wh, when)
			}
		}
		says("stalled", true, nil)
		f.status.Paused = true
		says("paused", false, nil)
		f.status.Paused = false
		f.status.At = fakeNow().Add(-time.Minute)
		says("silent", false, func(o *Options) { o.Commands = nil })
	}
}
