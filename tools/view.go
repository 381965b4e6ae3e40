package tools

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"rollbench/sandbox"
)

// contextLines are shown before and after an edit.
const contextLines = 4

// view shows a file or a directory.
func (t *editor) view(ctx context.Context, file string, args map[string]any) (Result, error) {
	span, ranged := args["view_range"].([]any)
	info, err := t.env.Sandbox.Stat(ctx, file)
	if err != nil {
		return Result{}, t.missing(ctx, file, err)
	}
	if info.IsDir() {
		if ranged {
			return Result{}, invalidf("ERROR: view_range is for files, and %s is a directory.", file)
		}
		return t.list(ctx, file)
	}
	_, doc, err := t.load(ctx, file)
	if err != nil {
		return Result{}, err
	}
	lines := splitLines(doc.text)
	from, to := 1, len(lines)
	if ranged {
		if from, to, err = clampRange(file, span, len(lines)); err != nil {
			return Result{}, err
		}
	}
	if len(lines) == 0 {
		return Result{Status: OK, Text: file + " is empty."}, nil
	}
	return t.numbered(fmt.Sprintf("%s, lines %d to %d of %d:\n", file, from, to, len(lines)), lines, from-1, to), nil
}

func clampRange(file string, span []any, n int) (int, int, error) {
	from, _ := span[0].(int)
	to, _ := span[1].(int)
	if to == -1 || to > n {
		to = n
	}
	if from < 1 || from > max(n, 1) || to < from && n > 0 {
		return 0, 0, invalidf("ERROR: view_range [%v, %v] does not fit %s, which has %s: the first number must be from 1 to %d, the second not before it, or -1 for the end.",
			span[0], span[1], file, countLines(n), max(n, 1))
	}
	return from, to, nil
}

// numbered shows lines[from:to] below a title, as many as fit.
func (t *editor) numbered(title string, lines []string, from, to int) Result {
	whole := title + numberLines(lines, from, to)
	if len([]rune(whole)) <= t.env.Limits.File {
		return Result{Status: OK, Text: strings.TrimSuffix(whole, "\n")}
	}
	const room = 160 // for the note at the end
	budget := t.env.Limits.File - len([]rune(title)) - room
	end := from
	for used := 0; end < to; end++ {
		if used += len([]rune(numberLines(lines, end, end+1))); used > budget {
			break
		}
	}
	result := Result{Status: OK, Full: bounded([]byte(whole))}
	if end == from { // one line is too long to be shown whole
		shown, _ := cutMiddle(strings.TrimSuffix(numberLines(lines, from, from+1), "\n"), budget, clipNote)
		end, result.Text = from+1, title+shown+"\n"
	} else {
		result.Text = title + numberLines(lines, from, end)
	}
	result.Dropped = int64(len([]rune(whole)) - len([]rune(result.Text)))
	if end < to {
		result.Text += fmt.Sprintf("[Cut after line %d of %d: use view_range [%d, %d] to go on.]", end, len(lines), end+1, to)
	} else {
		result.Text += "[The line is too long to be shown whole: use cut -c or a search to see parts of it.]"
	}
	return result
}

// numberLines formats lines[from:to] with numbers from from+1, 6 wide.
func numberLines(lines []string, from, to int) string {
	var out strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&out, "%6d\t%s\n", i+1, showControl(strings.TrimSuffix(lines[i], "\r")))
	}
	return out.String()
}

// around shows an edit that begins at line (from 1) and is length lines long.
func (t *editor) around(what, file string, doc document, line, length int) Result {
	lines := splitLines(doc.text)
	if len(lines) == 0 {
		return Result{Status: OK, Text: fmt.Sprintf("%s %s. The file is empty now.", what, file)}
	}
	from := min(max(0, line-1-contextLines), len(lines)-1)
	to := min(len(lines), line-1+max(length, 1)+contextLines)
	to = max(to, from+1)
	return t.numbered(fmt.Sprintf("%s %s. Lines %d to %d of %d are now:\n", what, file, from+1, to, len(lines)), lines, from, to)
}

// firstDifference is the line (from 1) at which two contents part.
func firstDifference(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return 1 + bytes.Count(a[:n], []byte("\n"))
}

// maxEdited is how large a file the editor takes: 10 MiB.
const maxEdited = 10 << 20

// load reads a text file.
func (t *editor) load(ctx context.Context, file string) ([]byte, document, error) {
	data, err := t.read(ctx, file)
	if err != nil {
		return nil, document{}, err
	}
	doc, err := parseDocument(data)
	if err != nil {
		return nil, doc, fmt.Errorf("%s %w", file, err)
	}
	return data, doc, nil
}

// read a regular file. Its size is known before it is read.
func (t *editor) read(ctx context.Context, file string) ([]byte, error) {
	info, err := t.env.Sandbox.Stat(ctx, file)
	switch {
	case err != nil:
		return nil, t.missing(ctx, file, err)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory; give the path of a file", file)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file (%s); look at it with a command", file, info.Mode())
	case info.Size() > maxEdited:
		return nil, fmt.Errorf("%s has %d bytes, and the editor takes files of up to %d MiB; see parts of it with sed -n '100,200p', head, tail or grep, and change it with sed or a script",
			file, info.Size(), maxEdited>>20)
	}
	data, err := t.env.Sandbox.ReadFile(ctx, file)
	if err != nil {
		return nil, t.missing(ctx, file, err)
	}
	return data, nil
}

// missing explains a file that is not there by the names that are near it.
func (t *editor) missing(ctx context.Context, file string, err error) error {
	if !errors.Is(err, sandbox.ErrNotExist) {
		return err
	}
	dir, gone := path.Dir(file), file
	for {
		entries, err := t.env.Sandbox.ReadDir(ctx, dir)
		if err == nil && slices.ContainsFunc(entries, func(e fs.FileInfo) bool { return e.Name() == path.Base(gone) && e.Mode()&fs.ModeSymlink != 0 }) {
			return fmt.Errorf("%s is a symbolic link to something that does not exist", gone)
		}
		if err == nil {
			return fmt.Errorf("%s does not exist%s", gone, suggestion(dir, path.Base(gone), entries))
		}
		if terminal(ctx, err) {
			return err
		}
		if dir == "/" {
			return fmt.Errorf("%s does not exist", file)
		}
		dir, gone = path.Dir(dir), dir
	}
}

func suggestion(dir, name string, entries []fs.FileInfo) string {
	type near struct {
		name  string
		score float64
	}
	var list []near
	grams := bigrams(strings.ToLower(name))
	for _, e := range entries {
		if s := dice(grams, bigrams(strings.ToLower(e.Name()))); s >= 0.4 {
			list = append(list, near{path.Join(dir, e.Name()), s})
		}
	}
	if len(list) == 0 {
		return "; view " + dir + " to see what is there"
	}
	slices.SortStableFunc(list, func(a, b near) int { return cmp.Compare(b.score, a.score) })
	var names []string
	for _, n := range list[:min(len(list), 5)] {
		names = append(names, n.name)
	}
	return "; did you mean " + strings.Join(names, " or ") + "?"
}

// maxListed bounds the directories whose content one view reads.
const maxListed = 200

// list shows a directory two levels deep, hidden names left out.
func (t *editor) list(ctx context.Context, dir string) (Result, error) {
	top, err := t.env.Sandbox.ReadDir(ctx, dir)
	if err != nil {
		return Result{}, err
	}
	lines, read := []string{dir + "/"}, 0
	for _, e := range visible(top) {
		name := path.Join(dir, e.Name())
		if !e.IsDir() {
			lines = append(lines, name)
			continue
		}
		lines = append(lines, name+"/")
		if read++; read > maxListed {
			continue
		}
		below, err := t.env.Sandbox.ReadDir(ctx, name)
		if terminal(ctx, err) {
			return Result{}, err
		}
		if err != nil { // unreadable, or removed meanwhile: its name is enough
			lines = append(lines, name+"/ (cannot be read)")
		}
		for _, b := range visible(below) {
			lines = append(lines, path.Join(name, b.Name())+slash(b))
		}
	}
	text := fmt.Sprintf("%s, two levels deep, without hidden files:\n%s", dir, showControl(strings.Join(lines, "\n")))
	short, cut := cutMiddle(text, t.env.Limits.File, "\n[... %d characters are cut here: view a directory below to see less at once ...]\n")
	result := Result{Status: OK, Text: short, Dropped: int64(cut)}
	if cut > 0 {
		result.Full = bounded([]byte(text))
	}
	return result, nil
}

func visible(entries []fs.FileInfo) []fs.FileInfo {
	kept := slices.DeleteFunc(slices.Clone(entries), func(e fs.FileInfo) bool { return strings.HasPrefix(e.Name(), ".") })
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
	return kept
}

func slash(e fs.FileInfo) string {
	if e.IsDir() {
		return "/"
	}
	return ""
}
