package testlog

import (
	"regexp"
	"strings"
)

// What Django's log prints between a test's name and its "ok". The second and
// third hold one line of noise, the first several.
var djangoNoise = []struct {
	hint    string // cheap to look for
	pattern *regexp.Regexp
}{
	{" ... Testing against Django installed in ", regexp.MustCompile(`(?m)^(.*?)\s\.\.\.\sTesting against Django installed in (?s:.*?) silenced\)\.\nok$`)},
	{" ... Internal Server Error: /", regexp.MustCompile(`(?m)^(.*?)\s\.\.\.\sInternal Server Error: /.*/\nok$`)},
	{" ... System check identified no issues (0 silenced)", regexp.MustCompile(`(?m)^(.*?)\s\.\.\.\sSystem check identified no issues \(0 silenced\)\nok$`)},
}

const versionTest = "--version is equivalent to version"

// migration precedes the name of a test of django__django-7188 on its line.
const migration = "Applying sites.0002_alter_domain_unique...test_no_migrations"

// django reads the verbose output of Django's runner. Other than the harness, a
// line that starts with "ok" cannot make a pass of what is known to have failed.
func django(log string) Results {
	found, last := Results{}, ""
	for line := range strings.SplitSeq(log, "\n") {
		line = strings.TrimSpace(line)
		if strings.Contains(line, versionTest) {
			found[versionTest] = Passed
		}
		name, _, dots := strings.Cut(line, " ... ")
		if dots {
			last = name
		}
		passedLine(line, found)
		if at := strings.Index(line, " ... skipped"); at >= 0 {
			found[line[:at]] = Skipped
		}
		failedLine(line, found)
		if strings.HasPrefix(line, "ok") && last != "" {
			pass(found, last)
		}
	}
	for _, noise := range djangoNoise {
		if !strings.Contains(log, noise.hint) {
			continue
		}
		for _, m := range noise.pattern.FindAllStringSubmatch(log, -1) {
			pass(found, m[1])
		}
	}
	return found
}

func pass(found Results, name string) {
	if s := found[name]; s != Failed && s != Errored {
		found[name] = Passed
	}
}

func passedLine(line string, found Results) {
	for _, end := range []string{" ... ok", " ... OK", " ...  OK"} {
		name, ok := strings.CutSuffix(line, end)
		if !ok {
			continue
		}
		if strings.HasPrefix(name, migration) {
			_, name, _ = strings.Cut(name, "...")
			name = strings.TrimSpace(name)
		}
		found[name] = Passed
		return
	}
}

// failedLine knows the line of the test ("… FAIL") and the heading of its
// report ("FAIL: name (class)"), of which the name alone counts.
func failedLine(line string, found Results) {
	for _, kind := range []struct {
		word string
		s    Status
	}{{"FAIL", Failed}, {"ERROR", Errored}} {
		if strings.HasSuffix(line, " ... "+kind.word) {
			name, _, _ := strings.Cut(line, " ... "+kind.word)
			found[name] = kind.s
		}
		if rest, ok := strings.CutPrefix(line, kind.word+":"); ok {
			if name, _ := cutWord(rest); name != "" {
				found[name] = kind.s
			}
		}
	}
}

// unittest reads `python3 -m unittest -v`. It is not the harness's: headings
// keep the whole name, expected failures are known, and a test with a docstring,
// whose outcome stands behind that on the next line, counts under both.
func unittest(log string) Results {
	found, names, before := Results{}, []string(nil), ""
	for line := range strings.SplitSeq(log, "\n") {
		line = strings.TrimSpace(line)
		name, outcome, ended := unittestLine(line)
		switch {
		case name != "": // of a test, or of a heading
			names = []string{name}
			if testID.MatchString(before) {
				names = append(names, before)
			}
		case strings.HasPrefix(line, "ok"): // behind what the test has printed
			outcome, ended = Passed, true
		}
		for _, n := range names {
			if ended {
				found[n] = outcome
			}
		}
		if ended {
			names = nil
		}
		before = line
	}
	return found
}

// testID is what stands alone on the line before a docstring.
var testID = regexp.MustCompile(`^\w+ \([\w.]+\)$`)

// unittestLine is the name on a line, "" for none, and the outcome that ends it.
func unittestLine(line string) (name string, s Status, ended bool) {
	for _, kind := range []struct {
		word string
		s    Status
	}{{"FAIL", Failed}, {"ERROR", Errored}, {"ok", Passed}, {"expected failure", XFailed}, {"unexpected success", Failed}} {
		if name, ok := strings.CutSuffix(line, " ... "+kind.word); ok {
			return name, kind.s, true
		}
	}
	if name, ok := strings.CutPrefix(line, "FAIL: "); ok {
		return name, Failed, true
	}
	if name, ok := strings.CutPrefix(line, "ERROR: "); ok {
		return name, Errored, true
	}
	name, rest, _ := strings.Cut(line, " ... ")
	if name == line {
		return "", "", false
	}
	return name, Skipped, strings.HasPrefix(rest, "skipped")
}
