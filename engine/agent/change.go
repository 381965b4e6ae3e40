package agent

import (
	"cmp"
	"context"
	"fmt"

	"rollbench/engine/calls"
	"rollbench/engine/infer"
	"rollbench/sessions"
	"rollbench/tools"
)

// apply makes a person's change and records it (design: interventions and
// what they do to the training record).
func (l *Loop) apply(ctx context.Context, at sessions.Gate, c Change) error {
	switch c.Verb {
	case "inject":
		l.injected = append(l.injected, sessions.Message{Role: string(c.As), Content: c.Text, Source: sessions.FromOperator})
		i := sessions.Intervention{Verb: "inject", After: c.Text}
		if c.As == AsTool {
			i.As = string(AsTool)
		}
		return l.intervened(ctx, at, sessions.Write{}, i)
	case "write":
		return l.write(ctx, at, c)
	case "shell":
		return l.shell(ctx, l.stands(at), c)
	case "edit":
		return l.edit(ctx, at, c)
	case "reject":
		return l.reject(ctx, at, c)
	case "resample":
		return l.resample(ctx, at, c.N)
	case "pick":
		return l.pick(ctx, at, c.Version)
	case "edit_observation":
		return l.editObservation(ctx, at, c)
	case "raise_limit":
		return l.raise(ctx, at, c)
	case "run":
		return l.runByHand(ctx, l.stands(at), c)
	case "beside":
		c.Do(ctx, l.ahead(l.stands(at)))
		return nil
	case "force_finish":
		if at == sessions.BeforeEval {
			return nil // it has finished by itself meanwhile
		}
		why := &ending{reason: sessions.ForceFinished, detail: "by a person", known: true}
		if err := l.intervened(ctx, at, sessions.Write{}, sessions.Intervention{Verb: "force_finish"}, l.event(sessions.KindFinish, why.fact())); err != nil {
			return err
		}
		return why
	}
	panic("agent: unknown change " + c.Verb)
}

// stands is the gate that the sandbox is at: behind the reply once a person has written
// it at the gate before.
func (l *Loop) stands(at sessions.Gate) sessions.Gate {
	if at == sessions.BeforeModel && l.written() {
		return sessions.AfterReply
	}
	return at
}

// intervened records what a person did, in one write with what comes of it at once.
func (l *Loop) intervened(ctx context.Context, at sessions.Gate, w sessions.Write, i sessions.Intervention, then ...sessions.Event) error {
	i.Turn, i.At, i.By = l.turn, at, "operator"
	if at == sessions.BeforeModel {
		i.Turn++ // it belongs to the turn that follows
	}
	w.Events = append(append(w.Events, l.event(sessions.KindIntervention, i)), then...)
	return l.Record.Commit(ctx, w)
}

// edit supersedes the pending reply by one with the call replaced. The new
// reply is operator-made: its ids are the endpoint's rendering of it, it has
// no logprobs, and it starts a new sample.
func (l *Loop) edit(ctx context.Context, at sessions.Gate, c Change) error {
	old := l.last
	if len(l.pending()) <= c.Index {
		return nil // the verb was accepted just before the trajectory went on
	}
	t := *old
	t.Version = l.nextVersion()
	t.Source = sessions.FromOperator
	t.NewSample, t.BreakAt = true, 0 // a new sample by design, no break
	t.Calls = append([]sessions.Call{}, old.Calls...)
	t.Calls[c.Index] = sessions.Call{ID: old.Calls[c.Index].ID, Name: c.Name, Arguments: c.Arguments}
	t.OutputIDs, t.Logprobs, t.Raw, t.Cuts, t.OutputTokens, t.EndsTurn = nil, nil, "", nil, 0, false
	if t.Inline { // the calls stand beside the text now
		r := calls.Parse(l.Format, t.Content, l.known(), t.Finish)
		t.Inline, t.Reasoning, t.Content = false, cmp.Or(r.Reasoning, t.Reasoning), r.Content
	}
	if err := l.render(ctx, &t, l.sent[:len(l.sent)-1]); err != nil {
		return err
	}
	before := old.Calls[c.Index]
	l.takeOver(&t)
	return l.intervened(ctx, at, sessions.Write{Turn: &t, Supersede: old.Version, Events: []sessions.Event{l.replyEvent(&t)}},
		sessions.Intervention{Verb: "edit", Before: before.Name + " " + before.Arguments, After: c.Name + " " + c.Arguments})
}

// render fills in the ids of an operator-made reply: what the endpoint's
// template adds to the prompt for it, which is made of the messages before it.
func (l *Loop) render(ctx context.Context, t *sessions.Turn, before []infer.Message) error {
	if !l.CanTokenize {
		return nil
	}
	if l.Tokens && t.PromptIDs != nil {
		ids, err := l.spell(ctx, t)
		if err == nil {
			t.OutputIDs, t.OutputTokens = ids, len(ids)
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	conversation := append(before[:len(before):len(before)], assistant(t))
	without := func(format string, args ...any) error { return l.without(ctx, t, fmt.Sprintf(format, args...)) }
	ids, err := l.Model.Tokenize(ctx, conversation, l.specs(), false)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return without("%v", err)
	}
	prompt := t.PromptIDs
	if prompt == nil || len(ids) < len(prompt) {
		return without("the endpoint does not report those of its prompt")
	}
	for i := range prompt {
		if ids[i] != prompt[i] {
			return without("the endpoint's template renders its prompt differently from position %d on", i)
		}
	}
	t.OutputIDs = ids[len(prompt):]
	t.OutputTokens = len(t.OutputIDs)
	return nil
}

// without says why an operator-made reply has no ids: none are made up.
func (l *Loop) without(ctx context.Context, t *sessions.Turn, why string) error {
	what := "the edited reply"
	if t.Version == 1 {
		what = "the turn that a person wrote"
	}
	return l.commit(ctx, sessions.KindWarning, sessions.Warning{Text: fmt.Sprintf("turn %d: %s is kept without token ids: %s", t.Index, what, why)})
}

// reject answers every pending call with the person's reason.
func (l *Loop) reject(ctx context.Context, at sessions.Gate, c Change) error {
	t := l.last
	if len(l.pending()) == 0 {
		return nil
	}
	for _, call := range t.Calls[len(t.Observations):] {
		t.Observations = append(t.Observations, sessions.Observation{CallID: call.ID, Tool: call.Name, Started: l.Now(),
			Status: string(tools.Rejected), Text: c.Text, Source: sessions.FromOperator})
	}
	return l.intervened(ctx, at, sessions.Write{Turn: t}, sessions.Intervention{Verb: "reject", After: c.Text})
}
