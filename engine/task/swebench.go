package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"rollbench/engine/task/rows"
	"rollbench/engine/task/testlog"
	"rollbench/sandbox"
)

// swebench is a row: the repository is in the image, the evaluation script and
// the names of the tests decide.
type swebench struct {
	base    string
	script  string
	grading grading
	// assets are files that no patch can carry, by their paths in the
	// repository; nil for none.
	assets fs.FS
	tests  []string // files that the verdict comes from
}

// newRow makes an instance of a decoded row. What is wrong with a field is found
// here, not when its trajectory is evaluated.
func newRow(r rows.Row, d *row, o *Options) (Instance, error) {
	name, runner, err := findRunner(d)
	if err != nil {
		return Instance{}, err
	}
	if !isCommit(d.Base) {
		return Instance{}, r.Wrong("base_commit", "is %q; it must be a commit id in hexadecimal", d.Base)
	}
	if d.TestCmd == "" && d.EvalScript == "" && name == testlog.ForRepo(d.Repo) {
		if d.Spec = specOf(d); d.Spec != nil {
			d.TestCmd = d.Spec.test
		} else if err := d.useRecipe(r); err != nil {
			return Instance{}, err
		}
	}
	in := Instance{
		ID: d.ID, Workdir: d.Workdir, Image: d.Image, Network: o.Network, VerifyLimit: rowVerifyLimit,
		Instruction: rowInstruction(d.Repo, d.Workdir, d.Statement),
		Reference:   Reference{Patch: []byte(d.Patch)},
		TestCommand: d.TestCmd, Repo: d.Repo, Env: condaEnv(d.Image, name),
	}
	if len(d.Fetch) > 0 && !o.Network {
		in.Warnings = append(in.Warnings, fmt.Sprintf("run without network, although its tests need %d files that are fetched: set tasks.network = true to give it one", len(d.Fetch)))
	}
	kind := &swebench{base: d.Base, script: d.EvalScript, grading: gradingOf(d, runner.parser)}
	if kind.tests, err = rowTests(d); err != nil {
		in.Warnings = append(in.Warnings, "changes of the tests are not noticed: "+err.Error())
	}
	command := d.TestCmd
	if command == "" {
		command, in.TestCommand = runner.command, runner.command
	}
	switch {
	case kind.script != "":
	case command == "":
		in.Warnings = append(in.Warnings, fmt.Sprintf("the row has neither eval_script nor test_cmd, and how to run the tests of log_parser %q is not known: it cannot be verified", name))
	default:
		script, err := evalScript(d, name, command, kind.base, d.Workdir)
		if err != nil {
			return Instance{}, err
		}
		kind.script = script
	}
	in.kind = kind
	return in, nil
}

// gradingOf a row by the parser of its runner.
func gradingOf(d *row, parser testlog.Parser) grading {
	return grading{testlog.Rules{
		FailToPass: d.FailToPass, PassToPass: d.PassToPass, Parser: parser,
		FailOnly: d.EvalType == "fail_only" || d.EvalType == "" && testlog.FailOnly(d.Repo),
	}}
}

// isCommit keeps anything that git or a shell could take for something else out.
func isCommit(s string) bool {
	return len(s) >= 7 && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
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

// maxEvalLog bounds the output of an evaluation, in bytes.
const maxEvalLog = 64 << 20

// layAssets puts them where the row wants them, whatever the policy has put there.
func (s *swebench) layAssets(ctx context.Context, sb sandbox.Sandbox) error {
	var files []string
	err := fs.WalkDir(s.assets, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	under := func(names []string) (out []string) {
		for _, name := range names {
			out = append(out, sb.Workdir()+"/"+name)
		}
		return out
	}
	if err := asRoot(ctx, sb, "for d; do "+clearWay+"; done", under(foldersOf(files))...); err != nil {
		return err
	}
	if err := asRoot(ctx, sb, `rm -rf -- "$@"`, under(files)...); err != nil {
		return err
	}
	return copyTree(ctx, sb, s.assets, sb.Workdir())
}

func (s *swebench) verify(ctx context.Context, in *Instance, sb sandbox.Sandbox) (Verdict, error) {
	if s.script == "" {
		return Verdict{Note: "verifier could not run: the row has neither eval_script nor test_cmd"}, nil
	}
	if s.assets != nil {
		if err := s.layAssets(ctx, sb); err != nil {
			return Verdict{}, fmt.Errorf("lay test_assets: %w", err)
		}
	}
	script := sb.Path("/tmp/rollbench-eval.sh")
	if err := sb.WriteFile(ctx, script, []byte(s.script), 0o755); err != nil {
		return Verdict{}, err
	}
	// One stream: the markers are on stderr (set -x), the results on stdout.
	run := sandbox.Command{Argv: []string{"bash", "-c", `exec bash "$1" 2>&1`, "bash", script}}
	return in.readLog(ctx, sb, run, func(log string, cut bool, verdict *Verdict) {
		rules := s.grading.rules
		rules.Script = s.script
		result := rules.Grade(log)
		verdict.Reward, verdict.Parts, verdict.Note = rewardOf(result)
		if cut && result.Resolved() && (rules.FailOnly || rules.Smith) { // where a test that is not there passes
			*verdict.Reward, verdict.Note = 0, verdict.Note+", as far as can be seen"
		}
		verdict.Tests = namedTests(result)
	})
}
