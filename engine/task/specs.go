package task

import "strings"

// spec is how a harness evaluates the rows of a repository that bring no script:
// what it sets, what it installs after the model's patch and before the tests, and
// the command that it runs on the tests.
type spec struct {
	versions string // of the project, separated by blanks; "" for all others
	setup    string // shell lines
	install  string // the project itself, with what the patch changed
	test     string
}

const (
	editable     = "python -m pip install -e ."
	djangoTests  = "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"
	djangoLocale = "export LANG=en_US.UTF-8 LANGUAGE=en_US:en LC_ALL=en_US.UTF-8"
	plainPytest  = "pytest -rA"
)

// sphinxTests need tox and its plugin for the environment that is there. Where the
// image has it not, noTox runs what tox would.
const (
	sphinxTests = "tox --current-env -epy39 -v --"
	noTox       = "python3 -c 'import tox_current_env' 2>/dev/null || tox() { shift 4; python3 -X dev -m pytest -rA \"$@\"; }\n"
)

// specs by repository, in lower case; the first that names the version, else the
// one that names none. Those of SWE-bench are from its harness at v4.1.0
// (swebench/harness/constants/python.py, the last that has them), those of SWE-Gym
// from SWE-Gym/SWE-Bench-Package 16dd480c (swegym/harness/constants.py), of whose
// installations those are left out that are not the project's own: they fetch.
var specs = map[string][]spec{
	"astropy/astropy": {
		{"0.1 0.2 0.3 0.4 1.1 1.2 1.3", "", "python -m pip install -e .[test] --verbose", "pytest -rA -vv -o console_output_style=classic --tb=no"},
		{"", "", "python -m pip install -e .[test] --verbose", plainPytest},
	},
	"django/django": {
		{"1.4 1.5 1.6", "", "python setup.py install", djangoTests},
		{"1.9", djangoLocale + " PYTHONIOENCODING=utf8", "python setup.py install", "./tests/runtests.py --verbosity 2"},
		{"1.7 1.8 1.10 1.11 2.0 2.1 2.2", djangoLocale + " PYTHONIOENCODING=utf8", "python setup.py install", djangoTests},
		{"3.0 3.1 3.2", "sed -i '/en_US.UTF-8/s/^# //g' /etc/locale.gen && locale-gen\n" + djangoLocale, editable, djangoTests},
		{"", "", editable, djangoTests},
	},
	"matplotlib/matplotlib": {
		{"1.0 1.1 1.2 1.3 1.4 1.5 2.0 2.1 2.2", "", "{ python setup.py build; python setup.py install; }", plainPytest},
		{"3.8 3.9", "", `python -m pip install --no-build-isolation -e ".[dev]"`, plainPytest},
		{"", "", editable, plainPytest},
	},
	"mwaskom/seaborn":              {{"0.11", "", editable, "pytest --no-header -rA"}, {"", "", "python -m pip install -e .[dev]", "pytest --no-header -rA"}},
	"scikit-learn/scikit-learn":    {{"", "", "python -m pip install -v --no-use-pep517 --no-build-isolation -e .", plainPytest}},
	"sphinx-doc/sphinx":            {{"", "", "python -m pip install -e .[test]", sphinxTests}},
	"sympy/sympy":                  {{"", "", editable, "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' bin/test -C --verbose"}},
	"psf/requests":                 {{"", "", "python -m pip install .", plainPytest}},
	"marshmallow-code/marshmallow": {{"", "", "python -m pip install -e '.[dev]'", plainPytest}},
	"pvlib/pvlib-python":           {{"", "", "python -m pip install -e .[all]", plainPytest}},
	"pallets/flask":                {{"", "", editable, plainPytest}},
	"pydata/xarray":                {{"", "", editable, plainPytest}},
	"pydicom/pydicom":              {{"", "", editable, plainPytest}},
	"pylint-dev/astroid":           {{"", "", editable, plainPytest}},
	"pylint-dev/pylint":            {{"", "", editable, plainPytest}},
	"pytest-dev/pytest":            {{"", "", editable, plainPytest}},
	"pyvista/pyvista":              {{"", "", editable, plainPytest}},
	"sqlfluff/sqlfluff":            {{"", "", editable, plainPytest}},

	"bokeh/bokeh":            {{"", "", "", "pytest -n0 -rA"}},
	"conan-io/conan":         {{"", "export PYTHONPATH=${PYTHONPATH:-}:$PWD", "", "pytest -n0 -rA"}},
	"dask/dask":              {{"", "", "python -m pip install --no-deps -e .", "pytest -n0 -rA --color=no"}},
	"facebookresearch/hydra": {{"", "", editable, "pytest -rA --tb=long"}},
	"getmoto/moto":           {{"", "", "", "pytest -n0 -rA"}},
	"iterative/dvc":          {{"", "", `python -m pip install -e ".[tests,dev,all_remotes,all,testing]"`, plainPytest}},
	"modin-project/modin":    {{"", "", editable, "pytest -n0 -rA"}},
	"pandas-dev/pandas":      {{"", "", "python -m pip install -ve . --no-build-isolation -Ceditable-verbose=true", "pytest -rA --tb=long"}},
	"project-monai/monai":    {{"", "", "python setup.py develop", plainPytest}},
	"pydantic/pydantic":      {{"", "", "", "pytest -rA --tb=short -vv -o console_output_style=classic --no-header"}},
	"python/mypy":            {{"", "", editable, "pytest -n0 -rA"}},
}

// specOf a row, nil for one whose repository or parser the harnesses do not know.
func specOf(d *row) *spec {
	list := specs[strings.ToLower(d.Repo)]
	version := d.Version
	if !strings.Contains(version, ".") { // 3.0, written as a number
		version += ".0"
	}
	for i, s := range list {
		if s.versions == "" || strings.Contains(" "+s.versions+" ", " "+version+" ") {
			return &list[i]
		}
	}
	return nil
}

// script sets and installs as the harness does, in the harness's images, which are
// those with the conda environment testbed. pip fetches what a build needs anew, for
// which there may be no network: then what is installed already has to do. If that
// does not either, the tests run with what the image has, as in the harness, which
// looks at no exit code. Another image's pytest is the module, which finds the
// repository by the workdir, and has no plugin that must be told to keep still.
func (s *spec) script() string {
	var b strings.Builder
	b.WriteString("if [ ! -x " + condaHome + "/envs/testbed/bin/python ]; then\npytest() { if [ \"$1\" = -n0 ]; then shift; fi; python3 -m pytest \"$@\"; }\n")
	if s.setup != "" || s.install != "" { // bash takes no empty branch
		b.WriteString("else\n")
	}
	if s.setup != "" {
		b.WriteString(s.setup + "\n")
	}
	if s.install != "" {
		b.WriteString("export PIP_RETRIES=1 PIP_DISABLE_PIP_VERSION_CHECK=1\n" + s.install + " ||\n")
		if before, after, pip := strings.Cut(s.install, "pip install "); pip {
			b.WriteString(before + "pip install --no-build-isolation --no-deps " + after + " ||\n")
		}
		b.WriteString(": 'rollbench: the project could not be installed again'\n")
	}
	b.WriteString("fi\n")
	if s.test == sphinxTests {
		b.WriteString(noTox)
	}
	return b.String()
}
