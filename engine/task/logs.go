package task

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// status of one test in a log.
type status string

// The statuses of the harness.
const (
	passed  status = "PASSED"
	failed  status = "FAILED"
	skipped status = "SKIPPED"
	errored status = "ERROR"
	xfailed status = "XFAIL"
)

// runner is a test runner: how its log is read, and the command that runs it
// ("" when only the row can know).
type runner struct {
	parse   func(log string) map[string]status
	command string
}

const pytest = "python3 -m pytest -rA"

// runners by the row's log_parser, which may be written with "parse_log_" before it.
var runners = map[string]runner{
	"pytest":         {parsePytest, pytest},
	"pytest_options": {parsePytestOptions, pytest},
	"requests":       {parsePytestOptions, pytest},
	"pytest_v2":      {parsePytestV2, pytest},
	"matplotlib":     {parseMatplotlib, pytest},
	"seaborn":        {parseSeaborn, pytest},
	"unittest":       {parseUnittest, "python3 -m unittest -v"},
	"django":         {parseUnittest, ""},
	"sympy":          {parseSympy, ""},
	"gotest":         {parseGotest, ""},
}

// runnerOf repositories whose rows, older than log_parser, are not read as pytest's.
var runnerOf = map[string]string{
	"astropy/astropy":           "pytest_v2",
	"django/django":             "django",
	"matplotlib/matplotlib":     "matplotlib",
	"mwaskom/seaborn":           "seaborn",
	"psf/requests":              "pytest_options",
	"pydicom/pydicom":           "pytest_options",
	"pylint-dev/pylint":         "pytest_options",
	"scikit-learn/scikit-learn": "pytest_v2",
	"sphinx-doc/sphinx":         "pytest_v2",
	"sympy/sympy":               "sympy",
}

// findRunner names the runner of a row.
func findRunner(r *row) (string, runner, error) {
	name := strings.TrimPrefix(r.LogParser, "parse_log_")
	if name == "" {
		if name = runnerOf[r.Repo]; name == "" {
			name = "pytest"
		}
	}
	found, ok := runners[name]
	if !ok {
		return "", runner{}, fmt.Errorf("field \"log_parser\" is %q; it must be one of %s", r.LogParser, strings.Join(slices.Sorted(maps.Keys(runners)), ", "))
	}
	return name, found, nil
}

// statusPrefix reports which status the text starts with.
func statusPrefix(text string) (status, bool) {
	for _, s := range []status{passed, failed, skipped, errored, xfailed} {
		if strings.HasPrefix(text, string(s)) {
			return s, true
		}
	}
	return "", false
}

var skipCount = regexp.MustCompile(`^SKIPPED \[\d+\]`)

// parsePytest reads the short summary of `pytest -rA`: a status, then the test.
func parsePytest(log string) map[string]status {
	found := map[string]status{}
	for line := range strings.Lines(log) {
		line = strings.TrimRight(line, "\r\n")
		s, ok := statusPrefix(line)
		if !ok || skipCount.MatchString(line) {
			continue
		}
		if s == failed {
			line = strings.ReplaceAll(line, " - ", " ")
		}
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != string(s) {
			continue
		}
		found[words[1]] = s
	}
	return found
}

var optionKey = regexp.MustCompile(`^(.*?)\[(.*)\]$`)

// parsePytestOptions keeps the last part of a path given as a parameter: such
// paths differ between machines.
func parsePytestOptions(log string) map[string]status {
	found := map[string]status{}
	for key, s := range parsePytest(log) {
		m := optionKey.FindStringSubmatch(key)
		if m != nil && strings.HasPrefix(m[2], "/") && !strings.HasPrefix(m[2], "//") && !strings.Contains(m[2], "*") {
			key = m[1] + "[/" + m[2][strings.LastIndex(m[2], "/")+1:] + "]"
		}
		found[key] = s
	}
	return found
}

var colour = regexp.MustCompile(`\[\d+m`)

// parsePytestV2 keeps spaces in test names and knows the verbose form, where
// the status ends the line.
func parsePytestV2(log string) map[string]status {
	found := map[string]status{}
	for line := range strings.Lines(log) {
		line = colour.ReplaceAllString(line, "")
		line = strings.Map(func(r rune) rune {
			if r < 32 {
				return -1
			}
			return r
		}, line)
		if s, ok := statusPrefix(line); ok {
			if s == failed {
				line, _, _ = strings.Cut(line, " - ")
			}
			if words := strings.Fields(line); len(words) >= 2 && words[0] == string(s) {
				found[strings.Join(words[1:], " ")] = s
			}
			continue
		}
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		last := words[len(words)-1]
		if s, ok := statusPrefix(last); ok && last == string(s) {
			found[strings.Join(words[:len(words)-1], " ")] = s
		}
	}
	return found
}

// parseUnittest reads `unittest -v` and Django's runner. Noise that a test prints
// can come between its name and its "ok", which then starts a line.
func parseUnittest(log string) map[string]status {
	found := map[string]status{}
	last := ""
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		name, outcome, hasDots := strings.Cut(line, " ... ")
		if hasDots {
			last = strings.TrimSpace(name)
		}
		switch {
		case strings.HasSuffix(line, " ... ok"), strings.HasSuffix(line, " ... OK"), strings.HasSuffix(line, " ...  OK"):
			found[line[:strings.LastIndex(line, " ... ")]] = passed
		case hasDots && strings.HasPrefix(outcome, "skipped"):
			found[name] = skipped
		case strings.HasSuffix(line, " ... FAIL"):
			found[strings.TrimSuffix(line, " ... FAIL")] = failed
		case strings.HasSuffix(line, " ... ERROR"):
			found[strings.TrimSuffix(line, " ... ERROR")] = errored
		case hasDots && outcome == "expected failure":
			found[name] = xfailed
		case strings.HasPrefix(line, "FAIL: "):
			found[strings.TrimPrefix(line, "FAIL: ")] = failed
		case strings.HasPrefix(line, "ERROR: "):
			found[strings.TrimPrefix(line, "ERROR: ")] = errored
		case strings.HasPrefix(line, "ok") && last != "":
			if _, known := found[last]; !known {
				found[last] = passed
			}
		}
	}
	return found
}

// parseMatplotlib: names of enumerators became numbers in newer versions.
func parseMatplotlib(log string) map[string]status {
	return parsePytest(strings.NewReplacer("MouseButton.LEFT", "1", "MouseButton.RIGHT", "3").Replace(log))
}

// parseSeaborn knows "FAILED test", "PASSED test" and "test PASSED [ 10%]".
func parseSeaborn(log string) map[string]status {
	found := map[string]status{}
	for line := range strings.Lines(log) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		switch {
		case words[0] == string(failed) && strings.HasPrefix(line, string(failed)):
			found[words[1]] = failed
		case words[1] == string(passed):
			found[words[0]] = passed
		case words[0] == string(passed) && strings.HasPrefix(line, string(passed)):
			found[words[1]] = passed
		}
	}
	return found
}

var sympyHeading = regexp.MustCompile(`^_+ (\S+\.py:\S+) _+$`)

// parseSympy reads `bin/test -C --verbose`: a test and its outcome a line, and
// headings of what failed.
func parseSympy(log string) map[string]status {
	outcomes := map[string]status{"E": errored, "F": failed, "ok": passed}
	found := map[string]status{}
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		if m := sympyHeading.FindStringSubmatch(line); m != nil {
			found[m[1]] = failed
			continue
		}
		words := strings.Fields(line)
		if !strings.HasPrefix(line, "test_") || len(words) < 2 {
			continue
		}
		if s, ok := outcomes[words[len(words)-1]]; ok {
			found[words[0]] = s
		}
	}
	return found
}

var gotestLine = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): (.+) \([0-9.]+s\)$`)

func parseGotest(log string) map[string]status {
	names := map[string]status{"PASS": passed, "FAIL": failed, "SKIP": skipped}
	found := map[string]status{}
	for line := range strings.Lines(log) {
		if m := gotestLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			found[m[2]] = names[m[1]]
		}
	}
	return found
}
