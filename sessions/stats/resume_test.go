package stats

import (
	"testing"
	"time"

	"rollbench/sessions"
)

// A run that is stopped while a trajectory runs and resumed in the same attempt
// has worked both times: 8 s before the stop, 5 s after it.
func TestRunTimeOverAStop(t *testing.T) {
	p := record(t)
	p.add(0, sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{})
	p.state(0, a, sessions.Init)
	p.state(1, a, sessions.Ready)
	p.state(2, a, sessions.Running)
	p.state(6, a, sessions.Held) // 4 s
	p.state(10, a, sessions.Running)
	p.add(14, sessions.Key{}, sessions.KindRunEnded, sessions.RunEnded{Why: "stopped"}) // 4 s more
	p.add(1000, sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{Resumed: true})
	p.state(1001, a, sessions.Init)
	p.state(1003, a, sessions.Ready)
	p.state(1003, a, sessions.Running)
	p.state(1008, a, sessions.Ran)
	if got := p.run.Times()[0].Seconds[runStage]; got != 13 {
		t.Errorf("run took %v s, want 13", got)
	}
}

// One whose eval was interrupted waits for it again.
func TestWaitForEvalOverAStop(t *testing.T) {
	p := record(t)
	p.state(1, a, sessions.Ran)
	p.state(2, a, sessions.Evaluating)
	p.add(1000, sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{Resumed: true})
	p.state(1004, a, sessions.Evaluating)
	if w := p.run.Stages()[evalStage].Wait; w.N != 2 || w.Max != 4*time.Second {
		t.Errorf("%+v, want 2 waits, the longest 4 s", w)
	}
}

// A verdict that a crash kept from its end state is settled by the resume: the
// time in between is nobody's.
func TestSettledAfterACrash(t *testing.T) {
	p := record(t)
	p.state(1, a, sessions.Ran)
	p.state(2, a, sessions.Evaluating)
	p.add(5000, sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{Resumed: true})
	p.state(5000, a, sessions.Done) // by the process that resumes
	if s := p.run.Stages()[evalStage].Service; s.Max > time.Minute {
		t.Errorf("eval took %v", s.Max)
	}
}

// Calls that never ran say nothing of a tool's capacity: not of its latency, and
// not of the share that timed out.
func TestInvalidCallsDidNotRun(t *testing.T) {
	p := record(t)
	for range 90 {
		p.tool(a, "bash", "invalid", 0)
	}
	for range 10 {
		p.tool(a, "bash", "timeout", 30*time.Second)
	}
	if bash := p.run.Tools()[0]; bash.Calls != 10 || !bash.Warn() || bash.Wall.P50 != 30*time.Second {
		t.Errorf("p50 %v of calls that ran, want 30 s", bash.Wall.P50)
	}
}

// A place is kept where the sandbox of the run stage is open when the verifier begins;
// what a process that died had open is not.
func TestKeptPlaces(t *testing.T) {
	p := record(t)
	sb := func(open bool) sessions.SandboxChange { return sessions.SandboxChange{Purpose: "run", Open: open} }
	p.add(1, a, sessions.KindSandbox, sb(true))
	p.state(2, a, sessions.Ran)
	p.state(3, a, sessions.Evaluating)
	p.add(3, a, sessions.KindSandbox, sessions.SandboxChange{Purpose: "eval", Open: true})
	p.state(4, a, sessions.Done)
	if got := p.run.Times()[0]; !got.Kept {
		t.Errorf("open: %+v", got)
	}
	p = record(t)
	p.add(1, a, sessions.KindSandbox, sb(true))
	p.state(2, a, sessions.Ran)
	p.add(2, a, sessions.KindSandbox, sb(false))
	p.state(3, a, sessions.Evaluating)
	if got := p.run.Times()[0]; got.Kept {
		t.Errorf("closed: %+v", got)
	}
	p = record(t)
	p.add(1, a, sessions.KindSandbox, sb(true))
	p.state(2, a, sessions.Ran)
	p.add(1000, sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{Resumed: true})
	p.state(1003, a, sessions.Evaluating)
	if got := p.run.Times()[0]; got.Kept {
		t.Errorf("of another process: %+v", got)
	}
}
