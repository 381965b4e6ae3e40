package testlog

import (
	"regexp"
	"strings"
)

// Formats of SWE-smith's and SWE-Gym's own harnesses.

// smithPytest reads `pytest --verbose`: the test, then its status.
func smithPytest(log string) Results {
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		if indentOf(line) > 0 {
			continue
		}
		name, rest := cutWord(line)
		if s, ok := statusPrefix(strings.TrimSpace(rest)); ok {
			found[name] = s
		}
	}
	return found
}

// smithParamiko reads the short summary: the status, then the test.
func smithParamiko(log string) Results {
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		s, ok := statusPrefix(line)
		rest := strings.TrimPrefix(line, string(s))
		if name, _ := cutWord(rest); ok && name != "" && len(rest) > 1 && indentOf(rest) == 1 {
			found[name] = s
		}
	}
	return found
}

// smithAutograd reads pytest-xdist's verbose lines: "[gw0] PASSED test".
func smithAutograd(log string) Results {
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		if len(line) > 6 && strings.HasPrefix(line, "[gw") && line[3] >= '0' && line[3] <= '9' && line[4:6] == "] " {
			for name, s := range smithParamiko(line[6:]) {
				found[name] = s
			}
		}
	}
	return found
}

// smithMypy: the last word of a line that holds a status is the test.
func smithMypy(log string) Results {
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		for _, s := range []Status{Passed, Failed} {
			if strings.Contains(line, string(s)) {
				line = strings.TrimSpace(line)
				found[line[strings.LastIndexAny(line, " \t\v\f")+1:]] = s
				break
			}
		}
	}
	return found
}

var slugifyLine = regexp.MustCompile(`^([a-zA-Z0-9_\-,.\s()']+)\s\.{3}\s(ok|FAIL|ERROR)$`)

func smithSlugify(log string) Results {
	statuses := map[string]Status{"ok": Passed, "FAIL": Failed, "ERROR": Errored}
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		if !strings.Contains(line, "...") {
			continue
		}
		if m := slugifyLine.FindStringSubmatch(line); m != nil {
			found[m[1]] = statuses[m[2]]
		}
	}
	return found
}

// smithTornado reads unittest's verbose output; headings give the second and
// third word.
func smithTornado(log string) Results {
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		name, _, _ := strings.Cut(line, " ... ")
		switch {
		case strings.HasSuffix(line, "... ok"):
			found[name] = Passed
		case strings.Contains(line, " ... skipped "):
			found[name] = Skipped
		case strings.HasPrefix(line, "ERROR:"), strings.HasPrefix(line, "FAIL:"):
			words := strings.Fields(line)
			found[strings.Join(words[1:min(3, len(words))], " ")] = Failed
		}
	}
	return found
}

var failedShare = regexp.MustCompile(`FAILED\s*\[.*?\]`)

// gymPydantic reads pydantic's summary: as pytest's, with colours dropped and
// without the progress after FAILED; or the verbose form.
func gymPydantic(log string) Results {
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		line = plain(line)
		if strings.Contains(line, string(Failed)) {
			line = failedShare.ReplaceAllString(line, string(Failed))
		}
		if _, ok := statusPrefix(line); ok {
			if name, s, ok := summaryLine(line); ok {
				found[name] = s
			}
			continue
		}
		name, rest := cutWord(line)
		if word, after := cutWord(rest); isStatus(word) && strings.TrimSpace(after) == "" {
			found[name] = Status(word)
		}
	}
	return found
}
