package task

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"

	"rollbench/engine/task/rows"
	"rollbench/engine/task/testlog"
	"rollbench/sandbox"
)

// What the harness of SWE-bench at v4.1.0 and that of SWE-Gym have for a version.
func TestSpecs(t *testing.T) {
	for _, c := range []struct{ repo, version, setup, install, test string }{
		{"django/django", "2.2", "export LANG=en_US.UTF-8 LANGUAGE=en_US:en LC_ALL=en_US.UTF-8 PYTHONIOENCODING=utf8", "python setup.py install", "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"},
		{"django/django", "1.9", "PYTHONIOENCODING=utf8", "python setup.py install", "./tests/runtests.py --verbosity 2"},
		{"django/django", "1.5", "", "python setup.py install", "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"},
		{"django/django", "3.1", "sed -i '/en_US.UTF-8/s/^# //g' /etc/locale.gen && locale-gen\n", "python -m pip install -e .", "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"},
		{"django/django", "3", "locale-gen", "python -m pip install -e .", "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"},
		{"django/django", "5.0", "", "python -m pip install -e .", "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"},
		{"astropy/astropy", "1.3", "", "python -m pip install -e .[test] --verbose", "pytest -rA -vv -o console_output_style=classic --tb=no"},
		{"astropy/astropy", "v5.3", "", "python -m pip install -e .[test] --verbose", "pytest -rA"},
		{"matplotlib/matplotlib", "2.1", "", "{ python setup.py build; python setup.py install; }", "pytest -rA"},
		{"matplotlib/matplotlib", "3.7", "", "python -m pip install -e .", "pytest -rA"},
		{"matplotlib/matplotlib", "3.8", "", `python -m pip install --no-build-isolation -e ".[dev]"`, "pytest -rA"},
		{"mwaskom/seaborn", "0.12", "", "python -m pip install -e .[dev]", "pytest --no-header -rA"},
		{"psf/requests", "2.27", "", "python -m pip install .", "pytest -rA"},
		{"sphinx-doc/sphinx", "4.1", "", "python -m pip install -e .[test]", "tox --current-env -epy39 -v --"},
		{"getmoto/moto", "4.1", "", "", "pytest -n0 -rA"},
		{"Project-MONAI/MONAI", "0.6", "", "python setup.py develop", "pytest -rA"},
	} {
		s := specOf(&row{Repo: c.repo, Version: c.version})
		if s == nil || !strings.Contains(s.setup, c.setup) || c.setup == "" && s.setup != "" || s.install != c.install || s.test != c.test {
			t.Errorf("%s %s: %+v", c.repo, c.version, s)
		}
	}
	if s := specOf(&row{Repo: "own/project", Version: "1.0"}); s != nil {
		t.Errorf("a repository that no harness knows: %+v", s)
	}
	for repo, list := range specs {
		if last := list[len(list)-1]; last.versions != "" || repo != strings.ToLower(repo) {
			t.Errorf("%s: %+v is not for all other versions", repo, last)
		}
	}
}

// What is installed comes after the model's patch and before the tests. Where pip
// cannot fetch what a build needs, what the environment has is used.
func TestSpecScript(t *testing.T) {
	got := (&spec{setup: "export A=1", install: "python -m pip install -e .[test]", test: "pytest -rA"}).script()
	want := `if [ ! -x /opt/miniconda3/envs/testbed/bin/python ]; then
pytest() { if [ "$1" = -n0 ]; then shift; fi; python3 -m pytest "$@"; }
else
export A=1
export PIP_RETRIES=1 PIP_DISABLE_PIP_VERSION_CHECK=1
python -m pip install -e .[test] ||
python -m pip install --no-build-isolation --no-deps -e .[test] ||
: 'rollbench: the project could not be installed again'
fi
`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := specOf(&row{Repo: "sphinx-doc/sphinx"}).script(); !strings.HasSuffix(got, noTox) {
		t.Error(got)
	}
}

// bash must be able to read the script of every repository, also of those of which
// nothing is set nor installed.
func TestSpecScriptsAreBash(t *testing.T) {
	for repo, list := range specs {
		for i := range list {
			d := &row{Repo: repo, TestPatch: "--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1 +1 @@\n-a\n+b\n", Spec: &list[i]}
			script, err := evalScript(d, "pytest", list[i].test, "0123abcd", "/testbed")
			if err != nil {
				t.Fatal(repo, err)
			}
			bash := exec.Command("bash", "-n")
			bash.Stdin = strings.NewReader(script)
			if out, err := bash.CombinedOutput(); err != nil {
				t.Errorf("%s %s: %v\n%s\n%s", repo, list[i].versions, err, out, script)
			}
		}
	}
}

// SWE-rebench's rows say in a column how they are installed and tested; what the row
// says itself goes before it, and another harness's rows are refused.
func TestRebenchRow(t *testing.T) {
	base := map[string]any{"instance_id": "own__p-1", "repo": "own/p", "base_commit": "0123456789abcdef", "problem_statement": "s", "FAIL_TO_PASS": []any{"t.py::a"},
		"test_patch": "diff --git a/t.py b/t.py\n--- a/t.py\n+++ b/t.py\n@@ -1 +1 @@\n-a\n+b\n"}
	config := func(more ...any) map[string]any {
		out := map[string]any{"test_cmd": "pytest --no-header -rA", "install": "pip install -e .[dev]", "log_parser": "parse_log_pytest_v2", "python": "3.9"}
		for i := 0; i < len(more); i += 2 {
			out[more[i].(string)] = more[i+1]
		}
		return out
	}
	for name, c := range map[string]struct {
		config, row map[string]any
		want        []string // in the script, in this order
		wrong       string
	}{
		"as its harness": {config(), nil, []string{"\npip install -e .[dev] ||\n", "git apply", "\npytest --no-header -rA t.py\n"}, ""},
		"the row's own":  {config(), map[string]any{"test_cmd": "pytest -q"}, []string{"git apply", "\npytest -q t.py\n"}, ""},
		"its own script": {config("test_cmd", 7.0), map[string]any{"eval_script": "run me"}, []string{"run me"}, ""},
		"no text":        {config("test_cmd", 7.0), nil, nil, `field "install_config.test_cmd" is a number; it must be a string`},
		"its V2":         {config("base_image_name", "go"), nil, nil, `field "install_config" is of SWE-rebench V2`},
		"a parser":       {config("log_parser", "mine"), nil, nil, `field "log_parser" is "mine"; it must be one of`},
	} {
		fields := maps.Clone(base)
		maps.Copy(fields, c.row)
		fields["install_config"] = c.config
		in, err := swebenchRow(rows.New("", fields), &Options{})
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(name, err)
		}
		script, at := in.kind.(*swebench).script, 0
		for _, part := range c.want {
			next := strings.Index(script[at:], part)
			if next < 0 {
				t.Fatalf("%s: %q is not in\n%s", name, part, script[at:])
			}
			at += next
		}
		if in.Image != "swerebench/sweb.eval.x86_64.own_1776_p-1:latest" || name == "the row's own" && strings.Contains(script, "pip install") {
			t.Errorf("%s: image %s, script\n%s", name, in.Image, script)
		}
	}
}

// mypy's tests are the cases that the test patch shows.
func TestMypyCases(t *testing.T) {
	d := &row{FailToPass: []string{"mypy/test/testcheck.py::A::b"}, TestPatch: "@@ -1,3 +1,4 @@ [case testOld]\n x\n+[case testNew]\n+[case testIt_is]\n"}
	if got := strings.Join(mypyTests(d), "|"); got != "-k|testOld or testNew or testIt_is" {
		t.Error(got)
	}
	d.TestPatch = "@@ -1 +1 @@\n-a\n+b\n"
	if got := strings.Join(mypyTests(d), "|"); got != "mypy/test/testcheck.py" {
		t.Error(got)
	}
}

// condaDockerfile is an image as the harness makes them, with a stand-in for conda
// and for pip, which knows no network: it fails where a build is isolated. The
// project is installed as a copy, which a change of its source does not reach.
const condaDockerfile = `
RUN mkdir -p /opt/miniconda3/bin /opt/miniconda3/envs/testbed/bin /site && echo 'conda() { export CONDA_DEFAULT_ENV=$2; }' >/opt/miniconda3/bin/activate \
 && printf '%s\n' '#!/bin/bash' 'case "$*" in' '"-m pip install --no-build-isolation --no-deps ."|"setup.py install") rm -rf /site/lib && cp -r src/lib /site/ ;;' \
   '"-m pip install"*) echo "no matching distribution found for setuptools"; exit 1 ;;' '*) PYTHONPATH=/site exec python3 "$@" ;;' esac >/opt/miniconda3/envs/testbed/bin/python \
 && printf '%s\n' '#!/bin/bash' 'PYTHONPATH=/site exec /usr/bin/pytest "$@"' >/opt/miniconda3/envs/testbed/bin/pytest && chmod +x /opt/miniconda3/envs/testbed/bin/*
RUN mkdir /testbed && cd /testbed && git init -q . && git config user.name t && git config user.email t@t.invalid && mkdir -p src/lib tests \
 && printf 'def add(a, b):\n    return a - b\n' >src/lib/__init__.py && printf 'import lib\n\ndef test_zero():\n    assert lib.add(1, 0) == 1\n' >tests/test_lib.py \
 && git add -A && GIT_AUTHOR_DATE=2025-01-01T00:00:00Z GIT_COMMITTER_DATE=2025-01-01T00:00:00Z git commit -q -m base && /opt/miniconda3/envs/testbed/bin/python setup.py install
`

// A row without eval_script of a repository that is installed as a copy: its
// reference passes only because it is installed again.
func TestInstalledRowInContainer(t *testing.T) {
	base := needDocker(t)
	const tag = "rollbench-test/sweb.eval.task-installed:1"
	build(t, &sandbox.Build{Context: func() (io.ReadCloser, error) {
		return tarFolder(os.DirFS(writeDockerfile(t, "FROM "+base+condaDockerfile))), nil
	}}, tag)
	probe := &container{}
	out, err := probe.docker(t.Context(), nil, "run", "--rm", "--label", testLabel, "-w", "/testbed", tag, "git", "rev-parse", "HEAD")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ins, err := rowsOf(t, fmt.Appendf(nil, `{"instance_id":"psf__requests-1","repo":"psf/requests","version":"2.27","base_commit":%q,"problem_statement":"add subtracts","image":%q,
"patch":"--- a/src/lib/__init__.py\n+++ b/src/lib/__init__.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n",
"test_patch":"--- a/tests/test_lib.py\n+++ b/tests/test_lib.py\n@@ -2,3 +2,6 @@\n \n def test_zero():\n     assert lib.add(1, 0) == 1\n+\n+def test_add():\n+    assert lib.add(1, 2) == 3\n",
"FAIL_TO_PASS":["tests/test_lib.py::test_add"],"PASS_TO_PASS":["tests/test_lib.py::test_zero"]}`, strings.TrimSpace(string(out)), tag))
	if err != nil {
		t.Fatal(err)
	}
	checkLife(t, &ins[0])
	got, err := ins[0].Verify(t.Context(), openContainer(t, &ins[0]), ins[0].Reference.Patch)
	if err != nil || !strings.Contains(string(got.Log), "no matching distribution found for setuptools\n") || strings.Contains(string(got.Log), "could not be installed again") || strings.Contains(string(got.Log), testlog.ExitMarker+" 1") {
		t.Errorf("%v\n%s", err, got.Log)
	}
}
