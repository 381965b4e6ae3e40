package replay

import (
	"context"
	"sort"
	"time"

	"rollbench/sessions"
)

// timeline maps positions of the recording to its events and to the run's own
// clock. A position leaves out the time between two processes of a run, and
// never goes backwards where the clock of a machine did.
type timeline struct {
	at    []time.Duration // position of each event
	seqs  []int64
	parts []Part
}

// Part of a run is what one process did of it.
type Part struct {
	At     time.Duration // position of its first event
	Began  time.Time
	Away   time.Duration // since the last event of the part before it
	events int           // before it
}

// readTimeline looks at all events once; of each only its time is kept.
func readTimeline(ctx context.Context, r sessions.Reader) (*timeline, error) {
	l := &timeline{}
	var last time.Time
	for seq := int64(0); ; {
		events, err := r.Since(ctx, seq, page)
		if err != nil || len(events) == 0 {
			return l, err
		}
		for i := range events {
			e := &events[i]
			l.add(e, last)
			seq, last = e.Seq, e.Time
		}
	}
}

// add the next event; last is the time of the one before.
func (l *timeline) add(e *sessions.Event, last time.Time) {
	pos := time.Duration(0)
	switch n := len(l.at); {
	case n == 0:
		l.parts = append(l.parts, Part{Began: e.Time})
	case e.Kind == sessions.KindRunStarted:
		pos = l.at[n-1]
		l.parts = append(l.parts, Part{At: pos, Began: e.Time, Away: max(e.Time.Sub(last), 0), events: n})
	default:
		part := l.parts[len(l.parts)-1]
		pos = max(part.At+e.Time.Sub(part.Began), l.at[n-1])
	}
	l.at = append(l.at, pos)
	l.seqs = append(l.seqs, e.Seq)
}

// length is the position of the last event.
func (l *timeline) length() time.Duration {
	if n := len(l.at); n > 0 {
		return l.at[n-1]
	}
	return 0
}

// upTo is how many events have happened at a position.
func (l *timeline) upTo(pos time.Duration) int {
	return sort.Search(len(l.at), func(i int) bool { return l.at[i] > pos })
}

// clock of the run when it is at a position with so many events behind it: where
// two parts meet, the events say which of them it is.
func (l *timeline) clock(pos time.Duration, events int) time.Time {
	if len(l.parts) == 0 {
		return time.Time{}
	}
	i := len(l.parts) - 1
	for i > 0 && (l.parts[i].At > pos || l.parts[i].events >= events) {
		i--
	}
	return l.parts[i].Began.Add(pos - l.parts[i].At)
}
