package export

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"rollbench/sessions"
	"rollbench/sessions/stats"
)

// rows of the format as lines.
func (r *recorder) rows(format string, opt Options) ([]string, Summary) {
	r.T.Helper()
	var out bytes.Buffer
	sum, err := Write(r.T.Context(), &out, format, r.Store, opt)
	if err != nil {
		r.T.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return lines, sum
}

// The rows on disk, key by key; docs/exports.md has the tables.
func TestRows(t *testing.T) {
	r := workedExample(t)
	for format, want := range map[string]string{
		"skyrl": `{"trajectory_id":{"instance_id":"demo-1","repetition_id":0},"prompt_token_ids":[11,12,13],"response_ids":[21,22,31,23,24],"loss_mask":[1,1,0,1,1],"rollout_logprobs":[-0.1,-0.2,0,-0.3,-0.4],"reward":1,"stop_reason":"stop","is_last_step":null,"spans":[[1,0,2],[2,3,5]],"advantage":1,"finish_reason":"finish_tool","mask_reason":null,"intervened":false}`,
		"verl":  `{"uid":"r-1/demo-1","instance_id":"demo-1","trajectory_id":0,"prompts":[11,12,13],"responses":[21,22,31,23,24],"response_mask":[1,1,0,1,1],"rollout_log_probs":[-0.1,-0.2,0,-0.3,-0.4],"rm_scores":[0,0,0,0,1],"reward_score":1,"num_turns":4,"spans":[[1,0,2],[2,3,5]],"advantage":1,"finish_reason":"finish_tool","mask_reason":null,"intervened":false}`,
		"tinker": `{"instance_id":"demo-1","trajectory_id":0,"sample":0,"datum":{"model_input":{"chunks":[{"type":"encoded_text","tokens":[11,12,13,21,22,31,23]}]},"loss_fn_inputs":{"target_tokens":{"data":[12,13,21,22,31,23,24],"dtype":"int64","shape":[7]},` +
			`"logprobs":{"data":[0,0,-0.1,-0.2,0,-0.3,-0.4],"dtype":"float32","shape":[7]},"advantages":{"data":[0,0,1,1,0,1,1],"dtype":"float32","shape":[7]}}},"mask":[1,1,0,1,1],"prompt_length":3,"reward":1,"spans":[[1,0,2],[2,3,5]],"advantage":1,"finish_reason":"finish_tool","mask_reason":null,"intervened":false}`,
	} {
		rows, sum := r.rows(format, Options{})
		if len(rows) != 2 || rows[0] != want || sum.Rows != 2 || sum.NewSamples != 2 || sum.OutputTokens != 12 || sum.TrainTokens != 4 || sum.Masked != 1 {
			t.Errorf("%s: %+v\ngot  %s\nwant %s", format, sum, rows[0], want)
		}
	}
}

// Calls that stood in the text were sent back as text: the conversation does
// not hold them a second time.
func TestChatOfCallsInText(t *testing.T) {
	key := sessions.Key{Instance: "demo-1"}
	r := record(t, key)
	const text = `<tool_call>{"name": "bash", "arguments": {}}</tool_call>`
	r.turn(sessions.Turn{Key: key, Index: 1, New: []sessions.Message{{Role: "user", Content: "Fix it."}}, Content: text, Inline: true,
		Calls: []sessions.Call{{ID: "t0001c000", Name: "bash", Arguments: "{}"}}, Complete: true}, 0)
	r.end(key, sessions.Done, sessions.FinishTool, one(1))
	rows, _ := r.rows("chat", Options{})
	if len(rows) != 1 || strings.Contains(rows[0], "tool_calls") || !strings.Contains(rows[0], `{"role":"assistant","content":"<tool_call>`) {
		t.Errorf("got %s", rows)
	}
}

// Replies that a task shows as examples do not train, and the check of a file knows
// them.
func TestChatOfExamples(t *testing.T) {
	key := sessions.Key{Instance: "demo-1"}
	r := record(t, key)
	r.turn(sessions.Turn{Key: key, Index: 1, New: []sessions.Message{{Role: "system", Content: "S"}, {Role: "user", Content: "1+1?"}, {Role: "assistant", Content: "2"}, {Role: "user", Content: "2+2?"}}, Content: "4", Complete: true}, 0)
	r.end(key, sessions.Done, sessions.FinalAnswer, one(1))
	rows, sum := r.rows("chat", Options{})
	want := `[{"role":"system","content":"S"},{"role":"user","content":"1+1?"},{"role":"assistant","content":"2","weight":0},{"role":"user","content":"2+2?"},{"role":"assistant","content":"4","weight":1}]`
	if len(rows) != 1 || !strings.Contains(rows[0], want) || sum.TrainMessages != 1 {
		t.Fatalf("got %s, %+v", rows, sum)
	}
	report, err := Check(t.Context(), r.write("c.jsonl", "chat", Options{}), "")
	if err != nil || report.Total != 0 {
		t.Errorf("the check finds %+v, %v", report, err)
	}
}

func TestChat(t *testing.T) {
	r := dialogue(t)
	rows, sum := r.rows("chat", Options{Tools: []byte(`[{"type": "function", "function": {"name": "bash"}}]`)})
	want := `{"instance_id":"demo-1","trajectory_id":0,"messages":[{"role":"system","content":"Be good."},{"role":"user","content":"Fix it."},` +
		`{"role":"assistant","content":"I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\": \"ls <a>\"}"}}],"weight":1},` +
		`{"role":"tool","content":"a b","tool_call_id":"c1","name":"bash"},{"role":"assistant","content":"Done?","weight":1},{"role":"user","content":"No tool was called."},` +
		`{"role":"assistant","content":"","tool_calls":[{"id":"c9","type":"function","function":{"name":"finish","arguments":"{"}}],"weight":1}],` +
		`"tools":[{"type":"function","function":{"name":"bash"}}],"reward":1,"advantage":1,"finish_reason":"finish_tool","mask_reason":null,"intervened":false}`
	if len(rows) != 1 || rows[0] != want {
		t.Errorf("got  %s\nwant %s", rows, want)
	}
	if sum.LeftMasked != 1 || sum.TrainMessages != 3 || sum.NoTools != 0 {
		t.Errorf("summary %+v", sum)
	}
	file := r.write("c.jsonl", "chat", Options{})
	got := fmt.Sprint(python(t, "chat", "[[len(e['prompt']), e['completion'][0]['content'], 'weight' in e['completion'][0]] for e in m.prompt_completion(FILE)]", file))
	if want := "[[2 I look. false] [4 Done? false] [6  false]]"; got != want {
		t.Errorf("prompt and completion: %s, want %s", got, want)
	}
	got = fmt.Sprint(python(t, "chat", "[c['function']['arguments'] for e in m.load(FILE, arguments='object') for x in e['messages'] for c in x.get('tool_calls', [])]", file))
	if want := "[map[command:ls <a>] {]"; got != want { // what is no JSON stays text
		t.Errorf("arguments: %s, want %s", got, want)
	}
}

// Group of four with rewards 1, 0, 0, 0.5: mean 0.375, the others of each
// 1/6, 0.5, 0.5, 1/3; squared deviations 0.390625, 0.140625 twice, 0.015625
// add up to 0.6875, so std is √(0.6875/3) = 0.47871355.
func TestAdvantageKinds(t *testing.T) {
	rewards := []float64{1, 0, 0, 0.5}
	for kind, want := range map[string][]float64{
		"loo":         {5.0 / 6, -0.5, -0.5, 1.0 / 6},
		"mean":        {0.625, -0.375, -0.375, 0.125},
		"grpo-no-std": {0.625, -0.375, -0.375, 0.125},
		"grpo":        {1.30558, -0.78335, -0.78335, 0.26111},
	} {
		for i := range rewards {
			if got := advantage(kind, rewards, i); math.Abs(*got-want[i]) > 1e-5 {
				t.Errorf("%s of member %d is %v, want %v", kind, i, *got, want[i])
			}
		}
		if got := advantage(kind, rewards[:1], 0); got != nil {
			t.Errorf("%s of a group of one is %v", kind, *got)
		}
		if got := advantage(kind, []float64{1, 1, 1}, 1); *got != 0 {
			t.Errorf("%s without variance is %v", kind, *got)
		}
	}
	// The worked example: ±0.5/(0.70710678+1e-6).
	if got := *advantage("grpo", []float64{1, 0}, 0); math.Abs(got-0.7071058) > 5e-8 {
		t.Errorf("grpo is %v", got)
	}
}

// n = 4 with c = 1 solved and n = 2 with c = 0: pass@1 is (1/4 + 0)/2, pass@2
// (1 − 3/6 + 0)/2, pass@3 1 − 1/4 and pass@4 1, of the first alone.
func TestPassAt(t *testing.T) {
	got := passAt([]Group{{Rewards: []float64{0, 1, 0.5, 0}}, {Rewards: []float64{0, 0}}})
	want := []PassAt{{1, 0.125, 2}, {2, 0.25, 2}, {3, 0.75, 1}, {4, 1, 1}}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if got[i].K != want[i].K || got[i].Instances != want[i].Instances || math.Abs(got[i].Value-want[i].Value) > 1e-12 {
			t.Errorf("got %v, want %v", got[i], want[i])
		}
	}
	if got := stats.Pass(10_000, 3, 5_000); math.Abs(got-0.875) > 1e-3 { // three fair coins, nearly
		t.Errorf("pass@5000 is %v", got)
	}
}

func TestMetricNames(t *testing.T) {
	keys := []sessions.Key{d0, d1, {Instance: "b", ID: 0}, {Instance: "b", ID: 1}, {Instance: "c", ID: 0}}
	r := record(t, keys...)
	call := func(names ...string) (out []sessions.Call) {
		for _, n := range names {
			out = append(out, sessions.Call{Name: n})
		}
		return out
	}
	turn := func(key sessions.Key, i int, names ...string) {
		r.turn(sessions.Turn{Key: key, Index: i, PromptIDs: []int32{1}, OutputIDs: []int32{2}, Logprobs: []float64{-1}, Calls: call(names...)}, 0)
	}
	turn(d0, 1, "bash", "bash")
	turn(d0, 2, "finish")
	turn(d1, 1, "finish")
	turn(keys[2], 1, "bash")
	turn(keys[3], 1)
	r.end(d0, sessions.Done, sessions.FinishTool, one(1))
	r.end(d1, sessions.Done, sessions.FinishTool, one(1))
	r.end(keys[2], sessions.Done, sessions.ContextWindowExceeded, one(1))
	r.end(keys[3], sessions.Failed, sessions.SandboxLost, nil)
	r.end(keys[4], sessions.Failed, sessions.ErrorInitialization, nil)
	_, sum := r.rows("transitions", Options{})
	want := map[string]float64{"avg_turn_assistant": 1, "num_all_resolved": 1, "num_none_resolved": 1, "finish_tool_ratio": 0.4, "context_exceed_ratio": 0.2,
		"iter_cap_ratio": 0, "stuck_in_a_loop_ratio": 0, "error_runtime": 0.2, "error_evaluation": 0, "num_mask_out": 3, "num_mask_non_zero_reward": 1,
		"bad_llm_response": 0, "raw_reward": 1, "num_empty_messages": 1, "tool_calls_total": 5, "tool_calls_per_traj_mean": 1.25, "tool_calls_per_traj_min": 0,
		"tool_calls_per_traj_max": 3, "tool_calls_no_finish_total": 3, "tool_calls_no_finish_per_traj_mean": 0.75, "tool_calls_no_finish_per_traj_min": 0,
		"tool_calls_no_finish_per_traj_max": 2, "tool_name/bash": 3, "tool_name/finish": 2}
	got := map[string]float64{}
	for name, v := range sum.Metrics {
		got[strings.TrimPrefix(name, "rollout_metrics/")] = v
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// Filters choose what is written; advantages are those of the whole group.
func TestFilters(t *testing.T) {
	members := []member{
		{sessions.Done, sessions.FinishTool, one(1), false},
		{sessions.Done, sessions.FinishTool, one(0), false},
		{sessions.Done, sessions.MaxIterationsReached, one(0.5), false},
		{sessions.Done, sessions.NoPatch, one(0), false},
	}
	r := recordGroup(t, members)
	for want, opt := range map[string]Options{
		"0:0.833 1:-0.5 2:0.167 3:-0.5": {},
		"0:0.833":                       {Reward: []string{">0"}, ExcludeMasked: true},
		"0:0.833 2:0.167":               {Reward: []string{" > 0"}},
		"2:0.167":                       {Reward: []string{">0", "!=1"}},
		"1:-0.5 3:-0.5":                 {Reward: []string{"=0"}},
		"1:-0.5 2:0.167 3:-0.5":         {Reward: []string{"<=0.5"}},
		"3:-0.5":                        {Finish: []string{"no_patch"}},
		"2:0.167 3:-0.5":                {Finish: []string{"no_patch", "max_iterations_reached"}},
		"0:0.833 1:-0.5 3:-0.5":         {ExcludeMasked: true, Instances: []string{"x", "g*"}},
		"":                              {Instances: []string{"h*"}},
	} {
		rows, _, sum := r.export(opt)
		var got []string
		for _, row := range rows {
			got = append(got, fmt.Sprintf("%v:%.3g", row["trajectory_id"], row["advantage"]))
		}
		if strings.Join(got, " ") != want || sum.Filtered != 4-len(got) {
			t.Errorf("%+v: %v, %d filtered, want %s", opt, got, sum.Filtered, want)
		}
	}
	for want, opt := range map[string]Options{
		"is no comparison":       {Reward: []string{"0..1"}},
		"no finish reason":       {Finish: []string{"tired"}},
		"instance pattern":       {Instances: []string{"["}},
		"advantage is":           {Advantage: "gae"},
		"is for skyrl, not":      {Rows: "step"},
		"is for skyrl and verl":  {Logprobs: "omit"},
		"can be trajectory, ste": {Rows: "sample"},
	} {
		if _, err := Write(t.Context(), &bytes.Buffer{}, "transitions", r.Store, opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", opt, err, want)
		}
	}
}

// A broken prefix, a reply without logprobs and an edited one each end a
// sample. T0's second prompt does not extend its first; T1's second reply has
// no logprobs; T2 is whole.
func TestSeveralSamples(t *testing.T) {
	keys := []sessions.Key{{Instance: "a", ID: 0}, {Instance: "a", ID: 1}, {Instance: "a", ID: 2}}
	r := record(t, keys...)
	turn := func(k, i int, prompt, output []int32, logprobs []float64) {
		r.turn(sessions.Turn{Key: keys[k], Index: i, PromptIDs: prompt, OutputIDs: output, Logprobs: logprobs}, 0)
	}
	turn(0, 1, []int32{1}, []int32{2}, []float64{-1})
	turn(0, 2, []int32{1, 9, 3}, []int32{4}, []float64{-1})
	turn(1, 1, []int32{1}, []int32{2}, []float64{-1})
	turn(1, 2, []int32{1, 2, 3}, []int32{4}, nil)
	turn(1, 3, []int32{1, 2, 3, 4, 5}, []int32{6}, []float64{-1})
	turn(2, 1, []int32{1}, []int32{2}, []float64{-1})
	turn(2, 2, []int32{1, 2}, []int32{3}, []float64{-1})
	for i, key := range keys {
		r.end(key, sessions.Done, sessions.FinishTool, one(float64(i%2)))
	}
	brief := func(format string, opt Options, keep ...string) string {
		file := r.write("f", format, opt)
		if report, err := Check(t.Context(), file, ""); err != nil || report.Total > 0 {
			t.Errorf("%s: %+v, %v", format, report, err)
		}
		module, rows := strings.TrimSuffix(format, "-parquet"), "m.rows(FILE)"
		return fmt.Sprint(python(t, module, "[[r[k] for k in "+strings.ReplaceAll(fmt.Sprintf("%q", keep), " ", ", ")+"] for r in "+rows+"]", file))
	}
	for _, c := range []struct{ name, got, want string }{
		{"skyrl", brief("skyrl", Options{}, "prompt_token_ids", "response_ids", "reward"), "[[[1] [2 3] 0]]"},
		{"skyrl step", brief("skyrl", Options{Rows: "step"}, "prompt_token_ids", "response_ids", "reward", "is_last_step", "stop_reason"),
			"[[[1] [2] 0 false complete] [[1 9 3] [4] 0 true stop] [[1] [2] 0 false complete] [[1 2 3 4 5] [6] 1 true stop] [[1] [2] 0 false complete] [[1 2] [3] 0 true stop]]"},
		{"verl without logprobs", brief("verl", Options{Logprobs: "omit"}, "trajectory_id", "responses", "rollout_log_probs"), "[[1 [2 3 4 5 6] <nil>] [2 [2 3] <nil>]]"},
		// leave-one-out of 0, 1, 0: −1/2, 1, −1/2
		{"tinker", brief("tinker", Options{}, "trajectory_id", "sample", "prompt_length", "mask", "advantage"),
			"[[0 0 1 [1] -0.5] [0 1 3 [1] -0.5] [1 0 1 [1] 1] [1 1 5 [1] 1] [2 0 1 [1 1] -0.5]]"},
	} {
		if c.got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, c.got, c.want)
		}
	}
	_, sum := r.rows("skyrl", Options{})
	if sum.Broken != 2 || sum.NoLogprobs != 1 || sum.Trajectories != 1 {
		t.Errorf("skyrl: %+v", sum)
	}
	if text := sum.String(); !strings.Contains(text, "1 row of 1 trajectory in 1 group, 2 of 2 response tokens train") || !strings.Contains(text, "2 left out: several samples") {
		t.Errorf("summary %s", text)
	}
}

// Nothing is put in the place of what is absent.
func TestWhatTokenFormatsRefuse(t *testing.T) {
	keys := []sessions.Key{{Instance: "a", ID: 0}, {Instance: "b", ID: 0}, {Instance: "b", ID: 1}}
	r := record(t, keys...)
	r.turn(sessions.Turn{Key: keys[0], Index: 1, PromptIDs: []int32{1}, OutputIDs: []int32{2}, Logprobs: []float64{-1}}, 0)
	r.turn(sessions.Turn{Key: keys[1], Index: 1, Content: "hi"}, 0)
	r.turn(sessions.Turn{Key: keys[2], Index: 1, Content: "hi"}, 0)
	r.end(keys[0], sessions.Done, sessions.FinishTool, one(1))
	r.end(keys[1], sessions.Done, sessions.FinishTool, one(1))
	r.end(keys[2], sessions.Done, sessions.FinishTool, one(1))
	for _, format := range []string{"skyrl", "verl", "verl-parquet"} {
		if _, sum := r.rows(format, Options{}); sum.Rows != 1 || sum.NoTokens != 2 || sum.TextOnly != 2 || sum.GroupsOfOne != 1 || sum.NoVariance != 1 {
			t.Errorf("%s: %+v", format, sum)
		}
	}
	if rows, sum := r.rows("tinker", Options{}); len(rows) != 0 || sum.NoAdvantage != 1 || sum.NoTokens != 2 {
		t.Errorf("tinker: %v, %+v", rows, sum)
	}
	if rows, sum := r.rows("chat", Options{}); len(rows) != 2 || sum.NoTools != 2 || sum.NoTokens != 1 {
		t.Errorf("chat: %v, %+v", rows, sum)
	}
	if rows, _ := r.rows("skyrl", Options{}); !strings.Contains(rows[0], `"advantage":null`) {
		t.Errorf("skyrl: %s", rows[0])
	}
}

// Fifty turns that extend one another are one sample.
func TestLongTrajectoryIsOneSample(t *testing.T) {
	var out bytes.Buffer
	sum, err := Write(t.Context(), &out, "skyrl", longRun{n: 2, tokens: 32_000}, Options{})
	if err != nil || sum.Rows != 2 || sum.NewSamples != 2 || sum.TrainTokens != 2*16_000 || sum.OutputTokens != 2*(32_000-320) {
		t.Errorf("%+v, %v", sum, err)
	}
}

// Every number reads back as it was.
func FuzzFloat(f *testing.F) {
	for _, v := range []float64{0, -0.1, 1, -0.25, 1e-4, 123456.789012, 999999.999999, 1e6, 1e12, -1e21, 5e-324, -1.0 / 3, 0.1 + 0.2, float64(float32(-0.7)), math.MaxFloat64} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		text := string(appendFloat(nil, v))
		if got, err := strconv.ParseFloat(text, 64); err != nil || math.Float64bits(got) != math.Float64bits(v) {
			t.Errorf("%v became %s", v, text)
		}
		n := uint32(math.Float64bits(v))
		if got := string(appendInt(nil, n)); got != strconv.FormatUint(uint64(n), 10) {
			t.Errorf("%d became %s", n, got)
		}
	})
}
