package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollbench/sessions"
)

// checkable is the worked example in each format, its meta and the options.
func checkable(t testing.TB, r *recorder, format string, opt Options) (rows []byte, meta Meta) {
	path := filepath.Join(t.TempDir(), "f")
	if _, err := File(t.Context(), path, format, r.Store, opt); err != nil {
		t.Fatal(err)
	}
	rows, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if meta, err = readMeta(path); err != nil {
		t.Fatal(err)
	}
	return rows, meta
}

// A rule that is broken is named, with its line.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	r := workedExample(t)
	step := Options{Rows: "step"}
	for _, c := range []struct {
		format   string
		opt      Options
		old, new string // the first such text becomes this
		line     int
		want     string
	}{
		{"transitions", Options{}, `"output_token_ids":[21,22]`, `"output_token_ids":[21,99]`, 2, "the prompt differs from the row before at position 4, and is no new sample"},
		{"transitions", Options{Prompt: "delta"}, `"prompt_prefix_length":5`, `"prompt_prefix_length":6`, 2, "prompt_prefix_length is 6, with 5 tokens before it"},
		{"transitions", Options{}, `"advantage":1,`, `"advantage":0.5,`, 1, "advantage 0.5, recomputed 1"},
		{"transitions", Options{Advantage: "grpo"}, `"advantage":0.7071`, `"advantage":0.7072`, 1, "recomputed 0.70710"},
		{"transitions", Options{}, `"loss_mask":[0,0,0]`, `"loss_mask":[0,1,0]`, 3, "mask[1] is 1 in a trajectory that is masked (max_iterations_reached)"},
		{"transitions", Options{}, `"loss_mask":[1,1]`, `"loss_mask":[0,0]`, 1, "mask[0] is 0, and the policy sampled it of its own accord"},
		{"transitions", Options{}, `"logprobs":[-0.1,-0.2]`, `"logprobs":[-0.1]`, 1, "1 logprobs for 2 tokens"},
		{"transitions", Options{}, `"reward":0,`, `"reward":1,`, 3, "reward 1 of demo-1#1 is 0 in its group"},
		{"transitions", Options{}, `"source":"model"`, `"source":"operator"`, 1, "a reply that nobody sampled has logprobs, or trains"},
		{"transitions", Options{}, `"turn":2,`, `"turn":1,`, 2, "turn 1 after turn 1"},
		{"transitions", Options{}, `"mask_reason":"max_iterations_reached"`, `"mask_reason":null`, 3, `mask_reason is not "max_iterations_reached"`},
		{"transitions", Options{}, `"intervened":false`, `"intervened":true`, 1, "is intervened, and those were left out"},
		{"transitions", Options{}, `"run":"r-1",`, ``, 1, "unreadable: key run is missing"},
		{"transitions", Options{}, `{"run"`, `{"runs":1,"run"`, 1, `unreadable: unknown key "runs"`},
		{"transitions", Options{}, `"output_token_ids":[21,22]`, `"output_token_ids":[21,2.5]`, 1, "unreadable"},
		{"skyrl", Options{}, `"response_ids":[21,22,31,23,24]`, `"response_ids":[21,22,31,23]`, 1, "5 masks for 4 tokens"},
		{"skyrl", Options{}, `"loss_mask":[1,1,0,1,1]`, `"loss_mask":[1,1,1,1,1]`, 1, "mask[2] is 1, and nobody sampled it"},
		{"skyrl", Options{}, `"loss_mask":[1,1,0,1,1]`, `"loss_mask":[1,1,0,1,0]`, 1, "mask[4] is 0, and 1 at the start of the reply"},
		{"skyrl", Options{}, `"loss_mask":[1,1,0,1,1]`, `"loss_mask":[1,2,0,1,1]`, 1, "mask[1] is 2"},
		{"skyrl", Options{}, `-0.2,0,-0.3`, `-0.2,-1,-0.3`, 1, "logprob[2] is -1, and nobody sampled it"},
		{"skyrl", Options{}, `"rollout_logprobs":[-0.1,-0.2,0,-0.3,-0.4]`, `"rollout_logprobs":null`, 1, "0 logprobs for 5 tokens"},
		{"skyrl", Options{}, `"stop_reason":"max_iterations_reached"`, `"stop_reason":"stop"`, 2, `stop_reason is "stop", want "max_iterations_reached"`},
		{"skyrl", Options{}, `"repetition_id":1`, `"repetition_id":0`, 2, "a second row of demo-1#0"},
		{"skyrl", Options{}, `"repetition_id":1`, `"repetition_id":7`, 2, "demo-1#7 is in no group of the meta"},
		{"skyrl", Options{}, `"is_last_step":null`, `"is_last_step":true`, 1, "is_last_step does not fit rows trajectory"},
		{"skyrl", Options{}, `"spans":[[1,0,2],[2,3,5]]`, `"spans":[[1,0,2],[2,3,4]]`, 1, "the response goes on after its last sampled token: 4 of 5"},
		{"skyrl", Options{}, `"prompt_token_ids":[11,12,13]`, `"prompt_token_ids":[]`, 1, "no prompt"},
		{"skyrl", step, `"is_last_step":true`, `"is_last_step":false`, 3, "the last row of demo-1#0 before this is not is_last_step"},
		{"skyrl", step, `"is_last_step":false`, `"is_last_step":true`, 2, "a row of demo-1#0 after its is_last_step"},
		{"skyrl", step, `"reward":0,"stop_reason":"complete"`, `"reward":1,"stop_reason":"complete"`, 1, "reward 1 before the last step"},
		{"verl", Options{}, `"rm_scores":[0,0,0,0,1]`, `"rm_scores":[0,0,0,1,1]`, 1, "rm_scores[3] is 1, want 0"},
		{"verl", Options{}, `"rm_scores":[0,0,0,0,1]`, `"rm_scores":[0,0,0,1]`, 1, "4 rm_scores for 5 tokens"},
		{"verl", Options{}, `"uid":"r-1/demo-1"`, `"uid":"u"`, 1, `uid is "u", want "r-1/demo-1"`},
		{"verl", Options{}, `"num_turns":4`, `"num_turns":3`, 1, "num_turns is 3 with 2 replies"},
		{"tinker", Options{}, `"data":[12,13,21`, `"data":[12,13,99`, 1, "target_tokens are not the tokens of model_input, one position further"},
		{"tinker", Options{}, `"data":[0,0,1,1,0,1,1]`, `"data":[0,1,1,0,1,1,0]`, 1, "position 1: advantage 1, want 0"},
		{"tinker", Options{}, `"data":[0,0,-0.1,`, `"data":[0,-0.1,0,`, 1, "position 1: advantage 0, want 0, logprob -0.1"},
		{"tinker", Options{}, `"shape":[7]`, `"shape":[8]`, 1, "target_tokens: 7 of int64 in shape [8], want 7 of int64"},
		{"tinker", Options{}, `"prompt_length":3`, `"prompt_length":2`, 1, "prompt_length 2 and 5 masks for 8 tokens"},
		{"tinker", Options{}, `"sample":0`, `"sample":1`, 1, "sample 1, want 0"},
		{"chat", Options{}, `"weight":1`, `"weight":0`, 1, "has weight 0, and the policy sampled it of its own accord"},
		{"chat", Options{}, `"role":"user"`, `"role":"person"`, 1, `message 1 has role "person"`},
		{"chat", Options{}, `"tool_call_id":"c1"`, `"tool_call_id":"c2"`, 1, `answers call "c2", which nobody made`},
	} {
		t.Run(c.format+" "+c.new, func(t *testing.T) {
			run := r
			if c.format == "chat" {
				run = dialogue(t)
			}
			rows, meta := checkable(t, run, c.format, c.opt)
			if !bytes.Contains(rows, []byte(c.old)) {
				t.Fatalf("no %s in\n%s", c.old, rows)
			}
			damaged := bytes.Replace(rows, []byte(c.old), []byte(c.new), 1)
			report, err := check(t.Context(), bytes.NewReader(damaged), int64(len(damaged)), meta)
			if err != nil || len(report.Violations) == 0 {
				t.Fatalf("%+v, %v", report, err)
			}
			found := false
			for _, v := range report.Violations {
				found = found || v.Line == c.line && strings.Contains(v.Text, c.want)
			}
			if !found {
				t.Errorf("got %+v\nwant line %d: %s", report.Violations, c.line, c.want)
			}
		})
	}
}

// The figures of the meta are recomputed.
func TestCheckFindsWhatIsWrongInTheMeta(t *testing.T) {
	r := workedExample(t)
	for want, damage := range map[string]func(*Meta){
		"rows is 3 in the meta, and 2 by the rows":         func(m *Meta) { m.Counts.Rows++ },
		"train_tokens is 5 in the meta, and 4 by the rows": func(m *Meta) { m.Counts.TrainTokens++ },
		"masked is 2 in the meta, and 1 by the rows":       func(m *Meta) { m.Counts.Masked++ },
		"groups_of_one is 1 in the meta, and 0 by":         func(m *Meta) { m.Counts.GroupsOfOne++ },
		`group demo-1 is flagged "one", want ""`:           func(m *Meta) { m.Groups[0].Flag = groupOfOne },
		"pass@1 is 0.25 of 1 instances, recomputed 0.5":    func(m *Meta) { m.PassAt[0].Value = 0.25 },
		"pass_at has 1 entries, want 2":                    func(m *Meta) { m.PassAt = m.PassAt[:1] },
		"demo-1#1 does not pass the filters":               func(m *Meta) { m.Options.ExcludeMasked = true },
		"reward 1 of demo-1#0 is 0.5 in its group":         func(m *Meta) { m.Groups[0].Rewards[0] = 0.5 },
	} {
		rows, meta := checkable(t, r, "skyrl", Options{})
		damage(&meta)
		report, err := check(t.Context(), bytes.NewReader(rows), int64(len(rows)), meta)
		if err != nil || !strings.Contains(fmt.Sprint(report.Violations), want) {
			t.Errorf("%+v, %v\nwant %s", report.Violations, err, want)
		}
	}
}

func TestCheckOfADamagedFile(t *testing.T) {
	r := workedExample(t)
	for _, format := range Formats() {
		run := r
		if format == "chat" { // the worked example has no texts
			run = dialogue(t)
		}
		rows, meta := checkable(t, run, format, Options{})
		whole, err := check(t.Context(), bytes.NewReader(rows), int64(len(rows)), meta)
		if err != nil || whole.Total != 0 || whole.Rows == 0 {
			t.Errorf("%s: %+v, %v", format, whole, err)
		}
		cut := rows[:len(rows)-1]
		report, err := check(t.Context(), bytes.NewReader(cut), int64(len(cut)), meta)
		if err != nil || report.Total == 0 {
			t.Errorf("%s without its last byte: %+v, %v", format, report, err)
		}
	}
}

func TestCheckNeedsAFileOfOurs(t *testing.T) {
	dir := t.TempDir()
	path := workedExample(t).write("f.jsonl", "verl", Options{})
	for _, c := range []struct{ path, format, meta, want string }{
		{filepath.Join(dir, "a"), "", "", "it needs the file beside it"},
		{filepath.Join(dir, "b"), "", "{", "unreadable"},
		{filepath.Join(dir, "c"), "", `{"format":"csv"}`, `no format "csv"`},
		{filepath.Join(dir, "d"), "", `{"format":"verl","options":{"rows":"some"}}`, "rows is \"some\""},
		{filepath.Join(dir, "e"), "", `{"format":"verl"}`, "no such file"},
		{path, "skyrl", "", "it is of format verl, not skyrl"},
	} {
		if c.meta != "" {
			if err := os.WriteFile(metaOf(c.path), []byte(c.meta), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Check(t.Context(), c.path, c.format); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.path, err, c.want)
		}
	}
}

// Any rows and any meta give a report or an error.
func FuzzCheck(f *testing.F) {
	for _, format := range Formats() {
		meta, err := json.Marshal(Meta{Format: format, Run: "r-1", Options: Options{Rows: ""},
			Groups: []Group{{Instance: "demo-1", IDs: []int{0, 1}, Rewards: []float64{1, 0}}}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed(f, format), meta)
	}
	f.Add([]byte(`{"trajectory_id":{"instance_id":"a"},"spans":[[1],[2,-1,5],[3,0,9]],"loss_mask":[1],"response_ids":[1,2],"is_last_step":true}`+"\n"), []byte(`{"format":"skyrl","options":{"rows":"step","logprobs":"omit"}}`))
	f.Fuzz(func(t *testing.T, rows, about []byte) {
		var meta Meta
		if json.Unmarshal(about, &meta) != nil || known(meta.Format) != nil {
			return
		}
		var err error
		if meta.Options, err = meta.Options.normal(meta.Format); err != nil {
			return
		}
		report, err := check(t.Context(), bytes.NewReader(rows), int64(len(rows)), meta)
		if err == nil && len(report.Violations) != min(report.Total, maxViolations) {
			t.Errorf("%d violations of %d", len(report.Violations), report.Total)
		}
	})
}

// seed is a small file of the format, as the fake run of the memory test has it.
func seed(f *testing.F, format string) []byte {
	var out bytes.Buffer
	if _, err := Write(f.Context(), &out, format, longRun{n: 2, tokens: 100}, Options{}); err != nil {
		f.Fatal(err)
	}
	return out.Bytes()
}

// dialogue is a run of one conversation with a call, a rejected one and a
// corrective message, and a masked one.
func dialogue(t *testing.T) *recorder {
	r := record(t, d0, d1)
	user := func(text string, source sessions.Source) sessions.Message {
		return sessions.Message{Role: "user", Content: text, Source: source}
	}
	say := func(key sessions.Key, i int, content string, calls []sessions.Call, before ...sessions.Message) {
		r.turn(sessions.Turn{Key: key, Index: i, New: before, Content: content, Calls: calls}, 0)
	}
	bash := []sessions.Call{{ID: "c1", Name: "bash", Arguments: `{"command": "ls <a>"}`}}
	say(d0, 1, "I look.", bash, sessions.Message{Role: "system", Content: "Be good.", Source: sessions.FromTask}, user("Fix it.", sessions.FromTask))
	say(d0, 2, "Done?", nil, sessions.Message{Role: "tool", Content: "a b", ToolCallID: "c1", Name: "bash", Source: sessions.FromTool})
	say(d0, 3, "", []sessions.Call{{ID: "c9", Name: "finish", Arguments: "{"}}, user("No tool was called.", sessions.FromHarness))
	say(d1, 1, "I loop.", bash, user("Fix it.", sessions.FromTask))
	r.end(d0, sessions.Done, sessions.FinishTool, one(1))
	r.end(d1, sessions.Done, sessions.StuckInALoop, one(0))
	return r
}
