package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"rollbench/engine/agent"
	"rollbench/engine/breaks"
	"rollbench/sessions"
)

// past is what persons left of an earlier part of the run that rows do not say.
type past struct {
	unsent  map[sessions.Key][]feedback // that no turn has carried
	budgets map[sessions.Key]sessions.Budget
	runs    map[sessions.Key][]sessions.HandRun
	forks   map[sessions.Key]sessions.Forked
	rebuilt map[sessions.Key]sessions.Rebuilt // the last of each
	shells  map[sessions.Key]bool             // a person worked in the sandbox
	human   map[sessions.Key]bool             // whether a person was said to write the turns
	breaks  *breaks.Set
}

// feedback of a person.
type feedback struct {
	as   agent.As
	text string
}

// readPast is one pass over the events.
func readPast(ctx context.Context, r sessions.Reader) (*past, error) {
	p := &past{unsent: map[sessions.Key][]feedback{}, budgets: map[sessions.Key]sessions.Budget{}, runs: map[sessions.Key][]sessions.HandRun{},
		forks: map[sessions.Key]sessions.Forked{}, rebuilt: map[sessions.Key]sessions.Rebuilt{},
		shells: map[sessions.Key]bool{}, human: map[sessions.Key]bool{}, breaks: &breaks.Set{}}
	for seq := int64(0); ; {
		events, err := r.Since(ctx, seq, 1000)
		if err != nil || len(events) == 0 {
			return p, err
		}
		for _, e := range events {
			seq = e.Seq
			if err := cmp.Or(readFeedback(p.unsent, e), p.readForks(e), readBreaks(p.breaks, e), p.readChanges(e), p.readHuman(r.Run(), e)); err != nil {
				return nil, fmt.Errorf("read event %d: %w", e.Seq, err)
			}
		}
	}
}

func readFeedback(out map[sessions.Key][]feedback, e sessions.Event) error {
	switch e.Kind {
	case sessions.KindAttempt:
		delete(out, e.Key)
	case sessions.KindReply:
		var r sessions.ReplyMade
		if err := json.Unmarshal(e.Data, &r); err != nil {
			return err
		}
		if r.Source == sessions.FromModel || r.Version == 1 { // an edited reply has the prompt of the one before
			delete(out, e.Key)
		}
	case sessions.KindIntervention:
		var i sessions.Intervention
		if err := json.Unmarshal(e.Data, &i); err != nil {
			return err
		}
		if i.Verb == "inject" {
			out[e.Key] = append(out[e.Key], feedback{cmp.Or(agent.As(i.As), agent.AsUser), i.After})
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
		delete(p.shells, e.Key)
	case sessions.KindShell:
		var s sessions.Shell
		if err := json.Unmarshal(e.Data, &s); err != nil {
			return err
		}
		if s.Open && !s.Look {
			p.shells[e.Key] = true
		}
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

// readHuman finds who was said last to write the turns.
func (p *past) readHuman(run sessions.Run, e sessions.Event) error {
	if e.Kind != sessions.KindCommand {
		return nil
	}
	var c sessions.Commanded
	if err := json.Unmarshal(e.Data, &c); err != nil || c.Verb != "human" {
		return err
	}
	if !c.All {
		p.human[e.Key] = c.Note == "on"
		return nil
	}
	for _, key := range run.Members {
		p.human[key] = c.Note == "on"
	}
	return nil
}
