package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"rollbench/sandbox"
	"rollbench/sessions"
	"rollbench/tools"
)

// Why one call alone ends from outside while the trajectory goes on.
var (
	errCallCancelled = errors.New("the call was cancelled by a person")
	errCallTime      = errors.New("the time of a call is used up")
)

// What the model reads behind what such a call had printed.
const (
	cancelledNote = "[A person cancelled this call.]"
	callTimeNote  = "[The call took longer than the %v that any call may take, and was cancelled.]"
)

// runTool runs one call in a context of its own. With began set, the time that
// its start was recorded with, a person may cancel it by the gate. A call that
// was ended alone is a result, as every failure is that the model can read.
func (l *Loop) runTool(ctx context.Context, c sessions.Call, began time.Time) (tools.Result, error) {
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if l.CallLimit > 0 {
		timer := time.AfterFunc(l.CallLimit, func() { cancel(errCallTime) })
		defer timer.Stop()
	}
	if !began.IsZero() {
		l.Gate.callBegins(began, cancel)
	}
	r, err := l.Tools.Run(own, c.Name, c.Arguments)
	l.Gate.callEnds() // from here on a cancel is refused: the call has ended by itself
	if err == nil || ctx.Err() != nil || errors.Is(err, sandbox.ErrLost) {
		return r, err
	}
	why := context.Cause(own)
	var note string
	switch why {
	case errCallCancelled:
		r.Status, note = tools.Cancelled, cancelledNote
	case errCallTime:
		r.Status, r.Limit, r.Bound = tools.TimedOut, "tools.call_timeout", l.CallLimit
		note = fmt.Sprintf(callTimeNote, l.CallLimit)
	default:
		return r, err
	}
	if !errors.Is(err, why) { // it did not end as it should, and that may matter for what follows
		note += "\nERROR: " + tools.Clean([]byte(err.Error()))
	}
	r.Exit, r.Finish = nil, false
	r.Text = strings.TrimLeft(strings.TrimRight(r.Text, "\n")+"\n"+note, "\n")
	return r, nil
}

// CancelCall cancels the call that began then (zero: the one that runs), and
// leaves the trajectory going on.
func (g *Gate) CancelCall(began time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.call == nil {
		return errors.New("no call is running")
	}
	if !began.IsZero() && !began.Equal(g.callBegan) {
		return errors.New("that call has ended: another is running now")
	}
	g.call(errCallCancelled)
	return nil
}

func (g *Gate) callBegins(at time.Time, cancel context.CancelCauseFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.call, g.callBegan = cancel, at
}

func (g *Gate) callEnds() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.call = nil
}

// keepOutput puts what call number call of this turn printed into the session.
// What could not be kept costs a warning, and no more.
func (l *Loop) keepOutput(ctx context.Context, call int, out *tools.Output) (*sessions.Output, error) {
	warn := func(err error) error {
		return l.commit(ctx, sessions.KindWarning, sessions.Warning{Text: fmt.Sprintf("turn %d, call %d: %v", l.turn, call, err)})
	}
	if err := out.Err(); err != nil {
		return nil, warn(err)
	}
	piece := make([]byte, min(out.Size(), sessions.OutputChunk))
	at := sessions.CallPlace{Key: l.Key, Attempt: l.Attempt, Turn: l.turn, Call: call}
	for n, off := 0, int64(0); off < out.Size(); n++ {
		got, err := out.ReadAt(piece, off)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, warn(err)
		}
		if err := l.Record.Commit(ctx, sessions.Write{Chunk: &sessions.Chunk{CallPlace: at, N: n, Data: piece[:got]}}); err != nil {
			return nil, err
		}
		off += int64(got)
	}
	return &sessions.Output{Size: out.Size(), Head: out.Head(), Dropped: out.Dropped()}, nil
}
