package task

import "strings"

// testCommand runs the tests of a SWE-bench row as its harness does
// (constants/python.py), where that is not simply pytest; "" otherwise. What the
// harness installs first is installed in the published images already.
func testCommand(repo, version string) string {
	switch strings.ToLower(repo) {
	case "django/django":
		if version == "1.9" {
			return "./tests/runtests.py --verbosity 2"
		}
		return "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"
	case "sympy/sympy":
		return "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' bin/test -C --verbose"
	case "astropy/astropy":
		return "pytest -rA -vv -o console_output_style=classic --tb=no"
	case "mwaskom/seaborn":
		return "pytest --no-header -rA"
	}
	return ""
}
