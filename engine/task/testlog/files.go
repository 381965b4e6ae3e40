package testlog

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Formats of JavaScript's runners that report whole files, or JSON.

var fileTime = regexp.MustCompile(`\s\([\d.]+(?:ms|\s?s)\)`)

// carbon reads jest's "PASS file (1.2 s)": a file is the test. What follows the
// last duration is not part of its name.
func carbon(log string) Results {
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		name, s, ok := fileLine(line)
		if !ok {
			continue
		}
		if all := fileTime.FindAllStringIndex(name, -1); all != nil {
			name = name[:all[len(all)-1][0]]
		}
		found[name] = s
	}
	return found
}

func fileLine(line string) (string, Status, bool) {
	for _, kind := range []struct {
		word string
		s    Status
	}{{"PASS", Passed}, {"FAIL", Failed}} {
		rest, ok := strings.CutPrefix(line, kind.word)
		if ok && rest != "" && strings.ContainsAny(rest[:1], " \t\v\f") {
			return rest[1:], kind.s, true
		}
	}
	return "", "", false
}

// emotion is jest's file lines as they stand; a file that failed once and
// passed once passed.
func emotion(log string) Results {
	found, passed := Results{}, Results{}
	for line := range strings.SplitSeq(log, "\n") {
		if name, s, ok := fileLine(line); ok && s == Passed {
			passed[strings.TrimSpace(name)] = s
		} else if ok {
			found[strings.TrimSpace(name)] = s
		}
	}
	for name, s := range passed {
		found[name] = s
	}
	return found
}

var fileTimeAtEnd = regexp.MustCompile(`\s\([\d.]+\s?(?:ms|s)\)$`)

// grommet drops the duration at the end of the line.
func grommet(log string) Results {
	found := Results{}
	for name, s := range emotion(log) {
		name = fileTimeAtEnd.ReplaceAllString(name, "")
		if found[name] != Passed {
			found[name] = s
		}
	}
	return found
}

// mochaReport is what of mocha's JSON report counts.
type mochaReport struct {
	Failures, Passes []struct {
		FullTitle string `json:"fullTitle"`
	}
}

const prismCommand = "./node_modules/.bin/mocha tests/run.js --reporter json"

// prism reads mocha's JSON report after each traced call. A report that is not
// JSON gives nothing.
func prism(log string) Results {
	found := Results{}
	_, log, called := strings.Cut(log, prismCommand)
	if !called {
		return found
	}
	for part := range strings.SplitSeq(log, prismCommand) {
		start, end := strings.IndexByte(part, '{'), strings.LastIndexByte(part, '}')
		var report mochaReport
		if start < 0 || end < start || json.Unmarshal([]byte(part[start:end+1]), &report) != nil {
			continue
		}
		for _, t := range report.Failures {
			found[t.FullTitle] = Failed
		}
		for _, t := range report.Passes {
			found[t.FullTitle] = Passed
		}
	}
	return found
}

// cypress reads mocha's JSON reports as text: each ends where the next file's
// path ("../..") begins.
func cypress(log string) Results {
	found := Results{}
	for {
		part, rest, more := strings.Cut(log, "../..")
		if !more {
			return found
		}
		log = rest
		titles(between(part, `  "passes": [`, "  }"), Passed, found)
		titles(between(part, `  "failures": [`, "  ],"), Failed, found)
	}
}

// lighthouseJSON reads mocha's JSON reports as text, after each traced call.
func lighthouseJSON(log string) Results {
	found := Results{}
	const command = "./node_modules/.bin/mocha --reporter json"
	_, log, called := strings.Cut(log, command)
	if !called {
		return found
	}
	for part := range strings.SplitSeq(log, command) {
		titles(between(part, `"passes": [`, "]"), Passed, found)
		titles(between(part, `"failures": [`, "],"), Failed, found)
	}
	return found
}

// between is what is after the last start and before the last end that follows.
func between(text, start, end string) string {
	if _, after, ok := lastCut(text, start); ok {
		text = after
	}
	before, _, _ := lastCut(text, end)
	return before
}

func titles(text string, s Status, found Results) {
	for line := range strings.SplitSeq(text, "\n") {
		_, after, ok := strings.Cut(line, `"fullTitle": "`)
		if !ok {
			continue
		}
		if name, ok := strings.CutSuffix(after, `",`); ok {
			found[name] = s
		}
	}
}

var (
	quartoKind = regexp.MustCompile(`\[(smoke|unit)\]`)
	quartoTemp = []*regexp.Regexp{regexp.MustCompile(`/tmp/([\p{L}\p{N}_]+)\.qmd`), regexp.MustCompile(`/tmp/([\p{L}\p{N}_]+)/`)}
)

// quarto reads deno's test output with its colours. Temporary files are
// numbered by their first occurrence; a test without an outcome failed.
func quarto(log string) Results {
	found, temps := Results{}, map[string]string{}
	for line := range strings.SplitSeq(log, "\n") {
		if strings.Contains(line, "ERRORS") || strings.Contains(line, "failures:") {
			break
		}
		if !quartoKind.MatchString(line) {
			continue
		}
		line = nameTemps(line, temps)
		before, _, _ := strings.Cut(line, "...")
		name := strings.TrimSpace(before)
		if strings.HasPrefix(line, "test result:") || strings.Contains(line, "34mINFO") ||
			strings.Contains(line, "passed") && strings.Contains(line, "failed") && strings.Contains(line, "steps") {
			continue
		}
		switch {
		case strings.Contains(line, "32mok"):
			found[name] = Passed
		case strings.Contains(line, "31mFAILED"):
			found[name] = Failed
		default:
			if _, known := found[name]; !known {
				found[name] = Failed
			}
		}
	}
	return found
}

func nameTemps(line string, temps map[string]string) string {
	for _, pattern := range quartoTemp {
		first := pattern.FindString(line)
		if first == "" {
			continue
		}
		if _, known := temps[first]; !known {
			temps[first] = "/tmp/" + itoa(len(temps))
		}
		line = pattern.ReplaceAllLiteralString(line, temps[first])
	}
	return line
}
