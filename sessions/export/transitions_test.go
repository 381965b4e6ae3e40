package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"rollbench/sessions"
)

var (
	d0 = sessions.Key{Instance: "demo-1", ID: 0}
	d1 = sessions.Key{Instance: "demo-1", ID: 1}
)

// workedExample: two trajectories of one instance. T0 samples [21 22] and
// [23 24] around the observation [31] and is solved; T1 samples [25 26 27] and
// [28 29] around [32 33], gets 0 and runs out of turns, so it is masked.
func workedExample(t *testing.T) *recorder {
	r := record(t, d0, d1)
	sampling := json.RawMessage(`{"temperature": 1}`)
	r.turn(sessions.Turn{Key: d0, Index: 1, PromptIDs: []int32{11, 12, 13}, OutputIDs: []int32{21, 22}, Logprobs: []float64{-.1, -.2}, Finish: "tool_calls", Model: "m-7", Sampling: sampling}, 0)
	r.turn(sessions.Turn{Key: d0, Index: 2, PromptIDs: []int32{11, 12, 13, 21, 22, 31}, OutputIDs: []int32{23, 24}, Logprobs: []float64{-.3, -.4}, Finish: "stop", Model: "m-7", Sampling: sampling}, 0)
	r.turn(sessions.Turn{Key: d1, Index: 1, PromptIDs: []int32{11, 12, 13}, OutputIDs: []int32{25, 26, 27}, Logprobs: []float64{-.5, -.6, -.7}}, 0)
	r.turn(sessions.Turn{Key: d1, Index: 2, PromptIDs: []int32{11, 12, 13, 25, 26, 27, 32, 33}, OutputIDs: []int32{28, 29}, Logprobs: []float64{-.8, -.9}}, 0)
	r.end(d0, sessions.Done, sessions.FinishTool, one(1))
	r.end(d1, sessions.Done, sessions.MaxIterationsReached, one(0))
	return r
}

func TestWorkedExample(t *testing.T) {
	r := workedExample(t)
	_, lines, sum := r.export(Options{})
	want := []string{
		`{"run":"r-1","instance_id":"demo-1","trajectory_id":0,"attempt":1,"turn":1,"prompt_prefix_length":0,"prompt_token_ids":[11,12,13],"output_token_ids":[21,22],"logprobs":[-0.1,-0.2],"finish_reason":"finish_tool","turn_finish_reason":"tool_calls","reward":1,"advantage":1,"loss_mask":[1,1],"mask_reason":null,"intervened":false,"interventions":[],"new_sample":true,"model":"m-7","sampling":{"temperature":1},"simulated":true,"source":"model"}`,
		`{"run":"r-1","instance_id":"demo-1","trajectory_id":0,"attempt":1,"turn":2,"prompt_prefix_length":0,"prompt_token_ids":[11,12,13,21,22,31],"output_token_ids":[23,24],"logprobs":[-0.3,-0.4],"finish_reason":"finish_tool","turn_finish_reason":"stop","reward":1,"advantage":1,"loss_mask":[1,1],"mask_reason":null,"intervened":false,"interventions":[],"new_sample":false,"model":"m-7","sampling":{"temperature":1},"simulated":true,"source":"model"}`,
		`{"run":"r-1","instance_id":"demo-1","trajectory_id":1,"attempt":1,"turn":1,"prompt_prefix_length":0,"prompt_token_ids":[11,12,13],"output_token_ids":[25,26,27],"logprobs":[-0.5,-0.6,-0.7],"finish_reason":"max_iterations_reached","turn_finish_reason":null,"reward":0,"advantage":-1,"loss_mask":[0,0,0],"mask_reason":"max_iterations_reached","intervened":false,"interventions":[],"new_sample":true,"model":"m","sampling":null,"simulated":true,"source":"model"}`,
		`{"run":"r-1","instance_id":"demo-1","trajectory_id":1,"attempt":1,"turn":2,"prompt_prefix_length":0,"prompt_token_ids":[11,12,13,25,26,27,32,33],"output_token_ids":[28,29],"logprobs":[-0.8,-0.9],"finish_reason":"max_iterations_reached","turn_finish_reason":null,"reward":0,"advantage":-1,"loss_mask":[0,0],"mask_reason":"max_iterations_reached","intervened":false,"interventions":[],"new_sample":false,"model":"m","sampling":null,"simulated":true,"source":"model"}`,
	}
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	wantSum := Summary{Run: "r-1", Format: "transitions", Simulated: true, Rows: 4, Trajectories: 2, Groups: 1, Members: 2,
		Masked: 1, Masks: map[string]int{"max_iterations_reached": 1}, NewSamples: 2, OutputTokens: 9, TrainTokens: 4}
	sum.Metrics, sum.PassAt, sum.Baselines = nil, nil, nil
	if !reflect.DeepEqual(sum, wantSum) {
		t.Errorf("summary %+v\nwant    %+v", sum, wantSum)
	}
}

func TestDeltaPrompts(t *testing.T) {
	r := workedExample(t)
	rows, _, _ := r.export(Options{Prompt: "delta"})
	var got []string
	for _, row := range rows {
		got = append(got, fmt.Sprint(row["prompt_prefix_length"], row["prompt_token_ids"]))
	}
	want := []string{"0 [11 12 13]", "5 [31]", "0 [11 12 13]", "6 [32 33]"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// member of a group as the table below writes it.
type member struct {
	state      sessions.State
	why        sessions.FinishReason
	reward     *float64
	intervened bool
}

func TestAdvantages(t *testing.T) {
	solved := member{sessions.Done, sessions.FinishTool, one(1), false}
	unsolved := member{sessions.Done, sessions.FinishTool, one(0), false}
	masked := member{sessions.Done, sessions.ContextWindowExceeded, one(1), false}
	noPatch := member{sessions.Done, sessions.NoPatch, one(0), false}
	forced := member{sessions.Done, sessions.ForceFinished, one(1), true}
	steered := member{sessions.Done, sessions.FinishTool, one(1), true}
	cancelled := member{sessions.Cancelled, sessions.CancelledByPerson, nil, false}
	unverified := member{sessions.Failed, sessions.ErrorEvaluation, nil, false}
	running := member{sessions.Running, "", nil, false}
	with := Options{IncludeIntervened: true}
	group := Options{OnMissing: "group"}
	for name, c := range map[string]struct {
		opt     Options
		members []member
		want    string // id:advantage mask, of each row
		check   func(Summary) bool
	}{
		"one": {Options{}, []member{solved}, "0:null 1", nil},
		"two": {Options{}, []member{solved, unsolved}, "0:1 1, 1:-1 1", nil},
		// others of 0: (0+1+0)/3; of 1: (1+1+0)/3; of 2 (masked): (1+0+0)/3; of 3: (1+0+1)/3
		"four": {Options{}, []member{solved, unsolved, masked, noPatch},
			"0:0.6666666666666667 1, 1:-0.6666666666666666 1, 2:0.6666666666666667 0, 3:-0.6666666666666666 1",
			func(s Summary) bool { return s.Masked == 1 && s.Masks["context_window_exceeded"] == 1 }},
		"absent rewards are outside": {Options{}, []member{solved, cancelled, unsolved, unverified}, "0:1 1, 2:-1 1",
			func(s Summary) bool { return s.NoReward == 2 }},
		"alone with a reward": {Options{}, []member{solved, cancelled}, "0:null 1", nil},
		"running is outside": {Options{}, []member{solved, running, unsolved, solved}, "0:0.5 1, 2:-1 1, 3:0.5 1",
			func(s Summary) bool { return s.Unfinished == 1 }},
		"intervened is outside": {Options{}, []member{solved, steered, unsolved, forced}, "0:1 1, 2:-1 1",
			func(s Summary) bool { return s.Intervened == 2 }},
		// of 0: (1+0)/2; of 1: (1+0)/2; of 2: (1+1)/2
		"intervened asked in":             {with, []member{solved, steered, unsolved}, "0:0.5 1, 1:0.5 1, 2:-1 1", nil},
		"forced asked in":                 {with, []member{unsolved, forced}, "0:-1 1, 1:1 0", nil},
		"group with an absent reward":     {group, []member{solved, cancelled, unsolved}, "", func(s Summary) bool { return s.OfGroup == 2 && s.NoReward == 1 }},
		"whole group":                     {group, []member{solved, unsolved}, "0:1 1, 1:-1 1", nil},
		"group does not ask for steered":  {group, []member{solved, steered, unsolved}, "0:1 1, 2:-1 1", nil},
		"masked without reward is absent": {Options{}, []member{cancelled, unverified}, "", func(s Summary) bool { return s.NoReward == 2 && s.Masked == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			rows, _, sum := recordGroup(t, c.members).export(c.opt)
			var got []string
			for _, row := range rows {
				advantage := "null"
				if a, ok := row["advantage"].(float64); ok {
					advantage = fmt.Sprint(a)
				}
				got = append(got, fmt.Sprintf("%v:%s %v", row["trajectory_id"], advantage, row["loss_mask"].([]any)[0]))
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), c.want)
			}
			if c.check != nil && !c.check(sum) {
				t.Errorf("summary %+v", sum)
			}
		})
	}
}

// recordGroup records a turn of one token for each member.
func recordGroup(t *testing.T, members []member) *recorder {
	var keys []sessions.Key
	for i := range members {
		keys = append(keys, sessions.Key{Instance: "g", ID: i})
	}
	r := record(t, keys...)
	for i, m := range members {
		r.turn(sessions.Turn{Key: keys[i], Index: 1, PromptIDs: []int32{1}, OutputIDs: []int32{2}, Logprobs: []float64{-1}}, 0)
		if m.intervened {
			r.events(keys[i], sessions.Intervention{Verb: "inject", Turn: 1, At: sessions.BeforeModel, After: "secret words"})
		}
		if m.why == "" {
			r.events(keys[i], sessions.StateChange{State: m.state})
			continue
		}
		r.end(keys[i], m.state, m.why, m.reward)
	}
	return r
}

func TestOnMissingError(t *testing.T) {
	r := recordGroup(t, []member{{sessions.Done, sessions.FinishTool, one(1), false}, {sessions.Cancelled, sessions.CancelledByPerson, nil, false}})
	var out strings.Builder
	_, err := Write(t.Context(), &out, "transitions", r.Store, Options{OnMissing: "error"})
	if err == nil || !strings.Contains(err.Error(), "g#1 has no reward (cancelled)") || out.Len() > 0 {
		t.Errorf("got %q, %v", out.String(), err)
	}
	for _, opt := range []Options{{Prompt: "short"}, {OnMissing: "zero"}} {
		if _, err := Write(t.Context(), &out, "transitions", r.Store, opt); err == nil {
			t.Errorf("%+v is taken", opt)
		}
	}
}

// A person injects feedback, edits the call of turn 2 and picks turn 3 among
// two samples. Only what the policy sampled of its own accord trains.
func TestEditedCall(t *testing.T) {
	r := record(t, d0)
	lp := func(n int) []float64 { return make([]float64, n) }
	r.turn(sessions.Turn{Key: d0, Index: 1, PromptIDs: []int32{1, 2}, OutputIDs: []int32{3}, Logprobs: lp(1)}, 0)
	r.events(d0, sessions.Intervention{Verb: "inject", Turn: 2, At: sessions.BeforeModel})
	r.turn(sessions.Turn{Key: d0, Index: 2, PromptIDs: []int32{1, 2, 3, 40}, OutputIDs: []int32{5, 6}, Logprobs: lp(2)}, 0)
	r.events(d0, sessions.Intervention{Verb: "edit", Turn: 2, At: sessions.AfterReply, By: "operator", Before: "a", After: "b"})
	r.turn(sessions.Turn{Key: d0, Index: 2, Version: 2, Source: sessions.FromOperator, PromptIDs: []int32{1, 2, 3, 40}, OutputIDs: []int32{5, 7}}, 1)
	r.turn(sessions.Turn{Key: d0, Index: 3, PromptIDs: []int32{1, 2, 3, 40, 5, 7, 8}, OutputIDs: []int32{9}, Logprobs: lp(1)}, 0)
	r.turn(sessions.Turn{Key: d0, Index: 3, Version: 2, PromptIDs: []int32{1, 2, 3, 40, 5, 7, 8}, OutputIDs: []int32{10}, Logprobs: lp(1)}, 1)
	r.turn(sessions.Turn{Key: d0, Index: 4, PromptIDs: []int32{1, 2, 3, 40, 5, 7, 8, 10}, OutputIDs: []int32{11, 12}, Logprobs: lp(2)}, 0)
	r.end(d0, sessions.Done, sessions.FinishTool, one(1))
	if rows, _, sum := r.export(Options{}); len(rows) != 0 || sum.Intervened != 1 {
		t.Errorf("without asking: %v, %+v", rows, sum)
	}
	rows, lines, sum := r.export(Options{IncludeIntervened: true, Prompt: "delta"})
	var got []string
	for _, row := range rows {
		got = append(got, strings.TrimSpace(fmt.Sprintln(row["turn"], row["source"], row["prompt_prefix_length"], row["prompt_token_ids"], row["output_token_ids"], row["logprobs"], row["loss_mask"], row["new_sample"], row["intervened"])))
	}
	want := []string{
		"1 model 0 [1 2] [3] [0] [1] true true",
		"2 operator 3 [40] [5 7] <nil> [0 0] true true",
		"3 model 6 [8] [10] [0] [0] false true",
		"4 model 8 [] [11 12] [0 0] [1 1] false true",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	list := `"interventions":[{"verb":"inject","turn":2,"at":"before-model"},{"verb":"edit","turn":2,"at":"after-reply"}]`
	if !strings.Contains(lines[0], list) {
		t.Errorf("%s\nhas not %s", lines[0], list)
	}
	if sum.Superseded != 2 || sum.Operator != 1 || sum.Picked != 1 || sum.TrainTokens != 3 || sum.OutputTokens != 6 {
		t.Errorf("summary %+v", sum)
	}
}

// A text-only endpoint, a reply without a token, a broken prefix.
func TestWhatTheEndpointDidNotReport(t *testing.T) {
	r := record(t, d0)
	r.turn(sessions.Turn{Key: d0, Index: 1, Content: "hi"}, 0)
	r.turn(sessions.Turn{Key: d0, Index: 2, PromptIDs: []int32{1, 2}, OutputIDs: []int32{3}}, 0)
	r.turn(sessions.Turn{Key: d0, Index: 3, PromptIDs: []int32{1, 2, 3}, OutputIDs: []int32{}}, 0)
	r.turn(sessions.Turn{Key: d0, Index: 4, PromptIDs: []int32{1, 9, 3}, OutputIDs: []int32{4}, NewSample: true, BreakAt: 1}, 0)
	r.end(d0, sessions.Done, sessions.FinishTool, one(1))
	rows, _, sum := r.export(Options{Prompt: "delta"})
	var got []string
	for _, row := range rows {
		got = append(got, fmt.Sprint(row["turn"], row["prompt_prefix_length"], row["prompt_token_ids"], row["output_token_ids"], row["logprobs"], row["loss_mask"], row["new_sample"]))
	}
	want := []string{
		"1 <nil> <nil> <nil> <nil> <nil> true",
		"2 0 [1 2] [3] <nil> [1] false",
		"4 1 [9 3] [4] <nil> [1] true",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if sum.TextOnly != 1 || sum.NoOutput != 1 || sum.NoLogprobs != 3 || sum.NewSamples != 2 {
		t.Errorf("summary %+v", sum)
	}
}

// Only the latest attempt is written, with what was done to it.
func TestLatestAttempt(t *testing.T) {
	r := record(t, d0, d1)
	r.turn(sessions.Turn{Key: d0, Index: 1, PromptIDs: []int32{1}, OutputIDs: []int32{2}}, 0)
	r.events(d0, sessions.Intervention{Verb: "inject", Turn: 1}, sessions.Attempt{N: 2}, sessions.Intervention{Verb: "reject", Turn: 1, At: sessions.AfterReply})
	r.turn(sessions.Turn{Key: d0, Attempt: 2, Index: 1, PromptIDs: []int32{1}, OutputIDs: []int32{3}}, 0)
	r.end(d0, sessions.Done, sessions.FinishTool, one(1))
	r.end(d1, sessions.Failed, sessions.ErrorInitialization, nil)
	rows, lines, sum := r.export(Options{IncludeIntervened: true})
	if len(rows) != 1 || rows[0]["attempt"] != 2.0 || !strings.Contains(lines[0], `[{"verb":"reject","turn":1,"at":"after-reply"}]`) || sum.Empty != 1 {
		t.Errorf("got %v, %+v", lines, sum)
	}
}

// Prompts rebuilt from delta rows, as docs/exports.md says, are the whole ones.
func TestDeltaRebuildsPrompts(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	r := record(t, d0, d1)
	for _, key := range []sessions.Key{d0, d1} {
		var seq []int32
		for i := range 40 {
			turn := sessions.Turn{Key: key, Index: i + 1}
			if rng.IntN(6) > 0 {
				keep := len(seq) - rng.IntN(3)*rng.IntN(len(seq)+1)/3
				turn.PromptIDs = append(append([]int32{}, seq[:keep]...), rng.Int32N(9), rng.Int32N(9))
			}
			if rng.IntN(6) > 0 {
				turn.OutputIDs = []int32{rng.Int32N(9), rng.Int32N(9)}[:rng.IntN(3)]
			}
			if turn.PromptIDs != nil {
				seq = append(append([]int32{}, turn.PromptIDs...), turn.OutputIDs...)
			}
			r.turn(turn, 0)
		}
		r.end(key, sessions.Done, sessions.FinishTool, one(1))
	}
	whole, _, _ := r.export(Options{})
	delta, _, _ := r.export(Options{Prompt: "delta"})
	sequence := map[any][]any{}
	for i, row := range delta {
		if row["prompt_token_ids"] == nil {
			if whole[i]["prompt_token_ids"] != nil || row["prompt_prefix_length"] != nil {
				t.Errorf("row %d lost its prompt", i)
			}
			continue
		}
		id := row["trajectory_id"]
		kept := sequence[id][:int(row["prompt_prefix_length"].(float64))]
		prompt := append(append([]any{}, kept...), row["prompt_token_ids"].([]any)...)
		if !reflect.DeepEqual(prompt, whole[i]["prompt_token_ids"]) {
			t.Fatalf("row %d: rebuilt %v, whole %v", i, prompt, whole[i]["prompt_token_ids"])
		}
		output, _ := row["output_token_ids"].([]any)
		sequence[id] = append(prompt, output...)
	}
}

// Numbers come back bit for bit; one that JSON cannot hold makes the logprobs
// absent. A trajectory without a finish reason does not train.
func TestNumbers(t *testing.T) {
	r := record(t, d0)
	values := []float64{-1e-300, -0.1, -1e21, -5e-324, -1.0 / 3, 0, -123456789.125}
	r.turn(sessions.Turn{Key: d0, Index: 1, OutputIDs: make([]int32, len(values)), Logprobs: values}, 0)
	r.turn(sessions.Turn{Key: d0, Index: 2, OutputIDs: []int32{1}, Logprobs: []float64{math.Inf(-1)}}, 0)
	r.events(d0, sessions.Rewarded{Reward: one(0.1)}, sessions.StateChange{State: sessions.Done})
	rows, _, sum := r.export(Options{})
	for i, v := range rows[0]["logprobs"].([]any) {
		if v != values[i] {
			t.Errorf("%v became %v", values[i], v)
		}
	}
	if rows[1]["logprobs"] != nil || sum.NoLogprobs != 1 || rows[0]["reward"] != 0.1 {
		t.Errorf("rows %v, %+v", rows, sum)
	}
	if rows[0]["mask_reason"] != NoFinishReason || sum.TrainTokens != 0 || sum.Masks[NoFinishReason] != 1 {
		t.Errorf("rows %v, %+v", rows, sum)
	}
}

// A person cancelled a call: the trajectory is left out unless asked for, and
// then the reply that made the call trains, for it was sampled; what the call
// returned is an observation as any other.
func TestCancelledCall(t *testing.T) {
	r := record(t, d0)
	r.turn(sessions.Turn{Key: d0, Index: 1, PromptIDs: []int32{11}, OutputIDs: []int32{21, 22}, Logprobs: []float64{-.1, -.2}, Complete: true,
		Calls:        []sessions.Call{{ID: "c", Name: "execute_bash", Arguments: `{"command":"sleep 1000"}`}},
		Observations: []sessions.Observation{{CallID: "c", Tool: "execute_bash", Status: "cancelled", Text: "[A person cancelled this call.]", Source: sessions.FromTool}}}, 0)
	r.events(d0, sessions.Intervention{Verb: "cancel_call", Turn: 1, By: "operator", Before: `execute_bash {"command":"sleep 1000"}`})
	r.turn(sessions.Turn{Key: d0, Index: 2, PromptIDs: []int32{11, 21, 22, 31, 32}, OutputIDs: []int32{23}, Logprobs: []float64{-.3}}, 0)
	r.end(d0, sessions.Done, sessions.FinishTool, one(1))
	if rows, _, sum := r.export(Options{}); len(rows) != 0 || sum.Intervened != 1 {
		t.Errorf("%d rows, %d left out as intervened", len(rows), sum.Intervened)
	}
	rows, lines, _ := r.export(Options{IncludeIntervened: true})
	if len(rows) != 2 || !strings.Contains(lines[0], `"loss_mask":[1,1]`) || !strings.Contains(lines[1], `"loss_mask":[1]`) ||
		!strings.Contains(lines[0], `"interventions":[{"verb":"cancel_call","turn":1,"at":""}]`) || strings.Contains(lines[1], `"new_sample":true`) {
		t.Errorf("rows\n%s", strings.Join(lines, "\n"))
	}
	var out bytes.Buffer
	if _, err := Write(t.Context(), &out, "skyrl", r.Store, Options{IncludeIntervened: true}); err != nil {
		t.Fatal(err)
	}
	// 21 22 were sampled, 31 32 observed, 23 sampled.
	if got := strings.Join(strings.Fields(out.String()), ""); !strings.Contains(got, "[21,22,31,32,23]") || !strings.Contains(got, "[1,1,0,0,1]") {
		t.Errorf("skyrl: %s", got)
	}
}
