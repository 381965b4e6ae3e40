package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rollbench/engine/infer"
	"rollbench/sessions"
)

// errStopNow is why a model call ended that a person stopped.
var errStopNow = errors.New("stopped by a person")

// stoppedCall is a model call that a person stopped; what had come of the reply is
// gone.
type stoppedCall struct{ tokens *int }

func (stoppedCall) Error() string { return errStopNow.Error() }
func (stoppedCall) Unwrap() error { return errStopNow }

// StopNow holds the trajectory where it is: a model call under way is given up, and
// made anew when it goes on. A call that runs is left alone: it is held after it.
func (g *Gate) StopNow() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.asking != nil:
		g.asking(errStopNow)
	case g.held && !g.waiting:
		return errors.New("it is held already")
	}
	if !g.held || g.waiting {
		g.mode, g.stopping = pausing, true
	}
	return nil
}

func (g *Gate) askBegins(cancel context.CancelCauseFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asking = cancel
	if g.stopping { // since the last gate
		cancel(errStopNow)
	}
}

func (g *Gate) askEnds() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asking = nil
}

// stoppable makes a model call that a person may stop. One that brought its reply
// all the same keeps it.
func (l *Loop) stoppable(ctx context.Context, f func(context.Context) (infer.Reply, error)) (infer.Reply, error) {
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.Gate.askBegins(cancel)
	reply, err := f(own)
	l.Gate.askEnds()
	if err == nil || ctx.Err() != nil || context.Cause(own) != errStopNow {
		return reply, err
	}
	var cut *infer.CutOff
	stopped := stoppedCall{}
	if errors.As(err, &cut) {
		stopped.tokens = cut.Tokens
	}
	return infer.Reply{}, stopped
}

// stopped records that a model call was stopped, and holds before the next one.
func (l *Loop) stopped(ctx context.Context, err error, wall time.Duration) error {
	fact := sessions.RequestStopped{Turn: l.turn + 1, Wall: wall, By: "operator"}
	var call stoppedCall
	if errors.As(err, &call) {
		fact.Tokens = call.tokens
	}
	if err := l.commit(ctx, sessions.KindRequestStopped, fact); err != nil {
		return err
	}
	return l.pass(ctx, sessions.BeforeModel, "")
}

// shell records that a person goes to work in the sandbox. What is done there is
// not known, so that a resume cannot repeat it.
func (l *Loop) shell(ctx context.Context, at sessions.Gate, c Change) error {
	if at == sessions.BeforeEval {
		return nil // the verb was accepted just before the run stage ended
	}
	fact := sessions.Shell{Turn: l.turn, At: at, Open: true}
	if at == sessions.BeforeModel {
		fact.Turn++
	}
	w := sessions.Write{Events: []sessions.Event{l.event(sessions.KindShell, fact)}}
	if err := l.intervened(ctx, at, w, sessions.Intervention{Verb: "shell"}); err != nil {
		return err
	}
	c.Ready()
	return nil
}

// OpenShell keeps a held trajectory where it is until CloseShell. ready is called by
// its loop once it is recorded that a person works in the sandbox.
func (g *Gate) OpenShell(ready func()) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !g.held || g.waiting:
		return errors.New("the trajectory is not held: pause it first, so that the shell runs beside nothing")
	case g.at == sessions.BeforeEval:
		return errors.New("the run stage is over: the patch is what counts now")
	case g.shells > 0:
		return fmt.Errorf("a shell is open in it already")
	}
	g.shells++
	g.add(Change{Verb: "shell", Ready: ready})
	return nil
}

// CloseShell lets the trajectory go on where it was let go.
func (g *Gate) CloseShell() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shells--
	g.ring()
}
