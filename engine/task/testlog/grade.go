package testlog

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// What the harness and its evaluation scripts print around the tests.
const (
	StartMarker = ">>>>> Start Test Output"
	EndMarker   = ">>>>> End Test Output"
	ExitMarker  = ">>>>> Test Exit Code:"
)

// failureMarkers say that the evaluation broke before or around the tests.
var failureMarkers = []string{">>>>> Patch Apply Failed", ">>>>> Reset Failed", ">>>>> Tests Errored", ">>>>> Tests Timed Out"}

// Rules say how a row is graded.
type Rules struct {
	FailToPass, PassToPass []string
	FailOnly               bool // eval_type "fail_only": whatever is not FAILED passes
	// Smith: SWE-smith runs the files of FAIL_TO_PASS only, so a test of
	// PASS_TO_PASS that does not occur passes; one that was skipped counts neither
	// way. SWE-smith does the same of FAIL_TO_PASS, where a file that cannot be
	// imported any more would pass: such a test fails here.
	Smith  bool
	Parser Parser
	// Script is the evaluation's. Markers that it does not hold were printed by the
	// tests, and an end before its own end marker is their doing as well: neither may
	// turn a failure into no result.
	Script string
}

// says whether the script itself prints a marker.
func (r Rules) says(marker string) bool { return strings.Contains(r.Script, marker) }

// Resolution is how far a patch solved its row.
type Resolution string

const (
	Full    Resolution = "RESOLVED_FULL"
	Partial Resolution = "RESOLVED_PARTIAL"
	No      Resolution = "RESOLVED_NO"
)

// Grade is what a log says about a patch.
type Grade struct {
	// Broken: the evaluation did not run to its end, so there is no result; why
	// is in Note. It is not the patch's failure, as far as the log can tell.
	Broken bool
	// Invalid: the tests ran but what they printed cannot be a result.
	Invalid    bool
	Resolution Resolution
	Note       string // one line
	Fixed      Share  // of FailToPass
	Kept       Share  // of PassToPass
	// Infra is a sign of a broken environment in a log without a result. It is
	// advice for a person and changes nothing.
	Infra Infra
	// Exit code of the test command, nil when the script does not record it.
	Exit *int
}

// Share of a list of tests.
type Share struct {
	Passed, Total int
	Failing       []string // at most maxFailing
	// Success and Failure are the names of all that count.
	Success, Failure []string
}

// maxFailing bounds the names kept of tests that should pass.
const maxFailing = 50

// Value of the share: an empty list is whole.
func (s Share) Value() float64 {
	if s.Total == 0 {
		return 1
	}
	return float64(s.Passed) / float64(s.Total)
}

func (s Share) all() bool { return s.Passed == s.Total }

// Resolved is the harness's verdict: all or nothing.
func (g Grade) Resolved() bool { return g.Resolution == Full }

// Grade reads a log by the rules of the SWE-bench harness, version 5. Where it
// and the harness differ, this is the stricter one: results are read up to the
// last end marker (the harness stops at the first, which a test can print), and
// an exit code that says failure counts wherever it is.
func (r Rules) Grade(log string) Grade {
	log = newlines(log)
	before, tests, after, problem := cut(log)
	for _, marker := range failureMarkers {
		// Scripts print them around the tests. Between the markers it is the
		// tests that speak, and they do not decide whether there is a reward.
		if r.says(marker) && (strings.Contains(before, marker) || strings.Contains(after, marker)) {
			return broken(log, "its log says "+strings.TrimPrefix(marker, ">>>>> "))
		}
		if problem == "" && strings.Contains(tests, marker) {
			return invalid(log, "the tests themselves printed \""+marker+"\"", nil)
		}
	}
	switch {
	case problem == notEnded && r.says(EndMarker):
		return invalid(log, "the evaluation was ended by its tests", nil)
	case problem != "":
		return broken(log, problem)
	}
	found := r.Parser.read(tests)
	if len(found) == 0 {
		// Runners that do not write where the markers go.
		found = r.Parser.read(log)
	}
	exit := exitCode(tests, after)
	if len(found) == 0 && (r.Smith || !suiteRan.MatchString(log)) {
		return invalid(log, "no test result in the output: the test runner did not get to its summary", exit)
	}
	if exit != nil && *exit != 0 && len(found) > 0 && !found.bad() {
		return invalid(log, fmt.Sprintf("the test command ended with exit code %d although no test is reported as failed", *exit), exit)
	}
	g := Grade{Exit: exit}
	g.Fixed = r.share(found, r.FailToPass, false)
	g.Kept = r.share(found, r.PassToPass, true)
	g.Resolution = resolution(g.Fixed, g.Kept)
	g.Note = fmt.Sprintf("%d of %d fixed, %d of %d kept", g.Fixed.Passed, g.Fixed.Total, g.Kept.Passed, g.Kept.Total)
	return g
}

func broken(log, why string) Grade {
	return Grade{Broken: true, Resolution: No, Note: why, Infra: infra(log)}
}

func invalid(log, why string, exit *int) Grade {
	return Grade{Invalid: true, Resolution: No, Note: why, Infra: infra(log), Exit: exit}
}

func resolution(fixed, kept Share) Resolution {
	switch {
	case fixed.all() && kept.all():
		return Full
	case fixed.Passed > 0 && kept.all():
		return Partial
	}
	return No
}

const notEnded = "the tests did not come to their end"

// cut takes the log apart at its markers.
func cut(log string) (before, tests, after, problem string) {
	before, rest, started := strings.Cut(log, StartMarker)
	if !started {
		return before, "", "", "the tests were not started: " + lastLine(log)
	}
	end := strings.LastIndex(rest, EndMarker)
	if end < 0 {
		return before, "", rest, notEnded
	}
	return before, rest[:end], rest[end:], ""
}

func lastLine(log string) string {
	log = strings.TrimSpace(log)
	return strings.TrimSpace(log[strings.LastIndex(log, "\n")+1:])
}

var exitTrace = regexp.MustCompile(`^(?:\++ SWEBENCH_TEST_EXIT_CODE=|>>>>> Test Exit Code:\s*)(-?\d+)\s*$`)

// exitCode of the test command: the one that the script prints after the end
// marker, or traces before it. Tests can print such lines as well, so a code
// that says failure counts before one that does not.
func exitCode(parts ...string) *int {
	var code *int
	for _, part := range parts {
		for _, sign := range []string{"SWEBENCH_TEST_EXIT_CODE=", ExitMarker} {
			// From the end, a line at a time.
			for end := len(part); ; {
				at := strings.LastIndex(part[:end], sign)
				if at < 0 {
					break
				}
				end = 1 + strings.LastIndexByte(part[:at], '\n')
				line, _, _ := strings.Cut(part[end:], "\n")
				m := exitTrace.FindStringSubmatch(line)
				if m == nil {
					continue
				}
				if n, err := strconv.Atoi(m[1]); err == nil && (code == nil || *code == 0) {
					code = &n
				}
			}
		}
	}
	return code
}

// suiteRan is evidence, in a log without any result, that tests did run. All
// counts must be above zero: a runner that loses its browser at once still
// prints a summary.
var suiteRan = regexp.MustCompile(`(?m)Executed [1-9]\d* of \d+|TOTAL: [1-9]\d* (?:SUCCESS|FAILED)|[1-9]\d* passing|Tests:\s+[1-9]\d*` +
	`|Test Suites:\s+(?:\d+ \w+, )*[1-9]\d* total|^# tests [1-9]\d*|[1-9]\d* specs?, \d+ failures?|': ok$`)

func (r Rules) share(found Results, names []string, keep bool) Share {
	var s Share
	for _, name := range names {
		passed, counts := r.passes(found, name, keep)
		if !counts {
			continue
		}
		s.Total++
		if passed {
			s.Passed++
			s.Success = append(s.Success, name)
			continue
		}
		s.Failure = append(s.Failure, name)
		if len(s.Failing) < maxFailing {
			s.Failing = append(s.Failing, name)
		}
	}
	return s
}

// passes reports whether a test passed, and whether it counts at all. A skipped
// test fixes nothing, but it breaks nothing either.
func (r Rules) passes(found Results, name string, keep bool) (passed, counts bool) {
	s, known := found[name]
	switch {
	case r.FailOnly:
		return s != Failed, true
	case r.Smith && keep:
		return !known || s == Passed || s == XFailed, s != Skipped
	case !known:
		s = byPrefix(found, name)
	}
	return s == Passed || s == XFailed || s == Skipped && keep, true
}

// byPrefix finds a test whose name was cut within its parameters (more [ than
// ]): it stands for all that start with it, when they agree on passing. Skipped
// ones among those that did not pass leave it failed.
func byPrefix(found Results, name string) Status {
	if strings.Count(name, "[") <= strings.Count(name, "]") {
		return ""
	}
	var all []Status
	for key, s := range found {
		if strings.HasPrefix(key, name) {
			if s == XFailed {
				s = Passed
			}
			all = append(all, s)
		}
	}
	slices.Sort(all)
	switch all = slices.Compact(all); {
	case len(all) == 1:
		return all[0]
	case slices.Contains(all, Passed) || len(all) == 0:
		return ""
	}
	return Failed
}
