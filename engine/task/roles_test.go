package task

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

// shaped loads a task with one of the task.toml files in testdata/harbor-toml.
func shaped(t *testing.T, toml string, o ...Options) (*Instance, *harbor) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "harbor-toml", toml))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "one")
	writeFiles(t, dir, harborFiles(map[string]string{"task.toml": string(text)}))
	o = append(o, Options{})
	o[0].Getenv = func(string) (string, bool) { return "", false }
	ins, err := Load(dir, o[0])
	if err != nil {
		t.Fatalf("%s: %v", toml, err)
	}
	return &ins[0], ins[0].kind.(*harbor)
}

// Each version of task.toml is read, and warned of is what has no effect and no more.
func TestVersionsOfTaskToml(t *testing.T) {
	const noNetwork = "task.toml has no environment.network_mode: run without network, where Harbor gives one; set tasks.network = true to do so, too"
	for toml, c := range map[string]struct {
		graded   Grading
		workdir  string
		user     string
		network  bool
		warnings []string
	}{
		"0-sizes-as-text.toml": {InPlace, "", "", false, []string{noNetwork}},
		"1.0-megabytes.toml":   {InPlace, "", "", true, nil},
		"1.1-package.toml":     {InPlace, "/", "agent", false, []string{"task.toml: environment.mcp_servers is ignored", "task.toml: environment.skills_dir is ignored"}},
		"1.3-separate.toml":    {ByArtifacts, "", "", false, nil},
		"1.4-one-step.toml": {InPlace, "", "", true, []string{"task.toml: environment.gpus is ignored; sandboxes have no GPU", "task.toml: environment.tpu is ignored; sandboxes have no TPU",
			`task.toml: verifier.network_mode "allowlist" is ignored; the tests run in the policy's sandbox, or one like it`}},
	} {
		in, _ := shaped(t, toml)
		if in.Grading() != c.graded || in.Workdir != c.workdir || in.User != c.user || in.Network != c.network || !slices.Equal(in.Warnings, c.warnings) {
			t.Errorf("%s: %s in %q as %q, network %v, warnings %q", toml, in.Grading(), in.Workdir, in.User, in.Network, in.Warnings)
		}
	}
	in, h := shaped(t, "0-sizes-as-text.toml")
	if in.MemoryMB != 2048 || in.DiskMB != 10240 || in.AgentLimit != 15*time.Minute {
		t.Errorf("%+v", in)
	}
	if _, h = shaped(t, "1.0-megabytes.toml"); h.solutionMissing == nil || !strings.Contains(h.solutionMissing.Error(), "solution.env.TOKEN: variable NOT_ON_THIS_MACHINE is not set") {
		t.Errorf("what only the solution needs: %v", h.solutionMissing)
	}
	if _, h = shaped(t, "1.1-package.toml"); h.user != "0" || h.health.Command != "test -f /ready" || *h.health.Retries != 4 {
		t.Errorf("%+v", h.roles)
	}
	_, h = shaped(t, "1.3-separate.toml")
	want := roles{graded: ByArtifacts, user: sandbox.ImageUser,
		collect:   []hook{{"pg_dump app >/tmp/app.sql", sandbox.ImageUser, 300 * time.Second}, {"true", "postgres", time.Minute}},
		artifacts: []artifact{{source: "/logs/artifacts"}, {source: "/app/out.json"}, {source: "/app/site", exclude: []string{"*.tmp"}}},
		verifier:  verifierPlace{spec: sandbox.Spec{Image: "example/verifier:1", Network: true, CPUs: 2, MemoryMB: 8192, Env: map[string]string{}}}}
	if !reflect.DeepEqual(h.roles, want) {
		t.Errorf("got  %+v\nwant %+v", h.roles, want)
	}
	// A setting has the patch decide, but never for a verifier of its own.
	if in, _ = shaped(t, "1.0-megabytes.toml", Options{Verify: VerifyFresh}); in.Grading() != ByPatch {
		t.Errorf("fresh: %s", in.Grading())
	}
	if in, _ = shaped(t, "1.3-separate.toml", Options{Verify: VerifyFresh}); in.Grading() != ByArtifacts {
		t.Errorf("fresh, and separate: %s", in.Grading())
	}
}

// What would be graded otherwise than it is meant is refused in one line.
func TestRolesRefused(t *testing.T) {
	for want, more := range map[string]string{
		`verifier.environment_mode is "own"; it must be shared or separate`:                        "[verifier]\nenvironment_mode = \"own\"\n",
		`verifier.environment_mode is "shared", and there is a [verifier.environment]`:             "[verifier]\nenvironment_mode = \"shared\"\n[verifier.environment]\ncpus = 1\n",
		`verifier.network_mode is "none"; it must be public, no-network or allowlist`:              "[verifier]\nnetwork_mode = \"none\"\n",
		`verifier.environment.os is "windows"; sandboxes are Linux`:                                "[verifier.environment]\nos = \"windows\"\n",
		"verifier.environment.cpus is -1; it must be more than 0":                                  "[verifier.environment]\ncpus = -1\n",
		"tests/Dockerfile is missing and task.toml has no verifier.environment.docker_image":       "[verifier.environment]\ncpus = 1\n",
		`verifier.collect, number 2: service is "db"; only what runs in "main"`:                    "[[verifier.collect]]\ncommand = \"a\"\n[[verifier.collect]]\ncommand = \"b\"\nservice = \"db\"\n",
		"verifier.collect, number 1: command is missing":                                           "[[verifier.collect]]\nservice = \"main\"\n",
		"verifier.collect, number 1: timeout_sec is 0; it must be more than 0":                     "[[verifier.collect]]\ncommand = \"a\"\ntimeout_sec = 0\n",
		"agent.user is 1.5; it must be a user's name or uid":                                       "[agent]\nuser = 1.5\n",
		"verifier.user is -1; it must be a user's name or uid":                                     "[verifier]\nuser = -1\n",
		"environment.healthcheck has no command":                                                   "[environment.healthcheck]\nretries = 1\n",
		"environment.healthcheck.interval_sec is NaN; it must be from 0 to 1000000":                "[environment.healthcheck]\ncommand = \"a\"\ninterval_sec = nan\n",
		"metadata.rollbench.local: a separate verifier needs an image of its own":                  "[metadata.rollbench]\nlocal = true\n[verifier]\nenvironment_mode = \"separate\"\n",
		`artifacts, number 1: source is ../x; it must be a path below /, without ..`:               "artifacts = [\"../x\"]\n",
		`artifacts, number 1: unknown key "path"; there are source, destination, exclude, service`: "artifacts = [{path = \"/a\"}]\n",
		`artifacts, number 2: service is db; only the files of "main" can be collected`:            "artifacts = [\"/a\", {source = \"/b\", service = \"db\"}]\n",
		`artifacts, number 1: 3 is neither a path nor a table {source = …}`:                        "artifacts = [3]\n",
		"artifacts: /tests is where the verifier's tests lie":                                      "artifacts = [\"/logs\", \"/tests/\"]\nverifier.environment_mode = \"separate\"\n",
		`artifacts, number 1: exclude must be a list of patterns`:                                  "artifacts = [{source = \"/a\", exclude = \"*\"}]\n",
	} {
		toml := goodToml + more
		if strings.HasPrefix(more, "artifacts") {
			toml = more + goodToml
		}
		dir := filepath.Join(t.TempDir(), "t1")
		writeFiles(t, dir, harborFiles(map[string]string{"task.toml": toml}))
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// A separate verifier is built of tests/, and needs no test.sh on this side when its
// image has one.
func TestVerifierImage(t *testing.T) {
	load := func(files map[string]string) Instance {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "one")
		writeFiles(t, dir, harborFiles(files))
		ins, err := Load(dir, Options{BuildArgs: map[string]string{"A": "b"}})
		if err != nil {
			t.Fatal(err)
		}
		return ins[0]
	}
	in := load(map[string]string{"task.toml": goodToml + "[verifier.environment]\nworkdir = \"/w/\"\nbuild_timeout_sec = 9\n[verifier.environment.env]\nX = \"1\"\n", "tests/Dockerfile": "FROM x\n"})
	spec := in.VerifierSpec()
	if !strings.HasPrefix(spec.Image, "rollbench/env-one-verifier:") || spec.Build.Timeout != 9*time.Second || spec.Build.Args["A"] != "b" || spec.Workdir != "/w" || spec.Env["X"] != "1" || spec.Network {
		t.Errorf("%+v", spec)
	}
	in = load(map[string]string{"task.toml": goodToml + "[verifier]\nenvironment_mode = \"separate\"\n", "tests/test.sh": "", "tests/other": "x"})
	if spec = in.VerifierSpec(); spec.Image != "img:1" || spec.Build != nil || spec.Workdir != "/app" {
		t.Errorf("the task's own environment: %+v", spec)
	}
	if want := []string{"tests/test.sh is missing: the verifier's image img:1 must have /tests/test.sh"}; !slices.Equal(in.Warnings, want) {
		t.Errorf("%q", in.Warnings)
	}
}

func TestCanary(t *testing.T) {
	for text, want := range map[string]string{
		"<!-- x CANARY y -->\n# canary string\n\n\nDo it.\n": "Do it.\n",
		"Do it.\n# canary\n": "Do it.\n# canary\n",
		"\n\nDo it.":         "Do it.",
		"# canary":           "",
	} {
		if got := withoutCanary(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
