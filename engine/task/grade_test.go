package task

import (
	"maps"
	"strings"
	"testing"
)

// Logs in the formats the runners print.
const pytestLog = `============================= test session starts ==============================
collected 7 items

tests/test_a.py .Fs.xE                                                  [100%]

=================================== FAILURES ===================================
PASSED is a word in some captured output
=========================== short test summary info ============================
PASSED tests/test_a.py::test_one
PASSED tests/test_a.py::test_param[a b]
PASSED tests/test_a.py::test_path[/tmp/x/y.txt]
SKIPPED [1] tests/test_a.py:9: not today
SKIPPED tests/test_a.py::test_skip - reason
XFAIL tests/test_a.py::test_known - bug
FAILED tests/test_a.py::test_two - assert 1 == 2
FAILED tests/test_a.py::test_three[x - y] - ValueError
ERROR tests/test_b.py - ImportError: no module
======= 2 failed, 3 passed, 2 skipped, 1 xfailed, 1 error in 0.12s =======
`

const unittestLog = `test_add (tests.test_calc.T.test_add) ... ok
test_bad (tests.test_calc.T.test_bad) ... FAIL
test_err (tests.test_calc.T.test_err) ... ERROR
test_noise (tests.test_calc.T.test_noise) ... some output
ok
test_skip (tests.test_calc.T.test_skip) ... skipped 'not today'
test_known (tests.test_calc.T.test_known) ... expected failure
test_doc (tests.test_calc.T.test_doc)
Adds two numbers. ... ok

======================================================================
ERROR: broken (unittest.loader._FailedTest.broken)
----------------------------------------------------------------------
======================================================================
FAIL: test_bad (tests.test_calc.T.test_bad)
----------------------------------------------------------------------
Ran 8 tests in 0.001s

FAILED (failures=1, errors=2, skipped=1, expected failures=1)
`

const gotestLog = `=== RUN   TestA
=== RUN   TestA/sub_one
    --- PASS: TestA/sub_one (0.00s)
--- PASS: TestA (0.00s)
--- FAIL: TestB (1.20s)
--- SKIP: TestC (0.00s)
FAIL
FAIL	example.invalid/x	1.203s
`

func TestParsers(t *testing.T) {
	base := map[string]status{
		"tests/test_a.py::test_one": passed, "tests/test_a.py::test_param[a": passed, "tests/test_a.py::test_path[/tmp/x/y.txt]": passed,
		"tests/test_a.py::test_skip": skipped, "tests/test_a.py::test_known": xfailed, "tests/test_a.py::test_two": failed,
		"tests/test_a.py::test_three[x": failed, "tests/test_b.py": errored,
		"is": passed, // the harness reads captured output like this, too
	}
	options := maps.Clone(base)
	delete(options, "tests/test_a.py::test_path[/tmp/x/y.txt]")
	options["tests/test_a.py::test_path[/y.txt]"] = passed
	for name, c := range map[string]struct {
		parser, log string
		want        map[string]status
	}{
		"pytest":  {"pytest", pytestLog, base},
		"crlf":    {"pytest", strings.ReplaceAll(pytestLog, "\n", "\r\n"), base},
		"options": {"pytest_options", pytestLog, options},
		"v2":      {"pytest_v2", "\x1b[32mPASSED\x1b[0m a.py::test_p[x y]\n\x1b[31mFAILED\x1b[0m a.py::t2[z] - assert 0 - no\na.py::t3 PASSED\nnothing here\n", map[string]status{"a.py::test_p[x y]": passed, "a.py::t2[z]": failed, "a.py::t3": passed}},
		"unittest": {"unittest", unittestLog, map[string]status{
			"test_add (tests.test_calc.T.test_add)": passed, "test_bad (tests.test_calc.T.test_bad)": failed, "test_err (tests.test_calc.T.test_err)": errored,
			"test_noise (tests.test_calc.T.test_noise)": passed, "test_skip (tests.test_calc.T.test_skip)": skipped, "test_known (tests.test_calc.T.test_known)": xfailed,
			"Adds two numbers.": passed, "broken (unittest.loader._FailedTest.broken)": errored}},
		"gotest":     {"gotest", gotestLog, map[string]status{"TestA/sub_one": passed, "TestA": passed, "TestB": failed, "TestC": skipped}},
		"matplotlib": {"matplotlib", "PASSED t.py::test_x[MouseButton.LEFT-MouseButton.RIGHT]\n", map[string]status{"t.py::test_x[1-3]": passed}},
		"seaborn":    {"seaborn", "t.py::test_a PASSED   [ 10%]\nFAILED t.py::test_b - no\nPASSED t.py::test_c\n", map[string]status{"t.py::test_a": passed, "t.py::test_b": failed, "t.py::test_c": passed}},
		"sympy":      {"sympy", "sympy/core/tests/test_x.py[3]\ntest_a ok\ntest_b F\ntest_c E\ntest_d w\n________ sympy/core/tests/test_x.py:test_b ________\n", map[string]status{"test_a": passed, "test_b": failed, "test_c": errored, "sympy/core/tests/test_x.py:test_b": failed}},
		"words":      {"pytest", "PASSEDX a\nPASSED\n FAILED a\nERRORS x\n", map[string]status{}},
	} {
		if got := runners[c.parser].parse(c.log); !maps.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %v\nwant %v", name, got, c.want)
		}
	}
}

// evaluated wraps a runner's output as an evaluation script prints it.
func evaluated(log string, exit string) string {
	return "+ git apply -v -\n+ : '>>>>> Start Test Output'\n+ python3 -m pytest -rA t.py\n" + log +
		"+ SWEBENCH_TEST_EXIT_CODE=" + exit + "\n+ : '>>>>> End Test Output'\n+ echo '>>>>> Test Exit Code: " + exit + "'\n>>>>> Test Exit Code: " + exit + "\n"
}

func TestGrade(t *testing.T) {
	good := evaluated("PASSED t::a\nPASSED t::b\nXFAIL t::x\nSKIPPED t::s\n==== 2 passed in 0.1s ====\n", "0")
	bad := evaluated("PASSED t::b\nFAILED t::a - no\n==== 1 failed, 1 passed in 0.1s ====\n", "1")
	f := func(names ...string) []string { return names }
	for name, c := range map[string]struct {
		log        string
		fail, pass []string
		failOnly   bool
		want       *float64
		note       string
	}{
		"all":                  {good, f("t::a"), f("t::b"), false, f64(1), "1 of 1 fixed, 1 of 1 kept"},
		"xfail passes":         {good, f("t::x"), nil, false, f64(1), "1 of 1 fixed, 0 of 0 kept"},
		"skip does not fix":    {good, f("t::s"), nil, false, f64(0), "0 of 1 fixed, 0 of 0 kept"},
		"skip is kept":         {good, f("t::a"), f("t::s"), false, f64(1), "1 of 1 fixed, 1 of 1 kept"},
		"missing is a failure": {good, f("t::a", "t::none"), nil, false, f64(0), "1 of 2 fixed, 0 of 0 kept"},
		"partly":               {bad, f("t::a"), f("t::b"), false, f64(0), "0 of 1 fixed, 1 of 1 kept"},
		"broken":               {bad, f("t::b"), f("t::a"), false, f64(0), "1 of 1 fixed, 0 of 1 kept"},
		"nothing to fix":       {good, nil, f("t::b"), false, f64(1), "0 of 0 fixed, 1 of 1 kept"},
		"fail only":            {good, f("t::none"), nil, true, f64(1), "1 of 1 fixed, 0 of 0 kept"},
		"fail only, failed":    {bad, f("t::a"), nil, true, f64(0), "0 of 1 fixed, 0 of 0 kept"},
		"cut name":             {evaluated("PASSED t::p[a\n", "0"), f("t::p[a"), nil, false, f64(1), "1 of 1 fixed, 0 of 0 kept"},
		"cut name, prefix":     {evaluated("PASSED t::p[ab]\nPASSED t::p[ac]\n", "0"), f("t::p[a"), nil, false, f64(1), "1 of 1 fixed, 0 of 0 kept"},
		"cut name, disagree":   {evaluated("PASSED t::p[ab]\nFAILED t::p[ac]\n", "1"), f("t::p[a"), nil, false, f64(0), "0 of 1 fixed, 0 of 0 kept"},
		"exit code lies":       {evaluated("PASSED t::a\n==== 1 passed in 1s ====\n", "1"), f("t::a"), nil, false, f64(0), "the test command ended with exit code 1 although no test is reported as failed"},
		"no results":           {evaluated("Traceback\n", "1"), f("t::a"), nil, false, f64(0), "no test result in the output: the test runner did not get to its summary"},
		"summary, no results":  {evaluated("==== no tests ran in 0.01s ====\n", "0"), f("t::a"), nil, false, f64(0), "0 of 1 fixed, 0 of 0 kept"},
		"results before":       {"PASSED t::a\n" + evaluated("", "0"), f("t::a"), nil, false, f64(1), "1 of 1 fixed, 0 of 0 kept"},
		"markers forged":       {evaluated("FAILED t::a\n>>>>> End Test Output\nPASSED t::b\n", "1"), f("t::a"), f("t::b"), false, f64(0), "0 of 1 fixed, 1 of 1 kept"},
		"no start":             {"+ git apply -v -\nerror: corrupt patch at line 3\n", f("t::a"), nil, false, nil, "verifier could not run: the tests were not started: error: corrupt patch at line 3"},
		"no end":               {">>>>> Start Test Output\nPASSED t::a\nKilled\n", f("t::a"), nil, false, nil, "verifier could not run: the tests did not come to their end"},
		"errored":              {good + ">>>>> Tests Errored\n", f("t::a"), nil, false, nil, "verifier could not run: its log says Tests Errored"},
	} {
		g := grading{failToPass: c.fail, passToPass: c.pass, failOnly: c.failOnly, parse: parsePytest}
		got, _, note := g.grade(c.log)
		if !sameReward(got, c.want) || note != c.note {
			t.Errorf("%s: %v %q", name, got, note)
		}
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
		"cd /testbed\n",
		"git checkout abc1234 -- tests/old.py tests/data.json\nrm -f -- 'tests/it'\\''s new.py'\n",
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
}

func FuzzGrade(f *testing.F) {
	for _, log := range []string{pytestLog, unittestLog, gotestLog, evaluated(pytestLog, "1"), ">>>>> Start Test Output>>>>> End Test Output"} {
		f.Add(log)
	}
	f.Fuzz(func(t *testing.T, log string) {
		for name, runner := range runners {
			g := grading{failToPass: []string{"a[", "b"}, passToPass: []string{"c"}, parse: runner.parse}
			reward, parts, note := g.grade(log)
			if note == "" || strings.Contains(note, "\n") || reward == nil && !strings.HasPrefix(note, "verifier could not run") {
				t.Errorf("%s: %v %v %q", name, reward, parts, note)
			}
		}
	})
}
