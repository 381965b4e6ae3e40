package testlog

import (
	"regexp"
	"strings"
)

// Formats of JavaScript's runners in which the indentation of headings says
// which suite a test is in.

// suites are the headings above a line, by their indentation.
type suites struct {
	names   []string
	indents []int
}

// enter puts a heading in place of those that are indented as much or more.
func (s *suites) enter(line string) {
	indent := indentOf(line)
	for n := len(s.indents); n > 0 && s.indents[n-1] >= indent; n-- {
		s.names, s.indents = s.names[:n-1], s.indents[:n-1]
	}
	s.names, s.indents = append(s.names, strings.TrimSpace(line)), append(s.indents, indent)
}

// maxDepth of the headings in a name. Deeper is no test suite, and the names
// must not grow with the log.
const maxDepth = 64

func (s *suites) test(name, separator string) string {
	names := s.names
	if len(names) > maxDepth {
		names = names[len(names)-maxDepth:]
	}
	return strings.Join(append(names[:len(names):len(names)], name), separator)
}

var milliseconds = regexp.MustCompile(`\(\d+ms\)`)

// calypso reads jest --verbose after each traced call of jest, up to the first
// report of a failure or the totals.
func calypso(log string) Results {
	found := Results{}
	var above suites
	outside := true
	for line := range strings.SplitSeq(log, "\n") {
		_, after, called := lastCut(line, " ./node_modules/.bin/jest ")
		if called {
			outside, line = false, after
		}
		if outside {
			continue
		}
		trimmed := strings.TrimSpace(line)
		s := symbols{"✓": Passed, "✕": Failed}[firstRune(trimmed)]
		switch {
		case strings.HasPrefix(line, "Test Suites"), strings.HasPrefix(line, "  ● "):
			outside = true
		case s != "":
			if name, ok := calypsoName(line); ok {
				found[strings.TrimSpace(strings.Join(above.names, " - ")+" - "+name)] = s
			}
		case indentOf(line) > 0:
			above.enter(line)
		}
	}
	return found
}

// calypsoName takes the name from "  ✓ name (12ms)". A duration elsewhere than
// at the end is no such line.
func calypsoName(line string) (string, bool) {
	if indentOf(line) == 0 {
		return "", false
	}
	trimmed := strings.TrimLeft(line, " \t")
	name := strings.TrimPrefix(trimmed, firstRune(trimmed))
	if !strings.HasPrefix(name, " ") && !strings.HasPrefix(name, "\t") {
		return "", false
	}
	name = name[1:]
	if !milliseconds.MatchString(line) {
		return name, true
	}
	at := strings.LastIndexByte(name, '(')
	if at < 0 || milliseconds.FindString(name[at:]) != name[at:] {
		return "", false
	}
	return name[:at], true
}

func firstRune(text string) string {
	for i := range text {
		if i > 0 {
			return text[:i]
		}
	}
	return text
}

// lastCut cuts at the last separator.
func lastCut(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}

var mochaTotals = regexp.MustCompile(`\n[ \t]*\d+ passing`)

// highlight reads mocha's spec reporter up to its totals: what follows repeats
// the failures. Every indented line is a heading of its own, without those above.
func highlight(log string) Results {
	if at := mochaTotals.FindStringIndex(log); at != nil {
		log = log[:at[0]]
	}
	found, suite := Results{}, ""
	for line := range strings.SplitSeq(log, "\n") {
		trimmed := strings.TrimSpace(line)
		first := firstRune(trimmed)
		name, s := "", Status("")
		switch {
		case first == "✓" || first == "✔":
			_, name, _ = strings.Cut(line, first)
			s = Passed
		case numbered(trimmed):
			_, name, _ = strings.Cut(line, ")")
			s = Failed
		default:
			if strings.HasPrefix(line, "  ") {
				suite = trimmed + "."
			}
			continue
		}
		found[suite+strings.TrimSpace(milliseconds.ReplaceAllString(name, ""))] = s
	}
	return found
}

// numbered reports a beginning like "12)".
func numbered(text string) bool {
	rest := strings.TrimLeft(text, "0123456789")
	return len(rest) < len(text) && strings.HasPrefix(rest, ")")
}

var (
	lighthouseRun    = regexp.MustCompile(`running\s\d+\stest\sfiles`)
	lighthouseTotals = regexp.MustCompile(`\d+\spassing`)
	lighthouseTime   = regexp.MustCompile(`\s\(\d+m+s\)`)
)

// lighthouseMocha reads mocha's spec reporter after each "running N test files".
func lighthouseMocha(log string) Results {
	found := Results{}
	runs := lighthouseRun.Split(log, -1)
	for _, run := range runs[1:] {
		if at := lighthouseTotals.FindStringIndex(run); at != nil {
			run = run[:at[0]]
		}
		var above suites
		for line := range strings.SplitSeq(strings.TrimSpace(run), "\n") {
			if name, s, ok := lighthouseLine(strings.TrimSpace(line)); ok {
				found[above.test(name, " - ")] = s
			} else if indentOf(line) > 0 {
				above.enter(line)
			}
		}
	}
	return found
}

func lighthouseLine(line string) (string, Status, bool) {
	s, rest := Failed, ""
	if after, ok := strings.CutPrefix(line, "✔"); ok {
		s, rest = Passed, after
	} else if numbered(line) {
		_, rest, _ = strings.Cut(line, ")")
	}
	if rest == "" || indentOf(rest) == 0 {
		return "", "", false
	}
	rest = rest[1:]
	if all := lighthouseTime.FindAllStringIndex(rest, -1); all != nil {
		rest = rest[:all[len(all)-1][0]]
	}
	return rest, s, true
}

// karma reads the mocha reporter of karma from the browser's start to the
// summary, suites by their indentation.
func karma(log string) Results {
	found := Results{}
	var names []string
	indent, started := -1, false
	for line := range strings.SplitSeq(log, "\n") {
		switch {
		case strings.HasPrefix(line, "SUMMARY:"):
			return found
		case strings.Contains(line, "Starting browser"):
			started = true
			continue
		case !started:
			continue
		}
		m := karmaLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if width := len([]rune(m[1])); width > 0 && m[2] == "" {
			if width > indent && len(names) < maxDepth {
				names = append(names, m[3])
			} else if width < indent {
				indent = width
				names = names[:max(len(names)-1, 0)]
				continue
			}
			indent = width
		}
		if s, ok := (symbols{"✔": Passed, "✖": Failed})[m[2]]; ok {
			found[strings.Join(append(names[:len(names):len(names)], m[3]), " > ")] = s
		}
	}
	return found
}

var karmaLine = regexp.MustCompile(`^(\s*)([✔✖])?\s(.*)$`)

var mochaTime = regexp.MustCompile(` \(\d+ms\)$`)

// mocha reads the spec reporter up to its totals: suites by indentation, joined
// with the test by " > ". It is ours: the harness has one for each repository.
func mocha(log string) Results {
	if at := mochaTotals.FindStringIndex(log); at != nil {
		log = log[:at[0]]
	}
	found := Results{}
	var above suites
	for line := range strings.SplitSeq(log, "\n") {
		trimmed := strings.TrimSpace(line)
		name, s := "", Status("")
		switch first := firstRune(trimmed); {
		case first == "✓" || first == "✔":
			name, s = trimmed[len(first):], Passed
		case numbered(trimmed):
			_, name, _ = strings.Cut(trimmed, ")")
			s = Failed
		case strings.HasPrefix(trimmed, "- "):
			name, s = trimmed[1:], Skipped
		case trimmed != "" && indentOf(line) > 0:
			above.enter(line)
			continue
		default:
			continue
		}
		// A test further out than the last heading is not in its suite.
		for n := len(above.indents); n > 0 && above.indents[n-1] >= indentOf(line); n-- {
			above.names, above.indents = above.names[:n-1], above.indents[:n-1]
		}
		found[above.test(mochaTime.ReplaceAllString(strings.TrimSpace(name), ""), " > ")] = s
	}
	return found
}
