package task

import "testing"

// run-tests.sh of terminal-bench's SWE-bench tasks ends with exit code 0 whatever came
// of the tests, and prints the result (datasets/swebench-verified, parser.py).
func TestTerminalBenchLogs(t *testing.T) {
	for name, c := range map[string]struct {
		parser, log string
		want        *float64
	}{
		"passed":      {"swebench", "x\nSWEBench results starts here\nPASSED\nSWEBench results ends here\n", f64(1)},
		"failed":      {"swebench", "SWEBench results starts here\r\nFAILED\r\nSWEBench results ends here\r\n", f64(0)},
		"the last":    {"swebench", "SWEBench results starts here\nPASSED\nSWEBench results ends here\nSWEBench results starts here\nFAILED\nSWEBench results ends here\n", f64(0)},
		"none":        {"swebench", "PASSED\n", nil},
		"cut":         {"swebench", "SWEBench results starts here\nPASSED\n", nil},
		"pytest":      {"pytest", "1 passed\n", f64(1)},
		"pytest fail": {"pytest", "FAILED a.py::test_b - no\n", f64(0)},
		"another":     {"other", "FAILED\n", f64(1)},
	} {
		v := Verdict{Reward: f64(1), Log: []byte(c.log)}
		(&terminal{parser: c.parser}).readLog(&v)
		if !sameReward(v.Reward, c.want) || (v.Note == "") != (c.want != nil && *c.want == 1) {
			t.Errorf("%s: %v %q", name, v.Reward, v.Note)
		}
	}
}
