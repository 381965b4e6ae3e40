package engine

import (
	"context"
	"errors"
	"time"

	"rollbench/engine/dispatch"
	"rollbench/sessions"
)

// The facts of the stages. What a trajectory ends with is one write with its
// end state, so that a crash leaves either all of it or none. Facts are
// committed even when the stage's context has ended; one that cannot be
// written stops the run.

func (e *Engine) state(ctx context.Context, t *trajectory, s sessions.StateChange) bool {
	if err := e.commit(context.WithoutCancel(ctx), t.key, sessions.KindState, s); err != nil {
		e.fail(err)
		return false
	}
	return true
}

// conclude commits a trajectory's last facts and its end state.
func (e *Engine) conclude(t *trajectory, s sessions.State, w sessions.Write) {
	w.Events = append(w.Events, sessions.NewEvent(time.Now(), t.key, sessions.KindState, sessions.StateChange{State: s}))
	if err := e.store.Commit(context.WithoutCancel(e.ctx), w); err != nil {
		e.fail(err)
		return
	}
	if e.opt.Forget != nil {
		e.opt.Forget(e.session(t))
	}
	t.gate.End()
	t.done.Store(true)
	t.patch, t.turns, t.evalLog = nil, nil, nil
	e.dropArtifacts(t)
	e.streams.drop(t.key)
	e.pace.mark(time.Now(), s == sessions.Cancelled)
}

// concludeFailed ends a trajectory by an error of the infrastructure. The
// whole chain goes to the log, one line to the session.
func (e *Engine) concludeFailed(t *trajectory, reason sessions.FinishReason, err error, w sessions.Write) {
	e.opt.Log.Warn("trajectory", "trajectory", t.key.String(), "finish", reason, "error", err)
	w.Events = append(w.Events, sessions.NewEvent(time.Now(), t.key, sessions.KindFinish, sessions.Finished{Reason: reason, Detail: line(err)}))
	e.conclude(t, sessions.Failed, w)
}

// interrupted handles a stage whose context ended: a cancelled trajectory ends
// as such; in a run that stops it is left for the resume.
func (e *Engine) interrupted(ctx context.Context, t *trajectory) bool {
	if errors.Is(context.Cause(ctx), dispatch.ErrCancelled) {
		e.conclude(t, sessions.Cancelled, sessions.Write{Events: []sessions.Event{
			sessions.NewEvent(time.Now(), t.key, sessions.KindFinish, sessions.Finished{Reason: sessions.CancelledByPerson})}})
	}
	return false
}

// interruptedBy an error of the loop: ctx ended, or the session cannot be written.
func (e *Engine) interruptedBy(ctx context.Context, t *trajectory, err error) bool {
	if ctx.Err() == nil {
		e.fail(err)
	}
	return e.interrupted(ctx, t)
}
