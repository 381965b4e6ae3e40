package agent

import (
	"context"
	"errors"

	"rollbench/sessions"
)

// Beside has the loop of a held trajectory, the parent of a fork, wait while do works
// on its sandbox: before is the turn that the sandbox is as before, 0 where it is as
// between the calls of one. do changes nothing of the trajectory, and is not called when
// the run stage ends first (Ended). What a person has asked for there, a fresh reply or a
// command, may take long and is not waited for.
func (g *Gate) Beside(do func(ctx context.Context, before int)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !g.held || g.waiting || g.over:
		return errors.New("the parent is not held")
	case g.asking != nil || g.call != nil:
		return errors.New("the parent is at work where it is held")
	}
	g.add(Change{Verb: "beside", Do: do})
	return nil
}

// ahead is the turn before whose calls the sandbox stands at a gate.
func (l *Loop) ahead(at sessions.Gate) int {
	switch {
	case at == sessions.AfterReply && len(l.last.Observations) == 0:
		return l.turn
	case at == sessions.AfterReply:
		return 0
	}
	return l.turn + 1 // before the model call, after the tools, or after the last turn
}
