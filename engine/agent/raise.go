package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rollbench/sessions"
)

// raise the budgets of this trajectory. A budget is never lowered below what
// the policy was told of.
func (l *Loop) raise(ctx context.Context, at sessions.Gate, c Change) error {
	turns, tokens := max(c.Turns, l.MaxTurns), max(c.Tokens, l.Budget)
	if at == sessions.BeforeEval || turns == l.MaxTurns && tokens == l.Budget {
		return nil // the run stage has ended meanwhile, or it was raised twice
	}
	said := func(turns, tokens int) string { return fmt.Sprintf("%d turns, %d tokens", turns, tokens) }
	i := sessions.Intervention{Verb: "raise_limit", Before: said(l.MaxTurns, l.Budget), After: said(turns, tokens)}
	l.MaxTurns, l.Budget = turns, tokens
	return l.intervened(ctx, at, sessions.Write{Events: []sessions.Event{l.event(sessions.KindBudget, sessions.Budget{Turns: turns, Tokens: tokens})}}, i)
}

// Raise the turns or the tokens that the trajectory may use; 0: as before.
func (g *Gate) Raise(turns, tokens int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held && g.at == sessions.BeforeEval {
		return errors.New("the run stage is over: no turn follows that could use it")
	}
	g.add(Change{Verb: "raise_limit", Turns: turns, Tokens: tokens})
	return nil
}

// editObservation replaces what a tool returned before the policy reads it.
func (l *Loop) editObservation(ctx context.Context, at sessions.Gate, c Change) error {
	if at != sessions.AfterTool || c.Index >= len(l.last.Observations) {
		return nil // the verb was accepted just before the trajectory went on
	}
	t := *l.last
	t.Observations = slices.Clone(t.Observations)
	o := &t.Observations[c.Index]
	before := o.Text
	if o.Was == "" { // else it is edited a second time
		o.Before, o.Was = o.Text, o.Source
	}
	o.Text, o.Source = c.Text, sessions.FromOperator
	l.last, l.fresh, l.history = &t, observed(&t), l.earlier
	l.remember(&t)
	return l.intervened(ctx, at, sessions.Write{Turn: &t}, sessions.Intervention{Verb: "edit_observation", Before: before, After: c.Text})
}

// EditObservation replaces observation number index of the turn that is held
// before the policy reads it.
func (g *Gate) EditObservation(index int, text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("the observation is empty: it is what the model reads")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !g.held || g.at != sessions.AfterTool:
		return errors.New("no observation waits: hold the trajectory after a tool (step into from the call)")
	case index < 0 || index >= g.now.answers:
		return fmt.Errorf("there is no observation %d: the turn has %d", index, g.now.answers)
	}
	g.add(Change{Verb: "edit_observation", Index: index, Text: text})
	return nil
}
