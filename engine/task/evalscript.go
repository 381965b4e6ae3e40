package task

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"rollbench/engine/task/testlog"
)

// Markers of the harness: results are read between start and end.
const (
	startMarker = testlog.StartMarker
	endMarker   = testlog.EndMarker
	exitMarker  = testlog.ExitMarker
)

// evalScript makes the evaluation of a row that brings none: what the harness sets
// and installs for the repository, the files of test_patch go back to the base
// commit, the patch is applied, what it needs is built, the tests run between the
// markers, and the files go back again. The harness's git status, show and diff are
// left out: they would print what the policy wrote.
func evalScript(r *row, runner, command, base, workdir string) (string, error) {
	files, err := parseDiff([]byte(r.TestPatch))
	if err != nil {
		return "", fmt.Errorf("field \"test_patch\": %w", err)
	}
	var changed, created, run []string
	apply := "git apply -v --whitespace=nowarn"
	for _, f := range files {
		if f.bare {
			apply += " --exclude=" + quote(globLess.Replace(f.newPath))
		}
		switch {
		case f.create:
			created = append(created, f.newPath)
		default:
			changed = append(changed, f.oldPath)
			if f.oldPath != f.newPath && !f.delete {
				created = append(created, f.newPath)
			}
		}
		if !f.delete && isTest(f.newPath) {
			run = append(run, f.newPath)
		}
	}
	if r.Run != nil {
		run = r.Run
	}
	reset := resetFiles(base, changed, created)
	if words := directives(runner, run); len(words) > 0 {
		command += " " + strings.Join(quoteAll(words), " ")
	}
	var b strings.Builder
	b.WriteString("#!/bin/bash\nset -uxo pipefail\n")
	b.WriteString(activate)
	fmt.Fprintf(&b, "cd %s\n", quote(workdir))
	if r.Spec != nil {
		b.WriteString(r.Spec.script())
	}
	b.WriteString(reset)
	writeLines(&b, r.Fetch)
	if strings.TrimSpace(r.TestPatch) != "" {
		end := heredocEnd(r.TestPatch)
		fmt.Fprintf(&b, "%s - <<'%s' || exit 1\n%s", apply, end, r.TestPatch)
		if !strings.HasSuffix(r.TestPatch, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(end + "\n")
	}
	writeLines(&b, r.Build)
	b.WriteString(marked(command))
	if reset != "" {
		fmt.Fprintf(&b, "cd %s\n%s", quote(workdir), reset) // wherever a command went
	}
	return b.String(), nil
}

func writeLines(b *strings.Builder, lines []string) {
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
}

// globLess keeps the characters of a path that mean others in a pattern.
var globLess = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// activate the environment of the published Python images, where there is one.
const activate = "if [ -f " + condaHome + "/bin/activate ]; then\n  set +ux; source " + condaHome + "/bin/activate; conda activate testbed; set -ux\nfi\n"

// marked is a test command between the markers, with its exit code behind them.
func marked(command string) string {
	return fmt.Sprintf(": '%s'\n%s\nSWEBENCH_TEST_EXIT_CODE=$?\n: '%s'\necho \"%s $SWEBENCH_TEST_EXIT_CODE\"\n", startMarker, command, endMarker, exitMarker)
}

// resetFiles undoes what anybody did to the test files. A bare checkout would
// undo everything, so an empty list has no command.
func resetFiles(base string, changed, created []string) string {
	out := ""
	if dirs := foldersOf(created); len(dirs) > 0 { // git apply makes no folder where something else is
		out += "for d in " + strings.Join(quoteAll(dirs), " ") + "; do " + clearWay + "; done\n"
	}
	if len(changed) > 0 {
		out += "git checkout " + base + " -- " + strings.Join(quoteAll(changed), " ") + "\n"
	}
	if len(created) > 0 {
		out += "rm -rf -- " + strings.Join(quoteAll(created), " ") + "\n"
	}
	return out
}

// clearWay removes $d where it is not the folder that files are to lie in.
const clearWay = `if [ -L "$d" ] || [ ! -d "$d" ]; then rm -f -- "$d"; fi`

// foldersOf files, each once and outer ones first.
func foldersOf(files []string) []string {
	var dirs []string
	for _, f := range files {
		for dir := path.Dir(f); dir != "." && dir != "/"; dir = path.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// notTests are extensions of files that a test runner is not given.
var notTests = []string{".json", ".png", ".csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml"}

func isTest(file string) bool { return !slices.Contains(notTests, path.Ext(file)) }

// directives are what the runner is told to run: Django's wants module names,
// Go's packages.
func directives(runner string, files []string) []string {
	switch runner {
	case "django", "unittest":
	case "gotest":
		return packages(files)
	default:
		return files
	}
	out := make([]string, len(files))
	for i, f := range files {
		f = strings.TrimSuffix(f, ".py")
		if runner == "django" {
			f = strings.TrimPrefix(f, "tests/")
		}
		out[i] = strings.ReplaceAll(f, "/", ".")
	}
	return out
}

// packages are the folders of Go's test files, each once and in order. What lies
// below testdata is no package.
func packages(files []string) []string {
	var out []string
	for _, f := range files {
		dir := path.Dir(f)
		if !strings.HasSuffix(f, "_test.go") || slices.Contains(strings.Split(dir, "/"), "testdata") {
			continue
		}
		if dir != "." {
			dir = "./" + dir
		}
		out = append(out, dir)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func heredocEnd(text string) string {
	end := "EOF_ROLLBENCH"
	for strings.Contains(text, end) {
		end += "_"
	}
	return end
}

func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@+,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func quoteAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = quote(s)
	}
	return out
}
