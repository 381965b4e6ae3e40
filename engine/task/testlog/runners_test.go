package testlog

import (
	"strings"
	"testing"
)

// Real outputs of other runners; testdata/README.md says where they are from.

func TestGotest(t *testing.T) {
	// A test that prints an unfinished line hides its outcome behind it.
	check(t, "gotest", logFile(t, "gotest-1.26.txt"), want(t, `
. TestAdd
F TestPrices
. TestPrices/one_euro
. TestPrices/grün
F TestPrices/a/b
. TestPrices/(brackets)_[x]
S TestSkipped
F TestPanic
`))
}

// Where the test files do not compile, nothing ran: a failure of the patch, and a
// clear one, also when other packages of the module are fine.
func TestGotestBuildFailed(t *testing.T) {
	log := logFile(t, "gotest-1.19-build.txt")
	check(t, "gotest", log, Results{})
	rules := Rules{FailToPass: []string{"TestParsing"}, PassToPass: []string{"TestWrite"}, Parser: parser(t, "gotest")}
	for name, c := range map[string]struct {
		log, note string
	}{
		"alone":               {log, "no test result in the output: the test runner did not get to its summary"},
		"beside one that ran": {"--- PASS: TestWrite (0.00s)\n" + log, "the test command ended with exit code 2 although no test is reported as failed"},
	} {
		if g := rules.Grade(evaluated(c.log, "2")); !g.Invalid || g.Broken || g.Resolved() || g.Infra.Sure || g.Note != c.note {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

func TestCargo(t *testing.T) {
	// Ignored tests, should_panic and doc tests are not of the form that is read.
	check(t, "cargo", logFile(t, "cargo-1.95.txt"), want(t, ". tests::adds\n. tests::inner::deep\nF tests::fails\n. opens\nF returns_err\n"))
}

func TestMocha(t *testing.T) {
	spec := logFile(t, "mocha-10.1-spec.txt")
	check(t, "mocha", spec, want(t, `
. stands alone
. cart > adds an item
. cart > is slow
F cart > fails - with a message
S cart > is not written
S cart > is skipped
. noise of a test > is 0 (empty)
. noise of a test > adds an item
F noise of a test > throws
F till > "before all" hook for "opens"
`))
	check(t, "highlightjs", spec, want(t, `
. stands alone
. cart.adds an item
. cart.is slow
F cart.fails - with a message
. noise of a test.is 0 (empty)
. noise of a test.adds an item
F noise of a test.throws
F till."before all" hook for "opens"
`))
	// Here pending tests are headings, as what a test prints is in all three.
	check(t, "lighthouse_mocha", "running 3 test files\n"+spec, want(t, `
. stands alone
. cart - adds an item
. cart - is slow
F cart - fails - with a message
. noise of a test - is 0 (empty)
. noise of a test - adds an item
F noise of a test - throws
F till - "before all" hook for "opens"
`))
	check(t, "lighthouse_mocha", spec, Results{}) // not announced
	for _, file := range []string{"mocha-10.1-min.txt", "mocha-10.1-dot.txt"} {
		log := logFile(t, file)
		check(t, "eslint", log, want(t, "F cart fails - with a message:\nF cart total [€] throws:\nF till \"before all\" hook for \"opens\":\n"))
		check(t, "p5js", log, want(t, "F cart:fails - with a message\nF cart:total [€]:throws\nF till:\"before all\" hook for \"opens\"\n"))
	}
	tap := logFile(t, "mocha-10.1-tap.txt")
	check(t, "tap", tap, want(t, `
. stands alone
. cart adds an item
. cart is slow
F cart fails - with a message
. cart is not written # SKIP -
. cart is skipped # SKIP -
. cart total [€] is 0 (empty)
. cart total [€] adds an item
F cart total [€] throws
F till "before all" hook for "opens"
`))
	json := want(t, `
. stands alone
. cart adds an item
. cart is slow
. cart total [€] is 0 (empty)
. cart total [€] adds an item
F cart fails - with a message
F cart total [€] throws
F till "before all" hook for "opens"
`)
	report := logFile(t, "mocha-10.1-json.txt")
	check(t, "prismjs", "+ "+prismCommand+"\n"+report, json)
	check(t, "prismjs", report, Results{})
	check(t, "prismjs", prismCommand+" {broken }", Results{})
	// These two read the report as text: what JSON escapes stays escaped.
	delete(json, `till "before all" hook for "opens"`)
	json[`till \"before all\" hook for \"opens\"`] = Failed
	check(t, "lighthouse_json", "+ ./node_modules/.bin/mocha --reporter json x.js\n"+report, json)
	check(t, "cypress", report+"../..", json)
}

func TestJest(t *testing.T) {
	verbose := logFile(t, "jest-29.3-verbose.txt")
	// Two tests of one name are one; what is skipped is called "skipped …".
	check(t, "jest", verbose, want(t, `
. pair 1 2
. pair 3 4
. adds an item
. is slow
F fails - with a message
S skipped is skipped
. is 0 (empty)
. opens
`))
	check(t, "calypso", "+ ./node_modules/.bin/jest client\n"+strings.ReplaceAll(verbose, " ms)", "ms)"), want(t, `
. console.log - noise - at Object.<anonymous> (cart.test.js:8:42) - pair 1 2
. console.log - noise - at Object.<anonymous> (cart.test.js:8:42) - pair 3 4
. cart - adds an item
. cart - is slow
F cart - fails - with a message
. cart - total [€] - is 0 (empty)
. cart - total [€] - adds an item
`))
	files := want(t, "F ./cart.test.js\nF ./broken.test.js\n. ./till.test.js\n")
	for _, name := range []string{"carbon", "react_pdf", "grommet", "emotion", "prettier", "scratch_gui", "lighthouse_jest"} {
		check(t, name, logFile(t, "jest-29.3.txt"), files)
	}
	check(t, "jest_json", logFile(t, "jest-29.3-transformed.txt"), want(t, `
. cart > adds an item
. cart > is slow
F cart > fails - with a message
. cart > total [€] > is 0 (empty)
. cart > total [€] > adds an item
. pair 1 2
. pair 3 4
. opens
`))
}

func TestTap(t *testing.T) {
	for _, file := range []string{"tape-5.6.txt", "tap-16.3.txt"} {
		expected := want(t, ". one is one\nF one is two\nF later # TODO\n")
		if file == "tap-16.3.txt" {
			expected["- cart.js # time=374.168ms"] = Failed
		}
		check(t, "tap", logFile(t, file), expected)
	}
}

func TestJasmine(t *testing.T) {
	check(t, "marked", logFile(t, "jasmine-4.5.txt"), want(t, "F cart fails\nF cart total throws\nF cart is pending\n"))
}

func TestRuby(t *testing.T) {
	check(t, "rspec", logFile(t, "rspec-3.12-transformed.txt"), want(t, `
. adds an item - ./cart_spec.rb[1:1]
F fails - with a dash - ./cart_spec.rb[1:2]
F raises - ./cart_spec.rb[1:5]
. is 0 (empty) - ./cart_spec.rb[1:6:1]
`))
	check(t, "minitest", logFile(t, "minitest-5.17.txt"), Results{}) // no full stop after the name
	check(t, "minitest", logFile(t, "minitest-5.17-shoulda.txt"), want(t, `
F CartTest#test_: A cart should fail here
. CartTest#test_: A cart should be skipped
. CartTest#test_: A cart with a total of 0.5 should be = to it
. CartTest#test_: A cart should add an item
F CartTest#test_: A cart should raise
`))
	check(t, "ruby_unit", logFile(t, "test-unit-3.5.txt"), want(t, `
. adds two items: both
. test_add
. test_data[one]
F test_data[two]
F test_fails
S test_omitted
F test_raises
. is 0
`))
	// Cucumber's own progress names no scenario; jekyll's formatter does. The
	// second case is written from that, not printed by it.
	check(t, "cucumber", logFile(t, "cucumber-2.4.txt"), Results{})
	check(t, "cucumber", "Add an item .....\n  Fail here ..F\nno dots\n", want(t, ". Add an item\nF Fail here\n"))
}

func TestPhpunit(t *testing.T) {
	for _, file := range []string{"phpunit-9.6.txt", "phpunit-11.5.txt"} {
		check(t, "phpunit", logFile(t, file), want(t, `
. Cart > Adds an item
F Cart > Fails
F Cart > Throws
S Cart > Skipped
. Cart > Price with data set "one euro"
F Cart > Price with data set "grün [2]"
`))
	}
	check(t, "phpunit", logFile(t, "phpunit-11.5-colour.txt"), Results{})
}

func TestCpp(t *testing.T) {
	check(t, "googletest", logFile(t, "googletest-1.12.txt"), want(t, `
. Cart.Adds
F Cart.Fails
. Cart.Noise
. All/Price.IsOne/0
F All/Price.IsOne/1, where GetParam() = 2
`))
	// The exception of "at once" is reported beside it: none of its expressions failed.
	check(t, "doctest", "+ ./tests -s -r=xml\n"+logFile(t, "doctest-2.4.txt"), want(t, `
. cart > adds an item
F cart > fails <&> "here"
F cart > total
. cart > is empty
F cart > is wrong
. throws > at once
`))
	check(t, "doctest", "<doctest><TestCase name='x'></doctest>", Results{})
}

func TestGradle(t *testing.T) {
	check(t, "gradle_custom", logFile(t, "gradle-4.4.txt"), want(t, "F shop.CartTest > errors\n. shop.CartTest > adds\nF shop.CartTest > fails\nF :test\n")) // a failed task looks like a test
	// Interleaved as lucene's and rxjava's runs are; written, not printed by Gradle.
	check(t, "gradle_custom", "> Task :test\na.B > one PASSED\na.B > two\nWARNING: noise\nPASSED\na.B > three\nFAILED\nPASSED\nBUILD SUCCESSFUL\n", want(t, ". a.B > one\n. a.B > two\nF a.B > three\n"))
}

func TestAnt(t *testing.T) {
	// Ant's own formatter has no outcome on a test's line; lombok's has.
	check(t, "ant", logFile(t, "ant-1.10.txt"), Results{})
	check(t, "ant", "    [junit] [PASS] lombok.A.b\n [junit]  [FAIL] lombok.A.c(x y)\n[junit] [ERR] lombok.A.d\n[junit] [SKIP] e\n", want(t, ". lombok.A.b\nF lombok.A.c(x y)\nF lombok.A.d\n"))
}

func TestRedis(t *testing.T) {
	check(t, "redis", logFile(t, "redis-7.0.txt"), want(t, `
. adds an item
F fails (here)
S is skipped
. adds in {braces} and "quotes"
S Tag: needs:nothing denied
`))
	check(t, "redis", "[ok]: big (12 ms)\n[ok]: small (1 s) extra\n[exception]: no\n", want(t, ". big\n. small (1 s) extra\n"))
}

// Django's own suite, a part of it: 89 tests, of which some share a docstring.
func TestDjangoOwn(t *testing.T) {
	p, err := Choose(Row{Repo: "django/django"})
	if err != nil {
		t.Fatal(err)
	}
	found := p.Parse(logFile(t, "django-3.2-own.txt"))
	for name, s := range found {
		if s != Passed || strings.Contains(name, " ... ") {
			t.Errorf("%q is %s", name, s)
		}
	}
	for _, name := range []string{"--version is equivalent to version", "WSGI squashes multiple successive slashes in PATH_INFO, get_script_name", "test_no_response (handlers.tests.AsyncHandlerRequestTests.test_no_response)"} {
		if found[name] != Passed {
			t.Errorf("%q is missing", name)
		}
	}
	if len(found) != 87 {
		t.Errorf("%d names", len(found))
	}
}

func TestMaven(t *testing.T) {
	check(t, "maven", logFile(t, "maven-3.8.txt"), want(t, ". shop.CartTest#adds\nF shop.CartTest#fails\n"))
	// Commands and results in another order than they ran, as mvnd prints them.
	check(t, "maven", "+ mvnd -Dtest=A#a\n+ mvnd -Dtest=A#b\n[INFO] BUILD SUCCESS\n[INFO] BUILD FAILURE\n+ mvnd -Dtest=A#c -q\n", want(t, ". A#a\nF A#b\n"))
	check(t, "maven", "[INFO] BUILD FAILURE\n[INFO] BUILD SUCCESS\n+ mvnd -Dtest=A#a\n+ mvnd -Dtest=A#b\nBUILD SUCCESS at last\n", want(t, "F A#a\n. A#b\n"))
}

func TestMicropython(t *testing.T) {
	check(t, "micropython_test", logFile(t, "micropython-1.25.txt"), want(t, ". basics/fun1.py\n. basics/int_big1.py\nS basics/shop_skips.py\nF basics/shop_fails.py\n"))
}

func TestAutomake(t *testing.T) { // jq's suite is run by it
	check(t, "jq", logFile(t, "automake-1.17.txt"), want(t, ". tests/adds\nF tests/fails\n"))
	check(t, "jq", "PASS: tests/jqtest\nFAIL: tests/x y\n  PASS: tests/z\nXFAIL: q\n", want(t, ". tests/jqtest\nF tests/x y\n. tests/z\n"))
}
