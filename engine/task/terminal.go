package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"time"

	"rollbench/engine/task/compose"
	"rollbench/engine/task/rows"
	"rollbench/sandbox"
)

// terminal is a task of the old terminal-bench: task.yaml, Dockerfile,
// run-tests.sh, tests/ and solution.sh in one folder.
type terminal struct {
	folder fs.FS
	parser string // pytest and swebench: the log is read, too
	graded Grading
}

func (t *terminal) grading() Grading { return t.graded }

// terminalFolders loads old terminal-bench tasks.
func terminalFolders(root string, to *collection) error {
	return eachFolder(root, "run-tests.sh", to, func(full string) (Instance, error) {
		folder := os.DirFS(full)
		text, err := readText(folder, "task.yaml")
		if err != nil {
			return Instance{}, err
		}
		in, err := loadTerminal(folder, filepath.Base(full), text, to.options)
		in.Origin = full
		return in, err
	})
}

// terminalRow is such a task as a row: task.yaml as text, the rest as a tar.gz.
func terminalRow(r rows.Row, o *Options) (Instance, error) {
	id, err := r.Need("task_id", "it names the task")
	if err != nil {
		return Instance{}, err
	}
	text, err := r.Need("task_yaml", "it says what the policy is told")
	if err != nil {
		return Instance{}, err
	}
	folder, err := archiveOf(r, "archive")
	if err != nil {
		return Instance{}, err
	}
	return loadTerminal(folder, id, text, *o)
}

func loadTerminal(folder fs.FS, id, text string, o Options) (Instance, error) {
	in := Instance{ID: id, Format: "terminal-bench", BuildLimit: defaultBuildLimit, Network: o.Network}
	y, err := parseYAML("task.yaml", text)
	if err != nil {
		return Instance{}, err
	}
	wrap := func(err error) error { return fmt.Errorf("task.yaml: %w", err) }
	if y.Has("descriptions") && !y.Has("instruction") {
		return Instance{}, errors.New("task.yaml: descriptions (several instructions for one task) are not supported; write one under instruction")
	}
	if in.Instruction, err = y.Need("instruction", "it is what the policy is told"); err != nil {
		return Instance{}, wrap(err)
	}
	for _, one := range []struct {
		name      string
		into      *time.Duration
		otherwise time.Duration
	}{{"max_agent_timeout_sec", &in.AgentLimit, 0}, {"max_test_timeout_sec", &in.VerifyLimit, defaultVerifyLimit}} {
		limit, given, err := y.Number(one.name)
		switch {
		case err != nil:
			return Instance{}, wrap(err)
		case given && (limit <= 0 || limit > 1e6):
			return Instance{}, wrap(y.Wrong(one.name, "is %v; it must be more than 0 and at most 1000000", limit))
		}
		if *one.into = one.otherwise; given {
			*one.into = time.Duration(limit * float64(time.Second))
		}
	}
	parser, err := y.Text("parser_name")
	if err != nil {
		return Instance{}, wrap(err)
	}
	if !exists(folder, "run-tests.sh") {
		return Instance{}, errors.New("run-tests.sh is missing; it runs the tests")
	}
	if parser == "" {
		parser = "pytest"
	}
	if parser != "pytest" && parser != "swebench" {
		in.Warnings = append(in.Warnings, fmt.Sprintf("task.yaml: parser_name %q is not known: the exit code of run-tests.sh decides alone", parser))
	}
	if !o.Network {
		in.Warnings = append(in.Warnings, "run without network, which run-tests.sh often needs: set tasks.network = true to give it one")
	}
	kind := &terminal{folder: folder, parser: parser, graded: InPlace}
	if o.Verify == VerifyFresh {
		kind.graded, in.Workdir = ByPatch, "/app"
	}
	in.kind = kind
	if exists(folder, "solution.sh") {
		script, err := fs.ReadFile(folder, "solution.sh")
		if err != nil {
			return Instance{}, err
		}
		in.Reference.Script = script
	}
	return in, in.terminalImage(folder, o)
}

// terminalImage is what the compose file's service client builds or names, else what
// the Dockerfile builds.
func (in *Instance) terminalImage(folder fs.FS, o Options) error {
	t, err := readCompose(folder, ".", compose.Options{Main: "client", Getenv: o.Getenv, Vars: map[string]string{
		// The harness's words (terminal_bench/terminal/docker_compose_manager.py).
		"T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME": mainImage, "T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME": "client",
		"T_BENCH_TASK_DOCKER_NAME_PREFIX": imageName(in.ID), "T_BENCH_TEST_DIR": "/tests",
		"T_BENCH_TASK_LOGS_PATH": hostLogs + "/logs", "T_BENCH_CONTAINER_LOGS_PATH": "/logs",
		"T_BENCH_TASK_AGENT_LOGS_PATH": hostLogs + "/agent-logs", "T_BENCH_CONTAINER_AGENT_LOGS_PATH": "/agent-logs",
		"CPUS": "1", "MEMORY": "2048M",
	}}, map[string]string{"logs": "/logs", "agent-logs": "/agent-logs"})
	if err != nil {
		return err
	}
	dockerfile, found, err := t.image(in, ".", "", o)
	if err != nil {
		return err
	}
	if !found {
		return errors.New("Dockerfile is missing")
	}
	for _, dir := range []string{lastWorkdir(dockerfile), t.own.Workdir} {
		if path.IsAbs(dir) && (path.Clean(dir) != "/" || in.whole()) {
			in.Workdir = path.Clean(dir)
		}
	}
	return t.take(in, o)
}

// subset of a folder: files it does not keep are not there.
type subset struct {
	fs.FS
	keep func(name string) bool
}

func (s *subset) Open(name string) (fs.File, error) {
	if !s.keep(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return s.FS.Open(name)
}

// ReadDir leaves out what is not kept.
func (s *subset) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(s.FS, name)
	var kept []fs.DirEntry
	for _, e := range list {
		if s.keep(path.Join(name, e.Name())) {
			kept = append(kept, e)
		}
	}
	return kept, err
}

func (t *terminal) lay(context.Context, *Instance, sandbox.Sandbox) (string, error) { return "", nil }

func (t *terminal) solve(ctx context.Context, in *Instance, sb sandbox.Sandbox) error {
	script := sb.Path("/tmp/rollbench-solution.sh")
	if err := sb.WriteFile(ctx, script, in.Reference.Script, 0o755); err != nil {
		return err
	}
	res, err := sb.Exec(ctx, sandbox.Command{Argv: []string{"bash", script}, Timeout: in.VerifyLimit})
	return in.solved(ctx, "solution.sh", res, err)
}

// failedTests are lines of pytest's short summary that name one.
var failedTests = regexp.MustCompile(`(?m)^(FAILED|ERROR) \S+`)

// verify runs run-tests.sh with the tests beside it. Some of those scripts end
// with another command than pytest, so failures in the summary count, too.
func (t *terminal) verify(ctx context.Context, in *Instance, sb sandbox.Sandbox) (Verdict, error) {
	dir := sb.Path("/tests")
	if err := clean(ctx, sb, dir); err != nil {
		return Verdict{}, err
	}
	if err := makeDir(ctx, sb, sb.Workdir()); err != nil {
		return Verdict{}, err
	}
	if exists(t.folder, "tests") {
		tests, err := fs.Sub(t.folder, "tests")
		if err != nil {
			return Verdict{}, err
		}
		if err := copyTree(ctx, sb, tests, dir); err != nil {
			return Verdict{}, err
		}
	}
	script, err := fs.ReadFile(t.folder, "run-tests.sh")
	if err != nil {
		return Verdict{}, err
	}
	if err := sb.WriteFile(ctx, dir+"/run-tests.sh", script, 0o755); err != nil {
		return Verdict{}, err
	}
	verdict, err := byExitCode(ctx, in, sb, sandbox.Command{Argv: []string{"bash", "-c", `exec bash "$1" 2>&1`, "bash", dir + "/run-tests.sh"},
		Env: map[string]string{"TEST_DIR": dir}})
	if err == nil && verdict.Reward != nil && *verdict.Reward > 0 {
		t.readLog(&verdict)
	}
	return verdict, err
}

// sweResult is how run-tests.sh of SWE-bench tasks says how it went: its exit code does
// not tell.
var sweResult = regexp.MustCompile(`(?m)^SWEBench results starts here\s*^(PASSED|FAILED)\s*^SWEBench results ends here`)

// readLog of a run-tests.sh that ended with exit code 0.
func (t *terminal) readLog(verdict *Verdict) {
	switch t.parser {
	case "pytest":
		if n := len(failedTests.FindAll(verdict.Log, -1)); n > 0 {
			*verdict.Reward, verdict.Note = 0, fmt.Sprintf("%d tests failed, although run-tests.sh ended with exit code 0", n)
		}
	case "swebench":
		results := sweResult.FindAllSubmatch(verdict.Log, -1)
		switch {
		case len(results) == 0:
			verdict.Reward, verdict.Note = nil, "run-tests.sh printed no result between \"SWEBench results starts here\" and \"SWEBench results ends here\""
		case string(results[len(results)-1][1]) == "FAILED":
			*verdict.Reward, verdict.Note = 0, "the tests did not pass"
		}
	}
}
