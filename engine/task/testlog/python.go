package testlog

import (
	"regexp"
	"strings"
)

// pytest reads the short summary of `pytest -rA`: a status, then the test.
func pytest(log string) Results {
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		if name, s, ok := summaryLine(line); ok {
			found[name] = s
		}
	}
	return found
}

// summaryLine takes the second word of a line that starts with a status. The
// lines "SKIPPED [n] file: reason" count skips and name no test; "PASSED [100%]"
// is a name that rows do expect.
func summaryLine(line string) (string, Status, bool) {
	s, ok := statusPrefix(line)
	if !ok {
		return "", "", false
	}
	if s == Failed {
		line = strings.ReplaceAll(line, " - ", " ")
	}
	first, rest := cutWord(line)
	name, _ := cutWord(rest)
	if name == "" || !isStatus(first) || first == string(Skipped) && skipCount.MatchString(name) {
		return "", "", false
	}
	return name, Status(first), true
}

var skipCount = regexp.MustCompile(`^\[\d+\]$`)

// cutWord splits the first word off.
func cutWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	if i := strings.IndexAny(text, " \t\v\f"); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}

// pytestOptions keeps the last part of a path given as a parameter: such paths
// differ between machines.
func pytestOptions(log string) Results {
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		name, s, ok := summaryLine(line)
		if !ok {
			continue
		}
		open, end := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
		if open >= 0 && end > open {
			option := name[open+1 : end]
			if strings.HasPrefix(option, "/") && !strings.HasPrefix(option, "//") && !strings.Contains(option, "*") {
				option = option[strings.LastIndexByte(option, '/'):]
			}
			name = name[:open] + "[" + option + "]"
		}
		found[name] = s
	}
	return found
}

// pytestV2 keeps blanks in test names, drops colours, and knows the older
// verbose form, where the status ends the line.
func pytestV2(log string) Results {
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		line = plain(line)
		if s, ok := statusPrefix(line); ok {
			if s == Failed {
				line, _, _ = strings.Cut(line, " - ")
			}
			words := strings.Fields(line)
			if len(words) >= 2 && isStatus(words[0]) && (words[0] != string(Skipped) || !skipCount.MatchString(words[1])) {
				found[strings.Join(words[1:], " ")] = Status(words[0])
			}
			continue
		}
		at := strings.LastIndexAny(line, " \t")
		if at < 0 || !isStatus(line[at+1:]) {
			continue
		}
		if words := strings.Fields(line[:at]); len(words) > 0 {
			found[strings.Join(words, " ")] = Status(line[at+1:])
		}
	}
	return found
}

var colour = regexp.MustCompile(`\[\d+m`)

// plain drops colours and control characters.
func plain(line string) string {
	if strings.Contains(line, "[") {
		line = colour.ReplaceAllString(line, "")
	}
	return strings.Map(func(r rune) rune {
		if r > 0 && r < 32 {
			return -1
		}
		return r
	}, line)
}

var mouseButtons = strings.NewReplacer("MouseButton.LEFT", "1", "MouseButton.RIGHT", "3")

// matplotlib: what newer versions call enumerators, rows know as numbers.
func matplotlib(log string) Results { return pytest(mouseButtons.Replace(log)) }

// seaborn knows "FAILED test", "PASSED test" and "test PASSED [ 10%]".
func seaborn(log string) Results {
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		first, rest := cutWord(line)
		second, _ := cutWord(rest)
		switch {
		case second == "":
		case strings.HasPrefix(line, string(Failed)):
			found[second] = Failed
		case strings.Contains(line, " PASSED "):
			if second == string(Passed) {
				found[first] = Passed
			}
		case strings.HasPrefix(line, string(Passed)):
			found[second] = Passed
		}
	}
	return found
}

// sympy reads `bin/test -C --verbose`: a test and its outcome a line, and
// headings of what failed: "____ path.py:test ____".
func sympy(log string) Results {
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "_") && strings.HasSuffix(line, "_") {
			title := strings.Trim(line, "_")
			if strings.Contains(title, ".py:") && strings.HasPrefix(title, " ") && strings.HasSuffix(title, " ") {
				found[title[1:len(title)-1]] = Failed
			}
			continue
		}
		if !strings.HasPrefix(line, "test_") {
			continue
		}
		name, _ := cutWord(line)
		switch {
		case strings.HasSuffix(line, " E"):
			found[name] = Errored
		case strings.HasSuffix(line, " F"):
			found[name] = Failed
		case strings.HasSuffix(line, " ok"):
			found[name] = Passed
		}
	}
	return found
}
