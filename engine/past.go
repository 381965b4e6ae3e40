package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"rollbench/engine/breaks"
	"rollbench/sessions"
)

// past is what persons left of an earlier part of the run that rows do not say.
type past struct {
	unsent  map[sessions.Key][]string // feedback that no model call has carried
	budgets map[sessions.Key]sessions.Budget
	runs    map[sessions.Key][]sessions.HandRun
	forks   map[sessions.Key]sessions.Forked
	rebuilt map[sessions.Key]sessions.Rebuilt // the last of each
	breaks  *breaks.Set
}

// readPast is one pass over the events.
func readPast(ctx context.Context, r sessions.Reader) (*past, error) {
	p := &past{unsent: map[sessions.Key][]string{}, budgets: map[sessions.Key]sessions.Budget{}, runs: map[sessions.Key][]sessions.HandRun{},
		forks: map[sessions.Key]sessions.Forked{}, rebuilt: map[sessions.Key]sessions.Rebuilt{}, breaks: &breaks.Set{}}
	for seq := int64(0); ; {
		events, err := r.Since(ctx, seq, 1000)
		if err != nil || len(events) == 0 {
			return p, err
		}
		for _, e := range events {
			seq = e.Seq
			if err := cmp.Or(readFeedback(p.unsent, e), p.readForks(e), readBreaks(p.breaks, e), p.readChanges(e)); err != nil {
				return nil, fmt.Errorf("read event %d: %w", e.Seq, err)
			}
		}
	}
}

func readFeedback(out map[sessions.Key][]string, e sessions.Event) error {
	switch e.Kind {
	case sessions.KindAttempt:
		delete(out, e.Key)
	case sessions.KindReply:
		var r sessions.ReplyMade
		if err := json.Unmarshal(e.Data, &r); err != nil {
			return err
		}
		if r.Source == sessions.FromModel {
			delete(out, e.Key)
		}
	case sessions.KindIntervention:
		var i sessions.Intervention
		if err := json.Unmarshal(e.Data, &i); err != nil {
			return err
		}
		if i.Verb == "inject" {
			out[e.Key] = append(out[e.Key], i.After)
		}
	}
	return nil
}

// readChanges takes what a person did to the attempt that goes on.
func (p *past) readChanges(e sessions.Event) error {
	switch e.Kind {
	case sessions.KindAttempt:
		delete(p.budgets, e.Key)
		delete(p.runs, e.Key)
	case sessions.KindBudget:
		var b sessions.Budget
		if err := json.Unmarshal(e.Data, &b); err != nil {
			return err
		}
		p.budgets[e.Key] = b
	case sessions.KindHandRun:
		var r sessions.HandRun
		if err := json.Unmarshal(e.Data, &r); err != nil {
			return err
		}
		if !r.Look {
			p.runs[e.Key] = append(p.runs[e.Key], r)
		}
	}
	return nil
}
