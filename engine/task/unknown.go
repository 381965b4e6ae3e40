package task

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rollbench/engine/task/rows"
)

// others are rows of systems whose verifier is not in the row, and what to give
// instead of them.
var others = []struct {
	columns []string
	what    string
}{
	{[]string{"responses_create_params"}, "it is a row of NeMo Gym, whose verifier is a server and not in the row; give the dataset that it was made of (a row of SWE tasks holds it as instance_dict)"},
	{[]string{"org", "number", "fix_patch"}, "it is a row of Multi-SWE-bench, whose test commands are in its harness and not in the row; give SWE-bench's columns with FAIL_TO_PASS and test_cmd"},
	{[]string{"F2P", "test_command"}, "it is a row of SWE-PolyBench; rename F2P, P2P and test_command to FAIL_TO_PASS, PASS_TO_PASS and test_cmd, and name the parser of its log in log_parser"},
	{[]string{"fail_to_pass", "base_commit"}, "it has fail_to_pass and pass_to_pass in lower case, as SWE-bench Pro; its verifier is not SWE-bench's: rename them, and give image, eval_script and log_parser"},
	{[]string{"prompt", "env_class", "env_extras"}, "it is a row that names a task's folder, as SkyRL's Harbor example has; give that folder"},
	{[]string{"context", "num_docs"}, "it is a row of MemAgent, whose documents a memory tool must hand out piece by piece; rollbench has none"},
	{[]string{"query_id", "query", "gold_docs"}, "it is a row of BrowseComp-Plus (which must be decrypted first): --format answer --set tasks.verifier=browsecomp asks it"},
}

// unknown says what a row is that fits no format, else which format is nearest, by
// the columns it misses of each.
func unknown(r rows.Row) error {
	columns := r.Columns()
	if len(columns) == 0 {
		return errors.New("the row is empty")
	}
	for _, o := range others {
		if r.Has(o.columns...) {
			return errors.New(o.what)
		}
	}
	if r.Has("prompt", "instance") && !r.Has("reward_model") && !r.Has("reward_spec") {
		if _, given, err := r.Object("instance"); err != nil || !given {
			_, err := skyrlRow(r, &Options{})
			return err
		}
	}
	if question, truth := oneOf(r, promptColumns), oneOf(r, truthColumns); question != "" && truth != "" {
		return fmt.Errorf("it looks like a question (%q) with an answer (%q), but nothing says how that is graded: --format answer --set tasks.verifier=NAME says it (docs/verifiers.md)", question, truth)
	}
	if len(columns) > 12 {
		columns = append(columns[:12:12], "…")
	}
	have := strings.Join(columns, ", ")
	best, lacks := nearest(r)
	if best == "" {
		return fmt.Errorf("no known format has its columns (%s); docs/tasks.md lists them, and --format names one", have)
	}
	return fmt.Errorf("its columns (%s) are of no known format; %s, the nearest, also needs %s", have, best, lacks)
}

// truthColumns hold right answers in rows of questions.
var truthColumns = []string{"answer", "golden_answers", "expected_answer", "ground_truth", "answers"}

func oneOf(r rows.Row, columns []string) string {
	i := slices.IndexFunc(columns, r.Given)
	if i < 0 {
		return ""
	}
	return columns[i]
}

// nearest format, and the columns that it also needs; "" when none has any.
func nearest(r rows.Row) (name, lacks string) {
	missing := 1 << 20
	for _, f := range rowFormats() {
		var miss []string
		have := 0
		for column := range strings.SplitSeq(f.columns, ", ") {
			switch {
			case strings.Contains(column, " "): // a remark
			case r.Has(column):
				have++
			default:
				miss = append(miss, column)
			}
		}
		if have > 0 && len(miss) > 0 && len(miss) < missing {
			name, missing, lacks = f.name, len(miss), strings.Join(miss, ", ")
		}
	}
	return name, lacks
}
