package task

import (
	"fmt"
	"regexp"
	"strings"
)

var colourCode = regexp.MustCompile("\x1b" + `\[[0-9;]*m`)

// r2eKey is a test's name as it is compared: without colours and the reason.
func r2eKey(name string) string {
	name, _, _ = strings.Cut(colourCode.ReplaceAllString(name, ""), " - ")
	return name
}

// parseR2E reads pytest's short summary: a test is called by what follows the
// file in its id, with dots.
func parseR2E(log string) map[string]string {
	log = strings.ReplaceAll(colourCode.ReplaceAllString(log, ""), "\r", "")
	_, summary, _ := strings.Cut(log, "short test summary info")
	found := map[string]string{}
	for line := range strings.Lines(summary) {
		line = strings.TrimSpace(line)
		for _, outcome := range []string{"PASSED", "FAILED", "ERROR"} {
			if !strings.Contains(line, outcome) {
				continue
			}
			parts := strings.Split(line, "::")
			found[r2eKey(strings.Join(parts[1:], "."))] = outcome
			break
		}
	}
	return found
}

// gradeR2E: as many tests as expected, and each ended as expected. A line
// without a test's id counts among them and is compared with nothing, as in
// SkyRL-Agent.
func gradeR2E(expected map[string]string, log string) (*float64, map[string]float64, string) {
	found := parseR2E(log)
	same, first := 0, ""
	for name, outcome := range found {
		switch {
		case name == "":
		case expected[name] == outcome:
			same++
		case first == "" || name < first:
			first = name
		}
	}
	reward := new(float64)
	parts := map[string]float64{"as_expected": share(same, len(expected))}
	note := fmt.Sprintf("%d of %d tests ended as expected", same, len(expected))
	switch {
	case len(found) == 0:
		note = "no test result in the output: the test runner did not get to its summary"
	case len(found) != len(expected):
		note += fmt.Sprintf("; %d were run", len(found))
	case first != "":
		note += fmt.Sprintf("; %s is %s", first, found[first])
	default:
		*reward = 1
	}
	return reward, parts, note
}
