package task

import (
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

// parsers by the row's log_parser; "" is pytest.
var parsers = map[string]func(log string) map[string]status{
	"":               parsePytest,
	"pytest":         parsePytest,
	"pytest_options": parsePytestOptions,
	"pytest_v2":      parsePytestV2,
	"django":         parseUnittest,
	"unittest":       parseUnittest,
	"gotest":         parseGotest,
}

func parserNames() string {
	names := slices.Sorted(maps.Keys(parsers))
	return strings.Join(names[1:], ", ") // the first is ""
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
