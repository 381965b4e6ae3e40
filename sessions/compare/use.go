package compare

import (
	"cmp"
	"context"
	"slices"
	"time"

	"rollbench/sessions"
)

// Events is what tool use is added up from; every sessions.Reader is one.
type Events interface {
	Since(ctx context.Context, seq int64, limit int) ([]sessions.Event, error)
}

// ToolUse is what a trajectory did with one tool, in its latest attempt.
type ToolUse struct {
	Name     string        `json:"tool"`
	Made     int           `json:"calls"`     // by the replies in effect
	Wait     int           `json:"under_way"` // of the turn under way, not answered yet
	Ran      int           `json:"ran"`
	Errors   int           `json:"errors"`   // that ran, and failed
	Invalid  int           `json:"invalid"`  // with arguments that were no use, or denied by a rule
	Timeouts int           `json:"timeouts"` // that a time limit ended
	Wall     time.Duration `json:"wall_ns"`
}

// Use of all tools, by name.
type Use []ToolUse

// Of one tool; nothing where it was not called.
func (u Use) Of(name string) ToolUse {
	for _, t := range u {
		if t.Name == name {
			return t
		}
	}
	return ToolUse{Name: name}
}

// All tools together.
func (u Use) All() (sum ToolUse) {
	for _, t := range u {
		sum.Add(t)
	}
	return sum
}

// NotRun counts the calls that did not run: unreadable, with arguments that were no
// use, denied, rejected by a person, or behind the end of the run stage.
func (t ToolUse) NotRun() int { return max(t.Made-t.Ran-t.Wait, 0) }

// Add another tool's.
func (t *ToolUse) Add(o ToolUse) {
	t.Made, t.Wait, t.Ran, t.Wall = t.Made+o.Made, t.Wait+o.Wait, t.Ran+o.Ran, t.Wall+o.Wall
	t.Errors, t.Invalid, t.Timeouts = t.Errors+o.Errors, t.Invalid+o.Invalid, t.Timeouts+o.Timeouts
}

// Log adds up the tool use of a run's trajectories. It is not safe for concurrent use.
type Log struct {
	seq int64
	of  map[sessions.Key]*used
}

// used is one trajectory's: what turns that are over did, and the one under way.
type used struct {
	attempt int
	ended   bool
	whole   Use
	turn    int
	made    []string                // of the reply in effect
	ran     []sessions.ToolFinished // of its calls
}

// Follow sees the events that were committed since the last one seen.
func (l *Log) Follow(ctx context.Context, r Events) error {
	const page = 5000
	for {
		events, err := r.Since(ctx, l.seq, page)
		if err != nil {
			return err
		}
		for i := range events {
			if err := l.See(events[i]); err != nil {
				return err
			}
		}
		if len(events) < page {
			return nil
		}
	}
}

// See one event, in the order of their Seq.
func (l *Log) See(e sessions.Event) error {
	l.seq = e.Seq
	if e.Kind == sessions.KindRunStarted {
		for _, u := range l.of {
			if !u.ended {
				u.ran = nil // what ran in a turn that was not recorded as complete runs again
			}
		}
	}
	if e.Key.IsZero() {
		return nil
	}
	u := l.of[e.Key]
	if u == nil {
		if l.of == nil {
			l.of = map[sessions.Key]*used{}
		}
		u = &used{attempt: 1}
		l.of[e.Key] = u
	}
	return u.see(e)
}

func (u *used) see(e sessions.Event) error {
	switch e.Kind {
	case sessions.KindAttempt:
		return sessions.ReadEvent(e, func(a sessions.Attempt) {
			if a.N != u.attempt {
				*u = used{attempt: a.N}
			}
		})
	case sessions.KindState:
		return sessions.ReadEvent(e, func(s sessions.StateChange) { u.ended = s.State.Ended() })
	case sessions.KindReply, sessions.KindPicked:
		return sessions.ReadEvent(e, func(r sessions.ReplyMade) {
			if r.Turn != u.turn {
				u.close()
			}
			u.turn, u.made = r.Turn, r.Tools
		})
	case sessions.KindToolFinished:
		return sessions.ReadEvent(e, func(f sessions.ToolFinished) { u.ran = append(u.ran, f) })
	case sessions.KindTurnDone:
		u.close()
	}
	return nil
}

// close the turn under way.
func (u *used) close() {
	u.whole = u.sum(false)
	u.made, u.ran = nil, nil
}

// sum is what was done up to now; going says that the turn under way goes on.
func (u *used) sum(going bool) Use {
	out := slices.Clone(u.whole)
	of := func(name string) *ToolUse {
		i := slices.IndexFunc(out, func(t ToolUse) bool { return t.Name == name })
		if i < 0 {
			i = len(out)
			out = append(out, ToolUse{Name: name})
		}
		return &out[i]
	}
	for _, name := range u.made {
		of(name).Made++
		if going {
			of(name).Wait++
		}
	}
	for _, f := range u.ran {
		t := of(f.Tool)
		t.Wall += f.Wall
		if going {
			t.Wait = max(t.Wait-1, 0)
		}
		switch f.Status {
		case "invalid", "denied":
			t.Invalid++
			continue
		case "error":
			t.Errors++
		case "timeout":
			t.Timeouts++
		}
		t.Ran++
	}
	return out
}

// Use of a trajectory's tools so far, by name.
func (l *Log) Use(key sessions.Key) Use {
	u := l.of[key]
	if u == nil {
		return nil
	}
	out := u.sum(!u.ended)
	slices.SortFunc(out, func(a, b ToolUse) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Seq of the last event seen.
func (l *Log) Seq() int64 { return l.seq }
