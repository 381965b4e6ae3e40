package search

import (
	"iter"
	"regexp"
	"strconv"
	"strings"
)

// part is a piece of a text that counts as much all over.
type part struct {
	text   string
	weight float64
	code   bool
}

// parts splits a text into its title, prose, code in backticks, code blocks, and what
// programs printed. Comments of issue forms and check boxes are left out.
func parts(text string) iter.Seq[part] {
	return func(yield func(part) bool) {
		text = withoutComments(text)
		title, rest, _ := strings.Cut(strings.TrimLeft(text, " \t\r\n"), "\n")
		if !prose(title, weights.title, yield) {
			return
		}
		fenced, traceback := false, false
		for line := range strings.Lines(rest) {
			trimmed := strings.TrimSpace(line)
			if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
				fenced, traceback = !fenced, false
				continue
			}
			if strings.HasPrefix(trimmed, "Traceback (most recent") {
				traceback = true
				continue
			}
			if isBox(trimmed) {
				continue
			}
			ok := true
			switch {
			case traceback:
				indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
				weight := weights.output
				if !indented && trimmed != "" {
					traceback, weight = false, 1 // the exception and its message
				}
				ok = yield(part{line, weight, true})
			case fenced || looksLikeCode(line):
				ok = yield(part{line, weights.code, true})
			default:
				ok = prose(line, 1, yield)
			}
			if !ok {
				return
			}
		}
	}
}

// prose yields a line of prose, what stands in backticks with its own weight.
func prose(line string, weight float64, yield func(part) bool) bool {
	for i, piece := range strings.Split(line, "`") {
		if piece == "" {
			continue
		}
		w := weight
		if i%2 == 1 {
			w *= weights.inline
		}
		if !yield(part{piece, w, i%2 == 1}) {
			return false
		}
	}
	return true
}

var comment = regexp.MustCompile(`(?s)<!--.*?-->`)

func withoutComments(text string) string {
	if !strings.Contains(text, "<!--") {
		return text
	}
	return comment.ReplaceAllString(text, "")
}

func isBox(line string) bool {
	return strings.HasPrefix(line, "- [ ]") || strings.HasPrefix(line, "- [x]") ||
		strings.HasPrefix(line, "* [ ]") || strings.HasPrefix(line, "* [x]")
}

// looksLikeCode judges a line outside a code block: issue texts often lost their fences.
func looksLikeCode(line string) bool {
	t := strings.TrimSpace(line)
	for _, p := range []string{">>> ", "... ", "def ", "class ", "import ", "from ", "@", "return ", "$ ", "In [", "Out["} {
		if strings.HasPrefix(t, p) {
			return p != "from " || strings.Contains(t, " import ")
		}
	}
	if strings.HasSuffix(t, ":") && (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")) {
		return true
	}
	return strings.HasSuffix(t, ")") && strings.Contains(t, " = ") || strings.HasSuffix(t, "(")
}

var (
	pyFrame  = regexp.MustCompile(`File "([^"\n]+)", line (\d+)(?:, in ([A-Za-z_]\w*))?`)
	colonRef = regexp.MustCompile(`([\w./\\-]+\.[a-zA-Z]{1,4}):(\d+)`)
	pathRef  = regexp.MustCompile(`[\w.-]+(?:[/\\][\w.-]+)*\.[a-zA-Z]{1,4}\b`)
)

// places finds the frames of tracebacks and the paths that a text names.
func (q *question) places(text string) {
	const most = 40
	for _, m := range pyFrame.FindAllStringSubmatch(text, most) {
		q.frames = append(q.frames, frame{slashed(m[1]), atoi(m[2]), m[3]})
	}
	for _, m := range colonRef.FindAllStringSubmatch(text, most) {
		q.frames = append(q.frames, frame{slashed(m[1]), atoi(m[2]), ""})
	}
	for _, m := range pathRef.FindAllString(text, most) {
		q.paths = append(q.paths, slashed(m))
	}
}

func slashed(path string) string { return strings.ReplaceAll(path, `\`, "/") }

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0 // more digits than a line number has
	}
	return n
}
