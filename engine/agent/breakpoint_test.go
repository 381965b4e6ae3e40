package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rollbench/engine/breaks"
	"rollbench/engine/infer"
	"rollbench/sessions"
)

// breakAt gives the bench a set of breakpoints, numbered from 1.
func (b *bench) breakAt(t *testing.T, texts ...string) *breaks.Set {
	t.Helper()
	s := &breaks.Set{}
	for _, text := range texts {
		if err := s.Put(sessions.Breakpoint{ID: s.NextID(), Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	b.Breaks = s
	return s
}

// Three turns, each hit where its breakpoint says; a log-only one holds nothing.
func TestBreakpoints(t *testing.T) {
	b := newBench(t, call("bash", `{"command":"ls"}`), call("bash", `{"command":"rm -rf x"}`), call("finish", `{}`))
	set := b.breakAt(t, "args~/rm -rf/", "obs~/ran bash/ turn=1", "turn=3", "tool=bash log", "at=before-eval")
	var at []string
	look := func() {
		where, _ := b.Gate.Held()
		at = append(at, fmt.Sprint(where, " ", len(b.tools.ran)))
	}
	next := both(look, b.Gate.Continue)
	out := sitting(t, b, next, next, next, next)
	if out.Reason != sessions.FinishTool {
		t.Errorf("%v", out)
	}
	if got, want := strings.Join(at, ", "), "after-tool 1, after-reply 1, before-model 2, before-eval 3"; got != want {
		t.Errorf("held at %s, want %s", got, want)
	}
	states := strings.Join(b.rec.kinds(sessions.KindState), "\n")
	for _, want := range []string{
		`"held":"breakpoint","at":"after-tool","why":"#2 obs~/ran bash/ turn=1"`,
		`"held":"breakpoint","at":"after-reply","why":"#1 args~/rm -rf/"`,
		`"held":"breakpoint","at":"before-model","why":"#3 turn=3"`,
		`"held":"breakpoint","at":"before-eval","why":"#5 at=before-eval"`,
	} {
		if strings.Count(states, want) != 1 {
			t.Errorf("no state %s in\n%s", want, states)
		}
	}
	hits := b.rec.kinds(sessions.KindBreakpointHit)
	if len(hits) != 6 || strings.Count(strings.Join(hits, ""), `"log":true`) != 2 {
		t.Errorf("hits %q", hits)
	}
	if list := set.List(); list[3].Hits != 2 || list[0].Hits != 1 {
		t.Errorf("%+v", list)
	}
	if n := len(b.rec.kinds(sessions.KindIntervention)); n != 0 {
		t.Errorf("%d interventions: a breakpoint changes nothing", n)
	}
	if got := strings.Join(b.slots.log, " "); got != "hold want hold want hold want hold want" {
		t.Errorf("slots: %s", got)
	}
}

// A breakpoint ends a step, and one that is met while a pause is asked for says
// so; every=2 passes the first.
func TestBreakpointWhileStepping(t *testing.T) {
	b := newBench(t, call("bash", `{}`), call("bash", `{"a":1}`), call("finish", `{}`))
	b.breakAt(t, "tool=bash every=2")
	b.Gate.Pause()
	out := stepper(t, b, "out")
	sitting(t, b, both(b.heldAt(t, sessions.BeforeModel), out), both(b.heldAt(t, sessions.AfterReply), b.Gate.Continue))
	states := strings.Join(b.rec.kinds(sessions.KindState), "\n")
	if strings.Count(states, `"state":"held"`) != 2 || !strings.Contains(states, "#1 tool=bash every=2") || b.turn != 3 {
		t.Errorf("states %s", states)
	}
}

// A call that cannot be read or used is malformed, whichever way.
func TestBreakOnMalformed(t *testing.T) {
	b := newBench(t, call("bash", `{"command`), say("<tool_call>\n{"), call("bash", `{}`), call("finish", `{}`))
	b.breakAt(t, "malformed")
	reply := both(b.heldAt(t, sessions.AfterReply), b.Gate.Continue)
	sitting(t, b, reply, reply)
	if hits := b.rec.kinds(sessions.KindBreakpointHit); len(hits) != 2 {
		t.Errorf("hits %q", hits)
	}
}

// While the endpoint is away the gate is passed again: it is one hit.
func TestBreakpointInAnOutage(t *testing.T) {
	b := newBench(t, infer.Reply{}, call("finish", `{}`))
	b.model.errs = map[int]error{0: &infer.Error{Kind: infer.Unavailable, Message: "nothing listens there"}}
	b.Outage = time.Minute
	b.breakAt(t, "turn=1")
	here := both(b.heldAt(t, sessions.BeforeModel), b.Gate.Continue)
	if out := sitting(t, b, here, here); out.Reason != sessions.FinishTool { // the breakpoint, then the outage
		t.Errorf("%v", out)
	}
	if hits := b.rec.kinds(sessions.KindBreakpointHit); len(hits) != 1 {
		t.Errorf("hits %q", hits)
	}
}

// After a resume a breakpoint holds again what it held, and lets through what a person
// had let go on; neither is counted again, what comes next is.
func TestBreakpointsMetBefore(t *testing.T) {
	whole := newBench(t, call("bash", `1`), call("bash", `2`), call("finish", `{}`))
	whole.run(t)
	half := whole.rec.turns["1.1"]
	half.Complete, half.Observations = false, nil
	const model, reply, tool = sessions.BeforeModel, sessions.AfterReply, sessions.AfterTool
	for _, c := range []struct {
		name  string
		turn  sessions.Turn
		texts []string
		met   []sessions.BreakpointHit
		stood sessions.Gate
		held  []sessions.Gate
		hits  []int // of each breakpoint, in this part
	}{
		{"held at a call", half, []string{"tool=bash"}, []sessions.BreakpointHit{{ID: 1, Turn: 1, At: reply}}, reply, []sessions.Gate{reply, reply}, []int{1}},
		{"let go, the call was running", half, []string{"tool=bash"}, []sessions.BreakpointHit{{ID: 1, Turn: 1, At: reply}}, "", []sessions.Gate{reply}, []int{1}},
		{"beside one that holds nothing", half, []string{"tool=bash log", "tool=bash"}, []sessions.BreakpointHit{{ID: 1, Turn: 1, At: reply, Log: true}, {ID: 2, Turn: 1, At: reply}}, reply, []sessions.Gate{reply, reply}, []int{1, 1}},
		{"set meanwhile", half, []string{"tool=bash", "turn=1 at=after-reply"}, []sessions.BreakpointHit{{ID: 1, Turn: 1, At: reply}}, "", []sessions.Gate{reply, reply}, []int{1, 1}},
		{"held after the tool", whole.rec.turns["1.1"], []string{"obs~/ran bash/"}, []sessions.BreakpointHit{{ID: 1, Turn: 1, At: tool}}, tool, []sessions.Gate{tool, tool}, []int{1}},
		{"held before the model", whole.rec.turns["1.1"], []string{"turn=2"}, []sessions.BreakpointHit{{ID: 1, Turn: 2, At: model}}, model, []sessions.Gate{model}, []int{0}},
		{"removed meanwhile: what it holds stays held", half, nil, []sessions.BreakpointHit{{ID: 1, Turn: 1, At: reply}}, reply, []sessions.Gate{reply}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, whole.model.replies[1:]...)
			set := b.breakAt(t, c.texts...)
			b.Met, b.Stood = c.met, c.stood
			b.Restore([]sessions.Turn{c.turn})
			var acts []func()
			for _, at := range c.held {
				acts = append(acts, both(b.heldAt(t, at), b.Gate.Continue))
			}
			if out := sitting(t, b, acts...); out.Reason != sessions.FinishTool {
				t.Errorf("ended by %s", out.Reason)
			}
			if n := strings.Count(strings.Join(b.rec.kinds(sessions.KindState), "\n"), `"held":"breakpoint"`); n != len(c.held) {
				t.Errorf("held %d times, want %d", n, len(c.held))
			}
			all := 0
			for i, p := range set.List() {
				if all += c.hits[i]; p.Hits != c.hits[i] {
					t.Errorf("#%d has %d hits, want %d", p.ID, p.Hits, c.hits[i])
				}
			}
			if hits := b.rec.kinds(sessions.KindBreakpointHit); len(hits) != all {
				t.Errorf("hits %q, want %d", hits, all)
			}
		})
	}
}
