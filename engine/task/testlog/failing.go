package testlog

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Formats from which failures alone are read; their rows are graded by
// "fail_only".

func itoa(n int) string { return strconv.Itoa(n) }

// blanks squeezes white space.
func blanks(text string) string { return strings.Join(strings.Fields(text), " ") }

var eslintFailure = regexp.MustCompile(`\s{2}\d+\)((?s:.*?))\s+.*Error`)

// eslint reads mocha's list of failures: a number, the titles over several
// lines, then the error.
func eslint(log string) Results {
	found := Results{}
	for _, m := range eslintFailure.FindAllStringSubmatch(log, -1) {
		found[blanks(m[1])] = Failed
	}
	return found
}

var bpmnBrowsers = []*regexp.Regexp{
	regexp.MustCompile(`2KPhantomJS\s[\d.]+\s\(Linux\s(?:[\d.]+|x86_64)\)\s(.*)FAILED$`),
	regexp.MustCompile(`Chrome\sHeadless\s.*\s\(Linux\sx86_64\)\s(.*)FAILED$`),
	regexp.MustCompile(`HeadlessChrome\s[\d.]+\s\(Linux\s[\d.]+\)\s(.*)FAILED$`),
}

// bpmn reads karma's "Browser (Linux) test FAILED".
func bpmn(log string) Results { return browserFailures(log, bpmnBrowsers, false) }

func browserFailures(log string, patterns []*regexp.Regexp, squeeze bool) Results {
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		if !strings.HasSuffix(line, "FAILED") {
			continue
		}
		for _, p := range patterns {
			m := p.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if squeeze {
				m[1] = blanks(m[1])
			}
			found[m[1]] = Failed
		}
	}
	return found
}

var chartBrowser = []*regexp.Regexp{regexp.MustCompile(`Chrome\s[\d.]+[^\S\r\n]\(.+?\)[^\S\r\n](.*)FAILED$`)}

func chart(log string) Results { return browserFailures(uncoloured(log), chartBrowser, false) }

var (
	olBrowsers = []*regexp.Regexp{
		regexp.MustCompile(`Chrome\sHeadless\s[\d.]+\s\(Linux\s\S+\)\s(.*)\sFAILED$`),
		regexp.MustCompile(`Chrome\s[\d.]+\s\(Linux\s\S+\)\s(.*)FAILED$`),
	}
	olFailure  = regexp.MustCompile(`(?m)^\s{2}\d+\)((?s:.*?))Error:`)
	olMismatch = regexp.MustCompile(`(?m)^case\s(.*):\smismatch`)
)

// openlayers knows karma's lines, mocha's list of failures and the rendering
// tests' mismatches.
func openlayers(log string) Results {
	found := browserFailures(log, olBrowsers, true)
	for _, p := range []*regexp.Regexp{olFailure, olMismatch} {
		for _, m := range p.FindAllStringSubmatch(log, -1) {
			found[blanks(m[1])] = Failed
		}
	}
	return found
}

// marked reads jasmine's list of failures.
func marked(log string) Results {
	found := Results{}
	for line := range strings.SplitSeq(log, "\n") {
		if !numbered(line) {
			continue
		}
		_, name, _ := strings.Cut(line, ")")
		if indentOf(name) > 0 {
			found[strings.TrimSpace(name)] = Failed
		}
	}
	return found
}

// p5 reads mocha's list of failures: "1) suite", then each title on a line of
// its own and further in, up to a colon. JSON and XML that tests print would
// look like it and is left out.
func p5(log string) Results {
	log = withoutTags(withoutJSON(uncoloured(log)))
	found := Results{}
	for len(log) > 0 {
		line, rest, _ := strings.Cut(log, "\n")
		trimmed := strings.TrimLeft(line, " \t\v\f")
		if !numbered(trimmed) {
			log = rest
			continue
		}
		_, after, _ := strings.Cut(log, ")")
		colon := strings.IndexByte(after, ':')
		if colon < 0 {
			break
		}
		if utf8.RuneCountInString(after[:min(colon, 4001)]) > 1000 {
			log = rest
			continue
		}
		if names, ok := deeper(after[:colon]); ok {
			found[strings.Join(names, ":")] = Failed
		}
		// The next failure begins on a later line.
		_, log, _ = strings.Cut(after[colon+1:], "\n")
	}
	return found
}

// deeper splits titles that are indented more on every line.
func deeper(text string) ([]string, bool) {
	var names []string
	last := 0
	for line := range strings.SplitSeq(text, "\n") {
		indent := indentOf(line)
		if indent <= last {
			return nil, false
		}
		last = indent
		names = append(names, strings.TrimSpace(line))
	}
	return names, true
}

// withoutJSON drops blocks that a line ending in { or [ opens, and lines that
// are an object or a list.
func withoutJSON(log string) string {
	var kept strings.Builder
	inObject, inList := false, false
	for line := range strings.SplitSeq(log, "\n") {
		end := strings.TrimRight(line, " \t\v\f")
		switch {
		case strings.HasSuffix(end, "{"):
			inObject = true
		case strings.HasSuffix(end, "["):
			inList = true
		case end == "}" && inObject:
			inObject = false
		case end == "]" && inList:
			inList = false
		case inObject || inList:
		case strings.HasPrefix(end, "{") && strings.HasSuffix(end, "}"), strings.HasPrefix(end, "[") && strings.HasSuffix(end, "]"):
		default:
			kept.WriteString(line)
			kept.WriteByte('\n')
		}
	}
	return kept.String()
}

var tag = regexp.MustCompile(`</?[\p{L}\p{N}_]+>`)

// withoutTags drops what is between a tag and the one that closes it. Tags that
// nothing closes stay.
func withoutTags(log string) string {
	if !strings.Contains(log, "</") {
		return log
	}
	closers := map[string]int{} // of each name, those still ahead
	for rest := log; ; {
		at := tag.FindStringIndex(rest)
		if at == nil {
			break
		}
		if name, ok := strings.CutPrefix(rest[at[0]:at[1]], "</"); ok {
			closers[name]++
		}
		rest = rest[at[1]:]
	}
	var kept strings.Builder
	open, depth := "", 0 // what is being dropped
	for {
		at := tag.FindStringIndex(log)
		if at == nil {
			break
		}
		if open == "" {
			kept.WriteString(log[:at[0]])
		}
		text := log[at[0]:at[1]]
		log = log[at[1]:]
		name, closing := strings.CutPrefix(text, "</")
		if closing {
			closers[name]--
		} else {
			name = text[1:]
		}
		switch {
		case open == "" && !closing && closers[name] > 0:
			open, depth = name, 1
		case open == "":
			kept.WriteString(text)
		case name == open && !closing:
			depth++
		case name == open:
			if depth--; depth > 0 && closers[name] == 0 {
				kept.WriteString(strings.Repeat("<"+name, depth))
				depth = 0
			}
			if depth == 0 {
				open = ""
			}
		}
	}
	kept.WriteString(log)
	return kept.String()
}
