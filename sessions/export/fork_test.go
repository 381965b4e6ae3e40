package export

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"rollbench/sessions"
)

// forkedExample is the worked example with two children of T0, forked at turn 2
// with feedback [61]: T2 samples [41 42], reads [51], samples [43], and is solved;
// T3 samples [44] and is not.
func forkedExample(t *testing.T) *recorder {
	r := workedExample(t)
	for i, c := range []struct {
		turns  []sessions.Turn
		reward float64
	}{
		{[]sessions.Turn{{Index: 2, PromptIDs: []int32{11, 12, 13, 21, 22, 31, 61}, OutputIDs: []int32{41, 42}, Logprobs: []float64{-1, -2}},
			{Index: 3, PromptIDs: []int32{11, 12, 13, 21, 22, 31, 61, 41, 42, 51}, OutputIDs: []int32{43}, Logprobs: []float64{-3}}}, 1},
		{[]sessions.Turn{{Index: 2, PromptIDs: []int32{11, 12, 13, 21, 22, 31, 61}, OutputIDs: []int32{44}, Logprobs: []float64{-4}}}, 0},
	} {
		key := sessions.Key{Instance: "demo-1", ID: 2 + i}
		r.fork(key, sessions.Fork{Attempt: 1, Turn: 2, Shared: 1, Group: 2, Count: 2})
		for _, turn := range c.turns {
			turn.Key = key
			r.turn(turn, 0)
		}
		r.end(key, sessions.Done, sessions.FinishTool, one(c.reward))
	}
	return r
}

func (r *recorder) fork(key sessions.Key, f sessions.Fork) {
	r.T.Helper()
	w := sessions.Write{Events: []sessions.Event{sessions.NewEvent(t0, key, sessions.KindForked, sessions.Forked{Fork: f, By: "operator"}),
		sessions.NewEvent(t0, key, sessions.KindIntervention, sessions.Intervention{Verb: "fork", Turn: f.Turn, At: sessions.BeforeModel, By: "operator"})}}
	if err := r.Commit(r.T.Context(), w); err != nil {
		r.T.Fatal(err)
	}
}

// Without being asked in, forks are counted and change nothing of the export.
func TestForksAreLeftOut(t *testing.T) {
	_, want, before := workedExample(t).export(Options{})
	_, got, sum := forkedExample(t).export(Options{})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if sum.Members != 2 || sum.Forks != 2 || sum.LeftForks != 2 || sum.Intervened != 0 || !strings.Contains(sum.String(), "2 left out: forks") {
		t.Errorf("summary %v %+v", sum, sum)
	}
	if !reflect.DeepEqual(sum.Baselines, before.Baselines) || !reflect.DeepEqual(sum.PassAt, before.PassAt) || !reflect.DeepEqual(sum.Metrics, before.Metrics) {
		t.Errorf("groups, pass@k or metrics differ: %+v", sum)
	}
}

// Asked in, only what a fork sampled itself trains; its siblings are its baseline,
// and the parent's group is what it was.
func TestForksAskedIn(t *testing.T) {
	r := forkedExample(t)
	with := Options{IncludeIntervened: true}
	rows, lines, sum := r.export(with)
	var got []string
	for _, row := range rows {
		got = append(got, fmt.Sprint(row["trajectory_id"], " ", row["turn"], " ", row["output_token_ids"], " ", row["loss_mask"], " ", row["advantage"], " ", row["new_sample"], " ", row["intervened"]))
	}
	want := []string{
		"0 1 [21 22] [1 1] 1 true false", "0 2 [23 24] [1 1] 1 false false",
		"1 1 [25 26 27] [0 0 0] -1 true false", "1 2 [28 29] [0 0] -1 false false",
		"2 1 [21 22] [0 0] 1 true true", "2 2 [41 42] [1 1] 1 false true", "2 3 [43] [1] 1 false true",
		"3 1 [21 22] [0 0] -1 true true", "3 2 [44] [1] -1 false true",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !strings.Contains(lines[5], `"interventions":[{"verb":"fork","turn":2,"at":"before-model"}]`) {
		t.Errorf("interventions: %s", lines[5])
	}
	groups := []Group{{Instance: "demo-1", IDs: []int{0, 1}, Rewards: []float64{1, 0}}, {Instance: "demo-1", Fork: 2, IDs: []int{2, 3}, Rewards: []float64{1, 0}}}
	if !reflect.DeepEqual(sum.Baselines, groups) || !reflect.DeepEqual(sum.PassAt, []PassAt{{1, 0.5, 1}, {2, 1, 1}}) {
		t.Errorf("groups %+v, pass@k %+v", sum.Baselines, sum.PassAt)
	}
	if sum.Groups != 2 || sum.Forks != 2 || sum.LeftForks != 0 || sum.Parents != 2 || sum.OutputTokens != 17 || sum.TrainTokens != 8 {
		t.Errorf("summary %+v", sum)
	}
	// Of two ended members: 2 turns each.
	if m := sum.Metrics["rollout_metrics/avg_turn_assistant"]; m != 2 {
		t.Errorf("turns in the mean: %v", m)
	}
}

// The children's rows in the trainers' formats, worked out by hand.
func TestForkRows(t *testing.T) {
	r := forkedExample(t)
	for format, want := range map[string]string{
		"skyrl": `{"trajectory_id":{"instance_id":"demo-1/fork-2","repetition_id":2},"prompt_token_ids":[11,12,13],"response_ids":[21,22,31,61,41,42,51,43],"loss_mask":[0,0,0,0,1,1,0,1],"rollout_logprobs":[-0.1,-0.2,0,0,-1,-2,0,-3],"reward":1,"stop_reason":"stop","is_last_step":null,"spans":[[1,0,2],[2,4,6],[3,7,8]],"advantage":1,"finish_reason":"finish_tool","mask_reason":null,"intervened":true}`,
		"verl":  `{"uid":"r-1/demo-1/fork-2","instance_id":"demo-1","trajectory_id":2,"prompts":[11,12,13],"responses":[21,22,31,61,41,42,51,43],"response_mask":[0,0,0,0,1,1,0,1],"rollout_log_probs":[-0.1,-0.2,0,0,-1,-2,0,-3],"rm_scores":[0,0,0,0,0,0,0,1],"reward_score":1,"num_turns":6,"spans":[[1,0,2],[2,4,6],[3,7,8]],"advantage":1,"finish_reason":"finish_tool","mask_reason":null,"intervened":true}`,
		"tinker": `{"instance_id":"demo-1","trajectory_id":2,"sample":0,"datum":{"model_input":{"chunks":[{"type":"encoded_text","tokens":[11,12,13,21,22,31,61,41,42,51]}]},"loss_fn_inputs":{"target_tokens":{"data":[12,13,21,22,31,61,41,42,51,43],"dtype":"int64","shape":[10]},` +
			`"logprobs":{"data":[0,0,-0.1,-0.2,0,0,-1,-2,0,-3],"dtype":"float32","shape":[10]},"advantages":{"data":[0,0,0,0,0,0,1,1,0,1],"dtype":"float32","shape":[10]}}},"mask":[0,0,0,0,1,1,0,1],"prompt_length":3,"reward":1,"spans":[[1,0,2],[2,4,6],[3,7,8]],"advantage":1,"finish_reason":"finish_tool","mask_reason":null,"intervened":true}`,
	} {
		rows, sum := r.rows(format, Options{IncludeIntervened: true})
		if len(rows) != 4 || rows[2] != want || sum.Groups != 2 {
			t.Errorf("%s: %+v\ngot  %s\nwant %s", format, sum, rows[2], want)
		}
	}
	// Step-wise, the parent's replies have no rows: they are in the prompt.
	rows, sum := r.rows("skyrl", Options{IncludeIntervened: true, Rows: "step"})
	if len(rows) != 7 || !strings.Contains(rows[4], `"prompt_token_ids":[11,12,13,21,22,31,61],"response_ids":[41,42],"loss_mask":[1,1]`) || !strings.Contains(rows[4], `"reward":0,"stop_reason":"complete"`) {
		t.Errorf("%d rows, %+v\n%s", len(rows), sum, strings.Join(rows, "\n"))
	}
}

// forkedDialogue has a child of the first conversation, forked at its second reply.
func forkedDialogue(t *testing.T) *recorder {
	r := dialogue(t)
	key := sessions.Key{Instance: "demo-1", ID: 2}
	r.fork(key, sessions.Fork{Attempt: 1, Turn: 2, Shared: 1, Group: 2, Count: 1})
	r.turn(sessions.Turn{Key: key, Index: 2, Content: "Mine.", New: []sessions.Message{{Role: "tool", Content: "a b", ToolCallID: "c1", Name: "bash", Source: sessions.FromTool},
		{Role: "user", Content: "Look at b.", Source: sessions.FromOperator}}}, 0)
	r.end(key, sessions.Done, sessions.FinishTool, one(1))
	return r
}

func TestForkAsChat(t *testing.T) {
	rows, sum := forkedDialogue(t).rows("chat", Options{IncludeIntervened: true})
	want := `"content":"I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\": \"ls <a>\"}"}}],"weight":0},` +
		`{"role":"tool","content":"a b","tool_call_id":"c1","name":"bash"},{"role":"user","content":"Look at b."},{"role":"assistant","content":"Mine.","weight":1}]`
	if len(rows) != 2 || !strings.Contains(rows[1], want) || sum.TrainMessages != 4 {
		t.Errorf("%+v\n%s", sum, strings.Join(rows, "\n"))
	}
}

// A prefix that broke before the fork is the parent's affair: the child is one
// sample from where the last break was.
func TestForkAfterABreak(t *testing.T) {
	r := record(t, d0)
	r.turn(sessions.Turn{Key: d0, Index: 1, PromptIDs: []int32{1}, OutputIDs: []int32{2}, Logprobs: []float64{-1}}, 0)
	r.turn(sessions.Turn{Key: d0, Index: 2, PromptIDs: []int32{1, 9}, OutputIDs: []int32{3}, Logprobs: []float64{-2}, NewSample: true, BreakAt: 1}, 0)
	key := sessions.Key{Instance: "demo-1", ID: 2}
	r.fork(key, sessions.Fork{Attempt: 1, Turn: 3, Shared: 2, Group: 2, Count: 1})
	r.turn(sessions.Turn{Key: key, Index: 3, PromptIDs: []int32{1, 9, 3, 4}, OutputIDs: []int32{5}, Logprobs: []float64{-3}}, 0)
	r.end(key, sessions.Done, sessions.FinishTool, one(1))
	rows, sum := r.rows("skyrl", Options{IncludeIntervened: true})
	if len(rows) != 1 || sum.Broken != 0 || sum.Unfinished != 1 || !strings.Contains(rows[0], `"prompt_token_ids":[1,9],"response_ids":[3,4,5],"loss_mask":[0,0,1]`) {
		t.Errorf("%+v\n%s", sum, rows)
	}
}

// An absent reward of a fork takes nothing from the parent's group, and the other
// way round; a fork that made no turn of its own is empty.
func TestForksAndMissingRewards(t *testing.T) {
	r := forkedExample(t)
	none := sessions.Key{Instance: "demo-1", ID: 4}
	r.fork(none, sessions.Fork{Attempt: 1, Turn: 2, Shared: 1, Group: 4, Count: 1})
	r.end(none, sessions.Cancelled, sessions.CancelledByPerson, nil)
	_, _, sum := r.export(Options{IncludeIntervened: true, OnMissing: "group"})
	if sum.Trajectories != 4 || sum.OfGroup != 0 || sum.Empty != 1 {
		t.Errorf("%+v", sum)
	}
	if _, err := Write(t.Context(), &bytes.Buffer{}, "transitions", r.Store, Options{OnMissing: "error"}); err != nil {
		t.Errorf("forks were not asked for: %v", err)
	}
}

// What is written passes the check, in every format.
func TestCheckTakesForks(t *testing.T) {
	r := forkedExample(t)
	for _, c := range []struct {
		format string
		opt    Options
	}{{"transitions", Options{}}, {"transitions", Options{Prompt: "delta"}}, {"skyrl", Options{}}, {"skyrl", Options{Rows: "step"}}, {"verl", Options{}}, {"verl-parquet", Options{}}, {"tinker", Options{}}, {"chat", Options{}}} {
		c.opt.IncludeIntervened = true
		run := r
		if c.format == "chat" {
			run = forkedDialogue(t)
		}
		rows, meta := checkable(t, run, c.format, c.opt)
		report, err := check(t.Context(), bytes.NewReader(rows), int64(len(rows)), meta)
		if err != nil || report.Total != 0 || report.Trajectories < 2 {
			t.Errorf("%s: %+v, %v", c.format, report, err)
		}
	}
}
