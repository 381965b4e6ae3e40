package task

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Edit is one step of a reference patch as an editor would make it: replace
// Old by New, or create or delete the whole file. Where the repository is
// known, Old is found exactly once in the file at the time of the edit.
type Edit struct {
	Path     string // below the workdir
	Old, New string
	Create   bool // New is the content
	Delete   bool // Old is the content
}

// Edits splits the reference patch into edits, in the order to make them. A
// patch of binary files, modes or links has none and is an error.
func (r Reference) Edits() ([]Edit, error) {
	if len(r.Patch) == 0 {
		return nil, errors.New("the reference solution is not a patch")
	}
	files, err := parseDiff(r.Patch)
	if err != nil {
		return nil, fmt.Errorf("reference patch: %w", err)
	}
	var now map[string][]byte
	if r.tree != nil {
		tree, err := r.tree()
		if err != nil {
			return nil, fmt.Errorf("reference patch: %w", err)
		}
		now = maps.Clone(tree)
	}
	var edits []Edit
	for _, f := range files {
		some, err := f.edits(now)
		if err != nil {
			return nil, fmt.Errorf("reference patch: %s: %w", f.newPath, err)
		}
		edits = append(edits, some...)
	}
	return edits, nil
}

// edits of one file. now is the repository before them, nil when unknown, and
// is changed by them.
func (f *fileDiff) edits(now map[string][]byte) ([]Edit, error) {
	switch {
	case f.binary:
		return nil, errors.New("a binary file cannot be edited as text")
	case f.mode:
		return nil, errors.New("a change of mode is not an edit")
	case f.create:
		content := f.join(func(h hunk) string { return h.new })
		if now != nil {
			now[f.newPath] = []byte(content)
		}
		return []Edit{{Path: f.newPath, New: content, Create: true}}, nil
	case f.delete:
		content := f.join(func(h hunk) string { return h.old })
		delete(now, f.oldPath)
		return []Edit{{Path: f.oldPath, Old: content, Delete: true}}, nil
	case f.oldPath != f.newPath:
		return f.moved(now)
	case now == nil:
		return f.plainEdits(), nil
	}
	text, ok := now[f.oldPath]
	if !ok {
		return nil, errors.New("the repository has no such file")
	}
	edits, after, err := f.uniqueEdits(string(text))
	now[f.oldPath] = []byte(after)
	return edits, err
}

func (f *fileDiff) join(side func(hunk) string) string {
	var b strings.Builder
	for _, h := range f.hunks {
		b.WriteString(side(h))
	}
	return b.String()
}

// plainEdits are the hunks as they are.
func (f *fileDiff) plainEdits() []Edit {
	var edits []Edit
	for _, h := range f.hunks {
		edits = append(edits, Edit{Path: f.newPath, Old: h.old, New: h.new})
	}
	return edits
}

// moved is a renamed file: created under its new name, deleted under the old.
func (f *fileDiff) moved(now map[string][]byte) ([]Edit, error) {
	text, ok := now[f.oldPath]
	if !ok {
		return nil, errors.New("a renamed file is only editable where the repository is known")
	}
	_, after, err := f.uniqueEdits(string(text))
	if err != nil {
		return nil, err
	}
	delete(now, f.oldPath)
	now[f.newPath] = []byte(after)
	return []Edit{{Path: f.newPath, New: after, Create: true}, {Path: f.oldPath, Old: string(text), Delete: true}}, nil
}

// uniqueEdits makes each hunk an edit whose Old occurs once, by taking in lines
// around it, and returns the text after all of them.
func (f *fileDiff) uniqueEdits(text string) ([]Edit, string, error) {
	var edits []Edit
	shift := 0 // lines by which earlier hunks moved later ones
	for _, h := range f.hunks {
		lines := slices.Collect(strings.Lines(text))
		first := h.start - 1 + shift
		if h.old == "" { // pure insertion without context: behind line start
			first++
		}
		n := strings.Count(h.old, "\n")
		if h.old != "" && !strings.HasSuffix(h.old, "\n") {
			n++
		}
		if first < 0 || first+n > len(lines) || strings.Join(lines[first:first+n], "") != h.old {
			return nil, "", fmt.Errorf("the hunk at line %d does not fit the repository", h.start)
		}
		from, to := first, first+n
		oldText := h.old
		for oldText == "" || strings.Count(text, oldText) != 1 || overlaps(text, oldText) {
			if from == 0 && to == len(lines) {
				return nil, "", errors.New("an empty file cannot be edited, only created")
			}
			from, to = max(from-1, 0), min(to+1, len(lines))
			oldText = strings.Join(lines[from:to], "")
		}
		newText := strings.Join(lines[from:first], "") + h.new + strings.Join(lines[first+n:to], "")
		edits = append(edits, Edit{Path: f.newPath, Old: oldText, New: newText})
		text = strings.Replace(text, oldText, newText, 1)
		shift += strings.Count(h.new, "\n") - strings.Count(h.old, "\n")
	}
	return edits, text, nil
}

// overlaps reports a second, overlapping occurrence, which Count does not see.
func overlaps(text, part string) bool {
	i := strings.Index(text, part)
	return i >= 0 && strings.Contains(text[i+1:], part)
}
