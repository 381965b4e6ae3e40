package task

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"rollbench/engine/task/rows"
)

// outcome of a patch in a fresh sandbox that open makes.
func outcome(t *testing.T, in *Instance, open func() *host, patch []byte) Verdict {
	t.Helper()
	v, err := in.Verify(t.Context(), open(), patch)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func mustEarn(t *testing.T, what string, v Verdict, want float64) {
	t.Helper()
	if v.Reward == nil || *v.Reward != want {
		t.Errorf("%s: reward %v, want %v: %s\n%s", what, v.Reward, want, v.Note, v.Log)
	}
}

const smithRepo = gitSetup + `
mkdir tests
printf 'two() { echo 2; }\nthree() { echo 3; }\n' >lib.sh
echo '. ./lib.sh; [ "$(two)" = 2 ] && echo "tests/test_two.sh::two PASSED [ 50%]" || { echo "tests/test_two.sh::two FAILED"; exit 1; }' >tests/test_two.sh
echo '. ./lib.sh; [ "$(three)" = 3 ] && echo "tests/test_three.sh::three PASSED" || { echo "tests/test_three.sh::three FAILED"; exit 1; }' >tests/test_three.sh
commit upstream
`

const smithBug = "diff --git a/lib.sh b/lib.sh\n--- a/lib.sh\n+++ b/lib.sh\n@@ -1,2 +1,2 @@\n-two() { echo 2; }\n+two() { echo 4; }\n three() { echo 3; }\n"

// A SWE-smith problem is the same, whether the image has its branch or is as it
// was before the bug: the tests that decide and the bug's diff are out of sight,
// and come back for the verifier.
func TestSmithProblem(t *testing.T) {
	row := fmt.Sprintf(`{"instance_id":"r.abc.bug__1","image_name":"i","repo":"swesmith/r","problem_statement":"two is wrong","patch":%q,
		"FAIL_TO_PASS":["tests/test_two.sh::two"],"PASS_TO_PASS":["tests/test_three.sh::three"],"test_cmd":"for f in tests/*.sh; do sh $f || bad=1; done; [ -z \"${bad:-}\" ]"}`, smithBug)
	ins, err := rowsOf(t, []byte(strings.ReplaceAll(row, "\n\t\t", "")))
	if err != nil {
		t.Fatal(err)
	}
	in := &ins[0]
	for name, script := range map[string]string{
		"image before the bug": smithRepo,
		"branch": smithRepo + `git checkout -q -b r.abc.bug__1; sed -i s/2/4/ lib.sh; commit "Bug Patch"
			rm tests/test_two.sh; commit "Remove F2P Tests"; git checkout -q main`,
		"branch of a remote": smithRepo + `git checkout -q -b tmp; sed -i s/2/4/ lib.sh; commit "Bug Patch"; rm tests/test_two.sh; commit "Remove F2P Tests"
			git update-ref refs/remotes/origin/r.abc.bug__1 HEAD; git checkout -q main; git branch -q -D tmp`,
	} {
		open := func() *host {
			h := openHost(t, in)
			h.sh(t, script)
			return h
		}
		h := open()
		if err := in.Prepare(t.Context(), h); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		seen := h.sh(t, "cat lib.sh; ls tests; git log --format=%s --all; git status --porcelain; git cat-file --batch-all-objects --batch-check | grep -c blob")
		want := "two() { echo 4; }\nthree() { echo 3; }\ntest_three.sh\nState of the environment at the start\n2"
		if seen != want {
			t.Errorf("%s: the policy sees\n%s\nwant\n%s", name, seen, want)
		}
		mustEarn(t, name+": untouched", outcome(t, in, open, nil), 0)
		if err := in.Solve(t.Context(), h); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		patch, _, err := in.TakePatch(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		mustEarn(t, name+": reference", outcome(t, in, open, patch), 1)
	}
	wrong := openHost(t, in)
	wrong.sh(t, gitSetup+"echo other >lib.sh; commit x")
	if err := in.Prepare(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), "the row's patch does not apply to the image, which has no branch r.abc.bug__1 either") {
		t.Errorf("another image: %v", err)
	}
}

// git agrees that the reversed diff undoes the diff.
func TestReverseDiff(t *testing.T) {
	in := &Instance{ID: "test", Workdir: "/testbed", kind: inPlace{}}
	h := openHost(t, in)
	h.sh(t, gitSetup+`
printf 'a\nb\nc\n-- d\n' >edit; echo gone >gone; printf 'no end' >end; echo run >mode; seq 1 30 >old
commit one
printf 'a\nB\n++ c\nc\n' >edit; rm gone; printf 'no end\nmore' >end; chmod +x mode; git mv old new; sed -i s/7/seven/ new; echo fresh >fresh; mkdir d; echo x >'d/na me'
git add -A; git diff --cached -M >../there.patch; git commit -q -m two`)
	there, err := h.ReadFile(t.Context(), h.Path("/there.patch"))
	if err != nil {
		t.Fatal(err)
	}
	back, err := reverseDiff(string(there))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.WriteFile(t.Context(), h.Path("/back.patch"), []byte(back), 0o644); err != nil {
		t.Fatal(err)
	}
	h.sh(t, "git apply --index ../back.patch; git diff --cached --exit-code HEAD~1")
	for text, want := range map[string]string{
		"diff --git a/x b/x\nBinary files a/x and b/x differ\n":               "binary",
		"diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n": "copies",
		"--- a/x\n+++ b/x\n@@ -1,3 +1 @@\n-a\n":                               "cut within a hunk",
	} {
		if _, err := reverseDiff(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

const r2eImageScript = gitSetup + `
printf 'def size():\n    return 0\n' >lib.py; commit base
mkdir r2e_tests; echo secret >r2e_tests/test_image.py; mkdir -p .venv/bin; printf '#!/bin/sh\n' >.venv/bin/python; chmod +x .venv/bin/python; touch x.pyc
cat >run_tests.sh <<'EOF'
echo "PASSED outside::of.summary"
[ "$(cat r2e_tests/test_image.py)" = secret ] || exit 9
printf '=== \033[36mshort test summary info\033[0m ===\n'
if grep -q 'return 1' lib.py; then echo "PASSED r2e_tests/test_image.py::TestImage::test_size"; else echo "FAILED r2e_tests/test_image.py::TestImage::test_size - assert 0"; fi
printf '\033[31mFAILED\033[0m r2e_tests/test_image.py::TestImage::\033[1mtest_old\033[0m - why\r\n'
EOF
`

func TestR2EProblem(t *testing.T) {
	ins, err := rowsOf(t, []byte(`{"repo_name":"pillow","docker_image":"i","commit_hash":"`+strings.Repeat("2", 40)+`","problem_statement":"p","expected_output_json":"{\"TestImage.test_size\":\"PASSED\",\"TestImage.test_old\":\"FAILED\"}"}`))
	if err != nil {
		t.Fatal(err)
	}
	in := &ins[0]
	open := func() *host {
		h := openHost(t, in)
		h.sh(t, r2eImageScript)
		return h
	}
	h := open()
	if err := in.Prepare(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if seen := h.sh(t, `ls -A; ls -A "$HOME"; git status --porcelain; git ls-files; readlink "$HOME/.local/bin/python" | sed 's/.*testbed/testbed/'`); seen != ".git\n.venv\nlib.py\n.local\n.venv\nlib.py\ntestbed/.venv/bin/python" {
		t.Errorf("the policy sees\n%s", seen)
	}
	mustEarn(t, "untouched", outcome(t, in, open, nil), 0)
	h.sh(t, "sed -i 's/return 0/return 1/' lib.py; mkdir r2e_tests; echo mine >r2e_tests/x.py; echo 'exit 0' >run_tests.sh")
	patch, _, err := in.TakePatch(t.Context(), h)
	if err != nil || strings.Contains(string(patch), "r2e_tests") {
		t.Fatalf("%v\n%s", err, patch)
	}
	mustEarn(t, "fixed", outcome(t, in, open, patch), 1)
	bare := openHost(t, in)
	bare.sh(t, gitSetup+"echo x >f; commit x")
	if err := in.Prepare(t.Context(), bare); err == nil || !strings.Contains(err.Error(), "it is not an R2E-Gym image") {
		t.Errorf("another image: %v", err)
	}
}

func TestPlainProblem(t *testing.T) {
	ins, err := Load("testdata/datasets/plain.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	in := &ins[0]
	open := func() *host { return openHost(t, in) }
	h := open()
	if err := in.Prepare(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if seen := h.sh(t, "head f g; git status --porcelain"); seen != "==> f <==\n1\n\n==> g <==\n0" {
		t.Errorf("the policy sees\n%s", seen)
	}
	mustEarn(t, "untouched", outcome(t, in, open, nil), 0)
	mustEarn(t, "reference", outcome(t, in, open, in.Reference.Patch), 1)
}

// archived is a folder as a column holds it.
func archived(t *testing.T, files map[string]string, zipped bool) string {
	t.Helper()
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if !zipped {
		return out.String()
	}
	var z bytes.Buffer
	zw := gzip.NewWriter(&z)
	if _, err := zw.Write(out.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return z.String()
}

func TestTerminalProblem(t *testing.T) {
	ins, err := Load("testdata/datasets/terminal")
	if err != nil {
		t.Fatal(err)
	}
	in := &ins[0]
	open := func() *host { return openHost(t, in) }
	h := open()
	if err := in.Prepare(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	mustEarn(t, "untouched", outcome(t, in, open, nil), 0)
	if err := in.Solve(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	patch, _, err := in.TakePatch(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	mustEarn(t, "reference", outcome(t, in, open, patch), 1)
	// The image is built without what the policy must not see.
	context, err := in.Build.Context()
	if err != nil {
		t.Fatal(err)
	}
	defer context.Close()
	var names []string
	for tr := tar.NewReader(context); ; {
		head, err := tr.Next()
		if err != nil {
			break
		}
		names = append(names, head.Name)
	}
	if !slices.Equal(names, []string{"Dockerfile", "docker-compose.yaml", "task.yaml"}) {
		t.Errorf("the image is built of %q", names)
	}
	// A script that hides pytest's exit code earns nothing.
	kind := in.kind.(*terminal)
	if failedTests.FindString("x\nFAILED tests/a.py::b - c\n") == "" || kind.parser != "pytest" {
		t.Error("failures of pytest are not seen")
	}
}

// Tasks that are archives in rows are those that lie in folders.
func TestArchiveRows(t *testing.T) {
	harbor := archived(t, harborFiles(nil), false)
	in, err := harborOf(t, map[string]any{"path": "set/my-task", "task_binary": []byte(harbor)})
	if err != nil || in.ID != "my-task" || in.Image != "img:1" || in.Workdir != "/app" {
		t.Errorf("%+v %v", in, err)
	}
	for _, text := range []string{base64.StdEncoding.EncodeToString([]byte(harbor)), harbor} { // JSON has texts only
		if in, err = harborOf(t, map[string]any{"path": "set/my-task", "task_binary": text}); err != nil || in.Image != "img:1" {
			t.Errorf("as a text: %+v %v", in, err)
		}
	}
	inner := map[string]string{}
	for name, text := range harborFiles(nil) {
		inner["my-task/"+name] = text
	}
	if in, err = harborOf(t, map[string]any{"path": "my-task", "task_binary": []byte(archived(t, inner, true))}); err != nil || in.Image != "img:1" {
		t.Errorf("in a folder of its own: %+v %v", in, err)
	}
	for name, want := range map[string]string{"../x": "leads out of it", "/etc/x": "leads out of it"} {
		if _, err := harborOf(t, map[string]any{"path": "t", "task_binary": []byte(archived(t, map[string]string{name: "x"}, false))}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	tb := archived(t, map[string]string{"Dockerfile": "FROM x\n", "run-tests.sh": "true\n", "tests/a.py": "", "solution.sh": "true\n"}, true)
	term, err := terminalOf(t, map[string]any{"task_id": "hello", "task_yaml": "instruction: Say hello.\n", "archive": []byte(tb)})
	if err != nil || term.ID != "hello" || term.Instruction != "Say hello." || term.Workdir != "" || term.Reference.None() {
		t.Errorf("%+v %v", term, err)
	}
	two := archived(t, map[string]string{"Dockerfile": "FROM x\n", "run-tests.sh": "true\n", "docker-compose.yaml": "services: {client: {}, db: {}}\n"}, true)
	if _, err := terminalOf(t, map[string]any{"task_id": "hello", "task_yaml": "instruction: Say hello.\n", "archive": []byte(two)}); err == nil || !strings.Contains(err.Error(), "docker-compose.yaml: line 1: service db: it has neither image nor build") {
		t.Errorf("two containers: %v", err)
	}
}

func TestAnswers(t *testing.T) {
	ins, err := Load("testdata/datasets/searchr1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]float64{
		"William Shakespeare": 1, "  the  william SHAKESPEARE! ": 1, `\boxed{Shakespeare}`: 1,
		"It was William Shakespeare": 0, "": 0, "!": 0, `\boxed{Marlowe}`: 0,
	} {
		v, err := ins[0].VerifyAnswer(t.Context(), nil, answer)
		if err != nil {
			t.Fatal(err)
		}
		mustEarn(t, answer, v, want)
	}
	maths, err := rowsOf(t, []byte(`{"prompt":"1/2+1/4?","reward_model":{"ground_truth":"3/4"},"data_source":"math_dapo"}`))
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]float64{`So \boxed{\frac{3}{4}}`: 1, `\boxed{4/3}`: 0} {
		v, err := maths[0].VerifyAnswer(t.Context(), nil, answer)
		if err != nil {
			t.Fatal(err)
		}
		mustEarn(t, answer, v, want)
	}
	patched := Instance{ID: "x", kind: inPlace{}}
	if _, err := patched.VerifyAnswer(t.Context(), nil, "x"); err == nil {
		t.Error("a repository's verifier judges an answer")
	}
	h := openHost(t, &ins[0])
	if err := ins[0].Prepare(t.Context(), h); err != nil {
		t.Error(err)
	}
}

func harborOf(t *testing.T, fields map[string]any) (Instance, error) {
	t.Helper()
	o := merge(nil)
	return harborRow(rows.New("test", fields), &o)
}

func terminalOf(t *testing.T, fields map[string]any) (Instance, error) {
	t.Helper()
	o := merge(nil)
	return terminalRow(rows.New("test", fields), &o)
}
