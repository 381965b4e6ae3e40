package task

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"rollbench/engine/task/tamper"
)

// Sign that a policy went for the verdict instead of the problem.
type Sign = tamper.Sign

// Call is a tool call that ran, as far as it can be a sign.
type Call = tamper.Call

// guarded is a verifier whose verdict comes from files that a policy could name.
type guarded interface {
	// guards are files and folders of the repository, and absolute paths of the
	// verifier's own.
	guards() (tests, own []string, err error)
}

// Signs of tampering in what the policy changed and called.
func (in *Instance) Signs(patch []byte, calls []Call) ([]Sign, error) {
	t := tamper.Task{Repo: in.Repo}
	if g, ok := in.kind.(guarded); ok {
		var err error
		if t.Tests, t.Verifier, err = g.guards(); err != nil {
			return nil, fmt.Errorf("find the tests of %s: %w", in.ID, err)
		}
	}
	diffs, err := parseDiff(patch)
	if err != nil {
		return nil, fmt.Errorf("read the patch of %s: %w", in.ID, err)
	}
	files := make([]tamper.File, len(diffs))
	for i, d := range diffs {
		f := tamper.File{Path: d.newPath, OldPath: d.oldPath, Create: d.create, Delete: d.delete, Binary: d.binary, Renamed: d.oldPath != d.newPath}
		var before, after strings.Builder
		for _, h := range d.hunks {
			before.WriteString(h.old)
			after.WriteString(h.new)
		}
		f.Old, f.New = before.String(), after.String()
		files[i] = f
	}
	return tamper.Signs(t, files, calls), nil
}

// rowTests are the files that the row's test patch touches, and those that its tests
// are named by.
func rowTests(d *row) ([]string, error) {
	named := testFiles(d.FailToPass, d.PassToPass)
	files, err := parseDiff([]byte(d.TestPatch))
	if err != nil {
		return named, fmt.Errorf("field \"test_patch\": %w", err)
	}
	for _, f := range files {
		named = append(named, f.oldPath, f.newPath)
	}
	slices.Sort(named)
	return slices.Compact(named), nil
}

func (s *swebench) guards() (tests, own []string, err error) { return s.tests, nil, nil }

func (r *r2e) guards() (tests, own []string, err error) {
	return []string{"r2e_tests", "run_tests.sh"}, []string{"/root/r2e_tests", "/root/run_tests.sh"}, nil
}

func (h *harbor) guards() (tests, own []string, err error) {
	tests, err = filesBelow(h.folder, "tests")
	return tests, []string{"/tests", "/logs/verifier"}, err
}

func (t *terminal) guards() (tests, own []string, err error) {
	tests, err = filesBelow(t.folder, "tests")
	return tests, []string{"/tests"}, err
}

// filesBelow a folder of a task, which may be absent.
func filesBelow(folder fs.FS, dir string) (files []string, err error) {
	err = fs.WalkDir(folder, dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, name)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return files, err
}

var testWord = regexp.MustCompile(`(?i)(^|[/_.-])(tests?|specs?|checks?|verify)([/_.-]|$)`)

// guards of a command are its words that look like tests.
func (p *plain) guards() (tests, own []string, err error) {
	for _, word := range strings.Fields(p.command) {
		word, _, _ = strings.Cut(strings.Trim(word, "'\";()"), "::")
		if word = path.Clean(word); testWord.MatchString(word) && !strings.HasPrefix(word, "-") && !path.IsAbs(word) {
			tests = append(tests, word)
		}
	}
	return tests, nil, nil
}
