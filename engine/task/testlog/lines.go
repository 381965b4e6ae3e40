package testlog

import (
	"regexp"
	"strings"
)

// Formats in which one line holds a test and its outcome.

// oneLine is such a format: the trimmed line must match, and two groups of the
// match are the outcome and the name.
type oneLine struct {
	hints         []string // one of them must be in the line: cheaper than the pattern
	pattern       *regexp.Regexp
	outcome, name int
	statuses      map[string]Status
	trim          bool // blanks around the name are not part of it
}

func (f oneLine) read(log string) Results {
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		if !hasAny(line, f.hints) {
			continue
		}
		m := f.pattern.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		name := m[f.name]
		if f.trim {
			name = strings.TrimSpace(name)
		}
		if s, ok := f.statuses[m[f.outcome]]; ok {
			found[name] = s
		}
	}
	return found
}

func hasAny(line string, hints []string) bool {
	for _, h := range hints {
		if strings.Contains(line, h) {
			return true
		}
	}
	return false
}

var gotest = oneLine{
	hints:   []string{"--- "},
	pattern: regexp.MustCompile(`^--- (PASS|FAIL|SKIP): (.+) \((.+)\)$`),
	outcome: 1, name: 2,
	statuses: map[string]Status{"PASS": Passed, "FAIL": Failed, "SKIP": Skipped},
}.read

var cargo = oneLine{
	hints:   []string{"..."},
	pattern: regexp.MustCompile(`^test\s+(\S+)\s+\.\.\.\s+(\w+)$`),
	outcome: 2, name: 1,
	statuses: map[string]Status{"ok": Passed, "FAILED": Failed},
}.read

var ant = oneLine{
	hints:   []string{"[junit]"},
	pattern: regexp.MustCompile(`^\[junit\]\s+\[(PASS|FAIL|ERR)\]\s+(.*)$`),
	outcome: 1, name: 2,
	statuses: map[string]Status{"PASS": Passed, "FAIL": Failed, "ERR": Failed},
}.read

var jq = oneLine{
	hints:   []string{"PASS: ", "FAIL: ", "PASS:\t", "FAIL:\t"},
	pattern: regexp.MustCompile(`^(PASS|FAIL):\s(.+)$`),
	outcome: 1, name: 2,
	statuses: map[string]Status{"PASS": Passed, "FAIL": Failed},
}.read

var micropython = oneLine{
	hints:   []string{"pass", "FAIL", "skip"},
	pattern: regexp.MustCompile(`^(pass|FAIL|skip)\s+(.+)$`),
	outcome: 1, name: 2,
	statuses: map[string]Status{"pass": Passed, "FAIL": Failed, "skip": Skipped},
}.read

// googletest: a test that printed an unfinished line has that before its outcome.
var googletest = oneLine{
	hints:   []string{"OK", "FAILED"},
	pattern: regexp.MustCompile(`^.*\[\s*(OK|FAILED)\s*\]\s(.*)\s\(.*\)$`),
	outcome: 1, name: 2,
	statuses: map[string]Status{"OK": Passed, "FAILED": Failed},
}.read

var jest = oneLine{
	hints:   []string{"✓", "✕", "○"},
	pattern: regexp.MustCompile(`^(✓|✕|○)\s(.+?)(?:\s\(\d+\s*m?s\))?$`),
	outcome: 1, name: 2,
	statuses: symbols{"✓": Passed, "✕": Failed, "○": Skipped},
	trim:     true,
}.read

// jestJSON is what is made of jest's --json by the row's script.
var jestJSON = oneLine{
	hints:   []string{"[PASSED] ", "[FAILED] "},
	pattern: regexp.MustCompile(`^\[(PASSED|FAILED)\]\s(.+)$`),
	outcome: 1, name: 2,
	statuses: map[string]Status{"PASSED": Passed, "FAILED": Failed},
}.read

var vitest = oneLine{
	hints:   []string{"✓", "×", "↓"},
	pattern: regexp.MustCompile(`^(✓|×|↓)\s(.+?)(?:\s(?:\d+\s*m?s?|\[skipped\]))?$`),
	outcome: 1, name: 2,
	statuses: symbols{"✓": Passed, "×": Failed, "↓": Skipped},
}.read

var tap = oneLine{
	hints:   []string{"ok "},
	pattern: regexp.MustCompile(`^(ok|not ok) (\d+) (.+)$`),
	outcome: 1, name: 3,
	statuses: map[string]Status{"ok": Passed, "not ok": Failed},
}.read

// minitest: names end in a full stop, as those that shoulda makes do.
var minitest = oneLine{
	hints:   []string{". "},
	pattern: regexp.MustCompile(`^(.+)\. .*=.*(\.|F|E).*$`),
	outcome: 2, name: 1,
	statuses: symbols{".": Passed, "F": Failed, "E": Failed},
}.read

var cucumber = oneLine{
	hints:   []string{" ."},
	pattern: regexp.MustCompile(`^(.*) \.+(\.|F)`),
	outcome: 2, name: 1,
	statuses: symbols{".": Passed, "F": Failed},
}.read

var rubyUnit = oneLine{
	hints:   []string{":"},
	pattern: regexp.MustCompile(`^(?:test: )?(.+):\s+(\.|E\b|F\b|O\b)`),
	outcome: 2, name: 1,
	statuses: symbols{".": Passed, "F": Failed, "E": Failed, "O": Skipped},
}.read

// rspec is what is made of rspec's JSON by the row's script.
var rspec = oneLine{
	hints:   []string{" - passed", " - failed"},
	pattern: regexp.MustCompile(`^(.+) - (passed|failed)`),
	outcome: 2, name: 1,
	statuses: map[string]Status{"passed": Passed, "failed": Failed},
}.read

var (
	redisLine = regexp.MustCompile(`^\[(ok|err|skip|ignore)\]:\s(.+?)(?:\s\(\d+\s*m?s\))?$`)
	redisFile = regexp.MustCompile(`\s+in\s+\S+$`)
)

// redis: the name of a failed test is followed by its file.
func redis(log string) Results {
	statuses := map[string]Status{"ok": Passed, "err": Failed, "skip": Skipped, "ignore": Skipped}
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "[") {
			continue
		}
		m := redisLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := m[2]
		if m[1] == "err" {
			name = redisFile.ReplaceAllString(name, "")
		}
		found[name] = statuses[m[1]]
	}
	return found
}

var (
	testdoxSuite = regexp.MustCompile(`^([\p{L}\p{N}_].+) \(.+\)$`)
	testdoxItem  = regexp.MustCompile(`^\s*([✔✘↩])\s*(.*)$`)
)

// phpunit reads --testdox: a heading "Suite (Class)", then its tests.
func phpunit(log string) Results {
	statuses := symbols{"✔": Passed, "✘": Failed, "↩": Skipped}
	found, suite := Results{}, "None" // what the harness writes for no suite
	for line := range strings.SplitSeq(log, "\n") {
		if m := testdoxSuite.FindStringSubmatch(line); m != nil {
			suite = m[1]
			continue
		}
		if m := testdoxItem.FindStringSubmatch(line); m != nil {
			found[suite+" > "+m[2]] = statuses[m[1]]
		}
	}
	return found
}
