package task

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"rollbench/engine/task/testlog"
	"rollbench/sandbox"
)

// swebench is a row: the repository is in the image, the evaluation script and
// the names of the tests decide.
type swebench struct {
	base    string
	script  string
	grading grading
}

// newRow makes an instance of a decoded row. What is wrong with a field is found
// here, not when its trajectory is evaluated.
func newRow(r *row, origin string) (Instance, error) {
	name, runner, err := findRunner(r)
	if err != nil {
		return Instance{}, err
	}
	switch r.EvalType {
	case "", "pass_and_fail", "fail_only":
	default:
		return Instance{}, fmt.Errorf("field \"eval_type\" is %q; it must be pass_and_fail or fail_only", r.EvalType)
	}
	workdir := defaultWorkdir
	if r.Workdir != "" {
		if workdir = path.Clean(r.Workdir); !path.IsAbs(workdir) || workdir == "/" {
			return Instance{}, fmt.Errorf("field \"workdir\" is %q; it must be an absolute path below /", r.Workdir)
		}
	}
	if _, err := parseDiff([]byte(r.TestPatch)); err != nil {
		return Instance{}, fmt.Errorf("field \"test_patch\": %w", err)
	}
	in := Instance{
		ID: *r.InstanceID, Format: "swebench", Origin: origin,
		Workdir: workdir, Image: rowImage(r), VerifyLimit: rowVerifyLimit,
		Instruction: rowInstruction(r, workdir),
		Reference:   Reference{Patch: []byte(r.Patch)},
		TestCommand: r.TestCmd,
	}
	kind := &swebench{base: strings.TrimSpace(*r.BaseCommit), script: r.EvalScript, grading: grading{testlog.Rules{
		FailToPass: r.FailToPass.names, PassToPass: r.PassToPass.names, Parser: runner.parser,
		FailOnly: r.EvalType == "fail_only" || r.EvalType == "" && testlog.FailOnly(r.Repo),
	}}}
	if !isCommit(kind.base) {
		return Instance{}, fmt.Errorf("field \"base_commit\" is %q; it must be a commit id in hexadecimal", kind.base)
	}
	command := r.TestCmd
	if command == "" {
		command, in.TestCommand = runner.command, runner.command
	}
	switch {
	case kind.script != "":
	case command == "":
		in.Warnings = append(in.Warnings, fmt.Sprintf("the row has neither eval_script nor test_cmd, and how to run the tests of log_parser %q is not known: it cannot be verified", name))
	default:
		script, err := evalScript(r, name, command, kind.base, workdir)
		if err != nil {
			return Instance{}, err
		}
		kind.script = script
	}
	in.kind = kind
	return in, nil
}

// isCommit keeps anything that git or a shell could take for something else out.
func isCommit(s string) bool {
	return len(s) >= 7 && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// rowImage is the row's own image, else the name the published images have.
func rowImage(r *row) string {
	for _, name := range []string{r.Image, r.ImageName, r.DockerImage} {
		if name != "" {
			return name
		}
	}
	return "swebench/sweb.eval.x86_64." + strings.ReplaceAll(strings.ToLower(*r.InstanceID), "__", "_1776_") + ":latest"
}

// rowInstruction tells the agent where it is and what counts, around the
// problem statement as it stands.
func rowInstruction(r *row, workdir string) string {
	name := "A software repository"
	if r.Repo != "" {
		name = "The repository " + r.Repo
	}
	return fmt.Sprintf(`%s is checked out in %s. Somebody filed the issue below.

<issue>
%s
</issue>

Change the source code in %s so that the issue is resolved. Find the cause before you edit, keep the change small, and do not break what works now. The change will be judged by tests that you cannot see: edits to the tests themselves do not count. Nothing has to be installed, and there may be no network.
`, name, workdir, strings.TrimSpace(*r.Statement), workdir)
}

// lay finds the repository in the image.
func (s *swebench) lay(ctx context.Context, in *Instance, sb sandbox.Sandbox) (string, error) {
	_, err := sb.Stat(ctx, ".git")
	if errors.Is(err, sandbox.ErrNotExist) {
		return "", fmt.Errorf("image %s has no git repository in %s; set the row's \"workdir\" or \"image\"", in.Image, in.Workdir)
	}
	return s.base, err
}

func (s *swebench) solve(context.Context, *Instance, sandbox.Sandbox) error {
	return errors.New("the row has no patch")
}

// maxEvalLog bounds the output of an evaluation, in bytes. A cut log cannot be
// graded.
const maxEvalLog = 64 << 20

func (s *swebench) verify(ctx context.Context, in *Instance, sb sandbox.Sandbox) (Verdict, error) {
	if s.script == "" {
		return Verdict{Note: "verifier could not run: the row has neither eval_script nor test_cmd"}, nil
	}
	script := sb.Path("/tmp/rollbench-eval.sh")
	if err := sb.WriteFile(ctx, script, []byte(s.script), 0o755); err != nil {
		return Verdict{}, err
	}
	// One stream: the markers are on stderr (set -x), the results on stdout.
	res, err := sb.Exec(ctx, sandbox.Command{
		Argv:      []string{"bash", "-c", `exec bash "$1" 2>&1`, "bash", script},
		Timeout:   in.VerifyLimit,
		MaxOutput: maxEvalLog,
	})
	if err != nil {
		return Verdict{}, err
	}
	verdict := Verdict{Log: res.Output}
	switch {
	case res.End == sandbox.Cancelled:
		return verdict, cancelled(ctx)
	case res.End != sandbox.Exited:
		verdict.Note, verdict.TimedOut = fmt.Sprintf("verifier timed out after %s", in.VerifyLimit), in.VerifyLimit
	case res.Dropped > 0:
		verdict.Note = fmt.Sprintf("verifier could not run: its output is longer than %d bytes", maxEvalLog)
	default:
		verdict.Reward, verdict.Parts, verdict.Note = s.grading.grade(string(res.Output))
	}
	return verdict, nil
}
