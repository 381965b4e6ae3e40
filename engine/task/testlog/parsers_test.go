package testlog

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// want is a map of results in a short form: a line each, ". name" passed,
// "F" failed, "E" error, "S" skipped, "x" expected failure.
func want(t *testing.T, text string) Results {
	t.Helper()
	statuses := map[byte]Status{'.': Passed, 'F': Failed, 'E': Errored, 'S': Skipped, 'x': XFailed}
	found := Results{}
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\n"), "\n") {
		if line == "" {
			continue
		}
		s, ok := statuses[line[0]]
		if !ok || len(line) < 2 || line[1] != ' ' {
			t.Fatalf("broken expectation %q", line)
		}
		found[line[2:]] = s
	}
	return found
}

func check(t *testing.T, name, log string, expected Results) {
	t.Helper()
	p, err := Choose(Row{LogParser: name})
	if err != nil {
		t.Fatal(err)
	}
	got := p.Parse(log)
	if maps.Equal(got, expected) {
		return
	}
	for k, s := range expected {
		if got[k] != s {
			t.Errorf("%s: %q is %q, want %q", name, k, got[k], s)
		}
	}
	for k, s := range got {
		if _, ok := expected[k]; !ok {
			t.Errorf("%s: %q is %q, want nothing", name, k, s)
		}
	}
}

func logFile(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// pytestShort is what the first word after the status gives, for the project
// that testdata/README.md describes.
const pytestShort = `
. test_shop.py::test_plain
. test_shop.py::test_param[a
. test_shop.py::test_param[x[0]]
. test_shop.py::test_param[gr\xfcn]
. test_shop.py::test_param[/tmp/shop/list.txt]
. test_shop.py::test_param[//share/x]
. test_shop.py::test_param[]
. test_shop.py::TestCart::test_add
. test_shop.py::TestCart::test_total[1]
x test_shop.py::test_known
E test_shop.py::test_error
F test_shop.py::test_fails
F test_shop.py::TestCart::test_total[2]
`

// "test_param[a b]" passes and "test_param[a - b]" fails: cut at the blank they
// are one name, and the summary has the failure last.
func shortNames() string {
	return strings.Replace(pytestShort, ". test_shop.py::test_param[a\n", "F test_shop.py::test_param[a\n", 1)
}

const pytestLong = `
. test_shop.py::test_plain
. test_shop.py::test_param[a b]
. test_shop.py::test_param[x[0]]
. test_shop.py::test_param[gr\xfcn]
. test_shop.py::test_param[/tmp/shop/list.txt]
. test_shop.py::test_param[//share/x]
. test_shop.py::test_param[]
. test_shop.py::TestCart::test_add
. test_shop.py::TestCart::test_total[1]
E test_shop.py::test_error - OSError: till is locked
F test_shop.py::test_fails
F test_shop.py::test_param[a
F test_shop.py::TestCart::test_total[2]
`

func TestPytest(t *testing.T) {
	printed := ". is\n" // a test prints "PASSED is only a word …"
	broken := "E test_broken.py\n"
	for _, version := range []string{"7.2", "8.3"} {
		log := logFile(t, "pytest-"+version+".txt")
		for _, name := range []string{"pytest", "parse_log_flask", "matplotlib"} {
			check(t, name, log, want(t, shortNames()+printed+broken))
			check(t, name, strings.ReplaceAll(log, "\n", "\r\n"), want(t, shortNames()+printed+broken))
			check(t, name, strings.TrimSuffix(log, "\n"), want(t, shortNames()+printed+broken))
		}
		options := strings.Replace(shortNames(), "[/tmp/shop/list.txt]", "[/list.txt]", 1)
		check(t, "pytest_options", log, want(t, options+printed+broken))
		v2 := pytestLong + broken + "x test_shop.py::test_known - rounding\n. is only a word in what a test prints\n"
		check(t, "pytest_v2", log, want(t, v2))
		// Colours hide the status from the plain reader; not from this one.
		colour := logFile(t, "pytest-"+version+"-colour.txt")
		check(t, "pytest", colour, want(t, printed))
		check(t, "scikit", colour, want(t, strings.Replace(v2, broken, "", 1)))
	}
	check(t, "pytest", logFile(t, "pytest-7.2-none.txt"), Results{})
}

func TestPytestVerbose(t *testing.T) {
	for _, version := range []string{"7.2", "8.3"} {
		log := logFile(t, "pytest-"+version+"-verbose.txt")
		// Of "name[a b] PASSED" no word is a status where one is looked for.
		smith := strings.Replace(pytestShort, ". test_shop.py::test_param[a\n", "", 1) + "S test_shop.py::test_skipped\n"
		check(t, "swesmith_pytest", log, want(t, smith))
		// The progress at the end of a line hides the status: only failures are seen.
		check(t, "pytest_v2", log, want(t, "F test_shop.py::test_fails\nF test_shop.py::test_param[a\nF test_shop.py::TestCart::test_total[2]\nE test_shop.py::test_error - OSError: till is locked\n"))
		seaborn := ""
		for line := range strings.SplitSeq(pytestShort, "\n") {
			if strings.HasPrefix(line, ". ") && !strings.HasSuffix(line, "[a") || strings.HasPrefix(line, "F ") {
				seaborn += line + "\n"
			}
		}
		check(t, "seaborn", log, want(t, seaborn+"F test_shop.py::test_param[a\n"))
	}
	xdist := logFile(t, "pytest-7.2-xdist.txt")
	check(t, "swesmith_autograd", xdist, Results{}) // the progress is in the way
	check(t, "swesmith_autograd", strings.NewReplacer("[  6%] ", "", "[ 12%] ", "").Replace(xdist), want(t, ". test_shop.py::test_plain\nF test_shop.py::test_fails\n"))
	check(t, "swesmith_paramiko", xdist, want(t, "F test_shop.py::test_fails\nF test_shop.py::test_param[a\nF test_shop.py::TestCart::test_total[2]\nE test_shop.py::test_error\n"))
}

func TestUnittest(t *testing.T) {
	const sums = `
. test_add (test_unit.Sums.test_add)
. Adds two numbers.
. test_noise (test_unit.Sums.test_noise)
S test_skip (test_unit.Sums.test_skip)
F test_bad (test_unit.Sums.test_bad)
E test_err (test_unit.Sums.test_err)
E setUpClass (test_unit.Setup)
`
	for _, version := range []string{"3.11", "3.13"} {
		log := logFile(t, "unittest-"+version+".txt")
		// The subtest fails on a line and in a heading that both have its parameters.
		// The test with a docstring counts under its own name too.
		check(t, "unittest", log, want(t, sums+". test_doc (test_unit.Sums.test_doc)\nx test_known (test_unit.Sums.test_known)\nF test_unexpected (test_unit.Sums.test_unexpected)\nF test_sub (test_unit.Sums.test_sub) (i=1, name='a b')\n"))
		check(t, "django", log, want(t, sums+"F test_sub (test_unit.Sums.test_sub) (i=1, name='a b')\nF test_bad\nF test_sub\nE test_err\nE setUpClass\n"))
	}
}

// Of tests that share a docstring each has its own outcome, whatever it prints.
func TestUnittestDocstrings(t *testing.T) {
	const log = "test_a (m.T.test_a)\nSame. ... FAIL\ntest_b (m.T.test_b)\nSame. ... noise\nok\ntest_c (m.T.test_c)\nSame. ... skipped 'x'\ntest_d (m.T.test_d)\nA ... b. ... ok\n"
	check(t, "unittest", log, want(t, "F test_a (m.T.test_a)\n. test_b (m.T.test_b)\nS test_c (m.T.test_c)\nS Same.\n. test_d (m.T.test_d)\n. A ... b.\n"))
}

func TestDjango(t *testing.T) {
	for _, version := range []string{"3.2", "4.2"} {
		check(t, "django", logFile(t, "django-"+version+".txt"), want(t, `
. test_check (shop.tests.Pages.test_check)
. test_good (shop.tests.Pages.test_good)
. A page that is not there is a 404.
. test_server_error (shop.tests.Pages.test_server_error)
. test_two_lines (shop.tests.Plain.test_two_lines)
S test_skipped (shop.tests.Plain.test_skipped)
E test_error (shop.tests.Plain.test_error)
F test_fails (shop.tests.Plain.test_fails)
E test_error
F test_fails
`))
	}
}

// The noise that Django's own suite prints, in the three forms that are known.
// Written from the description of them, not printed by Django.
func TestDjangoNoise(t *testing.T) {
	check(t, "django", `test_a (x.A) ... Testing against Django installed in '/testbed/django' with up to 2 processes
b ... c
Found 1 test(s).
System check identified no issues (0 silenced).
ok
test_b (x.B) ... Internal Server Error: /broken/page/
ok
test_c (x.C) ... System check identified no issues (0 silenced)
ok
test_d (x.D) ... OK
test_e (x.E) ...  OK
Applying sites.0002_alter_domain_unique...test_no_migrations (x.F) ... ok
test_g (x.G) ... FAIL
ok, says the test
test_admin: --version is equivalent to version
FAIL:
ERROR:`, want(t, `
. test_a (x.A)
. b
. test_b (x.B)
. test_c (x.C)
. test_d (x.D)
. test_e (x.E)
. test_no_migrations (x.F)
F test_g (x.G)
. --version is equivalent to version
`))
}

func TestSympy(t *testing.T) {
	// The last test of a file shares its line with the file's outcome.
	check(t, "sympy", logFile(t, "sympy-1.11.txt"), want(t, ". test_adds\nF test_fails\nE test_error\nF test_shop.py:test_error\nF test_shop.py:test_fails\n"))
}

func TestMatplotlibNames(t *testing.T) {
	check(t, "matplotlib", "PASSED t.py::test_x[MouseButton.LEFT-MouseButton.RIGHT]\nSKIPPED [3] t.py:9: no\n", want(t, ". t.py::test_x[1-3]\n"))
}

// Status words that are no result.
func TestBareStatus(t *testing.T) {
	log := "PASSED\nFAILED\n PASSED a\nPASSEDX b\nERRORS c\nPASSED [100%]\nERROR: d\n"
	check(t, "pytest", log, want(t, ". [100%]\n"))
	check(t, "pytest_v2", log, want(t, ". [100%]\n"))
	check(t, "pytest_options", log, want(t, ". [100%]\n"))
	check(t, "seaborn", log, want(t, ". [100%]\n. b\n"))
}
