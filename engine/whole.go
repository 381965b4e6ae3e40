package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"rollbench/engine/task"
	"rollbench/sandbox"
	"rollbench/sessions"
)

// Tasks whose result may lie anywhere in the sandbox: they are graded in it, or by what
// is collected of it. Then the patch is for people to see, and none is no verdict.

// leave ends the run stage of such a trajectory. What it left running runs on, since it
// may be the result.
func (e *Engine) leave(ctx context.Context, t *trajectory) bool {
	e.closeLooks(t)
	w := sessions.Write{Key: t.key, Attempt: t.attempt}
	err := e.wholePatch(ctx, t, &w)
	if err == nil && ctx.Err() == nil && t.in.Grading() == task.ByArtifacts {
		e.streams.of(t.key).at("what the verifier gets to be collected")
		err = e.collect(ctx, t, &w)
	}
	switch {
	case ctx.Err() != nil:
		return e.interrupted(ctx, t)
	case errors.Is(err, sandbox.ErrLost):
		e.concludeFailed(t, sessions.SandboxLost, err, sessions.Write{})
		return false
	case err != nil:
		e.concludeFailed(t, sessions.ErrorEvaluation, err, sessions.Write{})
		return false
	}
	w.Events = append(w.Events, sessions.NewEvent(time.Now(), t.key, sessions.KindState, sessions.StateChange{State: sessions.Ran}))
	if err := e.store.Commit(context.WithoutCancel(ctx), w); err != nil {
		e.fail(err)
		return false
	}
	if t.in.Grading() == task.ByArtifacts { // only now: whoever finds them has the rest, too
		if err := os.Rename(e.artifactsFile(t)+unsettled, e.artifactsFile(t)); err != nil {
			e.concludeFailed(t, sessions.ErrorEvaluation, fmt.Errorf("keep the artifacts: %w", err), sessions.Write{})
			return false
		}
	}
	return true
}

// wholePatch takes what was changed in the workdir, as far as that is known, and looks
// for signs of tampering, unless an earlier part of the run has done it. Only a lost
// sandbox is an error.
func (e *Engine) wholePatch(ctx context.Context, t *trajectory, w *sessions.Write) error {
	if t.patched {
		return nil
	}
	e.streams.of(t.key).at("the patch to be taken")
	patch, left, err := t.in.TakePatch(ctx, t.place.sb)
	switch {
	case errors.Is(err, sandbox.ErrLost) || ctx.Err() != nil:
		return err
	case err != nil && !errors.Is(err, task.ErrNoBase):
		w.Events = append(w.Events, warning(t, "what was changed is not known: "+line(err)))
	}
	if len(left) > 0 {
		w.Events = append(w.Events, warning(t, leftOut(left)))
	}
	traces, err := t.in.Left(ctx, t.place.sb)
	if err != nil {
		return err
	}
	if w.Patch = patch; patch == nil {
		w.Patch = []byte{}
	}
	w.Events = append(w.Events, patchTaken(t, patch))
	w.Events = append(w.Events, e.signs(ctx, t, patch, traces)...)
	return nil
}

func warning(t *trajectory, text string) sessions.Event {
	return sessions.NewEvent(time.Now(), t.key, sessions.KindWarning, sessions.Warning{Text: text})
}

// unsettled is the end of a file's name whose trajectory has not left the run stage.
const unsettled = ".part"

// artifactsFile holds what was collected until the verdict is there.
func (e *Engine) artifactsFile(t *trajectory) string {
	return filepath.Join(e.store.Dir(), "artifacts", fmt.Sprintf("%s.%d.a%d.tar", t.key.Instance, t.key.ID, t.attempt))
}

// collected reports whether an earlier part of the run has left the artifacts.
func (e *Engine) collected(t *trajectory) bool {
	_, err := os.Stat(e.artifactsFile(t))
	return err == nil
}

// collect writes the artifacts beside the session, over what an earlier part of the run
// has begun.
func (e *Engine) collect(ctx context.Context, t *trajectory, w *sessions.Write) error {
	name := e.artifactsFile(t) + unsettled
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("collect artifacts: %w", err)
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("collect artifacts: %w", err)
	}
	notes, err := t.in.Collect(ctx, t.place.sb, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("collect artifacts: %w", err)
	}
	for _, note := range notes {
		w.Events = append(w.Events, warning(t, note))
	}
	return nil
}

// dropArtifacts of a trajectory that has ended.
func (e *Engine) dropArtifacts(t *trajectory) {
	if t.in.Grading() != task.ByArtifacts {
		return
	}
	for _, name := range []string{e.artifactsFile(t), e.artifactsFile(t) + unsettled} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			e.opt.Log.Warn("remove artifacts", "trajectory", t.key.String(), "error", err)
		}
	}
}

// verifyInPlace has the verifier work in the policy's own sandbox.
func (e *Engine) verifyInPlace(ctx context.Context, t *trajectory) (task.Verdict, error) {
	if t.place == nil { // a defect
		return task.Verdict{}, errors.New("the policy's sandbox was closed before its verifier ran")
	}
	defer e.streams.of(t.key).Doing(0, "")
	return t.in.VerifyInPlace(ctx, e.showVerifier(t, t.place.sb))
}

// verifyArtifacts has the verifier work in a fresh sandbox of its own kind.
func (e *Engine) verifyArtifacts(ctx context.Context, t *trajectory) (verdict task.Verdict, err error) {
	packed, err := os.Open(e.artifactsFile(t))
	if err != nil {
		return verdict, fmt.Errorf("read the artifacts: %w", err)
	}
	defer func() { err = errors.Join(err, packed.Close()) }()
	spec, own := e.spec(t, "eval"), e.opt.Config.Sandbox.sized(t.in.VerifierSpec(), e.mounts)
	own.Name, own.Labels, own.Progress = spec.Name, spec.Labels, spec.Progress
	return e.inSandbox(ctx, t, own, func(sb sandbox.Sandbox) (task.Verdict, error) {
		return t.in.VerifyArtifacts(ctx, sb, packed)
	})
}
