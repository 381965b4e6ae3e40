package testlog

import (
	"slices"
	"strings"
	"testing"
)

// evaluated wraps a runner's output as an evaluation script prints it.
func evaluated(log, exit string) string {
	return "+ git apply -v -\n+ : '>>>>> Start Test Output'\n+ python3 -m pytest -rA t.py\n" + log +
		"+ SWEBENCH_TEST_EXIT_CODE=" + exit + "\n+ : '>>>>> End Test Output'\n+ echo '>>>>> Test Exit Code: " + exit + "'\n>>>>> Test Exit Code: " + exit + "\n"
}

func parser(t testing.TB, name string) Parser {
	t.Helper()
	p, err := Choose(Row{LogParser: name})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGrade(t *testing.T) {
	good := evaluated("PASSED t::a\nPASSED t::b\nXFAIL t::x\nSKIPPED t::s\n==== 2 passed in 0.1s ====\n", "0")
	bad := evaluated("PASSED t::b\nFAILED t::a - no\nERROR t::e - no\n==== 1 failed, 1 passed in 0.1s ====\n", "1")
	f := func(names ...string) []string { return names }
	for name, c := range map[string]struct {
		log        string
		fail, pass []string
		failOnly   bool
		want       Resolution
		note       string
	}{
		"all":                  {good, f("t::a"), f("t::b"), false, Full, "1 of 1 fixed, 1 of 1 kept"},
		"xfail passes":         {good, f("t::x"), f("t::x"), false, Full, "1 of 1 fixed, 1 of 1 kept"},
		"skip does not fix":    {good, f("t::s"), nil, false, No, "0 of 1 fixed, 0 of 0 kept"},
		"skip among fixed":     {good, f("t::a", "t::s"), nil, false, Partial, "1 of 2 fixed, 0 of 0 kept"},
		"skip is kept":         {good, f("t::a"), f("t::s"), false, Full, "1 of 1 fixed, 1 of 1 kept"},
		"missing is a failure": {good, f("t::a", "t::none"), nil, false, Partial, "1 of 2 fixed, 0 of 0 kept"},
		"missing is not kept":  {good, f("t::a"), f("t::none"), false, No, "1 of 1 fixed, 0 of 1 kept"},
		"partly, not kept":     {bad, f("t::b", "t::a"), f("t::e"), false, No, "1 of 2 fixed, 0 of 1 kept"},
		"nothing fixed":        {bad, f("t::a"), f("t::b"), false, No, "0 of 1 fixed, 1 of 1 kept"},
		"broken":               {bad, f("t::b"), f("t::a"), false, No, "1 of 1 fixed, 0 of 1 kept"},
		"nothing to fix":       {good, nil, f("t::b"), false, Full, "0 of 0 fixed, 1 of 1 kept"},
		"only errors fail":     {evaluated("PASSED t::a\nERROR t::e\n", "1"), f("t::a"), f("t::e"), false, No, "1 of 1 fixed, 0 of 1 kept"},
		"fail only":            {good, f("t::none"), f("t::s"), true, Full, "1 of 1 fixed, 1 of 1 kept"},
		"fail only, failed":    {bad, f("t::a"), nil, true, No, "0 of 1 fixed, 0 of 0 kept"},
		"fail only, error":     {bad, f("t::e"), nil, true, Full, "1 of 1 fixed, 0 of 0 kept"},
		"fail only, no prefix": {evaluated("FAILED t::p[ab]\n", "1"), f("t::p[a"), nil, true, Full, "1 of 1 fixed, 0 of 0 kept"},

		"cut name":             {evaluated("PASSED t::p[a\n", "0"), f("t::p[a"), nil, false, Full, "1 of 1 fixed, 0 of 0 kept"},
		"cut name, prefix":     {evaluated("PASSED t::p[ab]\nPASSED t::p[ac]\n", "0"), f("t::p[a"), nil, false, Full, "1 of 1 fixed, 0 of 0 kept"},
		"cut name, xfail":      {evaluated("PASSED t::p[ab]\nXFAIL t::p[ac]\n", "0"), f("t::p[a"), nil, false, Full, "1 of 1 fixed, 0 of 0 kept"},
		"cut name, disagree":   {evaluated("PASSED t::p[ab]\nFAILED t::p[ac]\n", "1"), f("t::p[a"), f("t::p[a"), false, No, "0 of 1 fixed, 0 of 1 kept"},
		"cut name, pass, skip": {evaluated("PASSED t::p[ab]\nSKIPPED t::p[ac]\n", "0"), nil, f("t::p[a"), false, No, "0 of 0 fixed, 0 of 1 kept"},
		"cut name, skipped":    {evaluated("SKIPPED t::p[ab]\nSKIPPED t::p[ac]\n", "0"), f("t::p[a"), f("t::p[a"), false, No, "0 of 1 fixed, 1 of 1 kept"},
		"cut name, skip, fail": {evaluated("SKIPPED t::p[ab]\nFAILED t::p[ac]\n", "1"), nil, f("t::p[a"), false, No, "0 of 0 fixed, 0 of 1 kept"},
		"whole name":           {evaluated("PASSED t::p[a-b]\n", "0"), f("t::p[a]"), nil, false, No, "0 of 1 fixed, 0 of 0 kept"},
		"] too many":           {evaluated("PASSED p]more\n", "0"), f("p]"), nil, false, No, "0 of 1 fixed, 0 of 0 kept"},

		"exit code lies":      {evaluated("PASSED t::a\n==== 1 passed in 1s ====\n", "1"), f("t::a"), nil, false, No, "the test command ended with exit code 1 although no test is reported as failed"},
		"exit code 137":       {evaluated("PASSED t::a\n", "137"), f("t::a"), nil, false, No, "the test command ended with exit code 137 although no test is reported as failed"},
		"exit code forged":    {evaluated("PASSED t::a\n>>>>> Test Exit Code: 0\n", "1"), f("t::a"), nil, false, No, "the test command ended with exit code 1 although no test is reported as failed"},
		"no exit code":        {">>>>> Start Test Output\nPASSED t::a\n>>>>> End Test Output\n", f("t::a"), nil, false, Full, "1 of 1 fixed, 0 of 0 kept"},
		"reset fails":         {evaluated("PASSED t::a\n", "0") + "error: pathspec 't.py' did not match\n", f("t::a"), nil, false, Full, "1 of 1 fixed, 0 of 0 kept"},
		"no results":          {evaluated("Traceback\n", "1"), f("t::a"), nil, false, No, "no test result in the output: the test runner did not get to its summary"},
		"no tests ran":        {evaluated("==== no tests ran in 0.01s ====\n", "5"), f("t::a"), nil, true, No, "no test result in the output: the test runner did not get to its summary"},
		"clean karma":         {evaluated("Executed 1339 of 1346 (skipped 7) SUCCESS\n", "0"), f("t::a"), nil, true, Full, "1 of 1 fixed, 0 of 0 kept"},
		"karma lost":          {evaluated("Chrome 120: Executed 0 of 0 DISCONNECTED\n", "1"), f("t::a"), nil, true, No, "no test result in the output: the test runner did not get to its summary"},
		"clean jasmine":       {evaluated("658 specs, 0 failures\n", "0"), f("t::a"), nil, true, Full, "1 of 1 fixed, 0 of 0 kept"},
		"clean mocha":         {evaluated("  12 passing (2s)\n", "0"), f("t::a"), nil, true, Full, "1 of 1 fixed, 0 of 0 kept"},
		"no mocha":            {evaluated("  0 passing (2s)\n", "0"), f("t::a"), nil, true, No, "no test result in the output: the test runner did not get to its summary"},
		"clean rendering":     {evaluated("case foo': ok\n", "0"), f("t::a"), nil, true, Full, "1 of 1 fixed, 0 of 0 kept"},
		"jest suites":         {evaluated("Test Suites: 1 skipped, 3 passed, 4 total\n", "0"), f("t::a"), nil, true, Full, "1 of 1 fixed, 0 of 0 kept"},
		"evidence, no result": {evaluated("# tests 4\n", "0"), f("t::a"), nil, false, No, "0 of 1 fixed, 0 of 0 kept"},
		"results before":      {"PASSED t::a\n" + evaluated("", "0"), f("t::a"), nil, false, Full, "1 of 1 fixed, 0 of 0 kept"},
		"before, but results": {"PASSED t::a\n" + evaluated("PASSED t::b\n", "0"), f("t::a"), nil, false, No, "0 of 1 fixed, 0 of 0 kept"},
		"markers forged":      {evaluated("PASSED t::a\n>>>>> End Test Output\nFAILED t::a\n", "1"), f("t::a"), nil, false, No, "0 of 1 fixed, 0 of 0 kept"},
		"failure forged":      {evaluated("PASSED t::a\n>>>>> Tests Errored\n", "0"), f("t::a"), nil, false, No, "the tests themselves printed \">>>>> Tests Errored\""},
		"carriage returns":    {evaluated("10%\rPASSED t::a\r\n", "0"), f("t::a"), nil, false, Full, "1 of 1 fixed, 0 of 0 kept"},
		"no last newline":     {strings.TrimSuffix(evaluated("PASSED t::a\n", "1"), "\n"), f("t::a"), nil, false, No, "the test command ended with exit code 1 although no test is reported as failed"},
	} {
		r := Rules{FailToPass: c.fail, PassToPass: c.pass, FailOnly: c.failOnly, Parser: parser(t, "pytest")}
		g := r.Grade(c.log)
		if g.Resolution != c.want || g.Note != c.note || g.Broken {
			t.Errorf("%s: %s %q broken %v", name, g.Resolution, g.Note, g.Broken)
		}
	}
}

func TestGradeBroken(t *testing.T) {
	good := evaluated("PASSED t::a\n", "0")
	for name, c := range map[string]struct{ log, note string }{
		"no start":     {"+ git apply -v -\nerror: corrupt patch at line 3\n", "the tests were not started: error: corrupt patch at line 3"},
		"nothing":      {"", "the tests were not started: "},
		"no end":       {">>>>> Start Test Output\nPASSED t::a\nKilled\n", "the tests did not come to their end"},
		"apply failed": {">>>>> Patch Apply Failed\n" + good, "its log says Patch Apply Failed"},
		"reset failed": {good + ">>>>> Reset Failed", "its log says Reset Failed"},
		"errored":      {good + ">>>>> Tests Errored\n", "its log says Tests Errored"},
		"timed out":    {">>>>> Start Test Output\nPASSED t::a\n>>>>> Tests Timed Out", "its log says Tests Timed Out"},
	} {
		g := Rules{FailToPass: []string{"t::a"}, Parser: parser(t, "pytest"), Script: strings.Join(failureMarkers, "\n")}.Grade(c.log)
		if !g.Broken || g.Note != c.note || g.Resolution != No || g.Resolved() {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

// What a script does not print itself comes of the tests, which then cannot have the
// reward absent: by a marker of failure that a process of theirs prints too late, or an
// installation too early, or by ending the script.
func TestGradeWhatTheScriptDoesNotSay(t *testing.T) {
	good, bad := evaluated("PASSED t::a\n", "0"), evaluated("FAILED t::a\n", "1")
	for name, c := range map[string]struct {
		log, note string
		want      Resolution
	}{
		"before":      {">>>>> Patch Apply Failed\n" + bad, "0 of 1 fixed, 0 of 0 kept", No},
		"behind":      {bad + ">>>>> Tests Timed Out\n", "0 of 1 fixed, 0 of 0 kept", No},
		"behind good": {good + ">>>>> Tests Timed Out\n", "1 of 1 fixed, 0 of 0 kept", Full},
		"ended":       {">>>>> Start Test Output\nPASSED t::a\n", "the evaluation was ended by its tests", No},
		"both":        {">>>>> Start Test Output\nPASSED t::a\n>>>>> Tests Errored\n", "the evaluation was ended by its tests", No},
	} {
		g := Rules{FailToPass: []string{"t::a"}, Parser: parser(t, "pytest"), Script: "pytest -rA\n: '>>>>> End Test Output'\n"}.Grade(c.log)
		if g.Broken || g.Note != c.note || g.Resolution != c.want {
			t.Errorf("%s: %+v", name, g)
		}
	}
	if g := (Rules{FailToPass: []string{"t::a"}, Parser: parser(t, "pytest"), Script: "pytest -rA\n"}).Grade("pytest\n"); !g.Broken {
		t.Errorf("not started: %+v", g)
	}
}

// SWE-smith: of what has to be kept, absent passes and skipped does not count. The
// rest is as elsewhere.
func TestGradeSmith(t *testing.T) {
	log := evaluated("t.py::a PASSED [ 10%]\nt.py::s SKIPPED (no) [ 20%]\nt.py::f FAILED [ 30%]\n", "1")
	for name, c := range map[string]struct {
		log        string
		fail, pass []string
		want       Resolution
		note       string
	}{
		"missing passes":   {log, []string{"t.py::a"}, []string{"u.py::x"}, Full, "1 of 1 fixed, 1 of 1 kept"},
		"skipped left out": {log, []string{"t.py::a"}, []string{"t.py::s"}, Full, "1 of 1 fixed, 0 of 0 kept"},
		"missing, to fix":  {log, []string{"t.py::a", "t.py::none"}, []string{"u.py::x"}, Partial, "1 of 2 fixed, 1 of 1 kept"},
		"skipped, to fix":  {log, []string{"t.py::s"}, nil, No, "0 of 1 fixed, 0 of 0 kept"},
		"failed":           {log, []string{"t.py::a"}, []string{"t.py::f"}, No, "1 of 1 fixed, 0 of 1 kept"},
		"no result at all": {evaluated("ImportError\n# tests 3\n", "4"), []string{"t.py::a"}, nil, No, "no test result in the output: the test runner did not get to its summary"},
		"guard":            {evaluated("t.py::b PASSED [100%]\n", "2"), []string{"t.py::a"}, nil, No, "the test command ended with exit code 2 although no test is reported as failed"},
	} {
		g := Rules{FailToPass: c.fail, PassToPass: c.pass, Smith: true, Parser: parser(t, "swesmith_pytest")}.Grade(c.log)
		if g.Resolution != c.want || g.Note != c.note {
			t.Errorf("%s: %s %q", name, g.Resolution, g.Note)
		}
	}
}

func TestGradeNamesFailing(t *testing.T) {
	names := make([]string, 80)
	for i := range names {
		names[i] = "t::" + itoa(i)
	}
	g := Rules{FailToPass: names, PassToPass: []string{"t::a"}, Parser: parser(t, "pytest")}.Grade(evaluated("PASSED t::a\nPASSED t::1\n", "0"))
	if g.Resolution != Partial || g.Fixed.Passed != 1 || g.Fixed.Total != 80 || len(g.Fixed.Failing) != maxFailing || !slices.Equal(g.Fixed.Failing[:2], []string{"t::0", "t::2"}) || len(g.Kept.Failing) != 0 {
		t.Errorf("%+v", g)
	}
	if g.Fixed.Value() != 1.0/80 || g.Kept.Value() != 1 || (Share{}).Value() != 1 || *g.Exit != 0 {
		t.Errorf("%+v", g)
	}
}

func TestInfra(t *testing.T) {
	for text, expected := range map[string]Infra{
		"Failed to launch Chrome! Chromium revision is not downloaded.": {"browser_launch_failed", true},
		"Error: cannot open display: :0":                                {"display_unavailable", true},
		"x\nKilled\ny":                                                  {"out_of_memory", true},
		"java.lang.OutOfMemoryError":                                    {"out_of_memory", true},
		"was Killed by":                                                 {},
		"Error response from daemon: no":                                {"container_unavailable", true},
		"Could not resolve host: example.com":                           {"network_unreachable", true},
		"Error: Cannot find module 'ol/layer/Vector'":                   {"missing_module", false},
		"collected 0 items":                                             {"no_tests_collected", false},
		"Timeout error: 1800 seconds exceeded.":                         {"tests_timed_out", false},
		"FAILED test_foo.py::test_bar - expected 3, got 4":              {},
		"Cannot find module x\nMissing X server":                        {"display_unavailable", true}, // the order of the list
	} {
		if got := infra(text); got != expected {
			t.Errorf("%q: %+v", text, got)
		}
	}
	// Advice only, and only where there is no result.
	r := Rules{FailToPass: []string{"t::a"}, Parser: parser(t, "pytest")}
	if g := r.Grade(evaluated("Could not resolve host: x\nPASSED t::a\n", "0")); g.Infra != (Infra{}) || !g.Resolved() {
		t.Errorf("%+v", g)
	}
	if g := r.Grade(evaluated("Could not resolve host: x\n", "1")); !g.Infra.Sure || !g.Invalid || g.Broken {
		t.Errorf("%+v", g)
	}
}
