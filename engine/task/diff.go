package task

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// heredocDiff is the body of the only heredoc of a script when that is a diff
// which the shell would pass on unchanged, else "".
func heredocDiff(script string) string {
	bodies, end, quoted, plain := []string{}, "", false, false
	var body strings.Builder
	for line := range strings.Lines(script) {
		if end == "" {
			if end, quoted = heredocStart(line); end != "" {
				body.Reset()
				plain = plain || !quoted
			}
			continue
		}
		if strings.TrimRight(line, "\r\n") == end {
			bodies = append(bodies, body.String())
			end = ""
			continue
		}
		body.WriteString(line)
	}
	if len(bodies) != 1 || end != "" || plain && strings.ContainsAny(bodies[0], "$`\\") {
		return ""
	}
	if strings.HasPrefix(bodies[0], "diff --git ") || strings.HasPrefix(bodies[0], "--- ") {
		return bodies[0]
	}
	return ""
}

// heredocStart finds the delimiter of a heredoc that starts on the line.
func heredocStart(line string) (end string, quoted bool) {
	_, after, found := strings.Cut(line, "<<")
	if !found || strings.HasPrefix(after, "<") || strings.HasPrefix(after, "-") || strings.HasPrefix(strings.TrimSpace(line), "#") {
		return "", false
	}
	after = strings.TrimLeft(after, " \t")
	if after == "" {
		return "", false
	}
	if quote := after[0]; quote == '\'' || quote == '"' {
		word, _, closed := strings.Cut(after[1:], string(quote))
		if !closed {
			return "", false
		}
		return word, true
	}
	word, _, _ := strings.Cut(after, " ")
	return strings.TrimRight(word, "\r\n;)|&>"), false
}

// applyComplaint is the line of git's output that says why a patch failed.
func applyComplaint(out string) string {
	first := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		// With --verbose the text searched for comes first.
		if text, found := strings.CutPrefix(line, "error: "); found && text != "while searching for:" {
			return text
		}
		if first == "" && line != "" {
			first = line
		}
	}
	return first
}

// fileDiff is what a unified diff does to one file.
type fileDiff struct {
	oldPath, newPath       string
	create, delete, binary bool
	mode                   bool // the mode changes
	// bare: binary, and told without the content, so that no git can apply it.
	bare  bool
	hunks []hunk
}

// hunk is one changed place. old and new are its text before and after, with
// the context; start is the first line in the old file, counted from 1.
type hunk struct {
	start    int
	old, new string
}

// parseDiff reads a unified diff as git and diff -u write it. Text before the
// first file is skipped. With an error come the files up to it.
func parseDiff(patch []byte) ([]*fileDiff, error) {
	p := diffParser{lines: slices.Collect(strings.Lines(string(patch)))}
	for p.at < len(p.lines) {
		if err := p.line(); err != nil {
			return p.files, fmt.Errorf("diff line %d: %w", p.at+1, err)
		}
	}
	for _, f := range p.files {
		if f.oldPath == "" || f.newPath == "" {
			return nil, fmt.Errorf("diff of %q names no file", f.oldPath+f.newPath)
		}
	}
	return p.files, nil
}

type diffParser struct {
	lines []string
	at    int
	files []*fileDiff
	file  *fileDiff // being read
	git   bool      // file began with diff --git: its ---/+++ belong to it
}

func (p *diffParser) begin(git bool) {
	p.file, p.git = &fileDiff{}, git
	p.files = append(p.files, p.file)
}

// line reads the header line at p.at, or a whole hunk.
func (p *diffParser) line() error {
	line := strings.TrimRight(p.lines[p.at], "\r\n")
	text := func(prefix string) (string, bool) { return strings.CutPrefix(line, prefix) }
	if names, ok := text("diff --git "); ok {
		p.begin(true)
		p.file.oldPath, p.file.newPath = gitNames(names)
		p.at++
		return nil
	}
	if name, ok := text("--- "); ok && p.at+1 < len(p.lines) && strings.HasPrefix(p.lines[p.at+1], "+++ ") {
		return p.names(name, strings.TrimRight(p.lines[p.at+1][len("+++ "):], "\r\n"))
	}
	if p.file != nil {
		if strings.HasPrefix(line, "@@ ") {
			return p.hunk(line)
		}
		p.attribute(line)
	}
	p.at++
	return nil
}

// names reads the --- and +++ lines.
func (p *diffParser) names(before, after string) error {
	if !p.git || p.file == nil || len(p.file.hunks) > 0 {
		p.begin(false)
	}
	p.git = false
	var err error
	if p.file.oldPath, err = diffName(before, "a/"); err != nil {
		return err
	}
	if p.file.newPath, err = diffName(after, "b/"); err != nil {
		return err
	}
	switch {
	case p.file.oldPath == "/dev/null":
		p.file.create, p.file.oldPath = true, p.file.newPath
	case p.file.newPath == "/dev/null":
		p.file.delete, p.file.newPath = true, p.file.oldPath
	}
	p.at += 2
	return nil
}

// attribute reads git's lines between the names and the hunks.
func (p *diffParser) attribute(line string) {
	f := p.file
	word, rest, _ := strings.Cut(line, " ")
	kind, name, _ := strings.Cut(rest, " ")
	switch {
	case word == "new" && strings.HasPrefix(rest, "file mode"):
		f.create = true
	case word == "deleted" && strings.HasPrefix(rest, "file mode"):
		f.delete = true
	case word == "old" && kind == "mode" && p.git:
		f.mode = true
	case (word == "rename" || word == "copy") && kind == "from" && p.git:
		f.oldPath = unquote(name)
	case (word == "rename" || word == "copy") && kind == "to" && p.git:
		f.newPath = unquote(name)
	case line == "GIT binary patch":
		f.binary = true
	case strings.HasPrefix(line, "Binary files "):
		f.binary, f.bare = true, true
	}
}

var errCutHunk = errors.New("the diff ends within hunk")

var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

// hunk reads the header and as many lines as it announces.
func (p *diffParser) hunk(head string) error {
	m := hunkHead.FindStringSubmatch(head)
	if m == nil {
		return fmt.Errorf("%q is not a hunk header", head)
	}
	before, after := lineCount(m[2]), lineCount(m[3])
	start, err := strconv.Atoi(m[1])
	if err != nil || before < 0 || after < 0 {
		return fmt.Errorf("%q has a number out of range", head)
	}
	p.at++
	var oldText, newText strings.Builder
	for before > 0 || after > 0 || p.at < len(p.lines) && strings.HasPrefix(p.lines[p.at], `\`) {
		if p.at >= len(p.lines) {
			return fmt.Errorf("%w %q", errCutHunk, head)
		}
		line := p.lines[p.at]
		body := line[1:]
		if p.at+1 < len(p.lines) && strings.HasPrefix(p.lines[p.at+1], `\`) {
			body = strings.TrimSuffix(body, "\n") // no newline at the end of the file
		}
		switch line[0] {
		case ' ', '\n', '\r':
			if line[0] != ' ' { // an editor cut the blank of an empty line
				body = line
			}
			oldText.WriteString(body)
			newText.WriteString(body)
			before, after = before-1, after-1
		case '-':
			oldText.WriteString(body)
			before--
		case '+':
			newText.WriteString(body)
			after--
		case '\\':
		default:
			return fmt.Errorf("%q within hunk %q starts with neither blank, + nor -", strings.TrimSpace(line), head)
		}
		if before < 0 || after < 0 {
			return fmt.Errorf("hunk %q has more lines than it announces", head)
		}
		p.at++
	}
	p.file.hunks = append(p.file.hunks, hunk{start, oldText.String(), newText.String()})
	return nil
}

// lineCount of a hunk header: absent means 1; -1 is out of range.
func lineCount(s string) int {
	if s == "" {
		return 1
	}
	n, err := strconv.Atoi(s)
	if err != nil || n > 1<<30 {
		return -1
	}
	return n
}

// gitNames splits "a/x b/x". Names that hold " b/" are settled by later lines.
func gitNames(s string) (before, after string) {
	if strings.HasPrefix(s, `"`) {
		if head, err := strconv.QuotedPrefix(s); err == nil {
			return strings.TrimPrefix(unquote(head), "a/"), strings.TrimPrefix(unquote(strings.TrimSpace(s[len(head):])), "b/")
		}
	}
	if half := len(s) / 2; len(s)%2 == 1 && s[half] == ' ' {
		before, after = strings.TrimPrefix(s[:half], "a/"), strings.TrimPrefix(s[half+1:], "b/")
		if before == after {
			return before, after
		}
	}
	before, after, _ = strings.Cut(s, " b/")
	return strings.TrimPrefix(before, "a/"), unquote(after)
}

// diffName is the file of a ---/+++ line: no date behind a tab, no prefix.
func diffName(s, prefix string) (string, error) {
	s, _, _ = strings.Cut(s, "\t")
	s = unquote(strings.TrimRight(s, " "))
	if s != "/dev/null" {
		s = strings.TrimPrefix(s, prefix)
	}
	if s == "" {
		return "", errors.New("a file without a name")
	}
	return s, nil
}

// unquote undoes git's quoting of unusual names: C escapes with octal bytes.
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	if plain, err := strconv.Unquote(s); err == nil {
		return plain
	}
	return s
}
