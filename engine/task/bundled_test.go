package task

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func bundledInstances(t *testing.T) []Instance {
	t.Helper()
	ins, err := Bundled()
	if err != nil {
		t.Fatal(err)
	}
	return ins
}

// Every bundled task fails untouched and passes with its reference solution,
// whose edits, made one by one, are the same change.
func TestBundledTasks(t *testing.T) {
	for _, in := range bundledInstances(t) {
		t.Run(in.ID, func(t *testing.T) {
			t.Parallel()
			untouched, err := in.Verify(t.Context(), openHost(t, &in), nil)
			if err != nil {
				t.Fatal(err)
			}
			if untouched.Reward == nil || *untouched.Reward != 0 {
				t.Fatalf("untouched repository: reward %v, want 0; %s\n%s", untouched.Reward, untouched.Note, untouched.Log)
			}
			solved := openHost(t, &in)
			if err := in.Prepare(t.Context(), solved); err != nil {
				t.Fatal(err)
			}
			before := workFiles(t, solved)
			if err := in.Solve(t.Context(), solved); err != nil {
				t.Fatal(err)
			}
			patch, _, err := in.TakePatch(t.Context(), solved)
			if err != nil {
				t.Fatal(err)
			}
			verdict, err := in.Verify(t.Context(), openHost(t, &in), patch)
			if err != nil {
				t.Fatal(err)
			}
			if verdict.Reward == nil || *verdict.Reward != 1 {
				t.Fatalf("reference solution: reward %v, want 1; %s\n%s", verdict.Reward, verdict.Note, verdict.Log)
			}
			t.Logf("verified in %v, parts %v", verdict.Wall, verdict.Parts)
			checkEdits(t, &in, before, workFiles(t, solved))
		})
	}
}

func checkEdits(t *testing.T, in *Instance, now, want map[string]string) {
	t.Helper()
	edits, err := in.Reference.Edits()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	for _, e := range edits {
		files[e.Path] = true
		switch {
		case e.Create:
			now[e.Path] = e.New
		case e.Delete:
			delete(now, e.Path)
		default:
			if n := strings.Count(now[e.Path], e.Old); n != 1 {
				t.Fatalf("%s: %d occurrences of %q, want 1", e.Path, n, e.Old)
			}
			now[e.Path] = strings.Replace(now[e.Path], e.Old, e.New, 1)
		}
	}
	if !maps.Equal(now, want) {
		t.Errorf("the edits of %s do not equal its patch", in.ID)
	}
	if len(files) < 2 {
		t.Errorf("the fix of %s touches %d file, want several", in.ID, len(files))
	}
}

// workFiles is the working tree without .git.
func workFiles(t *testing.T, h *host) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := readTree(h.work)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if !strings.HasPrefix(name, ".git/") {
			out[name] = string(data)
		}
	}
	return out
}

// The visible tests pass on the untouched repository: an honest task does not
// give its bug away.
func TestVisibleTestsPass(t *testing.T) {
	for _, in := range bundledInstances(t) {
		t.Run(in.ID, func(t *testing.T) {
			t.Parallel()
			h := openHost(t, &in)
			if err := in.Prepare(t.Context(), h); err != nil {
				t.Fatal(err)
			}
			h.sh(t, in.TestCommand)
			if got := h.sh(t, "git status --porcelain"); got != "" {
				t.Errorf("the tests leave the repository changed:\n%s", got)
			}
			if n := h.sh(t, "git rev-list --count HEAD"); n != "2" && n != "3" {
				t.Errorf("%s commits, want 2 or 3", n)
			}
			h.sh(t, "git fsck --strict")
		})
	}
}

func TestBundledSet(t *testing.T) {
	all := bundledInstances(t)
	if len(all) < 8 {
		t.Errorf("%d bundled tasks, want at least 8", len(all))
	}
	for _, in := range all {
		if len(in.Warnings) > 0 {
			t.Errorf("%s: %q", in.ID, in.Warnings)
		}
		if !in.LocalOK || in.Image == "" || in.Build == nil || in.TestCommand == "" || in.Network {
			t.Errorf("%s: must run in local and in its image, without network, and tell its test command", in.ID)
		}
		if bytes.Contains([]byte(in.Instruction), []byte("test_")) || strings.Contains(in.Instruction, "_test.go") {
			t.Errorf("%s: the instruction names tests", in.ID)
		}
	}
	python, err := Default(func(program string) bool { return program == "python3" })
	if err != nil {
		t.Fatal(err)
	}
	golang, err := Default(func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	if len(python) < 5 || len(golang) < 2 || len(python)+len(golang) != len(all) {
		t.Errorf("%d Python and %d Go tasks of %d", len(python), len(golang), len(all))
	}
	for _, in := range python {
		if !slices.Contains(in.Needs, "git") || !slices.Contains(in.Needs, "python3") {
			t.Errorf("%s needs %q", in.ID, in.Needs)
		}
	}
}

// Shared files are kept once, in testdata/src/shared, and copied to each task.
func TestSharedFilesAreEqual(t *testing.T) {
	for _, in := range bundledInstances(t) {
		copies := map[string]string{"solution/solve.sh": "solve.sh"}
		if slices.Contains(in.Needs, "go") {
			copies["tests/test.sh"], copies["environment/Dockerfile"] = "go-test.sh", "go-Dockerfile"
		} else {
			copies["tests/test.sh"], copies["environment/Dockerfile"] = "python-test.sh", "python-Dockerfile"
			copies["tests/run.py"] = "run.py"
		}
		for file, source := range copies {
			want, err := os.ReadFile(filepath.Join("testdata", "src", "shared", source))
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join("bundled", in.ID, file))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("bundled/%s/%s differs from testdata/src/shared/%s", in.ID, file, source)
			}
		}
	}
}
