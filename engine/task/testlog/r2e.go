package testlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// R2E-Gym compares all that a run reports with the run of the fixed commit.

var (
	r2eColour = regexp.MustCompile(`\x1b\[[\d;]*m`)
	keyColour = regexp.MustCompile(`\x1b\[\d+m`)
)

const r2eSummary = "short test summary info"

// R2E reads what follows the first "short test summary info", up to the next:
// the parts of a test's name after the first "::", joined by ".". What has no
// "::" is the empty name.
func R2E(log string) Results {
	log = strings.ReplaceAll(r2eColour.ReplaceAllString(log, ""), "\r", "")
	_, log, started := strings.Cut(log, r2eSummary)
	if !started {
		return Results{}
	}
	log, _, _ = strings.Cut(log, r2eSummary)
	found := Results{}
	for line := range strings.SplitSeq(strings.TrimSpace(log), "\n") {
		_, name, _ := strings.Cut(line, "::")
		name = strings.ReplaceAll(name, "::", ".")
		switch {
		case strings.Contains(line, string(Passed)):
			found[name] = Passed
		case strings.Contains(line, string(Failed)):
			found[beforeDash(name)] = Failed
		case strings.Contains(line, string(Errored)):
			found[beforeDash(name)] = Errored
		}
	}
	return found
}

func beforeDash(name string) string {
	name, _, _ = strings.Cut(name, " - ")
	return name
}

// Expected is the row's expected_output_json: what the fixed commit reports.
type Expected map[string]string

// ParseExpected reads it.
func ParseExpected(text string) (Expected, error) {
	var expected Expected
	if err := json.Unmarshal([]byte(text), &expected); err != nil {
		return nil, fmt.Errorf("must be a JSON object of test names and statuses: %w", err)
	}
	if len(expected) == 0 {
		return nil, errors.New("names no test")
	}
	return expected, nil
}

// Match reports whether a run reports what is expected, name by name, and if
// not, why. It is R2E-Gym's own comparison, but that a name which is not
// expected is a mismatch where R2E-Gym ends in an exception.
//
// It is the one to grade by. SkyRL's passes over the empty name, under which
// come all lines of the summary without "::"; with that, the error of a file
// that can no longer be imported stands in for one test that is missing.
func (e Expected) Match(found Results) (bool, string) { return e.match(found, true) }

// MatchSkyRL is SkyRL's form of the comparison, for comparing rewards with its.
func (e Expected) MatchSkyRL(found Results) (bool, string) { return e.match(found, false) }

func (e Expected) match(found Results, empty bool) (bool, string) {
	expected, parsed := Results{}, Results{}
	for _, name := range slices.Sorted(maps.Keys(e)) {
		expected[key(name)] = Status(e[name])
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		parsed[key(name)] = found[name]
	}
	if len(parsed) != len(expected) {
		return false, fmt.Sprintf("%d results, %d expected", len(parsed), len(expected))
	}
	var differ []string
	for name, s := range parsed {
		if expected[name] != s && (name != "" || empty) {
			differ = append(differ, name)
		}
	}
	if len(differ) == 0 {
		return true, fmt.Sprintf("all %d results as expected", len(expected))
	}
	return false, fmt.Sprintf("%d of %d results not as expected, %q among them", len(differ), len(expected), slices.Min(differ))
}

func key(name string) string { return beforeDash(keyColour.ReplaceAllString(name, "")) }
