package ui

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rollbench/search"
)

// A question is written in one line: a term of the search tool, then where to look
// and for what kind. A term is also "pattern:CODE", or "FILE:LINE,LINE".
var (
	questionFilter = regexp.MustCompile(`(?:^|\s)(in|kind):("[^"]*"|\S+)`)
	questionLines  = regexp.MustCompile(`^(\S+):(\d+(?:,\d+)*)$`)
)

const patternWord = "pattern:"

// readQuestion makes a query of what was typed.
func readQuestion(text string) search.Query {
	q := search.Query{}
	for _, m := range questionFilter.FindAllStringSubmatch(text, -1) {
		value := strings.Trim(m[2], `"`)
		if m[1] == "in" {
			q.Path = value
		} else {
			q.Kind = value
		}
	}
	text = strings.TrimSpace(questionFilter.ReplaceAllString(text, ""))
	if code, ok := strings.CutPrefix(text, patternWord); ok {
		q.Pattern = strings.TrimSpace(code)
		return q
	}
	if m := questionLines.FindStringSubmatch(text); m != nil && q.Path == "" {
		for n := range strings.SplitSeq(m[2], ",") {
			if line, err := strconv.Atoi(n); err == nil { // else it is longer than a number of a line
				q.Lines = append(q.Lines, line)
			}
		}
		q.Path = m[1]
		return q
	}
	if text != "" {
		q.Terms = []string{text}
	}
	return q
}

// writeQuestion is the line that readQuestion makes the query of.
func writeQuestion(q search.Query) string {
	parts := slices.Clone(q.Terms)
	if q.Pattern != "" {
		parts = append(parts, patternWord+q.Pattern)
	}
	switch {
	case len(q.Lines) > 0:
		lines := make([]string, len(q.Lines))
		for i, n := range q.Lines {
			lines[i] = strconv.Itoa(n)
		}
		parts = append(parts, q.Path+":"+strings.Join(lines, ","))
	case strings.ContainsAny(q.Path, " \t"):
		parts = append(parts, `in:"`+q.Path+`"`)
	case q.Path != "":
		parts = append(parts, "in:"+q.Path)
	}
	if q.Kind != "" {
		parts = append(parts, "kind:"+q.Kind)
	}
	return strings.Join(parts, " ")
}

// hitQuestion shows a hit: its code, or what stands around its line.
func hitQuestion(h search.Hit) string {
	if h.Kind == "text" {
		return writeQuestion(search.Query{Path: h.Path, Lines: []int{h.Start}})
	}
	return h.ID()
}

// isHitLine reports whether a line of an answer is the one that names the hit.
func isHitLine(line string, h search.Hit) bool {
	switch h.Kind {
	case "directory":
		return line == h.Path+"/"
	case "text":
		rest, ok := strings.CutPrefix(line, h.Path+":"+strconv.Itoa(h.Start))
		return ok && rest != "" && (rest[0] < '0' || rest[0] > '9')
	case "file":
		return strings.HasPrefix(line, h.Path+" ")
	}
	return strings.HasPrefix(line, h.ID()+" (")
}
