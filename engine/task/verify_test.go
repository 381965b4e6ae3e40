package task

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

func f64(v float64) *float64 { return &v }

func sameReward(a, b *float64) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// What test.sh leaves decides; what cannot be read as a reward is absent, not 0.
func TestRewards(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		want   *float64
		parts  map[string]float64
		note   string
	}{
		"one":                  {`echo 1 >$OUT/reward.txt`, f64(1), nil, ""},
		"fraction":             {`printf ' 0.25\n\n' >$OUT/reward.txt`, f64(0.25), nil, ""},
		"negative":             {`echo -1 >$OUT/reward.txt`, f64(-1), nil, ""},
		"exit code counts not": {`echo 1 >$OUT/reward.txt; exit 3`, f64(1), nil, ""},
		"json":                 {`echo '{"reward": 0.5, "speed": 2, "none": null}' >$OUT/reward.json`, f64(0.5), map[string]float64{"speed": 2}, ""},
		"bare json":            {`echo 0.75 >$OUT/reward.json`, f64(0.75), nil, ""},
		"json before text":     {`echo 1 >$OUT/reward.txt; echo '{"reward": 0, "passed": 3}' >$OUT/reward.json`, f64(0), map[string]float64{"passed": 3}, ""},
		"text for metrics":     {`echo 1 >$OUT/reward.txt; echo '{"passed": 3, "failed": 1}' >$OUT/reward.json`, f64(1), map[string]float64{"passed": 3, "failed": 1}, ""},
		"text for broken json": {`echo 1 >$OUT/reward.txt; echo '{"reward": NaN}' >$OUT/reward.json`, f64(1), nil, ""},
		"one metric":           {`echo '{"accuracy": 0.7, "model": "x", "ok": true, "all": [1]}' >$OUT/reward.json`, f64(0.7), map[string]float64{"accuracy": 0.7}, ""},
		"two rewards":          {`echo '{"reward": 0, "reward": 1}' >$OUT/reward.json`, f64(1), nil, ""},
		"byte order mark":      {`printf '\357\273\2770.5' >$OUT/reward.txt`, f64(0.5), nil, ""},
		"ctrf": {`echo 1 >$OUT/reward.txt; echo '{"results": {"summary": {"tests": 4, "passed": 3, "failed": 1, "skipped": 0, "start": 9}}}' >$OUT/ctrf.json`,
			f64(1), map[string]float64{"tests": 4, "passed": 3, "failed": 1, "skipped": 0}, ""},
		"nothing":          {`true`, nil, nil, "verifier wrote neither /logs/verifier/reward.txt nor reward.json (test.sh ended with exit code 0)"},
		"crash":            {`exit 7`, nil, nil, "verifier wrote neither /logs/verifier/reward.txt nor reward.json (test.sh ended with exit code 7)"},
		"words":            {`echo passed >$OUT/reward.txt`, nil, nil, `/logs/verifier/reward.txt holds "passed", not a number (test.sh ended with exit code 0)`},
		"empty":            {`: >$OUT/reward.txt`, nil, nil, `/logs/verifier/reward.txt holds "", not a number (test.sh ended with exit code 0)`},
		"nan":              {`echo nan >$OUT/reward.txt`, nil, nil, `/logs/verifier/reward.txt holds "nan", not a number (test.sh ended with exit code 0)`},
		"infinity":         {`echo 1e999 >$OUT/reward.txt`, nil, nil, `/logs/verifier/reward.txt holds "1e999", not a number (test.sh ended with exit code 0)`},
		"hexadecimal":      {`echo 0x1p-2 >$OUT/reward.txt`, nil, nil, `/logs/verifier/reward.txt holds "0x1p-2", not a number (test.sh ended with exit code 0)`},
		"huge in json":     {`echo '{"reward": 1e999}' >$OUT/reward.json`, nil, nil, `/logs/verifier/reward.json holds "{\"reward\": 1e999}", not an object of numbers (test.sh ended with exit code 0)`},
		"a text as reward": {`echo '{"reward": "1"}' >$OUT/reward.json`, nil, nil, `/logs/verifier/reward.json has no numbers (test.sh ended with exit code 0)`},
		"null and another": {`echo '{"reward": null, "tests": 5}' >$OUT/reward.json`, nil, map[string]float64{"tests": 5}, `/logs/verifier/reward.json has no number under "reward" (test.sh ended with exit code 0)`},
		"text and another": {`echo 0.5 >$OUT/reward.txt; echo '{"reward": "none", "tests": 5}' >$OUT/reward.json`, f64(0.5), map[string]float64{"tests": 5}, ""},
		"no reward key":    {`echo '{"passed": 3, "failed": 0}' >$OUT/reward.json`, nil, map[string]float64{"passed": 3, "failed": 0}, `/logs/verifier/reward.json has no number under "reward", and more than one: failed, passed (test.sh ended with exit code 0)`},
		"a list":           {`echo '[1]' >$OUT/reward.json`, nil, nil, `/logs/verifier/reward.json holds "[1]", not an object of numbers (test.sh ended with exit code 0)`},
		"a link":           {`echo 1 >$OUT/other; ln -s other $OUT/reward.txt`, nil, nil, "/logs/verifier/reward.txt is no regular file (test.sh ended with exit code 0)"},
		"a folder":         {`mkdir $OUT/reward.json`, nil, nil, "/logs/verifier/reward.json is no regular file (test.sh ended with exit code 0)"},
		"a pipe":           {`mkfifo $OUT/reward.txt`, nil, nil, "/logs/verifier/reward.txt is no regular file (test.sh ended with exit code 0)"},
		"long":             {`head -c 1048577 /dev/zero >$OUT/reward.txt`, nil, nil, "/logs/verifier/reward.txt is larger than 1048576 bytes (test.sh ended with exit code 0)"},
		"broken json":      {`echo '{' >$OUT/reward.json`, nil, nil, `/logs/verifier/reward.json holds "{", not an object of numbers (test.sh ended with exit code 0)`},
	} {
		in, h := smallTask(t, map[string]string{"tests/test.sh": "OUT=${LOGS_DIR:-/logs}/verifier\n" + c.script + "\n"})
		// Leftovers of the image must not count.
		writeFiles(t, h.root, map[string]string{"logs/verifier/reward.txt": "1\n", "logs/verifier/reward.json": `{"reward":1}`, "tests/old": "x"})
		got, err := in.Verify(t.Context(), h, nil)
		if err != nil || !sameReward(got.Reward, c.want) || !maps.Equal(got.Parts, c.parts) || got.Note != c.note {
			t.Errorf("%s: %v %v %q, %v", name, got.Reward, got.Parts, got.Note, err)
		}
		if exists, err := h.Stat(t.Context(), h.Path("/tests/old")); err == nil {
			t.Errorf("%s: %s was not cleared away", name, exists.Name())
		}
	}
}

// smallTask is a Harbor task without an archive: its workdir is a bare folder.
func smallTask(t testing.TB, changes map[string]string, o ...Options) (*Instance, *host) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "small")
	files := map[string]string{"task.toml": goodToml}
	maps.Copy(files, changes)
	writeFiles(t, dir, harborFiles(files))
	ins, err := Load(dir, o...)
	if err != nil {
		t.Fatal(err)
	}
	h := openHost(t, &ins[0])
	writeFiles(t, h.work, map[string]string{"f": "old\n"})
	return &ins[0], h
}

const smallFix = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n"

func TestVerifyAppliesThePatch(t *testing.T) {
	test := map[string]string{"tests/test.sh": "grep -q new f && echo 1 >$LOGS_DIR/verifier/reward.txt || echo 0 >$LOGS_DIR/verifier/reward.txt\n"}
	for name, c := range map[string]struct {
		patch string
		want  float64
		note  string
	}{
		"none":           {"", 0, ""},
		"fits":           {smallFix, 1, ""},
		"does not apply": {strings.Replace(smallFix, "-old", "-other", 1), 0, "patch does not apply: patch failed: f:1"},
	} {
		in, h := smallTask(t, test)
		got, err := in.Verify(t.Context(), h, []byte(c.patch))
		if err != nil || got.Reward == nil || *got.Reward != c.want || got.Note != c.note {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// A verifier that cannot run or takes too long gives no reward; a lost sandbox
// and a caller that gave up are errors.
func TestVerifierThatCannotRun(t *testing.T) {
	in, h := smallTask(t, map[string]string{"tests/test.sh": "exec sleep 60\n", "task.toml": goodToml + "[verifier]\ntimeout_sec = 0.2\n"})
	got, err := in.Verify(t.Context(), h, nil)
	if err != nil || got.Reward != nil || got.Note != "verifier timed out after 200ms" || got.TimedOut != 200*time.Millisecond {
		t.Errorf("slow: %+v, %v", got, err)
	}

	in, h = smallTask(t, nil)
	in.kind = inPlace{commit: strings.Repeat("1", 40)}
	got, err = in.Verify(t.Context(), h, nil)
	if err != nil || got.Reward != nil || !strings.HasPrefix(got.Note, "verifier could not run: prepare small: commit 111") {
		t.Errorf("no commit: %+v, %v", got, err)
	}

	in, h = smallTask(t, nil)
	h.lost = true
	if got, err = in.Verify(t.Context(), h, nil); !errors.Is(err, sandbox.ErrLost) || got.Reward != nil {
		t.Errorf("lost: %+v, %v", got, err)
	}

	in, h = smallTask(t, map[string]string{"tests/test.sh": "exec sleep 60\n"})
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	if got, err = in.Verify(ctx, h, nil); !errors.Is(err, context.DeadlineExceeded) || got.Reward != nil {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
}

// The run sandbox never holds tests or solution.
func TestAnswersStayOutOfTheRunSandbox(t *testing.T) {
	for _, in := range bundledInstances(t) {
		h := openHost(t, &in)
		if err := in.Prepare(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{"/tests", "/solution", "/logs"} {
			if _, err := h.Stat(t.Context(), h.Path(dir)); err == nil {
				t.Errorf("%s: %s is in the run sandbox", in.ID, dir)
			}
		}
		h.sh(t, `! find . -name '*hidden*' -o -name fix.patch -o -name solve.sh -o -name run.py | grep .`)
	}
}

// Edits to tests count for nothing, nor do files that pose as the standard
// library or end the interpreter.
func TestTampering(t *testing.T) {
	for name, script := range map[string]string{
		"tests emptied":   "for f in tests/test_*.py; do echo >$f; done",
		"tests skipped":   "printf 'import unittest\\nraise unittest.SkipTest(\"x\")\\n' >tests/__init__.py",
		"false unittest":  "mkdir unittest; printf 'import sys\\nsys.exit(0)\\n' >unittest/__init__.py; cp unittest/__init__.py json.py",
		"sitecustomize":   "printf 'import os\\nos._exit(0)\\n' >sitecustomize.py; cp sitecustomize.py usercustomize.py",
		"early exit":      "printf 'import os\\nos._exit(0)\\n' >>shelf/__init__.py",
		"sys.exit":        "printf 'import sys\\nsys.exit(0)\\n' >>shelf/__init__.py",
		"reward in place": "mkdir -p logs/verifier; echo 1 >logs/verifier/reward.txt",
		"import error":    "echo 'import nothing_there' >>shelf/__init__.py",
	} {
		in := bundledNamed(t, "pager-last-page")
		h := openHost(t, &in)
		if err := in.Prepare(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		h.sh(t, script)
		got, err := in.Verify(t.Context(), openHost(t, &in), takePatch(t, &in, h))
		if err != nil || got.Reward == nil || *got.Reward != 0 {
			t.Errorf("%s: %v %s, %v\n%s", name, got.Reward, got.Note, err, got.Log)
		}
	}
}

func bundledNamed(t *testing.T, id string) Instance {
	t.Helper()
	for _, in := range bundledInstances(t) {
		if in.ID == id {
			return in
		}
	}
	t.Fatalf("no bundled task %s", id)
	return Instance{}
}

func TestSolveByScript(t *testing.T) {
	in, h := smallTask(t, map[string]string{
		"solution/solve.sh": "set -e\necho \"$WORD\" >f\ncp \"$(dirname \"$0\")/more\" .\n", "solution/more": "x",
		"task.toml": goodToml + "[solution]\nenv = {WORD = \"new\"}\n",
	})
	if err := in.Prepare(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if err := in.Solve(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if got := h.sh(t, "cat f more; ls -A ../solution"); got != "new\nx" {
		t.Errorf("%q", got)
	}
	in, h = smallTask(t, map[string]string{"solution/solve.sh": "cd sub; patch -p0 <<'EOF'\n--- f\n+++ f\n@@ -1 +1 @@\n-old\n+new\nEOF\n"}, Options{Verify: VerifyFresh})
	h.sh(t, "mkdir sub; mv f sub/f; echo other >f")
	if err := in.Prepare(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	// Tried as a diff of the workdir, then as the script it is.
	if err := in.Solve(t.Context(), h); err != nil {
		t.Error(err)
	}
	if got := h.sh(t, "cat f sub/f"); got != "other\nnew" {
		t.Errorf("%q", got)
	}
	in, h = smallTask(t, map[string]string{"solution/solve.sh": "echo cannot; exit 9\n"}, Options{Verify: VerifyFresh})
	if err := in.Solve(t.Context(), h); err == nil || err.Error() != "solve small: solve.sh: exit code 9: cannot" {
		t.Errorf("%v", err)
	}
	in, h = smallTask(t, nil)
	if err := in.Solve(t.Context(), h); err == nil || err.Error() != "solve small: the task has no reference solution" {
		t.Errorf("%v", err)
	}
}

func TestLogIsBounded(t *testing.T) {
	in, h := smallTask(t, map[string]string{"tests/test.sh": "echo start; head -c 3000000 /dev/zero | tr '\\000' x; echo; echo end; echo 1 >$LOGS_DIR/verifier/reward.txt\n"})
	got, err := in.Verify(t.Context(), h, nil)
	if err != nil || got.Reward == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	log := string(got.Log)
	if len(log) > maxLog+100 || !strings.HasPrefix(log, "start\n") || !strings.HasSuffix(log, "end\n") || !strings.Contains(log, "bytes cut") {
		t.Errorf("%d bytes", len(log))
	}
}

// wrongSum is a project in Python whose sum is a difference, with a test that passes.
const wrongSum = `
mkdir tests; touch tests/__init__.py
echo 'def add(a, b): return a - b' >calc.py
printf 'import unittest\nimport calc\nclass T(unittest.TestCase):\n    def test_zero(self):\n        self.assertEqual(calc.add(1, 0), 1)\n' >tests/test_calc.py`

// A row's whole life, with a repository, its evaluation script and its parser.
func TestRowEndToEnd(t *testing.T) {
	in := &Instance{ID: "x", Workdir: "/testbed"}
	h := openHost(t, in)
	h.sh(t, gitSetup+wrongSum+`
commit base
printf 'import unittest\nimport calc\nclass T(unittest.TestCase):\n    def test_zero(self):\n        self.assertEqual(calc.add(1, 0), 1)\n    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n' >tests/test_calc.py
printf 'import unittest\nclass N(unittest.TestCase):\n    def test_new(self):\n        pass\n' >tests/test_new.py
git add -A; git diff --cached >../test.patch; git reset -q --hard
sed -i 's/a - b/a + b/' calc.py; git diff >../gold.patch; git reset -q --hard
git rev-parse HEAD >../base; cp -r . ../seed`)
	row := fmt.Sprintf(`{"instance_id":"t__calc-1","repo":"t/calc","base_commit":%q,"problem_statement":"add subtracts","patch":%q,"test_patch":%q,
"FAIL_TO_PASS":"[\"test_add (tests.test_calc.T.test_add)\"]","PASS_TO_PASS":["test_zero (tests.test_calc.T.test_zero)"],
"image":"x:1","log_parser":"unittest","test_cmd":"python3 -m unittest -v"}`, h.sh(t, "cat ../base"), h.sh(t, "cat ../gold.patch")+"\n", h.sh(t, "cat ../test.patch")+"\n")
	ins, err := rowsOf(t, []byte(strings.ReplaceAll(row, "\n", " ")))
	if err != nil {
		t.Fatal(err)
	}
	real := &ins[0]
	kind := real.kind.(*swebench)
	for name, c := range map[string]struct {
		patch string
		want  *float64
		note  string
	}{
		"untouched":     {"", f64(0), "0 of 1 fixed, 1 of 1 kept"},
		"gold":          {string(real.Reference.Patch), f64(1), "1 of 1 fixed, 1 of 1 kept"},
		"tests edited":  {"--- a/tests/test_calc.py\n+++ b/tests/test_calc.py\n@@ -1,5 +1 @@\n-import unittest\n-import calc\n-class T(unittest.TestCase):\n-    def test_zero(self):\n-        self.assertEqual(calc.add(1, 0), 1)\n+x\n--- /dev/null\n+++ b/tests/test_new.py\n@@ -0,0 +1 @@\n+y\n", f64(0), "0 of 1 fixed, 1 of 1 kept"},
		"broken source": {"--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-def add(a, b): return a - b\n+def add(\n", f64(0), "no test result in the output: the test runner did not get to its summary"},
		"no apply":      {"--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-x\n+y\n", f64(0), "patch does not apply: patch failed: calc.py:1"},
	} {
		fresh := openHost(t, real)
		fresh.sh(t, "cp -r "+h.Path("/seed")+"/. .")
		moved := *kind
		moved.script = strings.ReplaceAll(kind.script, "cd /testbed", "cd "+fresh.work)
		one := *real
		one.kind = &moved
		got, err := one.Verify(t.Context(), fresh, []byte(c.patch))
		if err != nil || !sameReward(got.Reward, c.want) || got.Note != c.note {
			t.Errorf("%s: %v %q, %v\n%s", name, got.Reward, got.Note, err, got.Log)
		}
	}
	if _, err := real.Reference.Edits(); err != nil {
		t.Error(err)
	}
	empty := openHost(t, real)
	if err := real.Prepare(t.Context(), empty); err == nil || !strings.Contains(err.Error(), "image x:1 has no git repository in /testbed") {
		t.Errorf("image without a repository: %v", err)
	}
}
