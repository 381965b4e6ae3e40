package task

import (
	"strings"
	"testing"
)

// Whose rules grade a SWE-smith row: its own command without a log_parser by
// SWE-smith's, which let a test of PASS_TO_PASS be absent.
func TestSmithRules(t *testing.T) {
	const log = ">>>>> Start Test Output\ntests/test_a.py::x PASSED [100%]\n>>>>> End Test Output\n>>>>> Test Exit Code: 0\n"
	for name, c := range map[string]struct {
		more    string
		smith   bool
		command string
		reward  float64
	}{
		"nothing given":  {``, false, smithPytest, 0},
		"its command":    {`,"test_cmd":"pytest -v tests/test_a.py"`, true, "pytest -v tests/test_a.py", 1},
		"its script":     {`,"eval_script":"true"`, true, "", 1},
		"its parser too": {`,"test_cmd":"t","log_parser":"swesmith_pytest"`, false, "t", 0},
	} {
		row := `{"instance_id":"o__r.abc.bug__1","image_name":"i","repo":"swesmith/r","problem_statement":"p","patch":"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n","FAIL_TO_PASS":["tests/test_a.py::x"],"PASS_TO_PASS":["tests/test_b.py::y"]` + c.more + `}`
		ins, err := rowsOf(t, []byte(strings.ReplaceAll(row, "\n", `\n`)))
		if err != nil {
			t.Fatal(name, err)
		}
		kind := ins[0].kind.(*smith)
		reward, _, note := rewardOf(kind.grading.rules.Grade(log))
		if kind.grading.rules.Smith != c.smith || reward == nil || *reward != c.reward || !strings.HasPrefix(ins[0].TestCommand, c.command) {
			t.Errorf("%s: smith %v, reward %v, %q, command %q", name, kind.grading.rules.Smith, reward, note, ins[0].TestCommand)
		}
	}
}
