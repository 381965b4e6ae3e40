package replay

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"rollbench/engine"
	"rollbench/engine/infer"
	"rollbench/sessions"
)

// steps is a run of a minute whose trajectory goes on at 0, 10, 20 and 60 s.
func steps() *tape {
	r := newTape(alice)
	r.at(0, sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{})
	r.state(10*time.Second, alice, sessions.Init)
	r.state(20*time.Second, alice, sessions.Running)
	r.state(60*time.Second, alice, sessions.Done)
	return r
}

// is where the replay has come to, and the state of its trajectory.
func is(t *testing.T, p *Player, at time.Duration, state sessions.State) {
	t.Helper()
	rows, _, err := p.Trajectories(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Position().At; got != at || rows[0].State != state {
		t.Errorf("at %s it is %s, want %s at %s", got, rows[0].State, state, at)
	}
	if now := p.Now(); !now.Equal(t0.Add(at)) {
		t.Errorf("the clock says %s at %s", now, at)
	}
}

// The clock of the run goes by the speed: 0.5, 10, and what is between.
func TestSpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := play(t, steps(), 0.5)
		is(t, p, 0, sessions.Queued)
		time.Sleep(19 * time.Second)
		is(t, p, 9500*time.Millisecond, sessions.Queued)
		time.Sleep(time.Second)
		is(t, p, 10*time.Second, sessions.Init)
		if got := p.Faster(); got != 1 {
			t.Errorf("after 0.5 comes %g", got)
		}
		time.Sleep(10 * time.Second)
		is(t, p, 20*time.Second, sessions.Running)
		for range 3 { // 2, 5, 10
			p.Faster()
		}
		time.Sleep(3999 * time.Millisecond)
		is(t, p, 59990*time.Millisecond, sessions.Running)
		time.Sleep(time.Millisecond)
		is(t, p, 60*time.Second, sessions.Done)
		if !p.Position().Over {
			t.Error("the end is not told")
		}
		time.Sleep(time.Hour)
		is(t, p, 60*time.Second, sessions.Done)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Readers are woken once for each event that comes, and for nothing else: while it is
// paused, and after its end, nothing happens at all.
func TestWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := play(t, steps(), 1)
		wake, cancel := p.Wake()
		woken := func(want bool) {
			t.Helper()
			synctest.Wait()
			select {
			case <-wake:
				if !want {
					t.Errorf("woken at %s", p.Position().At)
				}
			default:
				if want {
					t.Errorf("not woken at %s", p.Position().At)
				}
			}
		}
		time.Sleep(time.Second)
		woken(true) // it began
		time.Sleep(8 * time.Second)
		woken(false)
		time.Sleep(time.Second)
		woken(true)
		p.Pause()
		woken(true) // so that the screen says so
		time.Sleep(24 * time.Hour)
		woken(false)
		is(t, p, 10*time.Second, sessions.Init)
		p.Pause()
		woken(true)
		time.Sleep(10 * time.Second)
		woken(true)
		time.Sleep(40 * time.Second)
		woken(true)
		time.Sleep(24 * time.Hour)
		woken(false)
		p.Skip(-45 * time.Second)
		woken(true)
		is(t, p, 15*time.Second, sessions.Init)
		time.Sleep(5 * time.Second)
		woken(true)
		cancel()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Max goes on with each read, and stops at the end.
func TestMax(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTape(alice)
		for i := range 2*burst + 10 {
			r.at(time.Duration(i)*time.Second, alice, sessions.KindReply, sessions.ReplyMade{Turn: i + 1})
		}
		p := play(t, r, Max)
		time.Sleep(time.Hour)
		turns := []int{}
		wake, cancel := p.Wake()
		defer cancel()
		for !p.Position().Over {
			rows, _, err := p.Trajectories(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			turns = append(turns, rows[0].Turn)
			if !p.Position().Over {
				<-wake
			}
		}
		if want := fmt.Sprint([]int{1 + burst, 1 + 2*burst, 2*burst + 10}); fmt.Sprint(turns) != want {
			t.Errorf("it went %v, want %s", turns, want)
		}
		if got := p.Slower(); got != Fastest {
			t.Errorf("slower than max is %g", got)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A run of three processes plays without the time between them, which is marked; a
// clock that was set back makes nothing happen before what came before it.
func TestParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := steps()
		r.events = r.events[:3] // killed at 20 s
		r.at(2*time.Hour, sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{Resumed: true})
		r.state(2*time.Hour+5*time.Second, alice, sessions.Held)
		r.at(time.Hour, sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{Resumed: true}) // its clock was set back
		r.state(time.Hour+time.Second, alice, sessions.Running)
		r.state(time.Hour-time.Second, alice, sessions.Done) // and again
		p := play(t, r, 1)
		pos := p.Position()
		if pos.Length != 26*time.Second || len(pos.Parts) != 3 || pos.Parts[1].At != 20*time.Second || pos.Parts[1].Away != 2*time.Hour-20*time.Second ||
			pos.Parts[2].At != 25*time.Second || pos.Parts[2].Away != 0 {
			t.Errorf("the timeline is %+v", pos)
		}
		for _, c := range []struct {
			at    time.Duration
			clock time.Duration
			state sessions.State
		}{
			{19 * time.Second, 19 * time.Second, sessions.Init},
			{20 * time.Second, 2 * time.Hour, sessions.Running},
			{22 * time.Second, 2*time.Hour + 2*time.Second, sessions.Running},
			{25 * time.Second, time.Hour, sessions.Held},
			{26 * time.Second, time.Hour + time.Second, sessions.Done},
		} {
			p.Skip(c.at - p.Position().At)
			rows, _, err := p.Trajectories(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if now := p.Now(); !now.Equal(t0.Add(c.clock)) || rows[0].State != c.state {
				t.Errorf("at %s it is %s at %s, want %s at %s", c.at, rows[0].State, now, c.state, t0.Add(c.clock))
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The gauges are those of the moment: queues by the trajectories, limits by the
// events, measures by the series while it is near.
func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTape(alice, bob)
		four, half := 4.0, 0.5
		r.at(0, sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{})
		r.at(0, sessions.Key{}, sessions.KindLimits, sessions.Limits{Who: "config", MaxInit: 2, MaxAgents: 1, MaxEval: 1, MaxLive: 3, Policy: "async_batch"})
		r.at(time.Second, alice, sessions.KindSandbox, sessions.SandboxChange{Purpose: "run", Open: true, Kind: "local", ID: "x"})
		r.state(2*time.Second, alice, sessions.Running)
		r.point(t, 2*time.Second, engine.Point{Requests: &four, KVUse: &half, Limit: [3]int{2, 1, 1}, Blocked: [3]string{"run", "", ""}, GPU: &half})
		r.point(t, 3*time.Second, engine.Point{Requests: &four, Limit: [3]int{2, 1, 1}, Blocked: [3]string{"run", "", ""}})
		r.state(4*time.Second, bob, sessions.Ready)
		r.at(5*time.Second, sessions.Key{}, sessions.KindCommand, sessions.Commanded{Verb: "pause", All: true})
		r.at(60*time.Second, sessions.Key{}, sessions.KindLimits, sessions.Limits{Who: "operator", MaxInit: 2, MaxAgents: 2, MaxEval: 1, MaxLive: 3, Policy: "async_batch"})
		last, err := json.Marshal(engine.Status{Isolation: "docker", Endpoints: []engine.Endpoint{{URL: "http://a", Model: "m", Capabilities: infer.Capabilities{Server: "vllm"}}}, GPUs: []engine.GPU{{Name: "H100"}}})
		if err != nil {
			t.Fatal(err)
		}
		r.gauge = last
		p := play(t, r, 1)
		at := func(d time.Duration) *engine.Status {
			p.Skip(d - p.Position().At)
			if _, _, err := p.Trajectories(t.Context()); err != nil {
				t.Fatal(err)
			}
			data, err := p.Gauge(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s := &engine.Status{}
			if err := json.Unmarshal(data, s); err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := at(2500 * time.Millisecond)
		if s.Run.Busy != 1 || s.Run.Limit != 1 || s.Init.Waiting != 1 || s.Live != 1 || s.MaxLive != 3 || s.LimitedBy != "init" || s.Policy != "async_batch" || s.Isolation != "docker" || s.Paused {
			t.Errorf("at 2.5 s it is %+v", s)
		}
		if e := s.Endpoints[0]; *e.Gauges.Running != 4 || *e.Gauges.KVUse != 0.5 || e.Capabilities.Server != "vllm" || *s.GPUs[0].Util != 0.5 {
			t.Errorf("at 2.5 s the endpoint is %+v", e)
		}
		if data, err := p.Series(t.Context()); err != nil || len(data) != 1 {
			t.Errorf("%d points, %v", len(data), err)
		}
		s = at(6 * time.Second)
		if !s.Paused || s.Ready.Waiting != 1 || s.Init.BlockedFor["run"] != time.Second || s.Endpoints[0].Gauges.KVUse != nil || s.LimitedBy != "run" {
			t.Errorf("at 6 s it is %+v", s)
		}
		s = at(60 * time.Second)
		if s.Run.Limit != 2 || s.Limits.Run != 2 || s.Endpoints[0].Gauges != nil || s.Endpoints[0].Healthy {
			t.Errorf("long after the last point it is %+v", s)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if !r.closed {
			t.Error("the recording is open still")
		}
	})
}

// Going back over many events goes by the moments that are kept, and gives what going
// there the first time gave.
func TestFarBack(t *testing.T) {
	r := newTape(alice)
	for i := range 3 * between {
		r.at(time.Duration(i)*time.Second, alice, sessions.KindToolFinished, sessions.ToolFinished{Turn: i + 1, Tool: fmt.Sprint(i % 7), Wall: time.Second, Status: "ok"})
	}
	past, err := newPast(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	check := func(n int) {
		t.Helper()
		if err := past.goTo(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		if got := past.now; got.events != n || got.seq != int64(n) || got.rows[0].Tool != fmt.Sprint((n-1)%7) || calls(got) != n {
			t.Errorf("after %d events: %d, seq %d, tool %s, %d calls seen", n, got.events, got.seq, got.rows[0].Tool, calls(got))
		}
	}
	for _, n := range []int{3 * between, between + 1, between - 1, 2*between + 7, 3 * between, 1} {
		check(n)
	}
	if n := len(past.kept); n != 4 {
		t.Errorf("%d moments are kept", n)
	}
}

// What cannot be read is an error, and none of it is taken for the end.
func TestUnreadable(t *testing.T) {
	r := steps()
	p := play(t, r, 1)
	r.events[2].Data = json.RawMessage(`{"state":7}`)
	p.Skip(time.Minute)
	for range 2 {
		if _, _, err := p.Trajectories(t.Context()); err == nil {
			t.Error("an unreadable event was passed over")
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.Context(), steps(), time.Hour, 1); err == nil {
		t.Error("it begins behind its end")
	}
}

// calls that were counted by a moment.
func calls(m *moment) int {
	n := 0
	for _, t := range m.stats.Tools() {
		n += t.Calls
	}
	return n
}

// The children of a fork are there from their first event on, and gone again before it.
func TestForks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTape(alice)
		r.forks = []sessions.Key{{Instance: "alice", ID: 7}}
		r.state(0, alice, sessions.Running)
		r.state(10*time.Second, r.forks[0], sessions.Running)
		r.state(20*time.Second, alice, sessions.Done)
		p := play(t, r, 1)
		p.Pause()
		for _, c := range []struct {
			at   time.Duration
			rows int
		}{{0, 1}, {9 * time.Second, 1}, {10 * time.Second, 2}, {20 * time.Second, 2}, {5 * time.Second, 1}} {
			p.Skip(c.at - p.Position().At)
			rows, _, err := p.Trajectories(t.Context())
			if err != nil || len(rows) != c.rows {
				t.Errorf("at %s there are %d, %v", c.at, len(rows), err)
			}
			if turns, err := p.Turns(t.Context(), r.forks[0], 0, 0, 0, false); err != nil || turns != nil {
				t.Errorf("its turns are %v, %v", turns, err)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}
