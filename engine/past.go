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
	unsent   map[sessions.Key][]feedback // that no turn has carried
	budgets  map[sessions.Key]sessions.Budget
	runs     map[attempt][]sessions.HandRun // and what was done at shells, see shellRun
	attempts map[sessions.Key]int           // the last of each, where it is not the first
	forks    map[sessions.Key]sessions.Forked
	rebuilt  map[sessions.Key]sessions.Rebuilt // the last of each
	shells   map[sessions.Key]bool             // a person worked in the sandbox
	human    map[sessions.Key]bool             // whether a person was said to write the turns
	breaks   *breaks.Set
	stops    map[sessions.Key]*stop
}

// attempt of a trajectory.
type attempt struct {
	key sessions.Key
	n   int
}

// shellRun stands among a person's commands for what was done at a shell: it cannot
// be run again, and has no script.
func shellRun(s sessions.Shell) sessions.HandRun {
	return sessions.HandRun{Turn: s.Turn, At: s.At, Problem: "a person worked in the sandbox at a shell, and what was done there cannot be repeated"}
}

// now is the attempt of a trajectory that goes on.
func (p *past) now(key sessions.Key) attempt { return attempt{key, max(p.attempts[key], 1)} }

// feedback of a person.
type feedback struct {
	as   agent.As
	text string
}

// readPast is one pass over the events.
func readPast(ctx context.Context, r sessions.Reader) (*past, error) {
	p := &past{unsent: map[sessions.Key][]feedback{}, budgets: map[sessions.Key]sessions.Budget{}, runs: map[attempt][]sessions.HandRun{}, attempts: map[sessions.Key]int{},
		forks: map[sessions.Key]sessions.Forked{}, rebuilt: map[sessions.Key]sessions.Rebuilt{},
		shells: map[sessions.Key]bool{}, human: map[sessions.Key]bool{}, breaks: &breaks.Set{}, stops: map[sessions.Key]*stop{}}
	for seq := int64(0); ; {
		events, err := r.Since(ctx, seq, 1000)
		if err != nil || len(events) == 0 {
			return p, err
		}
		for _, e := range events {
			seq = e.Seq
			if err := cmp.Or(readFeedback(p.unsent, e), p.readForks(e), p.readBreaks(e), p.readChanges(e), p.readHuman(r.Run(), e)); err != nil {
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
		var a sessions.Attempt
		if err := json.Unmarshal(e.Data, &a); err != nil {
			return err
		}
		p.attempts[e.Key] = a.N
		delete(p.budgets, e.Key)
		delete(p.shells, e.Key)
	case sessions.KindShell:
		var s sessions.Shell
		if err := json.Unmarshal(e.Data, &s); err != nil {
			return err
		}
		if s.Open && !s.Look {
			p.shells[e.Key] = true
			p.runs[p.now(e.Key)] = append(p.runs[p.now(e.Key)], shellRun(s))
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
			p.runs[p.now(e.Key)] = append(p.runs[p.now(e.Key)], r)
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
	for key := range p.forks {
		p.human[key] = c.Note == "on"
	}
	return nil
}
