package task

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"rollbench/sandbox"
)

//go:embed difference.sh
var differenceScript string

//go:embed takepatch.sh
var takePatchScript string

//go:embed apply.sh
var applyScript string

const (
	patchFile  = ".git/rollbench.patch" // below the workdir
	maxPatch   = 64 << 20               // bytes
	patchLimit = 5 * time.Minute
)

// errNoApply says that a patch fits in none of the ways it was tried.
var errNoApply = errors.New("patch does not apply")

// ErrNoPatch says that there is no patch by what the policy did: it removed the
// repository, or the base state in it, closed a file or made too much.
var ErrNoPatch = errors.New("no patch")

// TakePatch is the cumulative difference between the workdir and its state
// after Prepare: commits, staged, unstaged and untracked changes alike, without
// build leftovers (__pycache__, *.pyc, .pytest_cache) and ignored files. It is
// empty when nothing changed. left names the new files that were left out because
// they are compiled or larger than 16 MB, each with the reason.
func (in *Instance) TakePatch(ctx context.Context, sb sandbox.Sandbox) (patch []byte, left []string, err error) {
	if err := in.known(ctx, sb); err != nil {
		return nil, nil, fmt.Errorf("take patch of %s: %w", in.ID, err)
	}
	env := in.gitEnv(sb)
	env["ROLLBENCH_MAX_PATCH"] = strconv.Itoa(maxPatch)
	out, err := runScript(ctx, sb, differenceScript+takePatchScript, env, patchLimit)
	if err == nil {
		patch, err = sb.ReadFile(ctx, in.patchPath(sb))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("take patch of %s: %w", in.ID, withoutPatch(err))
	}
	_, out, _ = strings.Cut(out, "rollbench-left-out\n")
	words := strings.Split(out, "\x00")
	for i := 0; i+1 < len(words); i += 2 {
		left = append(left, fmt.Sprintf("%s (%s)", words[i+1], words[i]))
	}
	return patch, left, nil
}

// withoutPatch is the script's word for that as ErrNoPatch.
func withoutPatch(err error) error {
	var failed *scriptError
	if errors.As(err, &failed) && failed.code == 5 {
		return fmt.Errorf("%w: %w", ErrNoPatch, err)
	}
	return err
}

// apply changes a prepared repository by the patch. errNoApply (wrapped) is
// the patch's fault; any other error is the sandbox's.
func (in *Instance) apply(ctx context.Context, sb sandbox.Sandbox, patch []byte) error {
	if len(bytes.TrimSpace(patch)) == 0 {
		return nil
	}
	if err := in.known(ctx, sb); err != nil {
		return err
	}
	if err := sb.WriteFile(ctx, in.patchPath(sb), patch, 0o644); err != nil {
		return err
	}
	env := in.gitEnv(sb)
	env["ROLLBENCH_LENIENT"] = ""
	if staysInside(patch) {
		env["ROLLBENCH_LENIENT"] = "1"
	}
	_, err := runScript(ctx, sb, applyScript, env, patchLimit)
	var failed *scriptError
	if errors.As(err, &failed) && failed.code == 4 {
		return fmt.Errorf("%w: %s", errNoApply, applyComplaint(failed.out))
	}
	return err
}

// staysInside reports whether every file of the patch is in the working tree.
// git checks that itself; patch(1) would write into .git. A patch whose last lines
// were blank and were cut off names all its files, and patch(1) knows what is missing.
func staysInside(patch []byte) bool {
	files, err := parseDiff(patch)
	if err != nil && !errors.Is(err, errCutHunk) {
		return false
	}
	for _, f := range files {
		for _, name := range []string{f.oldPath, f.newPath} {
			if !filepath.IsLocal(name) || slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.EqualFold(part, ".git") }) {
				return false
			}
		}
	}
	return true
}
