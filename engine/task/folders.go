package task

import (
	"context"
	"fmt"

	"rollbench/sandbox"
)

// ownScript empties folders that are the verifier's, which may be mount points, and
// makes those that are absent. A link, or a file, in such a folder's place is removed:
// what the tests write must not go elsewhere, and what lies there must not be taken for
// theirs.
const ownScript = `for d; do
  for p in "$ROLLBENCH_LOGS" "$d"; do
    if [ -L "$p" ] || { [ -e "$p" ] && [ ! -d "$p" ]; }; then rm -f -- "$p" || exit; fi
  done
  mkdir -p -- "$d" && chmod 755 -- "$d" && find "$d" -mindepth 1 -delete || exit
done`

// clean empties folders of the verifier's own.
func clean(ctx context.Context, sb sandbox.Sandbox, dirs ...string) error {
	return asRoot(ctx, sb, ownScript, dirs...)
}

// logs are Harbor's folders for logs, below /logs.
var logs = []string{"verifier", "agent", "artifacts"}

// makeLogs empties folders for logs. Everybody may write to them.
func makeLogs(ctx context.Context, sb sandbox.Sandbox, names ...string) error {
	var dirs []string
	for _, name := range names {
		dirs = append(dirs, sb.Path("/logs")+"/"+name)
	}
	return asRoot(ctx, sb, ownScript+"\nchmod 777 -- \"$@\"", dirs...)
}

// makeDir makes a folder where there is none.
func makeDir(ctx context.Context, sb sandbox.Sandbox, dir string) error {
	return asRoot(ctx, sb, `[ -d "$1" ] || { rm -f -- "$1"; mkdir -p -- "$1" && chmod 777 -- "$1"; }`, dir)
}

// asRoot runs a script of ours, whose arguments are paths, outside of the workdir: that
// may be gone.
func asRoot(ctx context.Context, sb sandbox.Sandbox, script string, paths ...string) error {
	if len(paths) == 0 {
		return nil
	}
	res, err := sb.Exec(ctx, sandbox.Command{Argv: append([]string{"sh", "-c", script, "sh"}, paths...), Dir: sb.Path("/"), User: sandbox.Root,
		Env: map[string]string{"ROLLBENCH_LOGS": sb.Path("/logs")}, Timeout: patchLimit})
	if err == nil && res.End == sandbox.Cancelled {
		err = cancelled(ctx)
	}
	if err == nil && (res.End != sandbox.Exited || res.ExitCode != 0) {
		err = fmt.Errorf("make %s: %s", paths[0], scriptMessage(string(res.Output), res.ExitCode))
	}
	return err
}
