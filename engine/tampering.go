package engine

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"rollbench/engine/task"
	"rollbench/sessions"
)

// signs of tampering that the run stage left, in the patch, in calls and those given,
// as the event that tells of them; none where there are none. That they could not be looked for is a warning: the patch is
// there, and the verdict does not depend on them.
func (e *Engine) signs(ctx context.Context, t *trajectory, patch []byte, left []task.Sign) []sessions.Event {
	turns, err := e.store.Turns(ctx, t.key, t.attempt, 0, 0, false)
	var found []task.Sign
	if err == nil {
		found, err = t.in.Signs(patch, ranCalls(turns))
	}
	if err != nil {
		return []sessions.Event{warning(t, "signs of tampering were not looked for: "+line(err))}
	}
	found = append(found, left...)
	if len(found) == 0 {
		return nil
	}
	p := sessions.Tampering{}
	for _, s := range found {
		p.Signs = append(p.Signs, sessions.Sign{Kind: s.Kind, Turn: s.Turn, What: s.What})
	}
	return []sessions.Event{sessions.NewEvent(time.Now(), t.key, sessions.KindTampering, p)}
}

// ranCalls are the policy's own calls that a tool answered: not what a person wrote,
// nor what was refused or could not be read.
func ranCalls(turns []sessions.Turn) []task.Call {
	var out []task.Call
	for i := range turns {
		t := &turns[i]
		if t.Superseded || t.Source == sessions.FromOperator {
			continue
		}
		for _, c := range t.Calls {
			ran := slices.ContainsFunc(t.Observations, func(o sessions.Observation) bool {
				return o.CallID == c.ID && o.Status != "rejected" && o.Status != "invalid"
			})
			var args struct{ Command, Path string }
			if !ran || json.Unmarshal([]byte(c.Arguments), &args) != nil { // of another tool
				continue
			}
			switch {
			case args.Path == "":
				out = append(out, task.Call{Turn: t.Index, Script: args.Command})
			case args.Command != "view":
				out = append(out, task.Call{Turn: t.Index, Writes: args.Path})
			}
		}
	}
	return out
}
