package sessions

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

func TestApply(t *testing.T) {
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	zero, half := 0.0, 0.5
	base := func(change func(*Trajectory)) Trajectory {
		row := NewTrajectory(keyA0, t0)
		change(&row)
		return row
	}
	type step struct {
		kind    Kind
		payload any
	}
	for name, c := range map[string]struct {
		steps []step // at second 1, 2, …
		want  Trajectory
	}{
		"held and on again": {[]step{
			{KindState, StateChange{State: Init}},
			{KindState, StateChange{State: Running, Budget: 100, Turns: 9}},
			{KindState, StateChange{State: Held, Held: HeldPaused, At: AfterReply, Why: "by hand"}},
		}, base(func(r *Trajectory) {
			r.State, r.Held, r.HeldAt, r.HeldWhy = Held, HeldPaused, AfterReply, "by hand"
			r.Since, r.Started, r.Budget, r.MaxTurns = at(3), at(1), 100, 9
		})},
		"running clears held; new limits are no new state": {[]step{
			{KindState, StateChange{State: Held, Held: HeldStep, At: BeforeModel, Why: "w"}},
			{KindState, StateChange{State: Running}},
			{KindState, StateChange{State: Running, Budget: 5}},
		}, base(func(r *Trajectory) { r.State, r.Since, r.Started, r.Budget = Running, at(2), at(1), 5 })},
		"replies": {[]step{
			{KindReply, ReplyMade{Turn: 1, Source: FromModel, OutputTokens: 7, Tokens: 7, FirstLen: 30}},
			{KindReply, ReplyMade{Turn: 1, Version: 2, Source: FromOperator, OutputTokens: 9, Tokens: 9}},
			{KindReply, ReplyMade{Turn: 2, Source: FromModel, OutputTokens: 5, Tokens: 20}},
		}, base(func(r *Trajectory) { r.Turn, r.Sampled, r.Tokens, r.FirstLen = 2, 12, 20, 30 })},
		"replies to one prompt": {[]step{
			{KindReply, ReplyMade{Turn: 3, Source: FromModel, OutputTokens: 7, Tokens: 57}},
			{KindResampled, Resampled{Turn: 3, Version: 2, OutputTokens: 9}},
			{KindPicked, ReplyMade{Turn: 3, Version: 2, Source: FromModel, OutputTokens: 9, Tokens: 59}},
		}, base(func(r *Trajectory) { r.Turn, r.Sampled, r.Tokens = 3, 16, 59 })},
		"raised": {[]step{
			{KindState, StateChange{State: Running, Budget: 100, Turns: 9}},
			{KindBudget, Budget{Turns: 12}},
			{KindBudget, Budget{Tokens: 200}},
		}, base(func(r *Trajectory) {
			r.State, r.Since, r.Started, r.Budget, r.MaxTurns = Running, at(1), at(1), 200, 12
		})},
		"the last marks count, over attempts": {[]step{
			{KindMarks, Marks{Mask: true, Tags: []string{"a"}, Note: "n"}},
			{KindMarks, Marks{Drop: true, Tags: []string{"b"}}},
			{KindAttempt, Attempt{N: 2}},
		}, func() Trajectory {
			r := NewTrajectory(keyA0, at(3))
			r.Attempt, r.Dropped, r.Tags = 2, true, []string{"b"}
			return r
		}()},
		"tool running": {[]step{{KindToolStarted, ToolStarted{Tool: "bash"}}},
			base(func(r *Trajectory) { r.Tool, r.ToolSince = "bash", at(1) })},
		"tool over": {[]step{{KindToolStarted, ToolStarted{Tool: "bash"}}, {KindToolFinished, ToolFinished{Tool: "bash"}}},
			base(func(r *Trajectory) { r.Tool = "bash" })},
		"sandboxes": {[]step{
			{KindSandbox, SandboxChange{Open: true, Kind: "docker", ID: "0123456789abcdef"}},
			{KindSandbox, SandboxChange{Open: true, Kind: "docker", ID: "fedcba9876543210"}},
			{KindSandbox, SandboxChange{Kind: "docker", ID: "0123456789abcdef"}},
		}, base(func(r *Trajectory) { r.Sandbox = "docker fedcba987654" })},
		"sandbox closed": {[]step{
			{KindSandbox, SandboxChange{Open: true, Kind: "local", ID: "ws-1"}}, {KindSandbox, SandboxChange{Kind: "local", ID: "ws-1"}},
		}, base(func(*Trajectory) {})},
		"first reason and first cause stay": {[]step{
			{KindFinish, Finished{Reason: ErrorInitialization}},
			{KindCause, Cause{Stage: "init", Error: "no image"}},
			{KindFinish, Finished{Reason: SandboxLost, Detail: "gone"}},
			{KindFinish, Finished{Reason: ErrorEvaluation}},
			{KindFinish, Finished{Reason: ErrorInitialization}},
		}, base(func(r *Trajectory) {
			r.Finish, r.Causes = "error_initialization", []string{"init: no image", "sandbox_lost: gone", "error_evaluation"}
		})},
		"a clean end gives way to what goes wrong after it": {[]step{
			{KindFinish, Finished{Reason: FinishTool}}, {KindFinish, Finished{Reason: ErrorEvaluation}}, {KindFinish, Finished{Reason: NoPatch}},
		}, base(func(r *Trajectory) { r.Finish, r.Causes = "error_evaluation", []string{"no_patch"} })},
		"but not to another clean end": {[]step{
			{KindFinish, Finished{Reason: FinishTool}}, {KindFinish, Finished{Reason: FinalAnswer}},
		}, base(func(r *Trajectory) { r.Finish, r.Causes = "finish_tool", []string{"final_answer"} })},
		"zero is a reward": {[]step{{KindReward, Rewarded{Reward: &zero, Note: "1 failed"}}},
			base(func(r *Trajectory) { r.Reward, r.EvalNote = &zero, "1 failed" })},
		"absent is absent": {[]step{{KindReward, Rewarded{Note: "timed out"}}},
			base(func(r *Trajectory) { r.EvalNote = "timed out" })},
		"empty patch": {[]step{{KindPatch, PatchTaken{}}}, base(func(*Trajectory) {})},
		"patch":       {[]step{{KindPatch, PatchTaken{Bytes: 8, Files: 1}}}, base(func(r *Trajectory) { r.HasPatch, r.PatchBytes = true, 8 })},
		"marks": {[]step{{KindBreak, PrefixBroken{}}, {KindIntervention, Intervention{}}, {KindWarning, Warning{}}, {"of.later", Warning{}}},
			base(func(r *Trajectory) { r.Breaks, r.Intervened = 1, true })},
		"ended": {[]step{
			{KindState, StateChange{State: Running}}, {KindToolStarted, ToolStarted{Tool: "bash"}}, {KindState, StateChange{State: Cancelled}},
		}, base(func(r *Trajectory) {
			r.State, r.Started, r.Since, r.Ended, r.Tool = Cancelled, at(1), at(3), at(3), "bash"
		})},
		"cancelled in the queue never started": {[]step{{KindState, StateChange{State: Cancelled}}},
			base(func(r *Trajectory) { r.State, r.Since, r.Ended = Cancelled, at(1), at(1) })},
		"another attempt starts clean": {[]step{
			{KindIntervention, Intervention{}}, {KindReply, ReplyMade{Turn: 4, Source: FromModel, OutputTokens: 3}},
			{KindReward, Rewarded{Reward: &half}}, {KindFinish, Finished{Reason: FinishTool}}, {KindAttempt, Attempt{N: 2}},
		}, base(func(r *Trajectory) { r.Attempt, r.Since = 2, at(5) })},
		"the attempt that goes on is announced": {[]step{{KindState, StateChange{State: Init}}, {KindAttempt, Attempt{N: 1}}},
			base(func(r *Trajectory) { r.State, r.Since, r.Started = Init, at(1), at(1) })},
	} {
		row := NewTrajectory(keyA0, t0)
		for i, s := range c.steps {
			if err := Apply(&row, event(keyA0, i+1, s.kind, s.payload)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !reflect.DeepEqual(row, c.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, row, c.want)
		}
	}
}

// The stored rows, in memory and in the file, equal a full replay of the events.
func TestRowsEqualReplay(t *testing.T) {
	home := t.TempDir()
	keys := []Key{{"a", 0}, {"a", 1}, {"b", 0}}
	s := newStore(t, home, "r-1", keys...)
	rng := rand.New(rand.NewPCG(7, 7))
	r, err := OpenReader(t.Context(), home, "r-1")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range 400 {
		var w Write
		for range 1 + rng.IntN(3) {
			w.Events = append(w.Events, randomEvent(rng, keys[rng.IntN(len(keys))], i))
		}
		commit(t, s, w)
		if i%50 == 0 { // the reader takes up changes in parts
			if _, _, err := r.Trajectories(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	events, err := r.Since(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[Key]*Trajectory{}
	for _, key := range keys {
		row := NewTrajectory(key, t0)
		want[key] = &row
	}
	for _, e := range events {
		if err := Apply(want[e.Key], e); err != nil {
			t.Fatal(err)
		}
	}
	for name, reader := range map[string]Reader{"store": s, "reader": r} {
		rows, seq, err := reader.Trajectories(t.Context())
		if err != nil || seq != int64(len(events)) {
			t.Fatalf("%s: seq %d, %v", name, seq, err)
		}
		for _, row := range rows {
			if !reflect.DeepEqual(row, *want[row.Key]) {
				t.Errorf("%s: row\n%+v\nreplay\n%+v", name, row, *want[row.Key])
			}
		}
	}
}

func randomEvent(rng *rand.Rand, key Key, second int) Event {
	states := []State{Queued, Init, Ready, Running, Held, Ran, Evaluating, Done, Failed, Cancelled}
	reasons := FinishReasons()
	var reward *float64
	if r := rng.Float64(); r < 0.5 {
		reward = &r
	}
	n := rng.IntN(100)
	payloads := []struct {
		kind    Kind
		payload any
	}{
		{KindState, StateChange{State: states[rng.IntN(len(states))], Held: HeldStep, At: AfterTool, Budget: n}},
		{KindAttempt, Attempt{N: 1 + n/30}},
		{KindSandbox, SandboxChange{Open: n%2 == 0, Kind: "local", ID: string(rune('a' + n%3))}},
		{KindModelCalled, ModelCalled{Turn: n}},
		{KindReply, ReplyMade{Turn: n, Source: FromModel, OutputTokens: n, Tokens: n}},
		{KindToolStarted, ToolStarted{Tool: "bash"}},
		{KindToolFinished, ToolFinished{Tool: "bash"}},
		{KindBreak, PrefixBroken{}},
		{KindFinish, Finished{Reason: reasons[n%len(reasons)], Detail: "d"}},
		{KindCause, Cause{Stage: "run", Error: "e"}},
		{KindPatch, PatchTaken{Bytes: n}},
		{KindReward, Rewarded{Reward: reward}},
		{KindIntervention, Intervention{Verb: "inject"}},
	}
	p := payloads[rng.IntN(len(payloads))]
	return event(key, second, p.kind, p.payload)
}
