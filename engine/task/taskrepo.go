package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rollbench/engine/task/rows"
	"rollbench/sandbox"
)

// taskFiles are columns that a task repository of SWE-bench keeps as files.
var taskFiles = []struct{ column, file string }{
	{"patch", "gold.patch"}, {"test_patch", "test.patch"}, {"eval_script", "eval.sh"}, {"problem_statement", "problem_statement.md"},
}

// taskRepo loads a task repository: sweb.yaml and tasks/<id>/. Tasks of splits
// that sweb.yaml does not publish are left out unless they are asked for.
func taskRepo(root string, to *collection) error {
	folder := os.DirFS(root)
	text, err := readText(folder, "sweb.yaml")
	if err != nil {
		return err
	}
	config, err := parseYAML("sweb.yaml", text)
	if err != nil {
		return err
	}
	published, given, err := config.Names("splits")
	if err != nil {
		return fmt.Errorf("sweb.yaml: %w", err)
	}
	if !given {
		published = []string{"test"}
	}
	wanted := published
	if to.options.Split != "" {
		wanted = []string{to.options.Split}
	}
	files, err := fs.Glob(folder, "tasks/*/task.yaml")
	if err != nil {
		return err
	}
	splits, before := map[string]bool{}, len(to.seen)
	for _, file := range files {
		dir := strings.TrimSuffix(file, "/task.yaml")
		in, split, err := repoTask(folder, root, dir, to.options)
		if err == nil && !slices.Contains(wanted, split) {
			splits[split] = true
			continue
		}
		if err := to.add(dir, in, err); err != nil {
			return err
		}
	}
	if len(to.seen) == before && to.bad == 0 {
		return fmt.Errorf("no task below tasks/ is of split %s; choose another with --split", strings.Join(wanted, " or "))
	}
	return nil
}

// repoTask reads one task's files as the row that the dataset has of it.
func repoTask(root fs.FS, origin, dir string, o Options) (in Instance, split string, err error) {
	folder, err := fs.Sub(root, dir)
	if err != nil {
		return in, "", err
	}
	text, err := readText(folder, "task.yaml")
	if err != nil {
		return in, "", err
	}
	y, err := parseYAML("task.yaml", text)
	if err != nil {
		return in, "", err
	}
	if split, err = y.Text("split"); err != nil {
		return in, "", fmt.Errorf("task.yaml: %w", err)
	}
	for _, one := range taskFiles {
		text, err := readText(folder, one.file)
		if err != nil {
			return in, split, err
		}
		y.Set(one.column, text)
	}
	tests, err := fs.ReadFile(folder, "tests.json")
	if err != nil {
		return in, split, errors.New("tests.json is missing; it holds FAIL_TO_PASS and PASS_TO_PASS")
	}
	var lists map[string]any
	if err := json.Unmarshal(tests, &lists); err != nil {
		return in, split, fmt.Errorf("tests.json: %w", err)
	}
	for name, value := range lists {
		y.Set(name, value)
	}
	in, err = swebenchRow(y, &o)
	if err != nil {
		return in, split, err
	}
	in.Format, in.Origin = "swebench-repo", filepath.Join(origin, filepath.FromSlash(dir))
	return in, split, in.repoExtras(y, folder, o)
}

// repoExtras are what a row cannot carry: files for the tests, and how to build
// the image when none is named.
func (in *Instance) repoExtras(y rows.Row, folder fs.FS, o Options) (err error) {
	if kind, ok := in.kind.(*swebench); ok && exists(folder, "test_assets") {
		if kind.assets, err = fs.Sub(folder, "test_assets"); err != nil {
			return err
		}
	}
	if y.Given("image") || !exists(folder, "Dockerfile") {
		return nil
	}
	built := &subset{folder, func(name string) bool {
		return !slices.Contains([]string{"gold.patch", "test.patch", "tests.json", "eval.sh"}, name)
	}}
	if in.Image, err = environmentTag(in.ID, built, o.BuildArgs); err != nil {
		return err
	}
	in.BuildLimit = defaultBuildLimit
	in.Build = &sandbox.Build{
		Context: func() (io.ReadCloser, error) { return tarFolder(built), nil },
		Args:    o.BuildArgs, Timeout: in.BuildLimit,
	}
	return nil
}
