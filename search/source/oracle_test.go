package source

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// underRace says that the race detector is on.
var underRace bool

// parsed is what testdata/oracle.py says of one file.
type parsed struct {
	Error     string
	Entities  [][8]any // kind, name, first and last line, first decorator's line, parent's name and line, docstring
	Refs      [][8]any // kind, name, target, as, level, line, owner's name and line
	Variables [][3]any // name, first and last line
	Doc       *string
}

// oracle gives the Python that is asked and the folder of files to compare on:
// its own standard library, or what ROLLBENCH_ORACLE_DIR names.
func oracle(t *testing.T) (python, dir string) {
	python = os.Getenv("ROLLBENCH_ORACLE_PYTHON")
	if python == "" {
		python = "python3"
	}
	out, err := exec.Command(python, "-c", "import os; print(os.path.dirname(os.__file__))").Output()
	if err != nil {
		if os.Getenv("ROLLBENCH_REQUIRE_PYTHON") != "" {
			t.Fatalf("python3 is required here: %v", err)
		}
		t.Skipf("no python3 to compare with: %v", err)
	}
	dir = os.Getenv("ROLLBENCH_ORACLE_DIR")
	if dir == "" {
		dir = strings.TrimSpace(string(out))
	}
	return python, dir
}

func pythonFiles(t testing.TB, dir string) []string {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "site-packages" || d.Name() == "dist-packages") {
			return filepath.SkipDir
		}
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".py") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The scanner must find what CPython's parser finds. What differs in references
// by intent: a name in parentheses of its own is no longer a plain name here
// ("(a).b()" calls ".b"), a decorator "@a(1)(2)" counts as "a", "C[T][U]" as a
// base counts as "C", and identifiers are as written, not in normal form KC.
func TestPythonAgainstCPython(t *testing.T) {
	if testing.Short() || underRace {
		t.Skip("reads a whole standard library")
	}
	python, dir := oracle(t)
	files := pythonFiles(t, dir)
	cmd := exec.Command(python, "testdata/oracle.py")
	cmd.Stdin = strings.NewReader(strings.Join(files, "\n") + "\n")
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(pipe)
	var c comparison
	for _, file := range files {
		line, err := in.ReadBytes('\n')
		if err != nil {
			t.Fatalf("after %d files: %v", c.files, err)
		}
		var want parsed
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c.file(t, strings.TrimPrefix(file, dir+"/"), string(src), want)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files, %d not parsed by %s; definitions: %d, %d differ; variables: %d, %d differ; references: %d, %d differ; docstrings: %d differ",
		c.files, c.errors, python, c.entities, c.wrong, c.variables, c.wrongVariables, c.refs, c.wrongRefs, c.wrongDocs)
	if c.wrong*10000 > c.entities {
		t.Errorf("%d of %d definitions differ", c.wrong, c.entities)
	}
	if c.wrongVariables*10000 > c.variables || c.wrongDocs*10000 > c.entities || c.wrongRefs*1000 > c.refs {
		t.Error("variables, docstrings or references differ")
	}
	if c.entities == 0 {
		t.Error("nothing was compared")
	}
}

type comparison struct {
	files, errors                               int
	entities, variables, refs                   int
	wrong, wrongVariables, wrongRefs, wrongDocs int
}

func (c *comparison) file(t *testing.T, name, src string, want parsed) {
	c.files++
	if want.Error != "" {
		c.errors++
		return
	}
	got := Scan(name, src)
	if got.Broken {
		t.Errorf("%s: said to be broken", name)
	}
	var defs, vars, docs, wantDefs, wantVars []string
	for _, e := range got.Entities {
		parent := Entity{}
		if e.Parent >= 0 {
			parent = got.Entities[e.Parent]
		}
		switch e.Kind {
		case Variable:
			vars = append(vars, fmt.Sprint(e.Name, " ", e.Start, "-", e.End))
		default:
			kind := "function"
			if e.Kind == Class {
				kind = "class"
			}
			defs = append(defs, fmt.Sprint(kind, " ", e.Name, " ", e.Start, "-", e.End, " @", e.Decorated, " in ", parent.Name, " ", parent.Start))
			docs = append(docs, e.Doc)
		}
	}
	for _, e := range want.Entities {
		wantDefs = append(wantDefs, fmt.Sprint(e[0], " ", e[1], " ", e[2], "-", e[3], " @", e[4], " in ", e[5], " ", e[6]))
	}
	for _, v := range want.Variables {
		wantVars = append(wantVars, fmt.Sprint(v[0], " ", v[1], "-", v[2]))
	}
	c.entities += len(wantDefs)
	c.variables += len(wantVars)
	c.refs += len(want.Refs)
	if len(defs) == len(wantDefs) {
		for i, e := range want.Entities {
			doc, _ := e[7].(string)
			if !sameDoc(docs[i], doc) {
				c.wrongDocs++
				t.Logf("%s: docstring of %s is %.60q, want %.60q", name, wantDefs[i], docs[i], doc)
			}
		}
	}
	c.wrong += differences(t, name, defs, wantDefs)
	c.wrongVariables += differences(t, name, vars, wantVars)
	c.wrongRefs += c.references(t, name, got, want)
}

// sameDoc compares a docstring as written with its value.
func sameDoc(written, value string) bool {
	if strings.Contains(written, "\\") {
		return value != ""
	}
	return strings.HasPrefix(value, written) && (written == "") == (value == "")
}

func (c *comparison) references(t *testing.T, name string, got *File, want parsed) int {
	type ref struct{ text, line string }
	kinds := map[RefKind]string{Imports: "imports", Invokes: "invokes", Inherits: "inherits", Decorates: "decorates"}
	var exact, wanted, loose []string
	for _, r := range got.Refs {
		owner := Entity{}
		if r.From >= 0 && got.Entities[r.From].Kind != Variable {
			owner = got.Entities[r.From]
		}
		exact = append(exact, fmt.Sprint(kinds[r.Kind], " ", r.Name, " ", r.Target, " ", r.As, " ", r.Level, " in ", owner.Name, " ", owner.Start, " :", r.Line))
	}
	for _, r := range want.Refs {
		text := fmt.Sprint(r[0], " ", r[1], " ", r[2], " ", r[3], " ", r[4], " in ", r[6], " ", r[7], " :", r[5])
		if r[5] == 0.0 {
			loose = append(loose, text)
		} else {
			wanted = append(wanted, text)
		}
	}
	exact, wanted = unmatched(exact, wanted)
	for i, text := range exact {
		exact[i] = text[:strings.LastIndexByte(text, ':')] + ":0"
	}
	exact, loose = unmatched(exact, loose)
	return differences(t, name, exact, append(wanted, loose...))
}

func differences(t *testing.T, name string, got, want []string) int {
	more, missing := unmatched(got, want)
	for _, text := range more {
		t.Logf("%s: not in the ast: %s", name, text)
	}
	for _, text := range missing {
		t.Logf("%s: missing: %s", name, text)
	}
	return max(len(more), len(missing))
}

// unmatched drops what both lists hold.
func unmatched(a, b []string) (onlyA, onlyB []string) {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == b[0]:
			a, b = a[1:], b[1:]
		case a[0] < b[0]:
			onlyA, a = append(onlyA, a[0]), a[1:]
		default:
			onlyB, b = append(onlyB, b[0]), b[1:]
		}
	}
	return append(onlyA, a...), append(onlyB, b...)
}
