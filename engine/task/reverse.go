package task

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var hunkSpans = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// reverseDiff turns a unified diff around: what undoes it.
func reverseDiff(text string) (string, error) {
	if strings.Contains(text, "\ncopy from ") {
		return "", errors.New("copies a file, which cannot be undone by a diff")
	}
	if strings.Contains(text, "GIT binary patch") || strings.Contains(text, "\nBinary files ") {
		return "", errors.New("changes a binary file, which cannot be undone by a diff of texts")
	}
	var b strings.Builder
	minus, plus := 0, 0 // lines that the hunk at hand still has
	from, to := "", ""  // headers of a file, which change places
	for line := range strings.Lines(text) {
		if minus > 0 || plus > 0 {
			sign := byte(' ')
			if line != "\n" { // a context line that lost its blank
				sign = line[0]
			}
			switch sign {
			case '-':
				minus--
				b.WriteString("+" + line[1:])
			case '+':
				plus--
				b.WriteString("-" + line[1:])
			case ' ':
				minus, plus = minus-1, plus-1
				b.WriteString(line)
			default:
				b.WriteString(line) // \ No newline at end of file
			}
			continue
		}
		if m := hunkSpans.FindStringSubmatch(line); m != nil {
			minus, plus = length(m[2]), length(m[4])
			b.WriteString(strings.Replace(line, m[0], fmt.Sprintf("@@ -%s +%s @@", span(m[3], m[4]), span(m[1], m[2])), 1))
			continue
		}
		switch key, rest, _ := strings.Cut(line, " "); {
		case key == "---":
			from = rest
		case key == "+++":
			to = rest
			b.WriteString("--- " + newSide(to) + "+++ " + oldSide(from))
		default:
			b.WriteString(turned(line))
		}
	}
	if minus > 0 || plus > 0 {
		return "", errors.New("is cut within a hunk")
	}
	return b.String(), nil
}

func length(count string) int {
	n, err := strconv.Atoi(count)
	if err != nil { // "" is one line
		return 1
	}
	return n
}

func span(start, count string) string {
	if count == "" {
		return start
	}
	return start + "," + count
}

// newSide and oldSide give a path the prefix of the side it changes to.
func newSide(path string) string { return reprefix(path, "b/", "a/") }
func oldSide(path string) string { return reprefix(path, "a/", "b/") }

func reprefix(path, old, other string) string {
	if rest, ok := strings.CutPrefix(path, old); ok {
		return other + rest
	}
	return path
}

var gitHead = regexp.MustCompile(`^diff --git a/(.+) b/(.+)\n$`)

var indexLine = regexp.MustCompile(`^index ([0-9a-f]+)\.\.([0-9a-f]+)`)

// opposites of the headers that git writes before the hunks.
var opposites = []struct{ one, other string }{
	{"new file mode ", "deleted file mode "}, {"old mode ", "new mode "}, {"rename from ", "rename to "}, {"copy from ", "copy to "},
}

func turned(line string) string {
	for _, o := range opposites {
		if rest, ok := strings.CutPrefix(line, o.one); ok {
			return o.other + rest
		}
		if rest, ok := strings.CutPrefix(line, o.other); ok {
			return o.one + rest
		}
	}
	if m := gitHead.FindStringSubmatch(line); m != nil {
		return "diff --git a/" + m[2] + " b/" + m[1] + "\n"
	}
	return indexLine.ReplaceAllString(line, "index $2..$1")
}
