package stats

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"rollbench/sessions"
)

var (
	start = time.Unix(1_000_000, 0)
	a     = sessions.Key{Instance: "a"}
	b     = sessions.Key{Instance: "b"}
)

// tape writes events with their Seq and time, in seconds after start.
type tape struct {
	t   *testing.T
	run *Run
	seq int64
}

func record(t *testing.T) *tape {
	return &tape{t: t, run: New(sessions.Run{Created: start, Members: []sessions.Key{a, b}})}
}

func (p *tape) add(at float64, key sessions.Key, kind sessions.Kind, payload any) {
	p.t.Helper()
	p.seq++
	e := sessions.NewEvent(start.Add(time.Duration(at*float64(time.Second))), key, kind, payload)
	e.Seq = p.seq
	if err := p.run.See(e); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tape) state(at float64, key sessions.Key, s sessions.State) {
	p.t.Helper()
	p.add(at, key, sessions.KindState, sessions.StateChange{State: s})
}

func (p *tape) tool(key sessions.Key, name, status string, wall time.Duration) {
	p.t.Helper()
	p.add(0, key, sessions.KindToolFinished, sessions.ToolFinished{Tool: name, Status: status, Wall: wall})
}

func TestStageTimes(t *testing.T) {
	p := record(t)
	p.add(0, sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{})
	p.state(2, a, sessions.Init)
	p.state(5, a, sessions.Ready)    // init 3 s, after 2 s
	p.state(9, a, sessions.Running)  // after 4 s
	p.state(12, a, sessions.Held)    // 3 s of run, which stands still
	p.state(50, a, sessions.Running) // no queue: a person held it
	p.state(57, a, sessions.Ran)     // 7 s more
	p.state(58, a, sessions.Evaluating)
	p.state(60, a, sessions.Done)
	p.state(10, b, sessions.Init)
	p.state(11, b, sessions.Failed)

	s := p.run.Stages()
	for _, c := range []struct {
		name string
		got  Spread
		n    int
		mean time.Duration
	}{
		{"init", s[0].Service, 2, 2 * time.Second},
		{"waited for init", s[0].Wait, 2, 6 * time.Second},
		{"run", s[1].Service, 1, 10 * time.Second},
		{"waited for run", s[1].Wait, 1, 4 * time.Second},
		{"eval", s[2].Service, 1, 2 * time.Second},
		{"waited for eval", s[2].Wait, 1, time.Second},
	} {
		if c.got.N != c.n || c.got.Mean != c.mean {
			t.Errorf("%s: %+v, want %d of %v", c.name, c.got, c.n, c.mean)
		}
	}
	times := p.run.Times()
	if times[0].Seconds != [3]float64{3, 10, 2} || times[1].Seconds != [3]float64{1, 0, 0} || !times[0].Ended || !times[1].Ended {
		t.Errorf("%+v", times)
	}
}

// The time between a dead process and its successor is nobody's work: the dead
// one worked until its last event, at 2 s.
func TestResumedTimes(t *testing.T) {
	p := record(t)
	p.state(0, a, sessions.Init)
	p.state(1, a, sessions.Ready)
	p.state(1, a, sessions.Running)
	p.state(2, b, sessions.Ran)
	// killed here
	p.add(1000, sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{Resumed: true})
	p.state(1001, a, sessions.Init)
	p.state(1003, a, sessions.Ready)
	p.state(1003, a, sessions.Running)
	p.state(1008, a, sessions.Ran)
	p.state(1004, b, sessions.Evaluating)
	s := p.run.Stages()
	if s[1].Service.N != 1 || s[1].Service.Max != 6*time.Second || s[0].Wait.Max != time.Second || s[2].Wait.Max != 4*time.Second {
		t.Errorf("run %+v, waited for init %+v, for eval %+v", s[1].Service, s[0].Wait, s[2].Wait)
	}
	if got := p.run.Times()[0]; got.Seconds != [3]float64{2, 6, 0} || got.Ended {
		t.Errorf("%+v", got)
	}
}

// Three calls of one tool time out in one trajectory of reward 0; the other
// calls it without and gets 1.
func TestTools(t *testing.T) {
	p := record(t)
	for range 3 {
		p.tool(a, "bash", "timeout", 30*time.Second)
	}
	p.tool(a, "edit", "error", time.Millisecond)
	for range 57 {
		p.tool(b, "bash", "ok", 2*time.Second)
	}
	zero, one := 0.0, 1.0
	p.add(1, a, sessions.KindReward, sessions.Rewarded{Reward: &zero})
	p.add(1, b, sessions.KindReward, sessions.Rewarded{Reward: &one})
	tools := p.run.Tools()
	if len(tools) != 2 || tools[0].Name != "bash" || tools[1].Name != "edit" {
		t.Fatalf("%+v", tools)
	}
	bash, edit := tools[0], tools[1]
	if bash.Calls != 60 || bash.Timeouts != 3 || bash.Errors != 0 || bash.Met != 1 || *bash.MetReward != 0 || bash.Free != 1 || *bash.FreeReward != 1 {
		t.Errorf("%+v", bash)
	}
	if edit.Calls != 1 || edit.Errors != 1 || edit.Met != 0 || edit.MetReward != nil || *edit.FreeReward != 0 {
		t.Errorf("%+v", edit)
	}
	if bash.Warn() { // 3 of 60 are 5 %, not more
		t.Error("5 % is a warning")
	}
	p.tool(a, "bash", "timeout", 30*time.Second)
	if bash = p.run.Tools()[0]; !bash.Warn() { // 4 of 61
		t.Error("6.6 % is no warning")
	}
}

func TestAbsentRewardIsNoReward(t *testing.T) {
	p := record(t)
	p.tool(a, "bash", "timeout", time.Second)
	p.add(1, a, sessions.KindReward, sessions.Rewarded{})
	if tool := p.run.Tools()[0]; tool.Met != 0 || tool.MetReward != nil {
		t.Errorf("%+v", tool)
	}
}

func TestStruckLimits(t *testing.T) {
	p := record(t)
	p.add(1, a, sessions.KindLimit, sessions.LimitStruck{Stage: "run", Limit: "tools.command_timeout"})
	p.add(1, a, sessions.KindLimit, sessions.LimitStruck{Stage: "run", Limit: "endpoint.idle_timeout"})
	p.add(1, b, sessions.KindLimit, sessions.LimitStruck{Stage: "eval", Limit: "limits.eval"})
	if s := p.run.Stages(); s[0].Struck != 0 || s[1].Struck != 2 || s[2].Struck != 1 {
		t.Errorf("%d %d %d", s[0].Struck, s[1].Struck, s[2].Struck)
	}
}

// 1 ms … 1000 ms: the exact quantiles are 500, 900 and 990 ms.
func TestSpread(t *testing.T) {
	var h histogram
	for i := 1; i <= 1000; i++ {
		h.add(time.Duration(i) * time.Millisecond)
	}
	s := h.spread()
	if s.N != 1000 || s.Mean != 500500*time.Microsecond || s.Max != time.Second {
		t.Errorf("%+v", s)
	}
	for q, got := range map[float64]time.Duration{500: s.P50, 900: s.P90, 990: s.P99} {
		if off := math.Abs(got.Seconds()*1000/q - 1); off > 0.02 {
			t.Errorf("%v instead of %v ms", got, q)
		}
	}
	var one histogram
	one.add(1234567 * time.Nanosecond)
	if s := one.spread(); s.P50 != 1234567 || s.P99 != 1234567 {
		t.Errorf("the only value: %+v", s)
	}
	var none histogram
	if none.spread() != (Spread{}) {
		t.Error("nothing seen")
	}
	var odd histogram
	odd.add(0)
	odd.add(-5)
	odd.add(math.MaxInt64)
	if s := odd.spread(); s.P50 != 0 || s.Max != math.MaxInt64 {
		t.Errorf("%+v", s)
	}
}

func TestUnreadableEvent(t *testing.T) {
	e := sessions.Event{Seq: 7, Key: a, Kind: sessions.KindState, Data: json.RawMessage(`{"state":1}`)}
	if err := New(sessions.Run{Members: []sessions.Key{a}}).See(e); err == nil || err.Error() != "read event 7 (state): json: cannot unmarshal number into Go struct field StateChange.state of type sessions.State" {
		t.Errorf("%v", err)
	}
}
