package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"rollbench/sessions"
)

// Hand runs a person's command in the trajectory's sandbox; look: in a copy of
// it that is thrown away. An error is why it did not run to its end.
type Hand func(ctx context.Context, script string, look bool) (sessions.HandRun, error)

// HandName is what a person's command is called while it runs.
const HandName = "a command by hand"

// ShellName is what a shell that a person worked at is called in a Difference. Among
// the commands that a sandbox is rebuilt by it is one without a script.
const ShellName = "a shell"

// runByHand runs a command without telling the policy. One that may change
// something is part of a replay and makes the trajectory intervened.
func (l *Loop) runByHand(ctx context.Context, at sessions.Gate, c Change) error {
	if l.Hand == nil || at == sessions.BeforeEval {
		return nil
	}
	r, err := l.hand(ctx, c)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		r.Problem = strings.Join(strings.Fields(err.Error()), " ")
	}
	if r.Turn, r.At = l.turn, at; at == sessions.BeforeModel {
		r.Turn++
	}
	w := sessions.Write{Events: []sessions.Event{l.event(sessions.KindHandRun, r)}}
	if c.Look {
		return l.Record.Commit(ctx, w)
	}
	return l.intervened(ctx, at, w, sessions.Intervention{Verb: "run", After: c.Text})
}

// hand runs the command; it can be cancelled as a call can.
func (l *Loop) hand(ctx context.Context, c Change) (sessions.HandRun, error) {
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := l.Now()
	l.Gate.callBegins(began, cancel)
	defer l.Gate.callEnds()
	l.Watch.Doing(l.turn, HandName)
	defer l.Watch.Doing(l.turn, "")
	r, err := l.Hand(own, c.Text, c.Look)
	r.Script, r.Look, r.Wall = c.Text, c.Look, l.Now().Sub(began)
	if err != nil && errors.Is(context.Cause(own), errCallCancelled) {
		err = errCallCancelled
	}
	return r, err
}

// hand repeats commands of a person and compares what they say.
func (r *replay) hand(ctx context.Context, runs []sessions.HandRun) error {
	for _, h := range runs {
		d := sessions.Difference{Turn: h.Turn, Call: -1, Tool: HandName, Args: h.Script, Was: h.Output}
		switch {
		case h.Script == "":
			d.Tool, d.Why = ShellName, h.Problem
		case h.Problem != "":
			d.Why = HandName + " did not run to its end, and what it had done by then cannot be repeated"
		}
		if d.Why != "" {
			if err := r.differ(d); err != nil {
				return err
			}
			continue
		}
		again, err := r.Hand(ctx, h.Script, false)
		if err != nil {
			return fmt.Errorf("turn %d: %s: %w", h.Turn, HandName, err)
		}
		r.ran++
		if again.Exit == h.Exit && steady(again.Output) == steady(h.Output) {
			continue
		}
		if d.Now = again.Output; again.Exit != h.Exit {
			d.Was, d.Now = fmt.Sprintf("%s\n[exit %d]", h.Output, h.Exit), fmt.Sprintf("%s\n[exit %d]", again.Output, again.Exit)
		}
		if err := r.differ(d); err != nil {
			return err
		}
	}
	return nil
}

// handAt are a person's commands of a turn: before its calls ran, and after.
func handAt(runs []sessions.HandRun, turn int) (before, after []sessions.HandRun) {
	for _, r := range runs {
		switch {
		case r.Turn != turn || r.Look:
		case r.At == sessions.AfterTool:
			after = append(after, r)
		default:
			before = append(before, r)
		}
	}
	return before, after
}

// RunByHand runs a command in the sandbox of a held trajectory.
func (g *Gate) RunByHand(script string, look bool) error {
	if strings.TrimSpace(script) == "" {
		return errors.New("the command is empty")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !g.held || g.waiting:
		return errors.New("the trajectory is not held: pause it first, so that the command runs beside no other")
	case g.at == sessions.BeforeEval:
		return errors.New("the run stage is over: the patch is what counts now")
	}
	g.add(Change{Verb: "run", Text: script, Look: look})
	return nil
}
