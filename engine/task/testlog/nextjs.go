package testlog

import (
	"regexp"
	"strings"
)

// Runners of alibaba-fusion/next and plotly.js.

var (
	escape         = regexp.MustCompile(`\x1B(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])`)
	nextErrorBlock = regexp.MustCompile(`AssertionError:\s+#(?s:.*?)\n\n`)
)

// uncoloured drops escape sequences.
func uncoloured(log string) string {
	if !strings.Contains(log, "\x1b") {
		return log
	}
	return escape.ReplaceAllString(log, "")
}

// nextKarma reads karma's spec output after each traced call of xvfb-run.
func nextKarma(log string) Results {
	log = uncoloured(log)
	if strings.Contains(log, "AssertionError:") {
		log = nextErrorBlock.ReplaceAllString(log, "")
	}
	found := Results{}
	var above suites
	_, log, _ = strings.Cut(log, " xvfb-run ")
	for run := range strings.SplitSeq(log, " xvfb-run ") {
		if _, after, ok := lastCut(run, "Starting browser Chrome"); ok {
			run = after
		}
		nextRun(run, &above, found)
	}
	return found
}

func nextRun(run string, above *suites, found Results) {
	for line := range strings.SplitSeq(run, "\n") {
		if strings.HasPrefix(line, "TOTAL") {
			return
		}
		trimmed := strings.TrimSpace(line)
		if startsWithAny(trimmed, "ERROR", "LOG", "WARN", "Check", "in") {
			continue
		}
		if _, name, ok := strings.Cut(line, "✗"); ok {
			found[above.test(strings.TrimLeft(name, " \t"), " - ")] = Failed
		} else if _, name, ok := strings.Cut(line, "✓"); ok {
			found[above.test(strings.TrimLeft(name, " \t"), " - ")] = Passed
		} else if indentOf(line) > 0 {
			above.enter(line)
		}
	}
}

func startsWithAny(text string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

var (
	cypressSuite = regexp.MustCompile(`Running:(.*)\)\n{3}\s{2}(.*)\n`)
	cypressFail  = regexp.MustCompile(`(?m)^\s{4}\d+\)\s(.*)`)
	cypressPass  = regexp.MustCompile(`(?m)^\s{4}✓\s(.*)\(`)
)

// nextCypress reads cypress's spec output: "Running: file", the suite, its tests.
func nextCypress(log string) Results {
	found := Results{}
	all := cypressSuite.FindAllStringSubmatchIndex(log, -1)
	for i, m := range all {
		end := len(log)
		if i+1 < len(all) {
			end = all[i+1][0]
		}
		suite, part := log[m[4]:m[5]], log[m[1]:end]
		for _, t := range cypressFail.FindAllStringSubmatch(part, -1) {
			found[suite+": "+strings.TrimSpace(t[1])] = Failed
		}
		for _, t := range cypressPass.FindAllStringSubmatch(part, -1) {
			found[suite+": "+strings.TrimSpace(t[1])] = Passed
		}
	}
	return found
}

var (
	plotlySuite = regexp.MustCompile(`^(\s+)-\s+(.*?)\s+:`)
	plotlyTest  = regexp.MustCompile(`^(\s+)\*\s+(.*?)\s+:\s*(.*)`)
)

// plotly reads "- suite :" and "* test : outcome", nested by indentation.
func plotly(log string) Results {
	found := Results{}
	var names []string
	depth := 0
	leave := func(indent int) {
		for len(names) > 0 && indent <= depth {
			names = names[:len(names)-1]
		}
	}
	for line := range strings.SplitSeq(log, "\n") {
		if m := plotlySuite.FindStringSubmatch(line); m != nil {
			leave(len(m[1]))
			if len(names) < maxDepth {
				names = append(names, m[2])
			}
			depth = len(m[1])
		} else if m := plotlyTest.FindStringSubmatch(line); m != nil {
			leave(len(m[1]))
			outcome := strings.ToLower(m[3])
			s := Passed
			if !strings.Contains(outcome, "ok") || strings.Contains(outcome, "failed") {
				s = Failed
			}
			found[strings.Join(append(names[:len(names):len(names)], m[2]), ".")] = s
		}
	}
	return found
}
