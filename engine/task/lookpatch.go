package task

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"rollbench/sandbox"
)

//go:embed lookpatch.sh
var lookPatchScript string

// lookLimit bounds a look: the policy's own commands share the sandbox with it.
const lookLimit = 20 * time.Second

// LookPatch is the beginning of what TakePatch would take now, at most limit bytes
// of it, and how many there are. Binary files are named only. Nothing changes in what
// the policy sees, which may be at work meanwhile.
func (in *Instance) LookPatch(ctx context.Context, sb sandbox.Sandbox, limit int) (patch []byte, size int, err error) {
	if err := in.known(ctx, sb); err != nil {
		return nil, 0, fmt.Errorf("look at the changes of %s: %w", in.ID, err)
	}
	env := in.gitEnv(sb)
	env["ROLLBENCH_MAX_LOOK"] = strconv.Itoa(limit)
	res, err := sb.Exec(ctx, sandbox.Command{Script: differenceScript + lookPatchScript, Env: env,
		Timeout: lookLimit, MaxOutput: 2*limit + 4096})
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("look at the changes of %s: %w", in.ID, err)
	case res.End == sandbox.Cancelled:
		return nil, 0, cancelled(ctx)
	case res.End != sandbox.Exited:
		return nil, 0, fmt.Errorf("look at the changes of %s: not done after %s", in.ID, lookLimit)
	case res.ExitCode != 0:
		return nil, 0, fmt.Errorf("look at the changes of %s: %w", in.ID, &scriptError{res.ExitCode, string(res.Output)})
	}
	first, rest, found := bytes.Cut(res.Output, []byte("\n"))
	size, err = strconv.Atoi(string(bytes.TrimSpace(first)))
	if err != nil || !found {
		return nil, 0, fmt.Errorf("look at the changes of %s: %w", in.ID, errors.New(scriptMessage(string(res.Output), 0)))
	}
	return rest, size, nil
}
