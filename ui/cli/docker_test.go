package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// testImage is an image with bash, git, python3 and pytest, made by .ci/mkimage
// from Debian packages; no registry is needed.
func testImage(t *testing.T) string {
	t.Helper()
	image := os.Getenv("ROLLBENCH_TEST_IMAGE")
	if image == "" {
		image = "rollbench-test/base:1"
	}
	if out, err := exec.Command("docker", "image", "inspect", "--format", "{{.Id}}", image).CombinedOutput(); err != nil {
		if required() {
			t.Fatalf("image %s: %v\n%s", image, err, out)
		}
		t.Skipf("no docker image %s", image)
	}
	return image
}

// containers that processes of this shop opened and that are still there.
func (s *shop) containers() []string {
	s.t.Helper()
	out, err := exec.Command("docker", "ps", "-a", "--filter", "label=rollbench=1", "--format", `{{.ID}} {{.Label "rollbench.owner"}}`).Output()
	if err != nil {
		s.t.Fatal(err)
	}
	var ours []string
	for line := range strings.Lines(string(out)) {
		id, owner, _ := strings.Cut(strings.TrimSpace(line), " ")
		pid, _, _ := strings.Cut(owner, "/")
		if slices.Contains(s.pids, pid) {
			ours = append(ours, id)
		}
	}
	return ours
}

// A Harbor task is built from its Dockerfile and solved in containers.
func TestHarborInDocker(t *testing.T) {
	t.Parallel()
	image := testImage(t)
	s := newShop(t)
	var o outcome
	text := s.run("run", "--headless", "--json", "--tasks", "bundled", "--instances", "pager-last-page", "--sandbox", "docker", "--set", "sandbox.build_args.BASE="+image)
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	if o.Trajectories != 4 || o.Done != 4 || o.Solved == 0 {
		t.Errorf("outcome %+v, want 4 done and some solved", o)
	}
	if left := s.containers(); len(left) != 0 {
		t.Errorf("containers left: %v", left)
	}
}

// row writes a SWE-bench-style row whose repository stands in an image built
// here: a bug, its fix and the test that shows it.
func row(t *testing.T, dir, base string) (file string) {
	t.Helper()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("Dockerfile", "FROM "+base+`
COPY calc.py test_calc.py /testbed/
RUN cd /testbed && git init -q && git config user.email a@example.invalid && git config user.name a && git add . && git commit -qm base
`)
	write("calc.py", "def mean(xs):\n    \"\"\"Arithmetic mean; 0 for no numbers.\"\"\"\n    return sum(xs) / (len(xs) - 1)\n")
	write("test_calc.py", "from calc import mean\n\n\ndef test_empty():\n    assert mean([1, 2, 3, 4]) >= 0\n")
	image := "rollbench-test/row-cli:1"
	build := exec.Command("docker", "build", "-q", "-t", image, dir)
	build.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("docker build: %v\n%s", err, out)
	}
	commit, err := exec.Command("docker", "run", "--rm", "--network", "none", image, "git", "-C", "/testbed", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(map[string]any{
		"instance_id": "calc__calc-1", "repo": "calc/calc", "version": "1", "base_commit": strings.TrimSpace(string(commit)), "image": image,
		"problem_statement": "`mean` of one number raises ZeroDivisionError, and the mean of several is too large.",
		"patch":             "diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n@@ -1,3 +1,3 @@\n def mean(xs):\n     \"\"\"Arithmetic mean; 0 for no numbers.\"\"\"\n-    return sum(xs) / (len(xs) - 1)\n+    return sum(xs) / len(xs) if xs else 0\n",
		"test_patch":        "diff --git a/test_calc.py b/test_calc.py\n--- a/test_calc.py\n+++ b/test_calc.py\n@@ -3,3 +3,7 @@\n \n def test_empty():\n     assert mean([1, 2, 3, 4]) >= 0\n+\n+\n+def test_mean():\n+    assert mean([1, 2, 3]) == 2 and mean([]) == 0\n",
		"FAIL_TO_PASS":      `["test_calc.py::test_mean"]`, "PASS_TO_PASS": `["test_calc.py::test_empty"]`,
	})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "rows.jsonl")
	write("rows.jsonl", string(line)+"\n")
	return file
}

func TestRowInDocker(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	file := row(t, t.TempDir(), testImage(t))
	if out := s.run("validate", "--tasks", file); !strings.Contains(out, "1 of 1 tasks are sound") {
		t.Errorf("validate: %s", out)
	}
	var o outcome
	if err := json.Unmarshal([]byte(s.run("run", "--headless", "--json", "--tasks", file, "--set", "generator.num_trajectories=6")), &o); err != nil {
		t.Fatal(err)
	}
	if o.Trajectories != 6 || o.Done != 6 || o.Solved == 0 {
		t.Errorf("outcome %+v, want 6 done and some solved", o)
	}
	if left := s.containers(); len(left) != 0 {
		t.Errorf("containers left: %v", left)
	}
}

// kill -9 leaves containers; the resume removes them and brings the run to its end.
func TestKillAndResumeInDocker(t *testing.T) { // not in parallel: each start of a rollbench reaps
	image := testImage(t)
	s := newShop(t)
	s.killAfter(1, "] done", append([]string{"run", "--headless", "--tasks", "bundled", "--instances", "pager-last-page", "--sandbox", "docker",
		"--set", "sandbox.build_args.BASE=" + image}, slow...)...)
	left := s.containers()
	if len(left) == 0 {
		t.Error("the kill left no container: the test shows nothing")
	}
	var errs bytes.Buffer
	cmd := s.command("resume", "--headless", "--json")
	cmd.Stderr = &errs
	out, err := cmd.Output()
	s.pids = append(s.pids, strconv.Itoa(cmd.Process.Pid))
	if err != nil {
		t.Fatalf("resume: %v\n%s", err, errs.String())
	}
	var o outcome
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatal(err)
	}
	if o.Trajectories != 4 || o.Done != 4 {
		t.Errorf("after the resume: %+v", o)
	}
	if got := s.containers(); len(got) != 0 {
		t.Errorf("containers left: %v", got)
	}
	if !strings.Contains(errs.String(), "left behind by a rollbench") {
		t.Errorf("the resume does not say what it removed:\n%s", errs.String())
	}
}
