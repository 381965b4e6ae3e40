package task

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

const goodToml = "version = \"1.0\"\n[environment]\ndocker_image = \"img:1\"\nallow_internet = false\nworkdir = \"/app\"\n"

// harborFiles is a whole small task; a case changes some of it ("" removes).
func harborFiles(changes map[string]string) map[string]string {
	files := map[string]string{"task.toml": goodToml, "instruction.md": "Do it.\n", "tests/test.sh": "echo 1 >/logs/verifier/reward.txt\n"}
	maps.Copy(files, changes)
	return files
}

// rowsOf loads the text of a .jsonl file.
func rowsOf(t testing.TB, text []byte) ([]Instance, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return Load(file)
}

func writeFiles(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if text == "" {
			continue
		}
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Each broken input has one line that names the file, the place and the fix.
func TestHarborErrors(t *testing.T) {
	toml := func(text string) map[string]string { return map[string]string{"task.toml": text} }
	more := func(text string) map[string]string { return toml(goodToml + text) }
	for want, changes := range map[string]map[string]string{
		"instruction.md is missing":                                                  {"instruction.md": ""},
		"instruction.md is empty":                                                    {"instruction.md": " \n"},
		"tests/test.sh is missing; it must write the reward":                         {"tests/test.sh": ""},
		"environment/Dockerfile is missing and task.toml has no":                     toml("version = \"1.0\"\n"),
		"environment/docker-compose.yaml: it has no services":                        {"environment/docker-compose.yaml": "services: {}\n"},
		`task.toml: line 3: key "agent.timeout_sec": `:                               toml("version = \"1\"\n[agent]\ntimeout_sec = = 3\n"),
		`line 2: key "agent.timeout_sec": the value is a string; it must be a float`: toml("[agent]\ntimeout_sec = \"long\"\n"),
		"task.toml: line 7: Key 'agent' has already been":                            toml(goodToml + "[agent]\n[agent]\n"),
		"task.toml: [[steps]]: tasks of several steps are not supported":             more("[[steps]]\nname = \"one\"\n"),
		`unknown key "metadata.rollbench.lokal"`:                                     more("[metadata.rollbench]\nlokal = true\n"),
		"metadata.rollbench.local needs environment/repo.tar.gz":                     more("[metadata.rollbench]\nlocal = true\n"),
		"agent.timeout_sec is -1; it must be more than 0":                            more("[agent]\ntimeout_sec = -1\n"),
		"verifier.timeout_sec is NaN; it must be more than 0":                        more("[verifier]\ntimeout_sec = nan\n"),
		"environment.memory_mb is 0; it must be more than 0":                         more("memory_mb = 0\n"),
		`environment.memory is "much"; write a size such as "2G"`:                    more("memory = \"much\"\n"),
		`environment.network_mode is "some"; it must be public`:                      more("network_mode = \"some\"\n"),
		`environment.workdir is "app"; it must be an absolute path`:                  toml("[environment]\ndocker_image = \"i\"\nworkdir = \"app\"\n"),
		"environment.env.KEY: variable NOT_SET is not set; export it":                more("[environment.env]\nKEY = \"x${NOT_SET}\"\n"),
		`verifier.env.KEY: "${NOT_SET" has ${ without }`:                             more("[verifier.env]\nKEY = \"${NOT_SET\"\n"),
	} {
		dir := filepath.Join(t.TempDir(), "t1")
		writeFiles(t, dir, harborFiles(changes))
		_, err := Load(dir, Options{Getenv: func(string) (string, bool) { return "", false }})
		if err == nil || !strings.HasPrefix(err.Error(), "load tasks "+dir+": ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	const good = `{"instance_id":"a__b-1","base_commit":"1234567","problem_statement":"p","FAIL_TO_PASS":["t"]}`
	for name, c := range map[string]struct{ text, want string }{
		"empty.jsonl":   {"\n\n", "the file is empty"},
		"text.jsonl":    {"hello\n", "line 1: not a JSON row; give rows as .jsonl"},
		"commit.jsonl":  {good + "\n\n" + `{"instance_id":"x","problem_statement":"p"}` + "\n", `line 3: field "base_commit" is missing; every SWE-bench row needs it`},
		"id.jsonl":      {`{"base_commit":"1234567","problem_statement":"p","FAIL_TO_PASS":["t"]}`, `line 1: its columns (FAIL_TO_PASS, base_commit, problem_statement) are of no known format; swebench, the nearest, also needs instance_id`},
		"blank.jsonl":   {strings.Replace(good, `"p"`, `" "`, 1), `field "problem_statement" is empty`},
		"number.jsonl":  {strings.Replace(good, `"1234567"`, `1234567`, 1), `field "base_commit" is a number; it must be a string`},
		"list.jsonl":    {good + "\n" + strings.Replace(good, `["t"]`, `[1]`, 1), `line 2: field "FAIL_TO_PASS" must be a list of strings`},
		"inner.jsonl":   {good + "\n" + strings.Replace(good, `["t"]`, `"['t']"`, 1), `line 2: field "FAIL_TO_PASS" must be a list of strings`},
		"notests.jsonl": {strings.Replace(good, `["t"]`, `"[]"`, 1), `field "FAIL_TO_PASS" is empty and so is "PASS_TO_PASS"`},
		"nolist.jsonl":  {strings.Replace(good, `,"FAIL_TO_PASS":["t"]`, ``, 1), `no known format; swebench, the nearest, also needs FAIL_TO_PASS`},
		"cut.jsonl":     {good + "\n" + good[:40] + "\n", "line 2: broken JSON at byte"},
		"array.jsonl":   {good + "\n[1]\n", "line 2: a list stands where a row (an object) must be"},
		"twice.jsonl":   {good + "\n" + good + "\n", `id "a__b-1" is already used by ` + filepath.Join(dir, "twice.jsonl") + " line 1; ids must be unique"},
		"name.jsonl":    {strings.Replace(good, "a__b-1", "a/b", 1), `id "a/b" may not be empty nor hold spaces, / or #`},
		"hash.jsonl":    {strings.Replace(good, "1234567", "HEAD~1", 1), `field "base_commit" is "HEAD~1"; it must be a commit id`},
		"parser.jsonl":  {strings.Replace(good, "{", `{"log_parser":"nose",`, 1), `field "log_parser" is "nose"; it must be one of ant, astroid, astropy, bpmn_js, `},
		"type.jsonl":    {strings.Replace(good, "{", `{"eval_type":"x",`, 1), `field "eval_type" is "x"`},
		"workdir.jsonl": {strings.Replace(good, "{", `{"workdir":"src",`, 1), `field "workdir" is "src"; it must be an absolute path`},
		"patch.jsonl":   {strings.Replace(good, "{", `{"test_patch":"--- a/x\n+++ b/x\n@@ -1,9 +1 @@\n x\n",`, 1), `field "test_patch": diff line`},
		"skyrl.jsonl":   {`{"prompt":"p","data_source":"swe-gym","instance":"x__y-1"}`, `line 1: field "instance" is a string; it must be an object`},
		"skyrl0.jsonl":  {`{"prompt":"p","data_source":"swe-gym","instance":null}`, `line 1: field "instance" is missing; it is the problem that a SkyRL row carries`},
		"skyrl7.jsonl":  {`{"prompt":"p","data_source":"swe-gym","instance":7}`, `line 1: field "instance" is a number; it must be an object`},
		"list.json":     {"[" + good + ",\n{}]", `row 2: field "instance_id" is missing`},
		"broken.json":   {"[" + good + ",\n\n{]", "line 3: broken JSON"},
		"none.json":     {"[]", "the file holds no rows"},
		"byid.json":     {`{"k1":` + good + `,"k2":{}}`, `row "k2": field "instance_id" is missing`},
		"parquet.jsonl": {"PAR1\x00\x01", "not a JSON row"},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(file)
		if err == nil || !strings.HasPrefix(err.Error(), "load tasks "+file+": ") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v\nwant %s", name, err, c.want)
		}
	}
	if _, err := Load(filepath.Join(dir, "nothing")); err == nil || !strings.HasSuffix(err.Error(), "nothing: no such file or folder; give rows as .jsonl, .json or .parquet, or a folder of tasks") {
		t.Errorf("missing path: %v", err)
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no task.toml in it or up to two folders down") {
		t.Errorf("empty folder: %v", err)
	}
}

func TestLoadFindsTheFormat(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"flat/t1", "flat/t2", "deep/x/t3", "deep/y/t4", "deep/.git/t5"} {
		writeFiles(t, filepath.Join(root, name), harborFiles(nil))
	}
	const rowText = `{"instance_id":"A__b-1","base_commit":"1234567","problem_statement":"p","FAIL_TO_PASS":"[\"t\"]","extra":{"a":[1]}}`
	writeFiles(t, root, map[string]string{
		"rows.jsonl": "\xef\xbb\xbf" + rowText + "\r\n" + strings.Replace(rowText, "b-1", "b-2", 1) + "\r\n",
		"list.json":  "[" + rowText + "]",
		"one.json":   rowText,
		"byid.json":  `{"A__b-1": ` + rowText + `}`,
	})
	for path, want := range map[string][]string{
		"flat/t1": {"t1"}, "flat": {"t1", "t2"}, "deep": {"t3", "t4"},
		"rows.jsonl": {"A__b-1", "A__b-2"}, "list.json": {"A__b-1"}, "one.json": {"A__b-1"}, "byid.json": {"A__b-1"},
	} {
		ins, err := Load(filepath.Join(root, path))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		var got []string
		for _, in := range ins {
			got = append(got, in.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	t.Chdir(filepath.Join(root, "flat", "t2"))
	if ins, err := Load("."); err != nil || ins[0].ID != "t2" {
		t.Errorf(". is %v, %v", ins, err)
	}
	for _, name := range []string{"x/same", "y/same"} {
		writeFiles(t, filepath.Join(root, "two", name), harborFiles(nil))
	}
	if _, err := Load(filepath.Join(root, "two")); err == nil || !strings.Contains(err.Error(), "ids must be unique") {
		t.Errorf("two tasks of one name: %v", err)
	}
}

func TestHarborFields(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "Odd__Name")
	writeFiles(t, dir, harborFiles(map[string]string{
		"task.toml": `schema_version = "1.1"
[task]
name = "org/odd"
authors = [{name = "A", email = "a@b.invalid"}]
[metadata]
anything = {goes = true}
[agent]
timeout_sec = 90.5
[verifier]
timeout_sec = 30
env = {KEY = "${HAVE}-${MISS:-none}"}
user = "root"
[environment]
cpus = 2
memory = "2G"
storage = "512M"
gpus = 1
network_mode = "public"
colour = "red"
[environment.env]
PLAIN = "$x {y}"
`,
		"environment/Dockerfile": "FROM a AS one\nWORKDIR /lost\nFROM b\nWORKDIR /srv\nWORKDIR app\n",
		"solution/solve.sh":      "#!/bin/bash\ncat >/tmp/p <<'EOF'\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\nEOF\npatch -p1 </tmp/p\n",
	}))
	have := func(name string) (string, bool) { return "yes", name == "HAVE" }
	ins, err := Load(dir, Options{BuildArgs: map[string]string{"BASE": "x"}, Getenv: have})
	if err != nil {
		t.Fatal(err)
	}
	in := ins[0]
	if in.CPUs != 2 || in.MemoryMB != 2048 || in.DiskMB != 512 || !in.Network || in.Workdir != "/srv/app" ||
		in.AgentLimit != 90500*time.Millisecond || in.VerifyLimit != 30*time.Second || in.BuildLimit != 600*time.Second ||
		in.Env["PLAIN"] != "$x {y}" || in.kind.(*harbor).verifierEnv["KEY"] != "yes-none" {
		t.Errorf("%+v", in)
	}
	if string(in.Reference.Patch) != "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n" || in.Reference.Script == nil {
		t.Errorf("reference %q, %q", in.Reference.Patch, in.Reference.Script)
	}
	want := []string{`unknown key "environment.colour" is ignored`, "environment.gpus is ignored", "verifier.env.KEY takes HAVE from"}
	for i, text := range want {
		if len(in.Warnings) != len(want) || !strings.Contains(in.Warnings[i], text) {
			t.Fatalf("warnings %q, want %q", in.Warnings, want)
		}
	}
	if !strings.HasPrefix(in.Image, "rollbench/env-odd-name:") || len(in.Image) != len("rollbench/env-odd-name:")+12 {
		t.Errorf("image %q", in.Image)
	}
	spec := in.Spec(sandbox.Docker)
	if spec.Image != in.Image || spec.Build.Args["BASE"] != "x" || spec.Env["PLAIN"] != "$x {y}" || spec.Env["GIT_PAGER"] != "cat" {
		t.Errorf("%+v", spec)
	}
	if local := in.Spec(sandbox.Local); local.Image != "" || local.Build != nil {
		t.Errorf("a local sandbox gets image %q", local.Image)
	}
	// The tag follows the folder and the arguments.
	other, err := Load(dir, Options{Getenv: have})
	if err != nil || other[0].Image == in.Image {
		t.Errorf("other build arguments give %q too, %v", in.Image, err)
	}
	writeFiles(t, dir, map[string]string{"environment/extra.txt": "x"})
	changed, err := Load(dir, Options{BuildArgs: map[string]string{"BASE": "x"}, Getenv: have})
	if err != nil || changed[0].Image == in.Image {
		t.Errorf("another folder gives %q too, %v", in.Image, err)
	}
}

// Network is off unless a task asks for it in so many words.
func TestNetworkMustBeAskedFor(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "allow_internet = true\n": true, "allow_internet = false\n": false, "network_mode = \"public\"\n": true,
		"network_mode = \"no-network\"\nallow_internet = true\n": false, "network_mode = \"allowlist\"\nallowed_hosts = [\"a\"]\n": false,
	} {
		m, _, err := parseManifest("[environment]\n" + text)
		if err != nil || m.policyNetwork(false) != want {
			t.Errorf("%q: network %v, %v", text, m.policyNetwork(false), err)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int{"2G": 2048, "2g": 2048, "2GB": 2048, "2Gi": 2048, "2GiB": 2048, "512M": 512, "1.5G": 1536, "2048K": 2, "1T": 1 << 20} {
		if got, err := sizeMB("k", nil, &text); err != nil || got != want {
			t.Errorf("%s is %d MB, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "G", "-1G", "2", "0M", "1e99G", "nanG"} {
		if got, err := sizeMB("k", nil, &text); err == nil {
			t.Errorf("%q is %d MB, want an error", text, got)
		}
	}
}

func TestHeredocDiff(t *testing.T) {
	const diff = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"
	for script, want := range map[string]string{
		"git apply <<'EOF'\n" + diff + "EOF\n":                                diff,
		"cat > p << \"END\"\n" + diff + "END\npatch -p1 <p\n":                 diff,
		"patch -p1 <<EOF\n" + diff + "EOF\n":                                  diff,
		"patch -p1 <<EOF\n" + strings.Replace(diff, "+b", "+$b", 1) + "EOF\n": "",
		"cat >f.py <<'EOF'\nprint(1)\nEOF\n":                                  "",
		"git apply <<'EOF'\n" + diff + "EOF\ncat >g <<'EOF'\nx\nEOF\n":        "",
		"git apply <<'EOF'\n" + diff:                                          "",
		"python3 <<< 'x'\n":                                                   "",
		"sed -i s/a/b/ f\n":                                                   "",
	} {
		if got := heredocDiff(script); got != want {
			t.Errorf("%q: %q", script, got)
		}
	}
}

func TestRowFields(t *testing.T) {
	const text = `{"instance_id":"Django__django-1","repo":"django/django","base_commit":"abcdef1234","problem_statement":" It breaks. ","patch":"P","FAIL_TO_PASS":"[\"a\", \"b\"]","PASS_TO_PASS":["c"]}`
	ins, err := rowsOf(t, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	in := ins[0]
	if in.Image != "swebench/sweb.eval.x86_64.django_1776_django-1:latest" || in.Workdir != "/testbed" || in.LocalOK || in.Network ||
		string(in.Reference.Patch) != "P" || !strings.Contains(in.Instruction, "<issue>\nIt breaks.\n</issue>") || in.VerifyLimit != 1800*time.Second {
		t.Errorf("%+v", in)
	}
	g := in.kind.(*swebench).grading
	if !slices.Equal(g.rules.FailToPass, []string{"a", "b"}) || !slices.Equal(g.rules.PassToPass, []string{"c"}) {
		t.Errorf("%+v", g)
	}
	for field, want := range map[string]string{"image": "i", "image_name": "i", "docker_image": "i"} {
		ins, err := rowsOf(t, []byte(strings.Replace(text, "{", `{"`+field+`":"i",`, 1)))
		if err != nil || ins[0].Image != want {
			t.Errorf("%s: %q, %v", field, ins[0].Image, err)
		}
	}
}

// Older rows say by their repository how their log is read; where nobody knows
// how to run the tests, there is a warning and no reward.
func TestRowRunners(t *testing.T) {
	for fields, want := range map[string]struct {
		command string
		warned  bool
	}{
		`"repo":"pallets/flask"`:                                     {"pytest -rA", false},
		`"repo":"sphinx-doc/sphinx"`:                                 {"tox --current-env -epy39 -v --", false},
		`"repo":"sphinx-doc/sphinx","log_parser":"pytest"`:           {"python3 -m pytest -rA", false},
		`"log_parser":"parse_log_pytest_v2"`:                         {"python3 -m pytest -rA", false},
		`"log_parser":"unittest"`:                                    {"python3 -m unittest -v", false},
		`"repo":"django/django","version":"1.9"`:                     {"./tests/runtests.py --verbosity 2", false},
		`"repo":"gin-gonic/gin"`:                                     {"go test -v", false},
		`"repo":"tokio-rs/tokio"`:                                    {"", true},
		`"repo":"django/django","test_cmd":"./tests/runtests.py"`:    {"./tests/runtests.py", false},
		`"log_parser":"parse_log_sympy","eval_script":"#!/bin/bash"`: {"", false},
	} {
		ins, err := rowsOf(t, []byte(`{"instance_id":"a","base_commit":"1234567","problem_statement":"p","FAIL_TO_PASS":["t"],`+fields+`}`))
		if err != nil {
			t.Errorf("%s: %v", fields, err)
			continue
		}
		if in := ins[0]; in.TestCommand != want.command || (len(in.Warnings) > 0) != want.warned || (in.kind.(*swebench).script == "") != want.warned {
			t.Errorf("%s: command %q, warnings %q", fields, in.TestCommand, in.Warnings)
		}
	}
}

// Files that a multimodal row's harness downloads are not there, and a policy does not
// see the pictures of its statement: both are told.
func TestImageAssetsAreTold(t *testing.T) {
	const two, one, shown = "image_assets names 2 files", "image_assets names 1 files", "the problem statement shows 1 pictures, which a policy does not see"
	for assets, want := range map[string][]string{
		`{"test_patch":[{"path":"a.png","url":"u"}],"patch":[{"path":"b.png","url":"u"}],"problem_statement":["u"]}`: {two, shown},
		`"{\"test_patch\": [{\"path\": \"a.png\", \"url\": \"u\"}]}"`:                                                {one},
		`{"problem_statement":[],"patch":["https://x/1.png"]}`:                                                       {one},
		`{"problem_statement":["u"]}`:                                                                                {shown}, `{"problem_statement":null}`: nil, `null`: nil, `"none"`: nil, `""`: nil,
	} {
		ins, err := rowsOf(t, []byte(`{"instance_id":"a","base_commit":"1234567","problem_statement":"p","FAIL_TO_PASS":["t"],"test_cmd":"t","image_assets":`+assets+`}`))
		if err != nil {
			t.Errorf("%s: %v", assets, err)
			continue
		}
		if got := ins[0].Warnings; !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%s: %q", assets, got)
		}
	}
}

// Where the harness's commands are known, its downloads are, too: of the files of the
// tests (v4.1.0, swebench/harness/test_spec/javascript.py), before the test patch.
func TestImageAssetsAreFetched(t *testing.T) {
	const row = `{"repo":"chartjs/Chart.js","version":"3.7","instance_id":"a","base_commit":"1234567","problem_statement":"p","FAIL_TO_PASS":["t"],"test_patch":"diff --git a/x/b c.png b/x/b c.png\nnew file mode 100644\nindex 000000000..d4b1a2e55\nBinary files /dev/null and b/x/b c.png differ\n",
"image_assets":{"test_patch":[{"path":"x/b c.png","url":"https://h/b?a&b"},{"path":"d.png","url":"http://h/d.png"}%s],"patch":[]}}`
	load := func(more string, o Options) (warnings []string, script string) {
		t.Helper()
		ins, err := loadRows(t, o, strings.ReplaceAll(fmt.Sprintf(row, more), "\n", ""))
		if err != nil {
			t.Fatal(err)
		}
		return ins[0].Warnings, ins[0].kind.(*swebench).script
	}
	want := `
rm -rf -- 'x/b c.png'
mkdir -p -- x && curl -fsSL -o './x/b c.png' 'https://h/b?a&b' && chmod 777 -- './x/b c.png'
mkdir -p -- . && curl -fsSL -o ./d.png http://h/d.png && chmod 777 -- ./d.png
git apply -v --whitespace=nowarn --exclude='x/b c.png' - <<`
	warned, script := load("", Options{Network: true})
	if len(warned) > 0 || !strings.Contains(script, want) {
		t.Errorf("%q\n%s", warned, script)
	}
	if warned, _ = load("", Options{}); len(warned) != 1 || !strings.HasPrefix(warned[0], "run without network, although its tests need 2 files that are fetched") {
		t.Errorf("without a network: %q", warned)
	}
	for _, more := range []string{`,"https://h/e.png"`, `,{"path":"../e.png","url":"https://h/e.png"}`, `,{"path":"/e.png","url":"https://h/e.png"}`, `,{"path":"e.png","url":"-K"}`, `,{"path":"e.png"}`} {
		if warned, script = load(more, Options{Network: true}); len(warned) != 1 || !strings.HasPrefix(warned[0], "image_assets names 1 files") || strings.Contains(script, "e.png") {
			t.Errorf("%s: %q", more, warned)
		}
	}
}

func FuzzRows(f *testing.F) {
	f.Add([]byte(`{"instance_id":"a","base_commit":"1234567","problem_statement":"p","FAIL_TO_PASS":"[\"t\"]","test_patch":"--- a/t.py\n+++ b/t.py\n@@ -1 +1 @@\n-a\n+b\n"}`))
	f.Add([]byte(`[{"instance_id":1}]`))
	f.Add([]byte("{\"a\":{}}\n{"))
	f.Add([]byte("\xef\xbb\xbf\n"))
	f.Add([]byte(`{"FAIL_TO_PASS":null,"PASS_TO_PASS":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		ins, err := rowsOf(t, data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error of several lines: %q", err)
			}
			return
		}
		for _, in := range ins {
			if in.ID == "" || in.Image == "" || in.Workdir == "" || in.kind == nil {
				t.Errorf("half an instance: %+v", in)
			}
		}
	})
}

func FuzzManifest(f *testing.F) {
	f.Add(goodToml)
	f.Add("[environment.env]\nA = \"${B:-${C}}\"\n")
	f.Add("steps = 1\n")
	f.Add("[agent\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, _, err := parseManifest(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error of several lines: %q", err)
			}
			return
		}
		_, _, err = expandEnv("environment.env", m.Environment.Env, func(name string) (string, bool) { return name, len(name)%2 == 0 })
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("error of several lines: %q", err)
		}
	})
}

// Instances that are handed on one by one are not held, and are checked all the same.
func TestLoadOneByOne(t *testing.T) {
	row := func(id string) string {
		return `{"id":"` + id + `","prompt":"q","reward_model":{"ground_truth":"1"},"data_source":"math"}`
	}
	var seen []string
	bad := 0
	all, err := loadRows(t, Options{Each: func(in *Instance) { seen = append(seen, in.ID+" "+in.Format) }, OnBad: func(error) { bad++ }}, row("a"), row("b"), row("a"))
	if err != nil || len(all) != 0 || bad != 1 || strings.Join(seen, ", ") != "a answer, b answer" {
		t.Errorf("%v, held %d, %d bad, %v", seen, len(all), bad, err)
	}
}
