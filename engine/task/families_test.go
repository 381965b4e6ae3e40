package task

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"rollbench/engine/task/testlog"
	"rollbench/sandbox"
)

// Each family's own layout gives the instances that it means.
func TestFamilies(t *testing.T) {
	type want struct {
		id, format, image, workdir, told string
		reference                        bool
		command                          string
	}
	const pillow = "namanjain12/pillow_final:"
	for path, wants := range map[string][]want{
		"testdata/datasets/lite.jsonl": {
			{"django__django-11099", "swebench", "swebench/sweb.eval.x86_64.django_1776_django-11099:latest", "/testbed", "<issue>\nAdding subtracts.\n</issue>", true, "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"},
			{"pallets__flask-4045", "swebench", "swebench/sweb.eval.x86_64.pallets_1776_flask-4045:latest", "/testbed", "pallets/flask", true, "pytest -rA"}},
		"testdata/datasets/multilingual.jsonl": {{"gin-gonic__gin-1805", "swebench", "swebench/sweb.eval.x86_64.gin-gonic_1776_gin-1805:latest", "/testbed", "gin", true, "go test -v ./..."}},
		"testdata/datasets/v5.jsonl":           {{"django__django-11099", "swebench", "swebench/sweb.eval.x86_64.django_1776_django-11099:latest", "/testbed", "Adding", true, ""}},
		"testdata/datasets/swesmith.jsonl": {{"oauthlib__oauthlib.1fd52536.combine_file__09vlzwgc", "swe-smith", "jyangballin/swesmith.x86_64.oauthlib_1776_oauthlib.1fd52536", "/testbed",
			"some of the project's tests fail", true, smithPytest}},
		"testdata/datasets/r2egym.jsonl":   {{"pillow__" + strings.Repeat("2", 40), "r2e-gym", pillow + strings.Repeat("2", 40), "/testbed", "<issue>\n**Size is wrong**\n</issue>", true, ""}},
		"testdata/datasets/skyrlswe.jsonl": {{"django__django-11099", "skyrl", "docker.io/xingyaoww/sweb.eval.x86_64.django_s_django-11099:latest", "/testbed", "Adding", true, "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"}},
		"testdata/datasets/miniswe.jsonl":  {{"getmoto__moto-4950", "skyrl", "docker.io/xingyaoww/sweb.eval.x86_64.getmoto_s_moto-4950:latest", "/testbed", "Adding", true, ""}},
		"testdata/datasets/searchr1.jsonl": {{"nq-test-0", "answer", "", "/workspace", "Answer: who wrote hamlet?", false, ""}, {"own", "answer", "", "/workspace", "Answer: who wrote hamlet?", false, ""}},
		"testdata/datasets/plain.jsonl":    {{"one", "plain", "", "/workspace", "Make f hold 2.", true, ""}, {"2", "plain", "img:1", "/srv", "Print.", false, ""}},
		"testdata/datasets/taskrepo":       {{"django__django-11099", "swebench-repo", "swebench/sweb.eval.x86_64.django_1776_django-11099:latest", "/testbed", "Adding", true, ""}},
		"testdata/datasets/terminal":       {{"hello-world", "terminal-bench", "rollbench/env-hello-world:", "/app", "Create a file called hello.txt.\nWrite \"Hello\" to it.", true, ""}},
		"rows/testdata/made/verified": {{"astropy__astropy-1", "swebench", "swebench/sweb.eval.x86_64.astropy_1776_astropy-1:latest", "/testbed", "größer – 数", true, "pytest -rA"},
			{"django__django-2", "swebench", "swebench/sweb.eval.x86_64.django_1776_django-2:latest", "/testbed", "Case 2", true, "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"},
			{"pallets__flask-3", "swebench", "swebench/sweb.eval.x86_64.pallets_1776_flask-3:latest", "/testbed", "Case 3", true, "pytest -rA"}},
		"rows/testdata/made/swegym.parquet": {{"getmoto__moto-4950", "swe-gym", "xingyaoww/sweb.eval.x86_64.getmoto_s_moto-4950:latest", "/testbed", "Gym 1", true, "pytest -n0 -rA"},
			{"python__mypy-10032", "swe-gym", "xingyaoww/sweb.eval.x86_64.python_s_mypy-10032:latest", "/testbed", "Gym 2", true, "pytest -n0 -rA"},
			{"pandas-dev__pandas-50000", "swe-gym", "xingyaoww/sweb.eval.x86_64.pandas-dev_s_pandas-50000:latest", "/testbed", "Gym 3", true, "pytest -rA --tb=long"}},
		"rows/testdata/made/skyrl.parquet": {{"pillow__" + strings.Repeat("2", 40), "skyrl", pillow + strings.Repeat("2", 40), "/testbed", "<issue>\nSize is wrong\n</issue>", true, ""},
			{"pillow__" + strings.Repeat("3", 40), "skyrl", pillow + strings.Repeat("3", 40), "/testbed", "Again", false, ""}},
		"rows/testdata/made/questions.parquet": {{"test_0", "answer", "", "/workspace", "who wrote hamlet?", false, ""}, {"nq-test-1", "answer", "", "/workspace", "数", false, ""},
			{"nq-test-2", "answer", "", "/workspace", "which?", false, ""}},
	} {
		ins, err := Load(path)
		if err != nil || len(ins) != len(wants) {
			t.Errorf("%s: %d instances, %v", path, len(ins), err)
			continue
		}
		for i, w := range wants {
			in := ins[i]
			if in.ID != w.id || in.Format != w.format || !strings.HasPrefix(in.Image, w.image) || in.Workdir != w.workdir || !strings.Contains(in.Instruction, w.told) ||
				in.Reference.None() == w.reference || in.TestCommand != w.command || in.Origin == "" || in.VerifyLimit == 0 {
				t.Errorf("%s: got %+v\nwant %+v", path, in, w)
			}
		}
	}
}

// What sets a family apart in its sandbox.
func TestFamilyDetails(t *testing.T) {
	one := func(path string, i int, o ...Options) Instance {
		t.Helper()
		ins, err := Load(path, o...)
		if err != nil {
			t.Fatal(err)
		}
		return ins[i]
	}
	lite := one("testdata/datasets/lite.jsonl", 0)
	if env := lite.Spec(sandbox.Docker).Env; !strings.HasPrefix(env["PATH"], "/opt/miniconda3/envs/testbed/bin:") || env["GIT_PAGER"] != "cat" || env["PAGER"] != "cat" {
		t.Errorf("environment of SWE-bench: %v", env)
	}
	if env := one("testdata/datasets/multilingual.jsonl", 0).Env; env["PATH"] != "" {
		t.Errorf("a Go image's own PATH is replaced by %q", env["PATH"])
	}
	if env := one("testdata/datasets/r2egym.jsonl", 0).Env; !strings.HasPrefix(env["PATH"], "/testbed/.venv/bin:") {
		t.Errorf("environment of R2E-Gym: %v", env)
	}
	mypy := one("rows/testdata/made/swegym.parquet", 1).kind.(*swebench).script
	if !strings.Contains(mypy, "\npytest -n0 -rA mypy/test/testcheck.py mypy/test/testsemanal.py\n") {
		t.Errorf("mypy's tests are made of data: %s", mypy)
	}
	limits := one("testdata/datasets/terminal", 0)
	if limits.AgentLimit != 6*time.Minute || limits.VerifyLimit != 3*time.Minute || limits.Network || len(limits.Warnings) != 1 || limits.Build == nil {
		t.Errorf("terminal-bench: %+v", limits)
	}
	if on := one("testdata/datasets/terminal", 0, Options{Network: true}); !on.Network || len(on.Warnings) != 0 {
		t.Errorf("with a network: %+v", on)
	}
	for _, rows := range []string{"lite.jsonl", "swesmith.jsonl", "r2egym.jsonl", "skyrlswe.jsonl", "miniswe.jsonl", "taskrepo", "searchr1.jsonl", "plain.jsonl", "../../rows/testdata/made/swegym.parquet"} {
		if path := "testdata/datasets/" + rows; one(path, 0).Network || !one(path, 0, Options{Network: true}).Network {
			t.Errorf("%s: a network without being asked, or none when asked", rows)
		}
	}
	local := one("testdata/datasets/plain.jsonl", 0)
	other := one("testdata/datasets/plain.jsonl", 1)
	if !local.LocalOK || other.LocalOK || !other.Network || other.VerifyLimit != 5*time.Second || other.Env["N"] != "3" || !slices.Equal(other.Needs, []string{"git"}) {
		t.Errorf("plain: %+v\n%+v", local, other)
	}
	if q := one("testdata/datasets/searchr1.jsonl", 0); q.NeedsPatch() || !q.LocalOK || !local.NeedsPatch() {
		t.Errorf("questions: %+v", q)
	}
	for prefix, want := range map[string]string{
		"reg.local:5000/swebench/": "reg.local:5000/swebench/sweb.eval.x86_64.django_1776_django-11099:latest",
		"xingyaoww/":               "xingyaoww/sweb.eval.x86_64.django_s_django-11099:latest",
	} {
		if got := one("testdata/datasets/lite.jsonl", 0, Options{ImagePrefix: prefix}).Image; got != want {
			t.Errorf("prefix %s: %s", prefix, got)
		}
	}
	if got := one("testdata/datasets/swesmith.jsonl", 0, Options{ImagePrefix: "reg/"}).Image; got != "reg/swesmith.x86_64.oauthlib_1776_oauthlib.1fd52536" {
		t.Errorf("prefix of SWE-smith: %s", got)
	}
	want := testlog.Expected{"TestImage.test_size": "PASSED", "TestImage.test_old": "FAILED", "\x1b[1mtest_plain\x1b[0m - why": "PASSED"}
	if got := one("testdata/datasets/r2egym.jsonl", 0).kind.(*r2e).expected; !reflect.DeepEqual(got, want) {
		t.Errorf("expected outcomes %v", got)
	}
	const fix = "diff --git a/PIL/Image.py b/PIL/Image.py\nindex 1111111..2222222 100644\n--- a/PIL/Image.py\n+++ b/PIL/Image.py\n@@ -1,2 +1,2 @@\n def size():\n-    return 0\n+    return 1\n"
	if got := string(one("testdata/datasets/r2egym.jsonl", 0).Reference.Patch); got != fix {
		t.Errorf("reference of R2E-Gym:\n%s", got)
	}
	if kind := one("testdata/datasets/taskrepo", 0).kind.(*swebench); kind.assets == nil || kind.script != "#!/bin/bash\ntrue\n" {
		t.Errorf("task repository: %+v", kind)
	}
	if old := one("testdata/datasets/taskrepo", 0, Options{Split: "deprecated"}); old.ID != "old__old-1" || old.Build == nil {
		t.Errorf("a split that is not published: %+v", old)
	}
}

// Rows that fit nothing, or two things, and what the messages say.
func TestDetection(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		`{"foo":1,"bar":2}`: "line 1: no known format has its columns (bar, foo); docs/tasks.md lists them",
		`{}`:                "line 1: the row is empty",
		`{"responses_create_params":{"input":[]},"instance_dict":{}}`:                                                                  "line 1: it is a row of NeMo Gym, whose verifier is a server and not in the row",
		`{"question":"q","answer":"#### 18"}`:                                                                                          `line 1: it looks like a question ("question") with an answer ("answer"), but nothing says how that is graded: --format answer --set tasks.verifier=NAME`,
		`{"query_id":"1","query":"q","answer":"x","gold_docs":[]}`:                                                                     "line 1: it is a row of BrowseComp-Plus (which must be decrypted first): --format answer --set tasks.verifier=browsecomp asks it",
		`{"messages":[],"ground_truth":"4","dataset":"gsm8k"}`:                                                                         `line 1: it looks like a question ("messages") with an answer ("ground_truth")`,
		`{"input":"q","answers":["x"],"context":"d","num_docs":50}`:                                                                    "line 1: it is a row of MemAgent, whose documents a memory tool must hand out",
		`{"org":"a","repo":"b","number":1,"fix_patch":""}`:                                                                             "line 1: it is a row of Multi-SWE-bench",
		`{"instance_id":"a","base_commit":"1","F2P":"[]","P2P":"[]","test_command":"mvn"}`:                                             "line 1: it is a row of SWE-PolyBench; rename F2P",
		`{"instance_id":"a","base_commit":"1","fail_to_pass":"['a']"}`:                                                                 "line 1: it has fail_to_pass and pass_to_pass in lower case",
		`{"prompt":"/data/t","env_class":null,"env_extras":{}}`:                                                                        "line 1: it is a row that names a task's folder",
		`{"id":"a","instruction":"b","verify":"c","instance_id":"d","base_commit":"1234567","FAIL_TO_PASS":[]}`:                        "line 1: its columns fit swebench and plain; say which it is with --format",
		`{"id":"a","instruction":"b"}`:                                                                                                 "plain, the nearest, also needs verify",
		`{"prompt":"q","reward_model":{"ground_truth":"4"},"data_source":"browsecomp_plus"}`:                                           `field "data_source": its answers are for a judge to decide, and none is given: set judge.endpoint and judge.model`,
		`{"prompt":"q","reward_model":{"ground_truth":"4"},"data_source":"mine"}`:                                                      `field "data_source": "mine" has no verifier that is known`,
		`{"prompt":"q","reward_model":{},"data_source":"nq"}`:                                                                          `field "reward_model" has no ground_truth`,
		`{"prompt":[{"role":"tool","content":"x"}],"reward_model":{"ground_truth":"4"},"data_source":"nq"}`:                            `field "prompt" item 1 is of role "tool"; a conversation begins with`,
		`{"prompt":"q","data_source":"r2e","instance":{"instance_id":"i","base_commit":"1234567","repo":"r","problem_statement":"p"}}`: `field "instance.expected_output_json" is missing`,
		`{"id":"a","instruction":"b","verify":"c","path":"nowhere"}`:                                                                   `field "path" is "nowhere"; there is no such folder`,
		`{"id":"a","instruction":"b","verify":"c","timeout_sec":-1}`:                                                                   `field "timeout_sec" is -1; it must be more than 0`,
		`{"id":"a","instruction":"b","verify":"c","network":"yes"}`:                                                                    `field "network" must be true or false`,
		`{"id":"a","instruction":"b","verify":"c","patch":"--- a/f\n+++ b/f\n@@ -1,9 +1 @@\n x\n"}`:                                    `field "patch": `,
		`{"path":"t","task_binary":"not a tar"}`:                                                                                       `field "task_binary": broken tar`,
		`{"task_id":"t","task_yaml":"instruction: x","archive":""}`:                                                                    `field "archive" is empty`,
		`{"docker_image":"i","commit_hash":"zz","expected_output_json":"{}","repo_name":"r","problem_statement":"p"}`:                  `field "commit_hash" is "zz"; it must be a commit id`,
		`{"instance_id":"i","image_name":"x","FAIL_TO_PASS":["a::b"],"patch":""}`:                                                      `field "patch" is empty; it is the bug`,
	} {
		file := filepath.Join(dir, "rows.jsonl")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(file)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
	two := `{"id":"a","instruction":"b","verify":"c","instance_id":"d","base_commit":"1234567","FAIL_TO_PASS":[]}`
	if err := os.WriteFile(filepath.Join(dir, "rows.jsonl"), []byte(two), 0o644); err != nil {
		t.Fatal(err)
	}
	if ins, err := Load(filepath.Join(dir, "rows.jsonl"), Options{Format: "plain"}); err != nil || ins[0].ID != "a" || ins[0].Format != "plain" {
		t.Errorf("a named format: %v %v", ins, err)
	}
	if _, err := Load(dir, Options{Format: "harbour"}); err == nil || !strings.Contains(err.Error(), `format "harbour" is unknown: use one of harbor,`) {
		t.Errorf("an unknown format: %v", err)
	}
	if _, err := Load(dir, Options{Format: "terminal-bench"}); err == nil || !strings.Contains(err.Error(), "it is not of format terminal-bench, which is known by task.yaml with run-tests.sh") {
		t.Errorf("another format: %v", err)
	}
	both := t.TempDir()
	writeFiles(t, filepath.Join(both, "a"), harborFiles(nil))
	writeFiles(t, both, map[string]string{"registry.json": `[{"name":"set","version":"1","tasks":[{"name":"org/a","path":"a"}]}]`})
	if _, err := Load(both); err == nil || !strings.Contains(err.Error(), "it can be read as harbor (task.toml) and as harbor-registry (registry.json); say which with --format") {
		t.Errorf("two layouts: %v", err)
	}
	if ins, err := Load(both, Options{Format: "harbor-registry"}); err != nil || ins[0].ID != "org__a" {
		t.Errorf("a registry: %v %v", ins, err)
	}
}

func TestBadRowsAreSkippedWhenAsked(t *testing.T) {
	dir := t.TempDir()
	const good = `{"instance_id":"a__b-1","base_commit":"1234567","problem_statement":"p","FAIL_TO_PASS":["t"]}`
	text := "{broken\n" + good + "\n" + good + "\n" + strings.Replace(good, "1234567", "HEAD", 1) + "\n" + strings.Replace(good, "b-1", "b-2", 1) + "\n"
	file := filepath.Join(dir, "rows.jsonl")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var told []string
	ins, err := Load(file, Options{OnBad: func(err error) { told = append(told, err.Error()) }})
	if err != nil || len(ins) != 2 || ins[1].ID != "a__b-2" || len(told) != 3 {
		t.Fatalf("%d instances, %v, %q", len(ins), err, told)
	}
	for i, want := range []string{"line 1: broken JSON", `line 3: id "a__b-1" is already used by ` + file + " line 2", `line 4: field "base_commit" is "HEAD"`} {
		if !strings.HasPrefix(told[i], want) {
			t.Errorf("told %q, want %q", told[i], want)
		}
	}
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "line 1: broken JSON") {
		t.Errorf("without: %v", err)
	}
	if err := os.WriteFile(file, []byte("{broken\n{}x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file, Options{OnBad: func(error) {}}); err == nil || !strings.Contains(err.Error(), "none of its 2 rows or tasks can be used") {
		t.Errorf("nothing left: %v", err)
	}
	// Folders, too.
	writeFiles(t, filepath.Join(dir, "tasks", "good"), harborFiles(nil))
	writeFiles(t, filepath.Join(dir, "tasks", "steps"), harborFiles(map[string]string{"task.toml": "schema_version = \"1.4\"\nmulti_step_reward_strategy = \"mean\"\n[[steps]]\nname = \"one\"\n"}))
	told = nil
	ins, err = Load(filepath.Join(dir, "tasks"), Options{OnBad: func(err error) { told = append(told, err.Error()) }})
	if err != nil || len(ins) != 1 || len(told) != 1 || !strings.HasPrefix(told[0], "steps: task.toml: [[steps]]: tasks of several steps are not supported") {
		t.Errorf("%v %v %q", ins, err, told)
	}
}
