package agent

import (
	"context"
	"fmt"
	"strings"

	"rollbench/engine/breaks"
	"rollbench/sessions"
)

// meet asks the breakpoints at a gate and records those that are hit. It
// returns the one that holds here, in words, "" when none does.
func (l *Loop) meet(ctx context.Context, at sessions.Gate) (string, error) {
	p := l.place(at)
	hold := l.recall(&p)
	if l.Breaks == nil || !l.Breaks.Any() {
		return hold, nil
	}
	hits := l.Breaks.Meet(p)
	if len(hits) == 0 {
		return hold, nil
	}
	var w sessions.Write
	for _, h := range hits {
		w.Events = append(w.Events, l.event(sessions.KindBreakpointHit, h))
		if hold == "" && !h.Log {
			hold = inWords(h)
		}
	}
	return hold, l.Record.Commit(ctx, w)
}

// recall what an earlier part of the run met at the place. It returns the one that
// held there when that part ended.
func (l *Loop) recall(p *breaks.Place) (hold string) {
	for _, h := range l.Met {
		if h.At != p.At || h.Turn != p.Turn {
			continue
		}
		p.Met = append(p.Met, h.ID)
		if hold == "" && !h.Log && l.Stood == p.At {
			hold = inWords(h)
		}
	}
	return hold
}

func inWords(h sessions.BreakpointHit) string { return fmt.Sprintf("#%d %s", h.ID, h.Text) }

// place is where the loop is now.
func (l *Loop) place(at sessions.Gate) breaks.Place {
	p := breaks.Place{Key: l.Key, At: at, Turn: l.turn, Finish: l.ended}
	if l.Budget > 0 {
		p.Share = float64(l.used) / float64(l.Budget)
	}
	switch {
	case at == sessions.BeforeModel:
		p.Turn++ // the turn that follows
	case l.last == nil:
	case at == sessions.AfterReply, at == sessions.AfterTool:
		p.Calls = l.last.Calls
		if at == sessions.AfterTool {
			p.Observations = l.last.Observations
		}
		p.Unread = len(l.last.Calls) == 0 && strings.HasPrefix(l.noCall(l.last), "ERROR:")
	}
	return p
}
