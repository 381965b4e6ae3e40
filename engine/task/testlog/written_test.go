package testlog

import (
	"slices"
	"strings"
	"testing"
)

// Runners that could not be had here: karma, vitest, quarto, cypress, plotly,
// next; and lines that SWE-smith's and SWE-Gym's rows expect. They are written
// from what the sources of runner and harness say of them.
func TestWritten(t *testing.T) {
	for name, c := range map[string]struct{ parser, log, want string }{
		"vitest": {"vitest", " ✓ src/a.test.ts > adds 12ms\n × src/a.test.ts > fails 3 ms\n ↓ src/a.test.ts > later [skipped]\n ✓ adds 1 and 2\n ✓ plain\n❯ file\n",
			". src/a.test.ts > adds\nF src/a.test.ts > fails\nS src/a.test.ts > later\n. adds 1 and\n. plain\n"},
		"karma": {"karma", "    ✔ too early\nStarting browser Chrome\n\n  render()\n    ✔ adds\n    nested\n      ✖ fails\n  ✔ odd one\n  hooks\n    ✔ adds\nSUMMARY:\n  ✔ 3 tests completed\n",
			". render() > adds\nF render() > nested > fails\n. render() > nested > odd one\n"},
		"chart": {"chart_js", "\x1b[31mChrome 120.0.0.0 (Linux 0.0.0) Core.scale should fit FAILED\x1b[39m\nChrome 120.0.0.0 (Linux x86_64): Executed 3 of 3 (1 FAILED)\n",
			"F Core.scale should fit \n"},
		"bpmn":       {"bpmn_js", "\x1b[1A\x1b[2KPhantomJS 2.1.1 (Linux 0.0.0) modeling adds FAILED\nChrome Headless 120.0 (Linux x86_64) draw x FAILED\nHeadlessChrome 90.1.2 (Linux 0.0.0) y FAILED\nx FAILED\n", "F modeling adds \nF draw x \nF y \n"},
		"openlayers": {"openlayers", "Chrome Headless 120.0.0.0 (Linux x86_64) ol.Map  adds FAILED\n  1) ol/format\n       reads:\n     Error: no\ncase a/main.js: mismatch 0.1\ncase b/main.js': ok\n", "F ol.Map adds\nF ol/format reads:\nF a/main.js\n"},
		"p5": {"p5js", "{\n  \"1)\": 1:\n}\n<p><p>\n  2) x:\n</p> </p>\n  1) color\n       mixes\n         two:\n     Error: x\n  3)  flat\n same:\n[ 4) y: ]\n",
			"F color:mixes:two\n"},
		"quarto": {"quarto_cli", "[smoke] > render /tmp/ab12.qmd ... \x1b[32mok\x1b[0m (1s)\n[unit] > x /tmp/cd34/y ... \x1b[31mFAILED\x1b[0m\n[smoke] > hangs ...\n[smoke] > \x1b[34mINFO\n[unit] z /tmp/ab12.qmd ... \x1b[32mok\n failures:\n[unit] late ... 32mok\n",
			". [smoke] > render /tmp/0\nF [unit] > x /tmp/1y\nF [smoke] > hangs\n. [unit] z /tmp/0\n"},
		"plotly": {"plotly", "  - scatter :\n    * draws : OK\n    - deep :\n      * fails : FAILED ok\n  - bar :\n    * draws : nothing\n", ". scatter.draws\nF scatter.deep.fails\nF bar.draws\n"},
		"next karma": {"next_v1", "before\n✓ no\n+ xvfb-run npm test\nStarting browser ChromeHeadless\n  Button\n    \x1b[32m✓\x1b[0m renders\n    ✗ fails\nAssertionError: #<a>\n  b\n\n  Input\n    LOG: 'x'\n    ✓ types\nTOTAL: 3\n    ✓ late\n",
			". Button - renders\nF Button - fails\n. Input - types\n"},
		"next cypress": {"next_v2", "Running:  button.js   (1 of 2)\n\n\n  Button\n    ✓ renders (12ms)\n    1) fails\nRunning:  input.js   (2 of 2)\n\n\n  Input\n    ✓ types (1s)\n", ". Button: renders\nF Button: fails\n. Input: types\n"},
		"grommet":      {"grommet", "PASS src/a.js (5.2 s)\nFAIL src/a.js\nFAIL src/b.js (3 ms)\nPASS src/c.js (1s) heap\n", ". src/a.js\nF src/b.js\n. src/c.js (1s) heap\n"},
		"carbon":       {"carbon", "PASS src/a.js (5.2 s)\nFAIL src/b.js (12ms)\nPASS src/c.js (1.5s) heap\nFAIL src/d.js (3 ms)\nPASSED x\n", ". src/a.js\nF src/b.js\n. src/c.js\nF src/d.js (3 ms)\n"},
		"highlightjs":  {"highlightjs", "  hljs\n    ✓ works (12ms)\n    2) fails (3ms)\n  1) alone\n\n  0 passing\n  1) late\n", ". hljs.works\nF hljs.fails\nF hljs.alone\n"},
		"mypy":         {"swesmith_mypy", "[gw0] PASSED mypy/a.test::b\nx FAILED mypy/c.test::d\n", ". mypy/a.test::b\nF mypy/c.test::d\n"},
		"slugify":      {"swesmith_python_slugify", "test_a (test.T) ... ok\ntest_b (test.T) ... FAIL\ntest_c (test.T) ... ERROR\ntest_d [x] ... ok\n", ". test_a (test.T)\nF test_b (test.T)\nE test_c (test.T)\n"},
		"tornado":      {"swesmith_tornado", "test_a (t.T) ... ok\ntest_b (t.T) ... skipped 'x'\nFAIL: test_c (t.T)\nERROR: test_d (t.T) [x]\nFAIL:\n", ". test_a (t.T)\nS test_b (t.T)\nF test_c (t.T)\nF test_d (t.T)\nF \n"},
		"paramiko":     {"swesmith_paramiko", "PASSED tests/a.py::b c\nPASSED\n SKIPPED x\nXFAIL tests/q.py::r - no\n", ". tests/a.py::b\nx tests/q.py::r\n"},
		"pydantic":     {"swegym_pydantic", "\x1b[31mFAILED\x1b[0m [ 30%] t.py::a - no\nt.py::b \x1b[32mPASSED\x1b[0m\nPASSED t.py::c[a b]\na b PASSED\n", "F t.py::a\n. t.py::b\n. t.py::c[a\n"},
	} {
		t.Run(name, func(t *testing.T) { check(t, c.parser, c.log, want(t, c.want)) })
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		row  Row
		name string // "" for an error
		log  string // that only the chosen one reads
	}{
		{Row{}, "pytest", "PASSED a\n"},
		{Row{Repo: "pallets/flask"}, "pytest", "PASSED a\n"},
		{Row{Repo: "sphinx-doc/sphinx"}, "sphinx", "PASSED a b\n"},
		{Row{Repo: "PrismJS/prism"}, "prismjs", prismCommand + ` {"passes":[{"fullTitle":"a"}]}`},
		{Row{Repo: "phpoffice/PhpSpreadsheet"}, "phpunit", "A (B)\n ✔ c\n"},
		{Row{Repo: "sphinx-doc/sphinx", LogParser: "parse_log_gotest"}, "gotest", "--- PASS: A (0.00s)\n"},
		{Row{LogParser: "jekyll", InstanceID: "jekyll__jekyll-8167"}, "jekyll", "A. = 0.1 s = .\n"},
		{Row{LogParser: "jekyll", InstanceID: "jekyll__jekyll-8771"}, "jekyll", "A ...\n"},
		{Row{LogParser: "jekyll", InstanceID: "jekyll__jekyll-1"}, "", ""},
		{Row{LogParser: "parse_log_immutable_js", InstanceID: "immutable-js__immutable-js-2005"}, "immutable_js", "[PASSED] a\n"},
		{Row{LogParser: "immutable_js", InstanceID: "immutable-js__immutable-js-2006"}, "immutable_js", "✓ a\n"},
		{Row{LogParser: "immutable_js"}, "", ""},
		{Row{LogParser: "next", Version: "1.27"}, "next", "Running: a)\n\n\n  B\n    ✓ c (1ms)\n"},
		{Row{LogParser: "next", Version: "1.2"}, "next", " xvfb-run \n✓ c\n"},
		{Row{LogParser: "lighthouse", Version: "9.5"}, "lighthouse", "running 1 test files\n✔ a\n"},
		{Row{LogParser: "lighthouse", Version: "4.2"}, "lighthouse", "PASS a\n"},
		{Row{LogParser: "lighthouse", Version: "2.9"}, "lighthouse", "./node_modules/.bin/mocha --reporter json\n\"passes\": [\n\"fullTitle\": \"a\",\n]"},
		{Row{LogParser: "lighthouse", Version: "x"}, "", ""},
		{Row{LogParser: "parse_log_nosetests"}, "", ""},
	} {
		p, err := Choose(c.row)
		if (err != nil) != (c.name == "") || p.Name != c.name {
			t.Errorf("%+v: %q %v", c.row, p.Name, err)
			continue
		}
		if err == nil && len(p.Parse(c.log)) != 1 {
			t.Errorf("%+v reads %v", c.row, p.Parse(c.log))
		}
	}
	if !FailOnly("eslint/eslint") || !FailOnly("chartjs/Chart.js") || FailOnly("pallets/flask") {
		t.Error("fail_only of repositories")
	}
	for id, name := range map[string]string{"tornadoweb__tornado.d5ac65c1.func__x": "swesmith_tornado", "HIPS__autograd.ac044f0d.x": "swesmith_autograd", "pallets__flask.bc098406.x": "swesmith_pytest", "gin-gonic__gin.3c12d2a8.x": "gotest"} {
		if got := ForSmith(id); got != name {
			t.Errorf("%s: %s", id, got)
		}
	}
	// Every name of v5's registry.
	names := Names()
	for _, name := range strings.Fields(`pytest pytest_options django pytest_v2 seaborn sympy matplotlib astroid flask marshmallow pvlib pyvista sqlfluff xarray
		pydicom requests pylint astropy scikit sphinx calypso bpmn_js carbon eslint grommet highlightjs lighthouse next openlayers prismjs quarto_cli chart_js
		marked p5js react_pdf jest jest_json vitest karma tap immutable_js redis jq doctest micropython_test googletest gotest maven ant gradle_custom phpunit
		minitest cucumber ruby_unit rspec_transformed_json jekyll cargo`) {
		if !slices.Contains(names, name) {
			t.Errorf("%s is missing", name)
		}
	}
	for repo, name := range repositories {
		if !slices.Contains(names, name) || repo != strings.ToLower(repo) {
			t.Errorf("%s: %s", repo, name)
		}
	}
}
