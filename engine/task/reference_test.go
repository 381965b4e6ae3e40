package task

import (
	"os"
	"path/filepath"
	"testing"
)

// The right answer of a question passes its own verifier, the empty one does not.
func TestReferenceAnswersPass(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	rows := `{"id":"nq","prompt":"Who?","data_source":"nq","reward_model":{"ground_truth":{"target":["William Shakespeare","Shakespeare"]}}}
{"id":"math","prompt":"1/2+1/4?","data_source":"math_x","reward_model":{"ground_truth":"\\frac{3}{4}"}}
{"id":"torl","prompt":"6*7?","data_source":"ToRL","reward_model":{"ground_truth":"42"}}
{"id":"boxed","prompt":"6*7?","data_source":"math_x","reward_model":{"ground_truth":"\\boxed{42}"}}
{"id":"stem","prompt":"Which?","data_source":"hle","reward_model":{"ground_truth":"B"},"extra_info":{"answer_type":"exactMatch"}}
`
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	var broken []error
	all, err := Load(file, Options{OnBad: func(err error) { broken = append(broken, err) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(all)+len(broken) != 5 || len(all) < 4 {
		t.Fatalf("%d read, %v", len(all), broken)
	}
	for i := range all {
		in := &all[i]
		right, err := in.VerifyAnswer(t.Context(), nil, in.ReferenceAnswer())
		if err != nil || right.Reward == nil || *right.Reward != 1 {
			t.Errorf("%s: the right answer %q: %+v, %v", in.ID, in.ReferenceAnswer(), right, err)
		}
		empty, err := in.VerifyAnswer(t.Context(), nil, "")
		if err != nil || empty.Reward == nil || *empty.Reward >= 1 {
			t.Errorf("%s: the empty answer: %+v, %v", in.ID, empty, err)
		}
		if !in.HasReference() {
			t.Errorf("%s has no reference", in.ID)
		}
	}
}
