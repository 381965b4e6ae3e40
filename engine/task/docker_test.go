package task

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"

	"rollbench/sandbox"
)

// container is a sandbox for these tests, driven by the docker command.
type container struct {
	host // for the methods that are not needed here
	id   string
}

func (c *container) Kind() sandbox.Kind   { return sandbox.Docker }
func (c *container) Path(p string) string { return p }
func (c *container) Workdir() string      { return c.work }

func (c *container) docker(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Stdin = stdin
	return cmd.CombinedOutput()
}

func (c *container) Exec(ctx context.Context, cmd sandbox.Command) (sandbox.Result, error) {
	args := []string{"exec", "-i", "-w", cmp.Or(cmd.Dir, c.work), "-u", strings.TrimPrefix(cmd.User, sandbox.ImageUser)}
	for _, env := range []map[string]string{c.env, cmd.Env} {
		for k, v := range env {
			args = append(args, "-e", k+"="+v)
		}
	}
	argv := cmd.Argv
	if len(argv) == 0 {
		argv = []string{"bash", "-c", cmd.Script}
	}
	out, err := c.docker(ctx, bytes.NewReader(cmd.Stdin), append(append(args, c.id), argv...)...)
	res := sandbox.Result{Output: out, End: sandbox.Exited}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		res.ExitCode, err = exit.ExitCode(), nil
	}
	return res, err
}

func (c *container) run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	out, err := c.docker(ctx, stdin, append([]string{"exec", "-i", "-w", c.work, c.id}, argv...)...)
	if err != nil && strings.Contains(string(out), "No such file") {
		err = sandbox.ErrNotExist
	}
	return out, err
}

func (c *container) ReadFile(ctx context.Context, p string) ([]byte, error) {
	return c.run(ctx, nil, "cat", p)
}

func (c *container) WriteFile(ctx context.Context, p string, data []byte, _ fs.FileMode) error {
	_, err := c.run(ctx, bytes.NewReader(data), "sh", "-c", `cat >"$1"`, "sh", p)
	return err
}

func (c *container) Stat(ctx context.Context, p string) (fs.FileInfo, error) {
	_, err := c.run(ctx, nil, "ls", "-d", p)
	return nil, err
}

func (c *container) CopyIn(ctx context.Context, dst string, stream io.Reader) error {
	_, err := c.run(ctx, stream, "tar", "-x", "-C", dst)
	return err
}

func (c *container) CopyOut(ctx context.Context, p string) (io.ReadCloser, error) {
	out, err := exec.CommandContext(ctx, "docker", "cp", c.id+":"+p, "-").Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = sandbox.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(out)), err
}

const testLabel = "rollbench.test=task"

// needDocker skips, or fails where docker is required, and names the image.
func needDocker(t *testing.T) string {
	t.Helper()
	image := os.Getenv("ROLLBENCH_TEST_IMAGE")
	if image == "" {
		image = "rollbench-test/base:1"
	}
	if out, err := exec.CommandContext(t.Context(), "docker", "image", "inspect", "-f", "{{.Id}}", image).CombinedOutput(); err != nil {
		text := fmt.Sprintf("docker with image %s is not available: %v: %s", image, err, firstLine(string(out)))
		if os.Getenv("ROLLBENCH_REQUIRE_DOCKER") == "1" {
			t.Fatal(text)
		}
		t.Skip(text)
	}
	return image
}

// build makes the instance's image as a provider would, with the classic builder.
func build(t *testing.T, b *sandbox.Build, tag string) {
	t.Helper()
	stream, err := b.Context()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"build", "-q", "--label", testLabel, "-t", tag}
	for k, v := range b.Args {
		args = append(args, "--build-arg", k+"="+v)
	}
	cmd := exec.CommandContext(t.Context(), "docker", append(args, "-")...)
	cmd.Env, cmd.Stdin = append(os.Environ(), "DOCKER_BUILDKIT=0"), stream
	out, err := cmd.CombinedOutput()
	if err = errors.Join(err, stream.Close()); err != nil {
		t.Fatalf("build %s: %v\n%s", tag, err, out)
	}
}

func openContainer(t *testing.T, in *Instance) *container {
	t.Helper()
	spec := in.Spec(sandbox.Docker)
	c := &container{}
	c.work, c.env = spec.Workdir, maps.Clone(spec.Env)
	out, err := c.docker(t.Context(), nil, "run", "-d", "--label", testLabel, "--network", "none", "--pids-limit", "256", spec.Image, "sleep", "600")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.id = strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := c.docker(context.Background(), nil, "rm", "-f", c.id); err != nil {
			t.Errorf("remove container: %v\n%s", err, out)
		}
	})
	return c
}

// checkLife runs a task's whole life in containers.
func checkLife(t *testing.T, in *Instance) {
	t.Helper()
	untouched, err := in.Verify(t.Context(), openContainer(t, in), nil)
	if err != nil || untouched.Reward == nil || *untouched.Reward != 0 {
		t.Fatalf("untouched: %+v, %v\n%s", untouched, err, untouched.Log)
	}
	c := openContainer(t, in)
	if err := in.Prepare(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := in.Solve(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	patch, _, err := in.TakePatch(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	solved, err := in.Verify(t.Context(), openContainer(t, in), patch)
	if err != nil || solved.Reward == nil || *solved.Reward != 1 {
		t.Fatalf("solved: %+v, %v\n%s", solved, err, solved.Log)
	}
}

// Every Python task builds from its Dockerfile and its reference passes in its
// image; one goes through its whole life there.
func TestBundledTasksInContainers(t *testing.T) {
	base := needDocker(t)
	ins, err := Default(func(string) bool { return true }, Options{BuildArgs: map[string]string{"BASE": base}})
	if err != nil {
		t.Fatal(err)
	}
	for i, in := range ins {
		t.Run(in.ID, func(t *testing.T) {
			build(t, in.Build, in.Image)
			if i == 0 {
				checkLife(t, &in)
				return
			}
			got, err := in.Verify(t.Context(), openContainer(t, &in), in.Reference.Patch)
			if err != nil || got.Reward == nil || *got.Reward != 1 {
				t.Errorf("%+v, %v\n%s", got, err, got.Log)
			}
		})
	}
}

// A SWE-bench-style row in an image with the repository at /testbed, owned by
// another user than the one that runs the tests.
func TestRowInContainer(t *testing.T) {
	base := needDocker(t)
	dockerfile := "FROM " + base + `
RUN mkdir /testbed && cd /testbed && git init -q . && git config user.name t && git config user.email t@t.invalid \
 && printf 'def add(a, b):\n    return a - b\n' >calc.py && mkdir tests \
 && printf 'from calc import add\n\ndef test_zero():\n    assert add(1, 0) == 1\n' >tests/test_calc.py \
 && git add -A && GIT_AUTHOR_DATE=2025-01-01T00:00:00Z GIT_COMMITTER_DATE=2025-01-01T00:00:00Z git commit -q -m base \
 && sed -i 's/a - b/a + b/' calc.py && git commit -q -a -m "the fix" && git tag v2 && chown -R 1000:1000 /testbed
`
	const tag = "rollbench-test/task-row:1"
	build(t, &sandbox.Build{Context: func() (io.ReadCloser, error) {
		return tarFolder(os.DirFS(writeDockerfile(t, dockerfile))), nil
	}}, tag)
	probe := &container{}
	out, err := probe.docker(t.Context(), nil, "run", "--rm", "--label", testLabel, "--user", "1000", "-w", "/testbed", tag, "git", "rev-parse", "HEAD^")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ins, err := rowsOf(t, fmt.Appendf(nil, `{"instance_id":"t__calc-1","base_commit":%q,"problem_statement":"add subtracts","image":%q,
"patch":"--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n",
"test_patch":"--- a/tests/test_calc.py\n+++ b/tests/test_calc.py\n@@ -2,3 +2,6 @@\n \n def test_zero():\n     assert add(1, 0) == 1\n+\n+def test_add():\n+    assert add(1, 2) == 3\n",
"FAIL_TO_PASS":"[\"tests/test_calc.py::test_add\"]","PASS_TO_PASS":"[\"tests/test_calc.py::test_zero\"]"}`, strings.TrimSpace(string(out)), tag))
	if err != nil {
		t.Fatal(err)
	}
	checkLife(t, &ins[0])
	c := openContainer(t, &ins[0])
	if err := ins[0].Prepare(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if log, err := c.run(t.Context(), nil, "git", "log", "--all", "--format=%s"); err != nil || string(log) != "base\n" {
		t.Errorf("history after Prepare: %q, %v", log, err)
	}
}

func writeDockerfile(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"Dockerfile": text})
	return dir
}

// A program under pytest, in the image that its row names.
func TestProgramUnderPytest(t *testing.T) {
	image := needDocker(t)
	row := codeRow(`{"pytest":"from solution import add\n\ndef test_add():\n    assert add(1, 2) == 3\n"}`, "")
	all, err := loadRows(t, Options{}, strings.Replace(row, `{"id"`, `{"docker_image":"`+image+`","id"`, 1))
	if err != nil || all[0].Image != image || all[0].LocalOK {
		t.Fatal(all, err)
	}
	in := &all[0]
	in.Workdir = "/tmp"
	for code, want := range map[string]struct {
		reward float64
		note   string
	}{
		"def add(a, b):\n    return a + b":               {1, "all tests pass"},
		"def add(a, b):\n    return a - b":               {0, "it ended with exit code 1: "},
		"import sys\nsys.exit(0)":                        {0, "the program ends itself before its tests have run"},
		"def add(a, b):\n    import os\n    os._exit(0)": {0, "the tests end before they say how they went"},
	} {
		got, err := in.VerifyAnswer(t.Context(), openContainer(t, in), fencedCode(code))
		if err != nil || got.Reward == nil || *got.Reward != want.reward || !strings.HasPrefix(got.Note, want.note) {
			t.Errorf("%s: %+v, %v\n%s", code, got, err, got.Log)
		}
	}
}
