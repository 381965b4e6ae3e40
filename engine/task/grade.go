package task

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// grading is how the log of a row's evaluation becomes a reward.
type grading struct {
	failToPass, passToPass []string
	failOnly               bool // whatever is not FAILED passes
	parse                  func(log string) map[string]status
}

// Lines that say the evaluation broke before or around the tests.
var failureMarkers = []string{">>>>> Patch Apply Failed", ">>>>> Reset Failed", ">>>>> Tests Errored", ">>>>> Tests Timed Out"}

var runnerSummary = regexp.MustCompile(`(?m)(=+ .*\b(passed|failed|error|errors|skipped|no tests ran)\b.* =+\s*$|^Ran \d+ tests? in |^(ok|FAIL|PASS)\s)`)

// grade follows the SWE-bench harness, except that an evaluation which broke on
// its own has no reward, where the harness says unresolved.
func (g *grading) grade(log string) (*float64, map[string]float64, string) {
	for _, marker := range failureMarkers {
		if strings.Contains(log, marker) {
			return nil, nil, "verifier could not run: its log says " + strings.TrimPrefix(marker, ">>>>> ")
		}
	}
	tests, exit, problem := cutLog(log)
	if problem != "" {
		return nil, nil, "verifier could not run: " + problem
	}
	found := g.parse(tests)
	if len(found) == 0 {
		found = g.parse(log)
	}
	zero := new(float64)
	if len(found) == 0 && !runnerSummary.MatchString(log) {
		return zero, nil, "no test result in the output: the test runner did not get to its summary"
	}
	if exit != 0 && !anyBad(found) {
		return zero, nil, fmt.Sprintf("the test command ended with exit code %d although no test is reported as failed", exit)
	}
	fixed := count(g.failToPass, func(name string) bool { return g.passes(found, name, false) })
	kept := count(g.passToPass, func(name string) bool { return g.passes(found, name, true) })
	reward := 0.0
	if fixed == len(g.failToPass) && kept == len(g.passToPass) {
		reward = 1
	}
	parts := map[string]float64{"fail_to_pass": share(fixed, len(g.failToPass)), "pass_to_pass": share(kept, len(g.passToPass))}
	return &reward, parts, fmt.Sprintf("%d of %d fixed, %d of %d kept", fixed, len(g.failToPass), kept, len(g.passToPass))
}

// cutLog is the part between the markers and the exit code between them and
// the end (0 when the script does not tell).
func cutLog(log string) (tests string, exit int, problem string) {
	_, after, started := strings.Cut(log, startMarker)
	if !started {
		return "", 0, "the tests were not started: " + lastLine(log)
	}
	end := strings.LastIndex(after, endMarker)
	if end < 0 {
		return "", 0, "the tests did not come to their end"
	}
	// Only what is printed after the tests is the script's own word.
	for line := range strings.Lines(after[end:]) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), exitMarker); found {
			code, err := strconv.Atoi(strings.TrimSpace(text))
			if err == nil {
				exit = code
			}
		}
	}
	// The v5 script prints the code between the tests and the end marker.
	if code, found := traceExit(after[:end]); found && exit == 0 {
		exit = code
	}
	return after[:end], exit, ""
}

var exitTrace = regexp.MustCompile(`(?m)^\++ SWEBENCH_TEST_EXIT_CODE=(\d+)\s*$|^>>>>> Test Exit Code: (\d+)\s*$`)

// traceExit takes the last exit code printed or traced.
func traceExit(log string) (int, bool) {
	all := exitTrace.FindAllStringSubmatch(log, -1)
	if len(all) == 0 {
		return 0, false
	}
	m := all[len(all)-1]
	code, err := strconv.Atoi(m[1] + m[2])
	return code, err == nil
}

func anyBad(found map[string]status) bool {
	for _, s := range found {
		if s == failed || s == errored {
			return true
		}
	}
	return false
}

func (g *grading) passes(found map[string]status, name string, skipCounts bool) bool {
	s, known := lookUp(found, name)
	if g.failOnly {
		return s != failed
	}
	return known && (s == passed || s == xfailed || s == skipped && skipCounts)
}

// lookUp finds a test. A name that was cut within its parameters (more [ than
// ]) stands for every test that starts with it, when those agree.
func lookUp(found map[string]status, name string) (status, bool) {
	if s, ok := found[name]; ok {
		return s, true
	}
	if strings.Count(name, "[") <= strings.Count(name, "]") {
		return "", false
	}
	var all []status
	for key, s := range found {
		if strings.HasPrefix(key, name) {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 1 {
		return all[0], true
	}
	return "", false
}

func count(names []string, ok func(string) bool) int {
	n := 0
	for _, name := range names {
		if ok(name) {
			n++
		}
	}
	return n
}

// share of an empty list is whole.
func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

func lastLine(log string) string {
	log = strings.TrimSpace(log)
	return strings.TrimSpace(log[strings.LastIndex(log, "\n")+1:])
}
