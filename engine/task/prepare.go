package task

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"rollbench/sandbox"
)

//go:embed prepare.sh
var prepareScript string

// prepareLimit bounds the history cut: a large repository is packed again.
const prepareLimit = 15 * time.Minute

// Prepare lays the repository in an opened sandbox, hides history after the
// base commit and marks that commit, so that TakePatch has something to differ
// from. Tests and solution are not in the sandbox before Verify or Solve. It is
// called once a sandbox: what is changed by then belongs to the base.
func (in *Instance) Prepare(ctx context.Context, sb sandbox.Sandbox) error {
	return in.prepare(ctx, sb, true)
}

// prepare without the cut is for the verifier's sandbox: nobody reads history
// there, and storing a large repository again takes long.
func (in *Instance) prepare(ctx context.Context, sb sandbox.Sandbox, cut bool) error {
	if in.whole() {
		if err := in.prepareWhole(ctx, sb); err != nil {
			return fmt.Errorf("prepare %s: %w", in.ID, err)
		}
		return nil
	}
	commit, err := in.kind.lay(ctx, in, sb)
	if err != nil {
		return fmt.Errorf("prepare %s: lay the repository: %w", in.ID, err)
	}
	if h, ok := in.kind.(hider); ok && cut {
		if err := h.hide(ctx, in, sb); err != nil {
			return fmt.Errorf("prepare %s: hide the tests: %w", in.ID, err)
		}
	}
	env := map[string]string{"ROLLBENCH_COMMIT": commit, "ROLLBENCH_CUT": ""}
	if cut {
		env["ROLLBENCH_CUT"] = "1"
	}
	_, err = runScript(ctx, sb, prepareScript, env, prepareLimit)
	contained := sb.Path("/tests") == "/tests" // else GOCACHE is a folder of this machine
	if err == nil && sb.Kind() == sandbox.Local && contained && in.Env[GoCacheVar] != "" {
		_, err = runScript(ctx, sb, `cp -r "$`+GoCacheVar+`" "$GOCACHE"`, nil, prepareLimit)
	}
	if err != nil {
		return fmt.Errorf("prepare %s: %w", in.ID, err)
	}
	return nil
}

// Repository names what a prepared sandbox holds before the policy has acted, by its
// content: one text for all trajectories of the instance, and another one once the
// dataset has changed.
func (in *Instance) Repository(ctx context.Context, sb sandbox.Sandbox) (string, error) {
	tree, err := runScript(ctx, sb, "git ${ROLLBENCH_GIT:+--git-dir=\"$ROLLBENCH_GIT\"} rev-parse -q --verify 'refs/rollbench/base^{tree}' 2>/dev/null", in.gitEnv(sb), prepareLimit)
	var failed *scriptError
	if errors.As(err, &failed) && in.whole() { // one without a base is known by its image
		tree, err = "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the base of %s: %w", in.ID, err)
	}
	return fmt.Sprintf("%s %q %q %s", sb.Kind(), in.ID, in.Spec(sb.Kind()).Image, strings.TrimSpace(tree)), nil
}

// GoCacheVar names, in Instance.Env, a read-only Go build cache that a local
// sandbox starts its own from.
const GoCacheVar = "ROLLBENCH_GOCACHE"

// scriptError is a script of ours that ended with another code than 0.
type scriptError struct {
	code int
	out  string
}

func (e *scriptError) Error() string { return scriptMessage(e.out, e.code) }

// runScript runs one of the embedded scripts in the workdir and returns what it
// printed. Its own message is the error when it fails.
func runScript(ctx context.Context, sb sandbox.Sandbox, script string, env map[string]string, limit time.Duration) (string, error) {
	res, err := sb.Exec(ctx, sandbox.Command{Script: script, Env: env, Timeout: limit})
	if err != nil {
		return "", err
	}
	out := string(res.Output)
	switch {
	case res.End == sandbox.Cancelled:
		return "", cancelled(ctx)
	case res.End != sandbox.Exited:
		return "", fmt.Errorf("not done after %s", limit)
	case res.ExitCode != 0:
		return out, &scriptError{res.ExitCode, out}
	}
	return out, nil
}

func cancelled(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return context.Canceled
}

// scriptMessage is the script's own complaint, else the last line printed.
func scriptMessage(out string, code int) string {
	last := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if text, ours := strings.CutPrefix(line, "rollbench: "); ours {
			return text
		}
		if line != "" {
			last = line
		}
	}
	if last == "" {
		last = "no output"
	}
	return fmt.Sprintf("exit code %d: %s", code, last)
}
