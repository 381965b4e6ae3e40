package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// evalScript is what the harness's published rows hold: conda is asked for where
// there is none, the state is shown, the tests are put back before and after.
func (r *real) evalScript() string {
	var changed, created []string
	for _, file := range changedFiles(r.testPatch) {
		if strings.Contains(r.testPatch, "--- a/"+file+"\n") {
			changed = append(changed, file)
		} else {
			created = append(created, file)
		}
	}
	reset := ""
	if len(changed) > 0 {
		reset += "git checkout " + r.base + " " + strings.Join(changed, " ") + "\n"
	}
	if len(created) > 0 {
		reset += "rm -f " + strings.Join(created, " ") + "\n"
	}
	return fmt.Sprintf(`#!/bin/bash
set -uxo pipefail
source /opt/miniconda3/bin/activate
conda activate testbed
cd /testbed
git config --global --add safe.directory /testbed
cd /testbed
git status
git show
git -c core.fileMode=false diff %s
source /opt/miniconda3/bin/activate
conda activate testbed
%sgit apply -v - <<'EOF_114329324912'
%sEOF_114329324912
: '>>>>> Start Test Output'
%s
SWEBENCH_TEST_EXIT_CODE=$?
: '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"
%s`, r.base, reset, r.testPatch, r.command(), reset)
}

// row as SWE-bench publishes it: lists as JSON in strings, and every column a text.
func (r *real) row(t *testing.T, newest bool) map[string]string {
	t.Helper()
	list := func(names []string) string {
		text, err := json.Marshal(names)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	row := map[string]string{
		"repo": r.Repo, "instance_id": r.ID, "base_commit": r.base, "environment_setup_commit": r.base, "version": r.Version, "created_at": r.Created,
		"patch": r.gold, "test_patch": r.testPatch, "problem_statement": r.problem, "hints_text": "",
		"FAIL_TO_PASS": list(r.FailToPass), "PASS_TO_PASS": list(r.PassToPass),
	}
	if newest {
		row["image"], row["eval_script"], row["log_parser"], row["eval_type"] = r.tag(), r.evalScript(), r.LogParser, "pass_and_fail"
		return row
	}
	// The older form has neither; what is not simply pytest or go test must be said.
	if r.LogParser != "pytest" {
		row["log_parser"] = r.LogParser
	}
	if r.TestCmd != "python3 -m pytest -rA" && r.TestCmd != "go test -v" {
		row["test_cmd"] = r.TestCmd
	}
	return row
}

// writeRows as JSON lines.
func writeRows[T any](t *testing.T, file string, rows []T) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	e := json.NewEncoder(f)
	for _, row := range rows {
		if err := e.Encode(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// writeHarbor lays the task into a folder named by its id.
func (r *real) writeHarbor(t *testing.T, dir, base string) {
	t.Helper()
	dir = filepath.Join(dir, r.ID)
	writeFile(t, filepath.Join(dir, "task.toml"), `version = "1.0"

[metadata]
author_name = "upstream"
difficulty = "medium"
category = "security"
tags = ["real"]

[agent]
timeout_sec = 600

[verifier]
timeout_sec = 600

[environment]
build_timeout_sec = 600
cpus = 1
memory_mb = 2048
allow_internet = false
`)
	writeFile(t, filepath.Join(dir, "instruction.md"), r.problem)
	r.writeContext(t, filepath.Join(dir, "environment"), base)
	writeFile(t, filepath.Join(dir, "tests/test.sh"), fmt.Sprintf(`#!/bin/bash
cd /testbed
cp -r /tests/upstream/. .
if %s; then reward=1; else reward=0; fi
echo $reward >/logs/verifier/reward.txt
`, r.command()))
	r.fixedTests(t, filepath.Join(dir, "tests/upstream"))
	writeFile(t, filepath.Join(dir, "solution/solve.sh"), "#!/bin/bash\nset -e\ncd /testbed\ngit apply - <<'EOF_FIX'\n"+r.gold+"EOF_FIX\n")
}

// writeContext makes what the instance's image is built of: the release at base,
// with the fix in its future, as a clone has it.
func (r *real) writeContext(t *testing.T, dir, base string) {
	t.Helper()
	writeFile(t, filepath.Join(dir, "source.tar.gz"), r.text(t, "source.tar.gz"))
	writeFile(t, filepath.Join(dir, "gold.patch"), r.gold)
	writeFile(t, filepath.Join(dir, "test.patch"), r.testPatch)
	writeFile(t, filepath.Join(dir, "history.sh"), `set -euo pipefail
mkdir /testbed
tar -xzf source.tar.gz -C /testbed
cd /testbed
git config --global user.name upstream
git config --global user.email upstream@example.invalid
export GIT_AUTHOR_DATE=2024-01-01T00:00:00Z GIT_COMMITTER_DATE=2024-01-01T00:00:00Z
git init -q -b main .
git add -Af .
git commit -q -m "The buggy release"
git apply /made/test.patch /made/gold.patch
git add -Af .
git commit -q -m "Fix it"
git tag fixed
git update-ref refs/remotes/origin/main fixed
git remote add origin https://example.invalid/upstream.git
git reset -q --hard HEAD^
git commit -q --allow-empty -m SWE-bench
`+r.Install+"\n")
	writeFile(t, filepath.Join(dir, "Dockerfile"), "ARG BASE="+base+`
FROM ${BASE}
COPY . /made
RUN cd /made && bash history.sh && rm -rf /made
WORKDIR /testbed
`)
}

// tag of its image, by the rule for published images.
func (r *real) tag() string {
	return "swebench/sweb.eval.x86_64." + strings.ReplaceAll(strings.ToLower(r.ID), "__", "_1776_") + ":latest"
}

// buildImage makes the image that a row names, and reads its commits.
func (r *real) buildImage(t *testing.T) {
	t.Helper()
	dir, base := t.TempDir(), baseOf(t, r)
	r.writeContext(t, dir, base)
	build := exec.Command("docker", "build", "-q", "--label", "rollbench.test=real", "-t", r.tag(), dir)
	build.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: docker build: %v\n%s", r.ID, err, out)
	}
	out, err := exec.Command("docker", "run", "--rm", "--network", "none", r.tag(), "git", "rev-parse", "HEAD^", "fixed").Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(out), &r.base, &r.fix); err != nil {
		t.Fatalf("%s: %q: %v", r.ID, out, err)
	}
}

// baseOf names the image that an instance's is made from, and sees that it has
// what the tests need.
func baseOf(t *testing.T, r *real) string {
	t.Helper()
	image := testImage(t)
	out, err := exec.Command("docker", "image", "inspect", "--format", `{{index .Config.Labels "rollbench.packages"}}`, image).Output()
	if err != nil {
		t.Fatal(err)
	}
	has := "," + strings.TrimSpace(string(out)) + ","
	for _, p := range r.Packages {
		if !strings.Contains(has, ","+p+",") {
			t.Fatalf("%s needs %s, and image %s is without it: make it anew with .ci/mkimage %[3]s", r.ID, p, image)
		}
	}
	return image
}

// removeImages that were built for the instances, by name.
func removeImages(t *testing.T, all []*real) {
	out, err := exec.Command("docker", "images", "--format", "{{.Repository}}:{{.Tag}}").Output()
	if err != nil {
		t.Error(err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		for _, r := range all {
			if name == r.tag() || strings.HasPrefix(name, r.harborImage()+":") {
				if out, err := exec.Command("docker", "rmi", name).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			}
		}
	}
}

// harborImage is the name, without tag, of what rollbench builds for its task.
func (r *real) harborImage() string {
	return "rollbench/env-" + regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(r.ID), "-")
}
