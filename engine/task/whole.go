package task

import (
	"context"
	_ "embed"
	"errors"
	"path"
	"strings"
	"time"

	"rollbench/sandbox"
)

//go:embed shadow.sh
var shadowScript string

const (
	shadowDir   = "/var/tmp/.rollbench" // not in the workdir, and not where services keep theirs
	shadowLimit = 2 * time.Minute
	noShadow    = 5 // the script's exit code
	mostLeft    = 5 // files that are told of
)

// readied is a verifier that has more to do before the policy begins in a sandbox whose
// whole counts.
type readied interface {
	ready(ctx context.Context, in *Instance, sb sandbox.Sandbox) error
}

// prepareWhole leaves the workdir as the image has it: what is a repository there keeps
// its history, which may be the task.
func (in *Instance) prepareWhole(ctx context.Context, sb sandbox.Sandbox) error {
	if _, err := in.kind.lay(ctx, in, sb); err != nil {
		return err
	}
	if err := makeLogs(ctx, sb, logs...); err != nil {
		return err
	}
	if r, ok := in.kind.(readied); ok {
		if err := r.ready(ctx, in, sb); err != nil {
			return err
		}
	}
	_, err := runScript(ctx, sb, shadowScript, in.gitEnv(sb), shadowLimit)
	var failed *scriptError
	if errors.As(err, &failed) && failed.code == noShadow {
		return nil
	}
	return err
}

// gitEnv tells the scripts where the base is kept, when it is not in the repository.
func (in *Instance) gitEnv(sb sandbox.Sandbox) map[string]string {
	if !in.whole() {
		return map[string]string{}
	}
	return map[string]string{"ROLLBENCH_GIT": sb.Path(shadowDir)}
}

// patchPath is where the scripts have a patch lie.
func (in *Instance) patchPath(sb sandbox.Sandbox) string {
	if in.whole() {
		return sb.Path(shadowDir) + "/rollbench.patch"
	}
	return patchFile
}

// ErrNoBase says that what was changed cannot be told: the workdir of a task whose
// result may lie anywhere could not be kept at the start.
var ErrNoBase = errors.New("what was changed is not known: git is not in the image, or the workdir is too large to be kept")

// known is ErrNoBase where there is no base to differ from.
func (in *Instance) known(ctx context.Context, sb sandbox.Sandbox) error {
	if !in.whole() {
		return nil
	}
	_, err := sb.Stat(ctx, sb.Path(shadowDir))
	if errors.Is(err, sandbox.ErrNotExist) {
		return ErrNoBase
	}
	return err
}

// Left are signs that the policy left something where only the verifier writes. The
// folder was empty when it began.
func (in *Instance) Left(ctx context.Context, sb sandbox.Sandbox) ([]Sign, error) {
	if !in.whole() {
		return nil, nil
	}
	res, err := sb.Exec(ctx, sandbox.Command{Argv: []string{"sh", "-c", `[ ! -L "$1" ] || echo .
ls -A -- "$1/" 2>/dev/null | head -n 5`, "sh", sb.Path("/logs") + "/verifier"}, Dir: sb.Path("/"), User: sandbox.Root, Timeout: shadowLimit})
	switch {
	case err != nil:
		return nil, err
	case res.End == sandbox.Cancelled:
		return nil, cancelled(ctx)
	}
	var found []Sign
	for name := range strings.Lines(string(res.Output)) {
		if len(found) == mostLeft { // the policy's own ls may say anything
			break
		}
		found = append(found, Sign{Kind: "verifier", What: "left " + path.Join("/logs/verifier", strings.TrimSuffix(name, "\n"))})
	}
	return found, nil
}
