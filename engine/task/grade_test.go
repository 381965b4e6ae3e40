package task

import (
	"slices"
	"strings"
	"testing"

	"rollbench/engine/task/testlog"
)

// evaluated wraps a runner's output as an evaluation script prints it.
func evaluated(log string, exit string) string {
	return "+ git apply -v -\n+ : '>>>>> Start Test Output'\n+ python3 -m pytest -rA t.py\n" + log +
		"+ SWEBENCH_TEST_EXIT_CODE=" + exit + "\n+ : '>>>>> End Test Output'\n+ echo '>>>>> Test Exit Code: " + exit + "'\n>>>>> Test Exit Code: " + exit + "\n"
}

// What the grades of package testlog mean for the reward.
func TestGrade(t *testing.T) {
	good := evaluated("PASSED t::a\nPASSED t::b\n==== 2 passed in 0.1s ====\n", "0")
	for name, c := range map[string]struct {
		log  string
		fail []string
		want *float64
		note string
	}{
		"resolved":   {good, []string{"t::a"}, f64(1), "1 of 1 fixed, 1 of 1 kept"},
		"partly":     {good, []string{"t::a", "t::c"}, f64(0), "1 of 2 fixed, 1 of 1 kept"},
		"exit code":  {evaluated("PASSED t::a\n", "1"), []string{"t::a"}, f64(0), "the test command ended with exit code 1 although no test is reported as failed"},
		"no results": {evaluated("Traceback\n", "1"), []string{"t::a"}, f64(0), "no test result in the output: the test runner did not get to its summary"},
		"no network": {evaluated("Could not resolve host: x\n", "1"), []string{"t::a"}, f64(0), "no test result in the output: the test runner did not get to its summary (a sign of a broken environment: network_unreachable)"},
		"no start":   {"error: corrupt patch at line 3\n", []string{"t::a"}, nil, "verifier could not run: the tests were not started: error: corrupt patch at line 3"},
		"no end":     {">>>>> Start Test Output\nPASSED t::a\nKilled\n", []string{"t::a"}, nil, "verifier could not run: the tests did not come to their end (a sign of a broken environment: out_of_memory)"},
		"errored":    {good + ">>>>> Tests Errored\n", []string{"t::a"}, nil, "verifier could not run: its log says Tests Errored"},
		"eval_type":  {evaluated("  3 passing (2s)\n", "0"), []string{"t::a"}, f64(0), "0 of 1 fixed, 0 of 1 kept"},
	} {
		_, runner, err := findRunner(&row{})
		if err != nil {
			t.Fatal(err)
		}
		g := grading{testlog.Rules{FailToPass: c.fail, PassToPass: []string{"t::b"}, Parser: runner.parser, Script: ">>>>> Tests Errored"}}
		got, parts, note := rewardOf(g.rules.Grade(c.log))
		if !sameReward(got, c.want) || note != c.note {
			t.Errorf("%s: %v %q", name, got, note)
		}
		if name == "partly" && (parts["fail_to_pass"] != 0.5 || parts["pass_to_pass"] != 1) {
			t.Errorf("parts %v", parts)
		}
	}
}

// Rows that say neither how they are read nor how they are graded.
func TestFindRunner(t *testing.T) {
	id := "GoogleChrome__lighthouse-1"
	for _, c := range []struct {
		row           row
		name, command string
	}{
		{row{}, "pytest", pytest},
		{row{Repo: "sympy/sympy"}, "sympy", ""},
		{row{Repo: "scikit-learn/scikit-learn"}, "scikit", pytest},
		{row{LogParser: "parse_log_requests"}, "requests", pytest},
		{row{LogParser: "unittest"}, "unittest", "python3 -m unittest -v"},
		{row{LogParser: "gotest"}, "gotest", "go test -v"},
		{row{Repo: "GoogleChrome/lighthouse", Version: "4.5", ID: id}, "lighthouse", ""},
		{row{Repo: "GoogleChrome/lighthouse", Version: "2.5", ID: id}, "lighthouse", ""},
	} {
		name, runner, err := findRunner(&c.row)
		if err != nil || name != c.name || runner.command != c.command {
			t.Errorf("%+v: %q %q %v", c.row, name, runner.command, err)
		}
	}
	if _, _, err := findRunner(&row{LogParser: "nose"}); err == nil || !strings.Contains(err.Error(), `field "log_parser" is "nose"; it must be one of ant, `) {
		t.Errorf("%v", err)
	}
}

// Pictures that a test patch names but does not hold are left out of it, and no file
// that their names could mean as patterns; the rest must apply.
func TestPicturesInTestPatch(t *testing.T) {
	_, h := openRepo(t, `mkdir t; echo old >t/a.txt; echo old >t/1.png; printf '\0' >'t/[12].png'; commit base`)
	patch := `diff --git a/t/a.txt b/t/a.txt
--- a/t/a.txt
+++ b/t/a.txt
@@ -1 +1 @@
-old
+new
diff --git a/t/1.png b/t/1.png
--- a/t/1.png
+++ b/t/1.png
@@ -1 +1 @@
-old
+new
diff --git a/t/[12].png b/t/[12].png
index 000000000..d4b1a2e55 100644
Binary files a/t/[12].png and b/t/[12].png differ
diff --git a/made.png b/made.png
new file mode 100644
index 000000000..d4b1a2e55
Binary files /dev/null and b/made.png differ
`
	run := func(patch string) string {
		script, err := evalScript(&row{TestPatch: patch, Run: []string{}}, "", "cat t/a.txt t/1.png", "HEAD", h.work)
		if err != nil {
			t.Fatal(err)
		}
		return h.sh(t, "cat >../eval.sh <<'END_OF_SCRIPT'\n"+script+"END_OF_SCRIPT\nbash ../eval.sh 2>/dev/null || true; git status --porcelain")
	}
	if got := run(patch); got != "new\nnew\n"+testlog.ExitMarker+" 0" {
		t.Errorf("the tests see %q", got)
	}
	if got := run(strings.Replace(patch, "-old", "-other", 1)); got != "" {
		t.Errorf("a patch of other files prints %q", got)
	}
}

func TestEvalScript(t *testing.T) {
	r := &row{TestPatch: "diff --git a/tests/old.py b/tests/old.py\n--- a/tests/old.py\n+++ b/tests/old.py\n@@ -1 +1 @@\n-a\n+b\n" +
		"diff --git a/tests/it's new.py b/tests/it's new.py\nnew file mode 100644\n--- /dev/null\n+++ b/tests/it's new.py\n@@ -0,0 +1 @@\n+EOF_ROLLBENCH\n" +
		"diff --git a/tests/data.json b/tests/data.json\ndeleted file mode 100644\n--- a/tests/data.json\n+++ /dev/null\n@@ -1 +0,0 @@\n-{}\n"}
	script, err := evalScript(r, "pytest", pytest, "abc1234", "/testbed")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"cd /testbed\nfor d in tests; do ",
		"git checkout abc1234 -- tests/old.py tests/data.json\nrm -rf -- 'tests/it'\\''s new.py'\n",
		"<<'EOF_ROLLBENCH_' || exit 1\n",
		": '>>>>> Start Test Output'\npython3 -m pytest -rA tests/old.py 'tests/it'\\''s new.py'\nSWEBENCH_TEST_EXIT_CODE=$?\n: '>>>>> End Test Output'\n",
	} {
		if !strings.Contains(script, want) {
			t.Errorf("the script lacks %q:\n%s", want, script)
		}
	}
	if bare, err := evalScript(&row{}, "pytest", pytest, "abc1234", "/testbed"); err != nil || strings.Contains(bare, "git checkout") || strings.Contains(bare, "git apply") {
		t.Errorf("no test patch: %v\n%s", err, bare)
	}
	django := directives("django", []string{"tests/admin/test_views.py"})
	if django[0] != "admin.test_views" {
		t.Errorf("django runs %q", django)
	}
	goFiles := []string{"b/x/y_test.go", "a_test.go", "b/x/z_test.go", "b/x/testdata/in_test.go", "fixtures/plain.env", "b/w/help.go"}
	if got := directives("gotest", goFiles); !slices.Equal(got, []string{".", "./b/x"}) {
		t.Errorf("go test runs %q", got)
	}
}
