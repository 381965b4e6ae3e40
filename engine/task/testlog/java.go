package testlog

import (
	"regexp"
	"strings"
)

var (
	mavenTest  = regexp.MustCompile(`^.*-Dtest=(\S+).*$`)
	mavenBuild = regexp.MustCompile(`^.*BUILD (SUCCESS|FAILURE)$`)
)

// maven prints no test that passed, so scripts run each alone: the names in the
// traced commands and the results of the builds are paired in their order,
// whichever of the two the log shows first.
func maven(log string) Results {
	found := Results{}
	var names []string
	var results []Status
	for line := range strings.SplitSeq(log, "\n") {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "-Dtest=") {
			if m := mavenTest.FindStringSubmatch(line); m != nil {
				names = append(names, m[1])
			}
		}
		if !strings.HasSuffix(line, "BUILD SUCCESS") && !strings.HasSuffix(line, "BUILD FAILURE") || !mavenBuild.MatchString(line) {
			continue
		}
		s := Failed
		if strings.HasSuffix(line, "SUCCESS") {
			s = Passed
		}
		if len(names) == 0 {
			results = append(results, s)
			continue
		}
		found[names[0]], names = s, names[1:]
	}
	for i := range min(len(names), len(results)) {
		found[names[i]] = results[i]
	}
	return found
}

var (
	gradleLine = regexp.MustCompile(`^([^>].+)\s+(PASSED|FAILED)$`)
	gradleName = regexp.MustCompile(`^([^>]\S*\s+>\s+\S+)$`)
)

// gradle reads "Class > method PASSED". Other output may come between a test
// and its outcome, which is then alone on a later line.
func gradle(log string) Results {
	found, waiting := Results{}, ""
	for line := range strings.SplitSeq(log, "\n") {
		line = strings.TrimSpace(line)
		done := strings.HasSuffix(line, string(Passed)) || strings.HasSuffix(line, string(Failed))
		if done {
			if m := gradleLine.FindStringSubmatch(line); m != nil {
				found[m[1]], waiting = Status(m[2]), ""
				continue
			}
		}
		if strings.Contains(line, ">") && gradleName.MatchString(line) {
			waiting = line
			continue
		}
		if waiting != "" && (line == string(Passed) || line == string(Failed)) {
			found[waiting], waiting = Status(line), ""
		}
	}
	return found
}
