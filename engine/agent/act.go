package agent

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"rollbench/sessions"
	"rollbench/tools"
)

// judge ends the trajectory when the reply leaves nothing to act on. The reply
// is already recorded.
func (l *Loop) judge(ctx context.Context) error {
	t := l.last
	var why error
	switch {
	case t.Source == sessions.FromOperator && len(l.Tools.Specs()) > 0:
		return nil
	case t.Finish == "abort":
		why = end(sessions.EndpointLost, "the endpoint aborted turn %d", t.Index)
	case t.Finish == "length":
		why = end(sessions.ContextWindowExceeded, "turn %d was cut at the end of the token budget", t.Index)
	case t.Content == "" && t.Reasoning == "" && len(t.Calls) == 0: // never one that a person wrote
		why = end(sessions.BadLLMResponse, "turn %d is empty", t.Index)
	case len(l.Tools.Specs()) == 0:
		why = end(sessions.FinalAnswer, "")
	default:
		return nil
	}
	if err := l.done(ctx, t, why); err != nil {
		return err
	}
	return why
}

// act runs the reply's calls in order and turns what they return into the
// messages of the next prompt: all results of a turn as one block.
func (l *Loop) act(ctx context.Context) error {
	t := l.last
	finished := false
	var stop error // ends the trajectory, after the turn is recorded
	for i := len(t.Observations); i < len(t.Calls) && !finished && stop == nil; i++ {
		o, done, err := l.call(ctx, i, t.Calls[i])
		if err != nil && (o == nil || ctx.Err() != nil) {
			return err
		}
		t.Observations = append(t.Observations, *o)
		finished, stop = done, err
	}
	l.fresh = append(l.fresh, observed(t)...)
	if len(t.Calls) == 0 {
		l.fresh = append(l.fresh, sessions.Message{Role: "user", Content: l.noCall(t), Source: sessions.FromHarness})
	}
	if stop == nil && finished {
		stop = end(sessions.FinishTool, "")
	}
	if err := l.done(ctx, t, stop); err != nil {
		return err
	}
	l.remember(t)
	return stop
}

// call runs one call, number n of the reply. An error with an observation ends the trajectory after
// the turn is recorded; an error without one is an interruption.
func (l *Loop) call(ctx context.Context, n int, c sessions.Call) (*sessions.Observation, bool, error) {
	o := &sessions.Observation{CallID: c.ID, Tool: c.Name, Started: l.Now(), Source: sessions.FromTool}
	if c.Problem != "" {
		o.Status, o.Source, o.Text = string(tools.Invalid), sessions.FromHarness, c.Problem
		return o, false, nil
	}
	started := l.event(sessions.KindToolStarted, sessions.ToolStarted{Turn: l.turn, Tool: c.Name, Args: c.Arguments})
	if err := l.Record.Commit(ctx, sessions.Write{Events: []sessions.Event{started}}); err != nil {
		return nil, false, err
	}
	l.Watch.Doing(l.turn, c.Name)
	defer l.Watch.Doing(l.turn, "")
	var r tools.Result
	err := l.timed(ctx, c.Name, func(ctx context.Context) error {
		var err error
		r, err = l.runTool(ctx, c, started.Time)
		return err
	})
	defer func() { _ = r.Output.Close() }() // nothing of it is wanted then
	o.Wall = l.Now().Sub(o.Started)
	if err != nil {
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		var limit *ending
		r.Status = tools.TimedOut
		if !errors.As(err, &limit) { // tools answer everything else with a result
			err = &ending{reason: sessions.SandboxLost, detail: err.Error(), cause: err}
			r.Status = tools.Failed
		}
		r.Text = strings.TrimSpace(r.Text + "\n" + err.Error()) // what was seen until then is kept
		r.Finish = false
	}
	if r.Output != nil {
		kept, err := l.keepOutput(ctx, n, r.Output)
		if err != nil {
			return nil, false, err
		}
		o.Output = kept
	}
	o.Status, o.Text, o.Exit, o.Dropped = string(r.Status), r.Text, r.Exit, r.Dropped
	if r.Status == tools.Invalid || r.Status == tools.Denied {
		o.Source = sessions.FromHarness
	}
	events := []sessions.Event{l.event(sessions.KindToolFinished, sessions.ToolFinished{Turn: l.turn, Tool: c.Name, Status: o.Status,
		Exit: o.Exit, Wall: o.Wall, Bytes: int64(len(r.Text)) + r.Dropped})}
	if r.Limit != "" {
		events = append(events, l.struck(r.Limit, r.Bound, c.Name, o.Wall))
	}
	if r.Status == tools.Cancelled {
		events = append(events, l.event(sessions.KindIntervention, sessions.Intervention{Verb: "cancel_call", Turn: l.turn, By: "operator", Before: c.Name + " " + c.Arguments}))
	}
	told := l.Record.Commit(ctx, sessions.Write{Events: events})
	return o, r.Finish, cmp.Or(told, err)
}

// observed are a turn's observations as messages.
func observed(t *sessions.Turn) []sessions.Message {
	if t.Inline || broken(t) {
		return inline(t)
	}
	var out []sessions.Message
	for _, o := range t.Observations {
		out = append(out, sessions.Message{Role: "tool", Content: o.Text, ToolCallID: o.CallID, Name: o.Tool, Source: o.Source})
	}
	return out
}

// inline is what the tools returned, for a model whose calls are text: one user
// message, since its template may know no results of tools.
func inline(t *sessions.Turn) []sessions.Message {
	if len(t.Observations) == 0 {
		return nil
	}
	var parts []string
	source := sessions.FromHarness
	for _, o := range t.Observations {
		if o.Source != sessions.FromHarness {
			source = sessions.FromTool
		}
		text := o.Text
		if len(t.Observations) > 1 {
			text = "Result of " + o.Tool + ":\n" + text
		}
		parts = append(parts, text)
	}
	return []sessions.Message{{Role: "user", Content: strings.Join(parts, "\n\n"), Source: source}}
}
