package engine

import (
	"encoding/json"
	"time"

	"rollbench/engine/breaks"
	"rollbench/sessions"
)

// The breakpoints of a run are kept in its session: a resume brings them back,
// with their counts as of their last hits.

// ParseBreakpoint reads a breakpoint and returns it as it will be shown.
func ParseBreakpoint(text string) (string, error) {
	c, err := breaks.Parse(text)
	if err != nil {
		return "", err
	}
	return c.String(), nil
}

// BreakpointFor is the text of a breakpoint on calls like this one.
func BreakpointFor(tool, arguments string) string { return breaks.ForCall(tool, arguments) }

// BreakpointForAnswer is the text of a breakpoint on answers of the tool with
// such a line.
func BreakpointForAnswer(tool, line string) string { return breaks.ForAnswer(tool, line) }

// BreakpointGrammar says in a line how breakpoints are written.
const BreakpointGrammar = breaks.Grammar

// SetBreakpoint adds a breakpoint, or changes the one with that ID (not 0).
func (e *Engine) SetBreakpoint(id int, text string) error {
	text, err := ParseBreakpoint(text)
	if err != nil {
		return err
	}
	b := breaks.Breakpoint{}
	if id == 0 {
		b.ID = e.breaks.NextID()
	} else if b, err = e.breaks.Get(id); err != nil {
		return err
	}
	return e.putBreakpoint(sessions.Breakpoint{ID: b.ID, Text: text, Off: b.Off})
}

// EnableBreakpoint looks at a breakpoint again, or no more.
func (e *Engine) EnableBreakpoint(id int, on bool) error {
	b, err := e.breaks.Get(id)
	if err != nil {
		return err
	}
	return e.putBreakpoint(sessions.Breakpoint{ID: id, Text: b.Text, Off: !on})
}

// RemoveBreakpoint forgets a breakpoint. What it holds stays held.
func (e *Engine) RemoveBreakpoint(id int) error {
	if _, err := e.breaks.Get(id); err != nil {
		return err
	}
	if err := e.commit(e.ctx, sessions.Key{}, sessions.KindBreakpointRemoved, sessions.BreakpointRemoved{ID: id, By: "operator"}); err != nil {
		return err
	}
	e.breaks.Remove(id)
	return nil
}

// putBreakpoint records it first: nothing acts that a resume would not know.
func (e *Engine) putBreakpoint(b sessions.Breakpoint) error {
	b.By = "operator"
	if err := e.commit(e.ctx, sessions.Key{}, sessions.KindBreakpoint, b); err != nil {
		return err
	}
	return e.breaks.Put(b)
}

// rewardHits are the breakpoints that ask for such a reward.
func (e *Engine) rewardHits(t *trajectory, reward *float64) []sessions.Event {
	if !e.breaks.Any() {
		return nil
	}
	var events []sessions.Event
	for _, h := range e.breaks.Meet(breaks.Place{Key: t.key, Reward: reward}) {
		events = append(events, sessions.NewEvent(time.Now(), t.key, sessions.KindBreakpointHit, h))
	}
	return events
}

// readBreaks takes an event of an earlier part of the run into the set.
func (p *past) readBreaks(e sessions.Event) error {
	switch e.Kind {
	case sessions.KindBreakpoint:
		var b sessions.Breakpoint
		if err := json.Unmarshal(e.Data, &b); err != nil {
			return err
		}
		return p.breaks.Put(b)
	case sessions.KindBreakpointRemoved:
		var r sessions.BreakpointRemoved
		if err := json.Unmarshal(e.Data, &r); err != nil {
			return err
		}
		p.breaks.Remove(r.ID)
	case sessions.KindBreakpointHit:
		var h sessions.BreakpointHit
		if err := json.Unmarshal(e.Data, &h); err != nil {
			return err
		}
		p.breaks.Recall(h)
		p.stop(e.Key).met(h)
	case sessions.KindAttempt:
		delete(p.stops, e.Key)
	case sessions.KindState:
		var c sessions.StateChange
		if err := json.Unmarshal(e.Data, &c); err != nil {
			return err
		}
		p.stop(e.Key).state(c)
	}
	return nil
}

// stop is where a trajectory met breakpoints last.
type stop struct {
	hits  []sessions.BreakpointHit // of one turn
	stood sessions.Gate            // where one of them holds it, "" where none does
	held  bool                     // it has not been brought back since
}

// stop of a trajectory's attempt that goes on.
func (p *past) stop(key sessions.Key) *stop {
	if p.stops[key] == nil {
		p.stops[key] = &stop{}
	}
	return p.stops[key]
}

func (s *stop) met(h sessions.BreakpointHit) {
	if len(s.hits) > 0 && s.hits[0].Turn != h.Turn {
		s.hits = nil
	}
	s.hits = append(s.hits, h)
}

// state follows whether it was let go. A start of its run stage is no such thing: a
// part of the run that ended before it came to its gate left it where it stood.
func (s *stop) state(c sessions.StateChange) {
	switch {
	case c.State == sessions.Held && c.Held == sessions.HeldBreakpoint:
		s.stood, s.held = c.At, true
	case c.State == sessions.Held, c.State == sessions.Running && s.held:
		s.stood, s.held = "", false
	default:
		s.held = false
	}
}
