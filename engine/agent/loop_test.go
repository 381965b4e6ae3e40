package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rollbench/engine/infer"
	"rollbench/sandbox"
	"rollbench/sessions"
	"rollbench/tools"
)

func TestTurnByTurn(t *testing.T) {
	b := newBench(t, call("bash", `{"command":"ls"}`), call("finish", `{}`))
	out := b.run(t)
	if out.Reason != sessions.FinishTool {
		t.Errorf("ended by %s", out.Reason)
	}
	// Each reply is committed before its tool starts.
	want := "model.called reply tool.started tool.finished turn.done model.called reply tool.started tool.finished turn.done finish"
	if got := strings.Join(b.rec.log, " "); got != want {
		t.Errorf("recorded\n%s, want\n%s", got, want)
	}
	var roles []string
	for _, m := range b.model.asked[1].Messages {
		roles = append(roles, m.Role+":"+m.Content)
	}
	if got, want := strings.Join(roles, " | "), `system:S | user:I | assistant: | tool:ran bash {"command":"ls"}`; got != want {
		t.Errorf("second prompt %s, want %s", got, want)
	}
	second := b.rec.turns["2.1"]
	if len(second.New) != 1 || second.New[0].Source != sessions.FromTool || second.NewSample {
		t.Errorf("second turn %+v", second)
	}
	if first := b.rec.turns["1.1"]; len(first.New) != 2 || !first.Complete || first.Observations[0].Text != `ran bash {"command":"ls"}` {
		t.Errorf("first turn %+v", first)
	}
}

// A task may begin with more than one message: they are sent in their order and
// roles, and recorded as the task's.
func TestTasksOfSeveralMessages(t *testing.T) {
	b := newBench(t, call("finish", `{}`))
	b.Talk = []Said{{"user", "1+1?"}, {"assistant", "2"}, {"user", "2+2?"}}
	b.run(t)
	var roles []string
	for _, m := range b.model.asked[0].Messages {
		roles = append(roles, m.Role+":"+m.Content)
	}
	if got, want := strings.Join(roles, " | "), "system:S | user:1+1? | assistant:2 | user:2+2?"; got != want {
		t.Errorf("prompt %s, want %s", got, want)
	}
	for _, m := range b.rec.turns["1.1"].New {
		if m.Source != sessions.FromTask {
			t.Errorf("%s is of %s", m.Role, m.Source)
		}
	}
}

func TestFinishReasons(t *testing.T) {
	boom := func(name, args string) (tools.Result, error) {
		return tools.Result{}, fmt.Errorf("exec: %w", sandbox.ErrLost)
	}
	for _, c := range []struct {
		name    string
		set     func(*bench)
		replies []infer.Reply
		want    sessions.FinishReason
		turns   int // recorded
	}{
		{"finish tool", nil, []infer.Reply{call("finish", `{}`)}, sessions.FinishTool, 1},
		{"turns used up", func(b *bench) { b.MaxTurns = 2 }, []infer.Reply{call("bash", `1`), call("bash", `2`)}, sessions.MaxIterationsReached, 2},
		{"empty reply is a turn", nil, []infer.Reply{{FinishReason: "empty"}}, sessions.BadLLMResponse, 1},
		{"cut reply is a turn", nil, []infer.Reply{{Content: "cut", FinishReason: "length"}}, sessions.ContextWindowExceeded, 1},
		{"aborted", nil, []infer.Reply{{Content: "x", FinishReason: "abort"}}, sessions.EndpointLost, 1},
		// 2 ids of the first prompt, then 1 sampled + 1 observed a turn: 4 are
		// used before turn 3, which leaves nothing of 4.
		{"budget", func(b *bench) { b.Budget = 4 }, []infer.Reply{call("bash", `1`), call("bash", `2`)}, sessions.ContextWindowExceeded, 2},
		{"overflow at the endpoint", func(b *bench) {
			b.model.errs = map[int]error{0: &infer.Error{Kind: infer.Overflow, Message: "too long"}}
		}, nil, sessions.ContextWindowExceeded, 0},
		{"endpoint down", func(b *bench) {
			b.model.errs = map[int]error{0: &infer.Error{Kind: infer.Unavailable, Message: "refused"}}
		}, nil, sessions.EndpointLost, 0},
		{"ids disagree", func(b *bench) {
			b.model.errs = map[int]error{0: &infer.Error{Kind: infer.Mismatch, Message: "3 ids, 2 logprobs"}}
		}, nil, sessions.EndpointLost, 0},
		{"sandbox gone", func(b *bench) { b.tools.answer = boom }, []infer.Reply{call("bash", `{}`)}, sessions.SandboxLost, 1},
		{"a loop", nil, []infer.Reply{call("bash", `{}`), call("bash", `{}`), call("bash", `{}`), call("bash", `{}`)}, sessions.StuckInALoop, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c.replies...)
			if c.set != nil {
				c.set(b)
			}
			if out := b.run(t); out.Reason != c.want {
				t.Errorf("ended by %s (%s), want %s", out.Reason, out.Detail, c.want)
			}
			if len(b.rec.turns) != c.turns {
				t.Errorf("%d turns recorded, want %d", len(b.rec.turns), c.turns)
			}
			if got := b.rec.kinds(sessions.KindFinish); len(got) != 1 || !strings.Contains(got[0], string(c.want)) {
				t.Errorf("finish events %q", got)
			}
		})
	}
}

// What is left of the budget is asked for, exactly.
func TestMaxTokens(t *testing.T) {
	b := newBench(t, call("bash", `{}`), call("finish", `{}`))
	b.run(t)
	// Before turn 2: 1 sampled and 1 observed of 100.
	if got := []int{b.model.asked[0].MaxTokens, b.model.asked[1].MaxTokens}; got[0] != 100 || got[1] != 98 {
		t.Errorf("max_tokens %v, want [100 98]", got)
	}
}

func TestCorrections(t *testing.T) {
	for _, c := range []struct {
		reply infer.Reply
		role  string
		want  string
	}{
		{say("thinking aloud"), "user", "No tool was called."},
		{say(`<tool_call>{"name": "bash"`), "user", "its end </tool_call> is missing"},
		{say(`<tool_call>{"name" bash}</tool_call>`), "user", "could not be read"},
		{call("bash", `{"command": `), "user", "not valid JSON"}, // such a call goes back as text
	} {
		b := newBench(t, c.reply, call("finish", `{}`))
		b.run(t)
		m := b.model.asked[1].Messages
		last := m[len(m)-1]
		if last.Role != c.role || !strings.Contains(last.Content, c.want) {
			t.Errorf("after %+v the model was told %q by %s, want %q by %s", c.reply, last.Content, last.Role, c.want, c.role)
		}
		if got := b.rec.turns["2.1"].New[0].Source; got != sessions.FromHarness {
			t.Errorf("source %s", got)
		}
		if len(b.tools.ran) != 1 { // finish only
			t.Errorf("ran %q", b.tools.ran)
		}
	}
}

func TestPrefixBreak(t *testing.T) {
	second := call("finish", `{}`)
	second.PromptIDs, second.PromptTokens = []int32{1, 2, 99, 4}, 4
	b := newBench(t, call("bash", `{}`), second)
	b.CanTokenize = false
	b.run(t)
	turn := b.rec.turns["2.1"]
	if !turn.NewSample || turn.BreakAt != 2 {
		t.Errorf("new sample %v at %d, want true at 2", turn.NewSample, turn.BreakAt)
	}
	if got := b.rec.kinds(sessions.KindBreak); len(got) != 1 || !strings.Contains(got[0], `"position":2`) {
		t.Errorf("break events %q", got)
	}
}

func TestBreakAt(t *testing.T) {
	before := &sessions.Turn{PromptIDs: []int32{1, 2}, OutputIDs: []int32{3, 4}}
	for _, c := range []struct {
		next   []int32
		at     int
		broken bool
	}{
		{[]int32{1, 2, 3, 4, 5}, 0, false},
		{[]int32{1, 2, 3, 4}, 0, false},
		{[]int32{1, 2, 3}, 3, true},
		{[]int32{1, 2, 9, 4, 5}, 2, true},
		{[]int32{9}, 0, true},
		{nil, 0, false}, // not reported: nothing is known
	} {
		if at, broken := breakAt(before, &sessions.Turn{PromptIDs: c.next}); at != c.at || broken != c.broken {
			t.Errorf("breakAt(%v) = %d %v, want %d %v", c.next, at, broken, c.at, c.broken)
		}
	}
}

// The time of the run stage ends the trajectory, and stands still while held.
func TestTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, call("bash", `1`), call("bash", `2`), call("finish", `{}`))
		b.model.wait = 10 * time.Second
		b.Limit = 25 * time.Second
		b.Gate.Pause()
		go func() {
			<-time.After(time.Hour)
			b.Gate.Continue()
		}()
		began := time.Now()
		out := b.run(t)
		if out.Reason != sessions.TrajectoryTimeout {
			t.Errorf("ended by %s", out.Reason)
		}
		if got := time.Since(began); got != time.Hour+25*time.Second {
			t.Errorf("after %v, want an hour held and 25 s", got)
		}
		// Replies came after 10 s and 20 s.
		b.wantLimit(t, `{"stage":"run","limit":"limits.run","bound_ns":25000000000,"for":"the reply of turn 3","waited_ns":5000000000}`)
	})
}

// wantLimit wants these limits to have struck, and no others.
func (b *bench) wantLimit(t *testing.T, want ...string) {
	t.Helper()
	if got := b.rec.kinds(sessions.KindLimit); !slices.Equal(got, want) {
		t.Errorf("limits that struck: %q, want %q", got, want)
	}
}

// Each limit of the run stage says what it ended and how long that had taken.
func TestLimitsThatStrike(t *testing.T) {
	for _, c := range []struct {
		err  error // of the second call of the model
		want string
	}{
		{&infer.Error{Kind: infer.TimedOut, Err: infer.LimitReached{After: time.Minute}},
			`{"stage":"run","limit":"endpoint.request_timeout","bound_ns":60000000000,"for":"the reply of turn 2","waited_ns":2000000000}`},
		{&infer.Error{Kind: infer.TimedOut, Err: infer.LimitReached{Idle: true, After: time.Second}},
			`{"stage":"run","limit":"endpoint.idle_timeout","bound_ns":1000000000,"for":"the reply of turn 2","waited_ns":2000000000}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, call("bash", `1`), say(""))
			b.model.wait = 2 * time.Second
			b.model.errs = map[int]error{1: c.err}
			b.tools.answer = func(string, string) (tools.Result, error) {
				<-time.After(3 * time.Second)
				return tools.Result{Status: tools.TimedOut, Limit: "tools.command_timeout", Bound: 3 * time.Second}, nil
			}
			if out := b.run(t); out.Reason != sessions.EndpointLost {
				t.Errorf("ended by %s", out.Reason)
			}
			b.wantLimit(t, `{"stage":"run","limit":"tools.command_timeout","bound_ns":3000000000,"for":"bash","waited_ns":3000000000}`, c.want)
		})
	}
}

func TestInterruptedDecidesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, call("bash", `1`))
		b.model.wait = time.Minute
		why := errors.New("the run stops")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-time.After(time.Second)
			cancel(why)
		}()
		if _, err := b.Run(ctx); !errors.Is(err, why) {
			t.Errorf("Run() = %v, want %v", err, why)
		}
		if got := b.rec.kinds(sessions.KindFinish); got != nil {
			t.Errorf("finish recorded: %q", got)
		}
	})
}

func TestStuck(t *testing.T) {
	a, b := step{action: "a", result: "1"}, step{action: "b", result: "1"}
	failed, spoken := step{action: "a", failed: true}, step{action: "a", spoken: true}
	for _, c := range []struct {
		h    []step
		want bool
	}{
		{[]step{a, a, a}, false},
		{[]step{a, a, a, a}, true},
		{[]step{a, a, {action: "a", result: "2"}, a}, false},
		{[]step{failed, failed, {action: "a", failed: true, result: "other"}}, true},
		{[]step{spoken, spoken, spoken}, true},
		{[]step{spoken, a, spoken, spoken}, false},
		{[]step{a, b, a, b, a, b}, true},
		{[]step{b, b, a, b, a, b}, false},
	} {
		if got := stuck(c.h) != ""; got != c.want {
			t.Errorf("stuck(%+v) = %v", c.h, got)
		}
	}
}

// A trajectory that repeats itself ends so also where an earlier part of the run ended
// right before that; a fork of it goes on, for somebody wants it to.
func TestStuckAfterRestore(t *testing.T) {
	before := newBench(t, call("bash", `{}`), call("bash", `{}`), call("bash", `{}`), call("bash", `{}`))
	if out := before.run(t); out.Reason != sessions.StuckInALoop {
		t.Fatalf("%+v", out)
	}
	turns := before.recorded("1.1", "2.1", "3.1", "4.1")
	again := newBench(t, call("finish", `{}`))
	again.Restore(turns)
	if out := again.run(t); out.Reason != sessions.StuckInALoop || len(again.model.asked) != 0 {
		t.Errorf("resumed: %+v after %d model calls", out, len(again.model.asked))
	}
	parent := before.Key
	for what, origin := range map[string]*sessions.Key{"just made": nil, "resumed": &parent} {
		fork := newBench(t, call("finish", `{}`))
		fork.Key.ID = 7
		of := slices.Clone(turns)
		for i := range of {
			if of[i].Origin = origin; origin != nil {
				of[i].Key = fork.Key
			}
		}
		fork.Restore(of)
		if out := fork.run(t); out.Reason != sessions.FinishTool {
			t.Errorf("a fork that was %s: %+v", what, out)
		}
	}
}

// While the endpoint is away the trajectory is held, its slot free, and the
// call is tried again after 2, 4, 8 … seconds until the limit.
func TestOutage(t *testing.T) {
	away := &infer.Error{Kind: infer.Unavailable, Message: "connection refused"}
	for _, c := range []struct {
		limit time.Duration
		want  sessions.FinishReason
		after time.Duration
		holds int
	}{
		{time.Minute, sessions.FinishTool, 6 * time.Second, 2},       // away twice: 2 + 4 s
		{5 * time.Second, sessions.EndpointLost, 5 * time.Second, 2}, // 2 s, then the 3 s that are left
		{0, sessions.EndpointLost, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, say(""), say(""), call("finish", `{}`))
			b.model.errs = map[int]error{0: away, 1: away}
			if c.want == sessions.EndpointLost {
				b.model.errs[2] = away
			}
			b.Outage = c.limit
			began := time.Now()
			if out := b.run(t); out.Reason != c.want {
				t.Errorf("limit %v: ended by %s", c.limit, out.Reason)
			}
			if got := time.Since(began); got != c.after {
				t.Errorf("limit %v: after %v, want %v", c.limit, got, c.after)
			}
			if c.limit == 5*time.Second {
				b.wantLimit(t, `{"stage":"run","limit":"endpoint.outage_limit","bound_ns":5000000000,"for":"the endpoint","waited_ns":5000000000}`)
			}
			states := strings.Join(b.rec.kinds(sessions.KindState), "")
			if n := strings.Count(states, `"held":"error"`); n != c.holds || strings.Count(strings.Join(b.slots.log, " "), "hold want") != c.holds {
				t.Errorf("limit %v: held %d times, want %d; slot %v", c.limit, n, c.holds, b.slots.log)
			}
		})
	}
}

// A person who lets it go on ends the wait.
func TestOutageEndedByContinue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, say(""), call("finish", `{}`))
		b.model.errs = map[int]error{0: &infer.Error{Kind: infer.Unavailable, Message: "refused"}}
		b.Outage = time.Hour
		go func() {
			<-time.After(time.Second)
			b.Gate.Continue()
		}()
		began := time.Now()
		if out := b.run(t); out.Reason != sessions.FinishTool || time.Since(began) != time.Second {
			t.Errorf("ended by %s after %v", out.Reason, time.Since(began))
		}
	})
}

// Siblings and turns draw different seeds from the run's one, the same each time.
func TestSeeds(t *testing.T) {
	seed := int64(3)
	seeds := map[int64]bool{}
	for id := range 2 {
		for range 2 {
			b := newBench(t, call("bash", `1`), call("finish", `{}`))
			b.Key.ID, b.Sampling.Seed = id, &seed
			b.run(t)
			for _, r := range b.model.asked {
				seeds[*r.Sampling.Seed] = true
			}
			if got := string(b.rec.turns["1.1"].Sampling); got != fmt.Sprintf(`{"seed":%d}`, *b.model.asked[0].Sampling.Seed) {
				t.Errorf("recorded %s", got)
			}
		}
	}
	if len(seeds) != 4 || seeds[seed] {
		t.Errorf("2 trajectories of 2 turns drew %v", seeds)
	}
}

// The model is told once that its budget runs out, and of its last turn; both
// depend on the record only, so a resumed loop says the same.
func TestNotes(t *testing.T) {
	b := newBench(t)
	b.MaxTurns, b.Budget, b.LowBudget, b.Reminder = 4, 1000, 300, RemindLast
	for _, c := range []struct {
		turn, before, used int
		want               string
	}{
		{0, 0, 0, ""},
		{1, 0, 699, ""}, // 301 are left
		{2, 699, 700, "About 300 tokens are left for this task. Do only what matters most; call the finish tool when that is done."},
		{2, 700, 800, ""},
		{3, 700, 800, "This is the last turn: no call after this one is run."},
	} {
		b.turn, b.before, b.used = c.turn, c.before, c.used
		if got := b.note(); got != c.want {
			t.Errorf("after turn %d with %d, then %d used: %q, want %q", c.turn, c.before, c.used, got, c.want)
		}
	}
	b.Reminder, b.LowBudget, b.turn = RemindEvery, 0, 1
	if got := b.note(); got != "Turns left: 3." {
		t.Errorf("%q", got)
	}
	b.Reminder, b.turn = RemindOff, 3
	if got := b.note(); got != "" {
		t.Errorf("%q", got)
	}
}
