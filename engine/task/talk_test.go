package task

import (
	"reflect"
	"strings"
	"testing"
)

// The messages of a row stay in their order and roles; a system message at their
// beginning is apart, because a run may have one of its own.
func TestPrompts(t *testing.T) {
	for name, c := range map[string]struct {
		prompt              string
		system, instruction string
		talk                []Message
	}{
		"text":    {`"2+2?"`, "", "2+2?", nil},
		"message": {`[{"role":"user","content":"2+2?"}]`, "", "2+2?", nil},
		"system":  {`[{"role":"system","content":"Be short."},{"role":"user","content":"2+2?"}]`, "Be short.", "2+2?", nil},
		"shots": {`[{"role":"system","content":"S"},{"role":"user","content":"1+1?"},{"role":"assistant","content":"2"},{"role":"user","content":"2+2?"}]`, "S", "1+1?\n\n2+2?",
			[]Message{{"user", "1+1?"}, {"assistant", "2"}, {"user", "2+2?"}}},
		"later system": {`[{"role":"user","content":"a"},{"role":"system","content":"b"},{"role":"user","content":"c"}]`, "", "a\n\nc",
			[]Message{{"user", "a"}, {"system", "b"}, {"user", "c"}}},
		"parts":        {`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`, "", "a\nb", nil},
		"empty system": {`[{"role":"system","content":""},{"role":"user","content":"a"}]`, "", "a", nil},
	} {
		all, err := loadRows(t, Options{}, `{"data_source":"math","reward_model":{"ground_truth":"4"},"prompt":`+c.prompt+`}`)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if in := all[0]; in.System != c.system || in.Instruction != c.instruction || !reflect.DeepEqual(in.Talk, c.talk) {
			t.Errorf("%s: %q %q %v", name, in.System, in.Instruction, in.Talk)
		}
	}
	for prompt, want := range map[string]string{
		`[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`:         `field "prompt" must end with a message of the user`,
		`[{"role":"system","content":"a"}]`:                                          `field "prompt" must end with a message of the user`,
		`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]`: `field "prompt" item 1: field "content" has a part 1 of type "image_url"; a policy is shown texts only`,
		`[]`: `field "prompt" holds no text`,
		`7`:  `field "prompt" is a number; it must be a string`,
	} {
		_, err := loadRows(t, Options{}, `{"data_source":"math","reward_model":{"ground_truth":"4"},"prompt":`+prompt+`}`)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", prompt, err)
		}
	}
}

// Rows of questions as their makers write them, and rows that cannot be asked.
func TestQuestionRows(t *testing.T) {
	ask := func(row string, o Options) (*Instance, error) {
		all, err := loadRows(t, o, row)
		if err != nil {
			return nil, err
		}
		return &all[0], nil
	}
	for name, c := range map[string]struct {
		row string
		opt Options
		id  string
	}{
		"verl":       {`{"data_source":"openai/gsm8k","prompt":[{"role":"user","content":"q"}],"ability":"math","reward_model":{"style":"rule","ground_truth":"18"},"extra_info":{"split":"train","index":0,"answer":"9 * 2\n#### 18"}}`, Options{}, "openai_gsm8k-train-0"},
		"SkyRL gym":  {`{"data_source":"openai/gsm8k","prompt":[{"role":"user","content":"q"}],"env_class":"gsm8k","reward_spec":{"method":"rule","ground_truth":"18"},"extra_info":{"split":"test","index":3}}`, Options{}, "openai_gsm8k-test-3"},
		"DAPO":       {`{"data_source":"math_dapo","prompt":[{"role":"user","content":"q"}],"reward_model":{"ground_truth":"18","style":"rule-lighteval/MATH_v2"},"extra_info":{"index":"9a9b6eb4"}}`, Options{}, "math_dapo-9a9b6eb4"},
		"Search-R1":  {`{"id":"train_0","question":"q","golden_answers":["18"],"data_source":"nq","prompt":[{"role":"user","content":"q"}],"reward_model":{"style":"rule","ground_truth":{"target":["18"]}},"extra_info":{"split":"train","index":0}}`, Options{}, "train_0"},
		"raw":        {`{"question":"q","answer":"9 * 2\n#### 18"}`, Options{Format: "answer", Verifier: "gsm8k"}, "line-1"},
		"raw, by id": {`{"query_id":769,"query":"q","answer":"18"}`, Options{Format: "answer", Verifier: "exact_match"}, "769"},
		"of mine":    {`{"data_source":"mine","prompt":"q","reward_model":{"ground_truth":18}}`, Options{Verifier: "math"}, "mine-line-1"},
	} {
		in, err := ask(c.row, c.opt)
		if err != nil || in.ID != c.id || in.Instruction != "q" {
			t.Errorf("%s: %+v %v", name, in, err)
			continue
		}
		for reply, want := range map[string]float64{in.ReferenceAnswer(): 1, "18": 1, "17": 0, "": 0} {
			if got, err := in.VerifyAnswer(t.Context(), nil, reply); err != nil || got.Reward == nil || *got.Reward != want {
				t.Errorf("%s, %q: %+v %v", name, reply, got, err)
			}
		}
	}
	for row, want := range map[string]string{
		`{"data_source":"hiyouga/geometry3k","prompt":"<image>q","images":[{"bytes":"x"}],"reward_model":{"ground_truth":"3"}}`: `field "images" holds 1 of what the question is about; a policy is shown texts only`,
		`{"data_source":"math","prompt":"q","image":{"bytes":"x"},"reward_model":{"ground_truth":"3"}}`:                         `field "image" holds what the question is about; a policy is shown texts only`,
		`{"data_source":"ruler_hotpotqa","prompt":"q","context":"Document 1:\na","reward_model":{"ground_truth":["x"]}}`:        `field "context" holds 13 bytes of documents for SkyRL-Agent's tool next_with_summary, which rollbench does not have`,
		`{"data_source":"mine","prompt":"q","reward_model":{"ground_truth":"3"}}`:                                               `field "data_source": "mine" has no verifier that is known (docs/verifiers.md lists them): --set tasks.verifier=NAME`,
		`{"prompt":"q","reward_model":{"ground_truth":"3"}}`:                                                                    `field "data_source": it is missing`,
	} {
		if _, err := ask(row, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", row, err)
		}
	}
}
