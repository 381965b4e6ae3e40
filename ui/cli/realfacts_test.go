package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// real is a bug of a released version of a public project, as
// engine/task/testdata/real/README.md describes it.
type real struct {
	ID         string   `json:"instance_id"`
	Repo       string   `json:"repo"`
	Version    string   `json:"version"`
	Created    string   `json:"created_at"`
	Image      string   `json:"image"`
	Packages   []string `json:"packages"`
	Install    string   `json:"install"`
	TestPaths  []string `json:"test_paths"`
	TestCmd    string   `json:"test_cmd"`
	Tests      []string `json:"tests"`
	LogParser  string   `json:"log_parser"`
	FailToPass []string `json:"FAIL_TO_PASS"`
	PassToPass []string `json:"PASS_TO_PASS"`

	dir                      string
	gold, testPatch, problem string
	base, fix                string // commits in its image
}

// readReals reads every instance that there is.
func readReals(t *testing.T) (all []*real) {
	t.Helper()
	files, err := filepath.Glob("../../engine/task/testdata/real/*/instance.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no instances: %v", err)
	}
	for _, file := range files {
		r := &real{dir: filepath.Dir(file)}
		d := json.NewDecoder(bytes.NewReader(readFile(t, file)))
		d.DisallowUnknownFields()
		if err := d.Decode(r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		r.gold, r.testPatch, r.problem = r.text(t, "gold.patch"), r.text(t, "test.patch"), r.text(t, "problem_statement.md")
		all = append(all, r)
	}
	return all
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (r *real) text(t *testing.T, name string) string {
	t.Helper()
	return string(readFile(t, filepath.Join(r.dir, name)))
}

// command that runs its tests.
func (r *real) command() string { return r.TestCmd + " " + strings.Join(r.Tests, " ") }

// Each folder has all its parts, and its patches keep to their sides.
func TestRealInstancesAreWhole(t *testing.T) {
	for _, r := range readReals(t) {
		if r.ID != filepath.Base(r.dir) || r.Repo == "" || r.Version == "" || r.Created == "" || r.Image == "" || r.LogParser == "" || len(r.Tests) == 0 {
			t.Errorf("%s: facts are missing: %+v", r.dir, r)
		}
		if len(r.FailToPass) == 0 || len(r.PassToPass) == 0 {
			t.Errorf("%s: %d FAIL_TO_PASS, %d PASS_TO_PASS", r.ID, len(r.FailToPass), len(r.PassToPass))
		}
		for _, name := range []string{"LICENSE", "ORIGIN.md"} {
			if len(r.text(t, name)) < 200 {
				t.Errorf("%s: %s says nothing", r.ID, name)
			}
		}
		if origin := r.text(t, "ORIGIN.md"); !regexp.MustCompile("`(sha256:)?[0-9a-f]{64}`|`h1:[A-Za-z0-9+/=]{44}`").MatchString(origin) {
			t.Errorf("%s: ORIGIN.md has no checksum", r.ID)
		}
		for _, file := range changedFiles(r.testPatch) {
			if !belongs(file, r.TestPaths) {
				t.Errorf("%s: test.patch changes %s", r.ID, file)
			}
		}
		for _, file := range changedFiles(r.gold) {
			if belongs(file, r.TestPaths) {
				t.Errorf("%s: gold.patch changes %s", r.ID, file)
			}
		}
	}
}

// belongs says whether a file is one of the paths, or below one of them.
func belongs(file string, paths []string) bool {
	for _, p := range paths {
		if matched, err := filepath.Match(p, filepath.Base(file)); file == p || strings.HasPrefix(file, p+"/") || err == nil && matched {
			return true
		}
	}
	return false
}

// changedFiles of a patch, as they are called after it.
func changedFiles(patch string) (files []string) {
	for line := range strings.Lines(patch) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "+++ b/"); ok {
			files = append(files, name)
		}
	}
	return files
}

// fixedTests lays the files of the test patch into a folder, as they are with it.
func (r *real) fixedTests(t *testing.T, into string) {
	t.Helper()
	repo := t.TempDir()
	archive, err := filepath.Abs(filepath.Join(r.dir, "source.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{{"tar", "-xzf", archive}, {"git", "init", "-q"}, {"git", "apply", "-"}} {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Stdin = repo, strings.NewReader(r.testPatch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %v\n%s", r.ID, argv, err, out)
		}
	}
	for _, file := range changedFiles(r.testPatch) {
		writeFile(t, filepath.Join(into, file), string(readFile(t, filepath.Join(repo, file))))
	}
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// remarked is a patch that applies and fixes nothing: a remark on the first line
// of the first file that the fix changes.
func (r *real) remarked(t *testing.T) string {
	t.Helper()
	file := changedFiles(r.gold)[0]
	out, err := exec.Command("tar", "-xzOf", filepath.Join(r.dir, "source.tar.gz"), file).Output()
	if err != nil {
		t.Fatalf("%s: %s: %v", r.ID, file, err)
	}
	sign := "#"
	if strings.HasSuffix(file, ".go") {
		sign = "//"
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return fmt.Sprintf("diff --git a/%[1]s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n@@ -1 +1,2 @@\n+%[2]s Nothing is fixed.\n %[3]s\n", file, sign, first)
}
