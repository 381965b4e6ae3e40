package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"rollbench/engine/task/rows"
	"rollbench/sandbox"
)

// plain is a problem whose verifier is a command: exit code 0 is reward 1.
type plain struct {
	files   fs.FS  // what the workdir starts with, nil for what the image holds
	setup   string // run once the files lie
	command string
	at      string // commit that the image's repository must be at, "" for none
	bash    bool   // command is a script for bash, of any length
}

const plainVerifyLimit = 1800 * time.Second

// plainRow is {id, instruction, verify} with an image, a folder or neither, and
// what else there is to say.
func plainRow(r rows.Row, o *Options) (Instance, error) {
	id, err := r.Label("id")
	if err != nil {
		return Instance{}, err
	}
	if id == "" {
		return Instance{}, r.Wrong("id", "is missing; every plain row needs it")
	}
	in := Instance{ID: id, Workdir: "/workspace", VerifyLimit: plainVerifyLimit, Network: o.Network}
	kind := &plain{}
	if in.Instruction, err = r.Need("instruction", "it is what the policy is told"); err != nil {
		return Instance{}, err
	}
	if kind.command, err = r.Need("verify", "it is the command whose exit code 0 earns 1"); err != nil {
		return Instance{}, err
	}
	if kind.setup, err = r.Text("setup"); err != nil {
		return Instance{}, err
	}
	for _, step := range []func(rows.Row, *plain) error{in.plainPlace, in.plainLimits, in.plainReference} {
		if err := step(r, kind); err != nil {
			return Instance{}, err
		}
	}
	in.kind = kind
	return in, nil
}

// plainPlace is where it runs: an image, or the files of a folder, or nothing.
func (in *Instance) plainPlace(r rows.Row, kind *plain) (err error) {
	if in.Image, err = r.Text("image"); err != nil {
		return err
	}
	folder, err := r.Text("path")
	if err != nil {
		return err
	}
	if folder != "" {
		full := folder
		if !filepath.IsAbs(folder) {
			full = filepath.Join(filepath.Dir(r.File), folder)
		}
		info, err := os.Stat(full)
		if err != nil || !info.IsDir() {
			return r.Wrong("path", "is %q; there is no such folder", folder)
		}
		kind.files = os.DirFS(full)
	}
	in.LocalOK = in.Image == ""
	workdir, err := r.Text("workdir")
	if err != nil {
		return err
	}
	if workdir != "" {
		if in.Workdir = path.Clean(workdir); !path.IsAbs(in.Workdir) || in.Workdir == "/" {
			return r.Wrong("workdir", "is %q; it must be an absolute path below /", workdir)
		}
	} else if in.Image != "" && kind.files == nil {
		in.Workdir = defaultWorkdir
		in.Warnings = append(in.Warnings, "the row has an image and no workdir: "+defaultWorkdir+" is used")
	}
	if in.Needs, _, err = r.Names("needs"); err != nil {
		return err
	}
	env, given, err := r.Object("env")
	if err != nil || !given {
		return err
	}
	in.Env = map[string]string{}
	for _, name := range env.Columns() {
		if in.Env[name], err = env.Label(name); err != nil {
			return err
		}
	}
	return nil
}

func (in *Instance) plainLimits(r rows.Row, _ *plain) error {
	limit, given, err := r.Number("timeout_sec")
	if err != nil {
		return err
	}
	if given {
		if limit <= 0 || limit > 1e6 {
			return r.Wrong("timeout_sec", "is %v; it must be more than 0 and at most 1000000", limit)
		}
		in.VerifyLimit = time.Duration(limit * float64(time.Second))
	}
	switch network := r.Value("network").(type) {
	case nil:
	case bool:
		in.Network = network
	default:
		return r.Wrong("network", "must be true or false")
	}
	return nil
}

func (in *Instance) plainReference(r rows.Row, _ *plain) error {
	patch, err := r.Text("patch")
	if err != nil {
		return err
	}
	script, err := r.Text("solution")
	if err != nil {
		return err
	}
	if _, err := parseDiff([]byte(patch)); err != nil {
		return r.Wrong("patch", "%w", err)
	}
	in.Reference = Reference{Patch: []byte(patch), Script: []byte(script)}
	return nil
}

func (p *plain) lay(ctx context.Context, in *Instance, sb sandbox.Sandbox) (string, error) {
	if p.files != nil {
		if err := copyTree(ctx, sb, p.files, sb.Workdir()); err != nil {
			return "", err
		}
	}
	if p.at != "" {
		return (&swebench{base: p.at}).lay(ctx, in, sb)
	}
	if p.setup == "" {
		return "", nil
	}
	if _, err := runScript(ctx, sb, p.setup, nil, prepareLimit); err != nil {
		return "", fmt.Errorf("setup: %w", err)
	}
	return "", nil
}

func (p *plain) solve(ctx context.Context, in *Instance, sb sandbox.Sandbox) error {
	if len(in.Reference.Script) == 0 {
		return errors.New("the row has no solution")
	}
	_, err := runScript(ctx, sb, string(in.Reference.Script), nil, in.VerifyLimit)
	return err
}

func (p *plain) verify(ctx context.Context, in *Instance, sb sandbox.Sandbox) (Verdict, error) {
	if p.bash {
		script := sb.Path("/tmp/rollbench-eval.sh")
		if err := sb.WriteFile(ctx, script, []byte(p.command), 0o755); err != nil {
			return Verdict{}, err
		}
		return byExitCode(ctx, in, sb, sandbox.Command{Argv: []string{"bash", "-c", `exec bash "$1" 2>&1`, "bash", script}})
	}
	return byExitCode(ctx, in, sb, sandbox.Command{Script: p.command})
}

// byExitCode is a verdict: 0 earns 1, any other code 0.
func byExitCode(ctx context.Context, in *Instance, sb sandbox.Sandbox, c sandbox.Command) (Verdict, error) {
	return in.decide(ctx, sb, c, func(res sandbox.Result, verdict *Verdict) {
		verdict.Reward, verdict.Note = new(float64), fmt.Sprintf("the verifier ended with exit code %d", res.ExitCode)
		if res.ExitCode == 0 {
			*verdict.Reward = 1
		}
	})
}
