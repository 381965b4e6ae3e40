package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"rollbench/engine/calls"
	"rollbench/engine/infer"
	"rollbench/sessions"
)

// A person may write a turn instead of the model: in the place of its next call,
// or of the reply that waits. No call is made for it. Its ids are those of the
// endpoint's own template where there is one to ask, and else absent.

// errYours refuses to ask the model where a person has said to write the turns.
var errYours = errors.New("the turns of this trajectory are yours: write this one, or give the model its turns back")

// Human has a person write the turns from the next one on: each is held before
// its model call. It changes nothing that is recorded of the policy.
func (g *Gate) Human(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.human = on
}

// IsHuman reports whether a person writes the turns.
func (g *Gate) IsHuman() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.human
}

// yours: the turn that is held is a person's to write; mu is held.
func (g *Gate) yours() bool {
	return g.human && g.held && !g.waiting && g.at == sessions.BeforeModel
}

// Yours reports whether the turn that is held is a person's to write.
func (g *Gate) Yours() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.yours() {
		return errYours
	}
	return nil
}

// Write the turn that is held before its model call, or one in the place of the
// reply that waits: text, calls, or both.
func (g *Gate) Write(text string, list []sessions.Call) error {
	if strings.TrimSpace(text) == "" && len(list) == 0 {
		return errors.New("the turn is empty: write a text or a call")
	}
	for i, c := range list {
		switch {
		case strings.TrimSpace(c.Name) == "":
			return fmt.Errorf("call %d has no tool's name", i+1)
		case !json.Valid([]byte(c.Arguments)):
			return fmt.Errorf("the arguments of call %d are not valid JSON", i+1)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.held && g.at == sessions.BeforeModel:
	case g.openReply() != nil:
		return errors.New("no turn waits to be written: hold the trajectory before a model call, or after a reply before its tool runs")
	}
	g.add(Change{Verb: "write", Text: text, Calls: list})
	return nil
}

// goAsWritten lets the trajectory go on to the end of the turn that was written
// where it is held.
func (g *Gate) goAsWritten() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode, g.held, g.waiting = stepOver, false, false
}

// written reports whether a person wrote the turn that would be asked for.
func (l *Loop) written() bool { return l.last != nil && !l.last.Complete }

func (l *Loop) write(ctx context.Context, at sessions.Gate, c Change) error {
	switch {
	case at == sessions.BeforeModel && !l.written():
		return l.writeTurn(ctx, c)
	case l.standing(at).open:
		return l.replace(ctx, at, c)
	}
	return nil // the verb was accepted just before the trajectory went on
}

// writeTurn commits a person's turn, with the prompt that the model would have had,
// and goes on to its end. A resume finds it and asks nobody for it again.
func (l *Loop) writeTurn(ctx context.Context, c Change) error {
	if err := l.compose(ctx); err != nil {
		return err
	}
	messages := append(l.sent[:len(l.sent):len(l.sent)], wire(l.asked)...)
	t := l.byHand(c)
	t.Index, t.Version, t.New, t.NewSample = l.turn+1, 1, l.asked, true
	t.Calls = l.number(t, unnumbered(c.Calls))
	why, err := l.promptOf(ctx, t, messages)
	if err != nil {
		return err
	}
	if why == "" {
		err = l.render(ctx, t, messages)
	} else {
		err = l.without(ctx, t, why)
	}
	if err != nil {
		return err
	}
	i := sessions.Intervention{Verb: "write", Turn: t.Index, At: sessions.BeforeModel, By: "operator", After: saidBy(t)}
	if err := l.keep(ctx, t, messages, l.event(sessions.KindIntervention, i)); err != nil {
		return err
	}
	l.Gate.goAsWritten()
	return nil
}

// promptOf a turn that a person writes; why says what there is not to know it by.
func (l *Loop) promptOf(ctx context.Context, t *sessions.Turn, messages []infer.Message) (why string, err error) {
	if !l.CanTokenize {
		return "no endpoint of the run renders messages to ids (/tokenize)", nil
	}
	var ids []int32
	if l.Tokens {
		ids, err = l.promptIDs(ctx, messages)
	} else {
		ids, err = l.Model.Tokenize(ctx, messages, l.specs(), true)
	}
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return strings.Join(strings.Fields(err.Error()), " "), nil
	}
	if _, err := l.left(len(ids)); err != nil { // a person's turn needs room as the model's does
		return "", err
	}
	t.PromptIDs, t.PromptTokens = ids, len(ids)
	return "", nil
}

// replace the whole reply that waits, as an edit replaces one call of it.
func (l *Loop) replace(ctx context.Context, at sessions.Gate, c Change) error {
	old := l.last
	t := l.byHand(c)
	t.Index, t.Version, t.New, t.NewSample = old.Index, l.nextVersion(), old.New, true
	t.PromptIDs, t.PromptTokens = old.PromptIDs, old.PromptTokens
	t.Calls = l.number(t, unnumbered(c.Calls))
	var err error
	if l.CanTokenize {
		err = l.render(ctx, t, l.sent[:len(l.sent)-1])
	} else {
		err = l.without(ctx, t, "no endpoint of the run renders messages to ids (/tokenize)")
	}
	if err != nil {
		return err
	}
	before := saidBy(old)
	l.takeOver(t)
	return l.intervened(ctx, at, sessions.Write{Turn: t, Supersede: old.Version, Events: []sessions.Event{l.replyEvent(t)}},
		sessions.Intervention{Verb: "replace", Before: before, After: saidBy(t)})
}

// byHand is a turn without anything that only a model has.
func (l *Loop) byHand(c Change) *sessions.Turn {
	return &sessions.Turn{Key: l.Key, Attempt: l.Attempt, Source: sessions.FromOperator, Content: c.Text, Started: l.Now()}
}

func unnumbered(list []sessions.Call) []calls.Call {
	var out []calls.Call
	for _, c := range list {
		out = append(out, calls.Call{Name: c.Name, Arguments: c.Arguments})
	}
	return out
}

// saidBy a reply, as an intervention tells of it: its text, and its calls.
func saidBy(t *sessions.Turn) string {
	var parts []string
	if t.Content != "" {
		parts = append(parts, t.Content)
	}
	for _, c := range t.Calls {
		parts = append(parts, c.Name+" "+c.Arguments)
	}
	return strings.Join(parts, "\n")
}

// asResult is feedback as one more result of the last call. Where the last reply
// made none it is a user's message, and the record says so.
func (l *Loop) asResult(ctx context.Context, m sessions.Message) (sessions.Message, error) {
	t := l.last
	switch {
	case t == nil || len(t.Calls) == 0:
		m.Role = string(AsUser)
		text := fmt.Sprintf("turn %d: the feedback is a user's message: the reply before it made no call that a tool's message could answer", l.turn+1)
		return m, l.commit(ctx, sessions.KindWarning, sessions.Warning{Text: text})
	case t.Inline || broken(t): // what its calls returned is a user's message, too
		m.Role = string(AsUser)
		return m, nil
	}
	last := t.Calls[len(t.Calls)-1]
	m.ToolCallID, m.Name = last.ID, last.Name
	return m, nil
}
