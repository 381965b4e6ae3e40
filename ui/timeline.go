package ui

import (
	"time"

	"rollbench/sessions"
)

// use is what a trajectory did in a piece of time, or waited for.
type use uint8

const (
	useOther use = iota // rollbench's own work between the others
	useQueue            // waited for a place in a stage
	useInit
	useModel
	useTool
	useHeld
	useEval
	useAway // no process worked on the run
	useKinds
)

// stretch is a piece of a trajectory's time. A zero to goes on.
type stretch struct {
	kind     use
	from, to time.Time
	name     string // of the tool; why it was held
	status   string // how the call ended, "" while it runs
}

func (s *stretch) took(now time.Time) time.Duration {
	to := s.to
	if to.IsZero() {
		to = now
	}
	return max(to.Sub(s.from), 0)
}

// bad reports whether the call did not end well.
func (s *stretch) bad() bool { return s.kind == useTool && s.status != "" && s.status != "ok" }

// turnSpans is a turn, from its model call to that of the next.
type turnSpans struct {
	spans []stretch
	lost  sums // time of the spans that are not kept
}

// mostTurns that are kept.
const mostTurns = 100_000

// mostSpans of one turn that are kept: a reply may make many calls.
const mostSpans = 256

// timeline is where the time of one attempt went, by its events.
type timeline struct {
	before []stretch // the first model call
	turns  []turnSpans
	after  []stretch // the run stage
	over   bool      // the run stage is
	ended  bool
	last   time.Time // of the newest event
}

// step is what the timeline takes of an event.
type step struct {
	key    sessions.Key
	at     time.Time
	kind   sessions.Kind
	turn   int
	name   string // tool; reason of a hold
	status string
	state  sessions.State
}

// see the next event of the trajectory. created is when the run was: from then on it
// waited.
func (l *timeline) see(s step, created time.Time) {
	if l.last.IsZero() {
		l.last = created
		l.begin(stretch{kind: useQueue, from: created})
	}
	switch s.kind {
	case sessions.KindAttempt:
		*l = timeline{last: s.at, before: []stretch{{kind: useQueue, from: s.at}}}
	case sessions.KindState:
		l.enter(s)
	case sessions.KindModelCalled:
		for len(l.turns) < min(s.turn, mostTurns) {
			l.turns = append(l.turns, turnSpans{})
		}
		l.next(stretch{kind: useModel, from: s.at})
	case sessions.KindReply:
		l.next(stretch{kind: useOther, from: s.at})
	case sessions.KindToolStarted:
		l.next(stretch{kind: useTool, from: s.at, name: s.name})
	case sessions.KindToolFinished:
		if open := l.open(); open != nil && open.kind == useTool {
			open.status = s.status
		}
		l.next(stretch{kind: useOther, from: s.at})
	}
	l.last = s.at
}

// enter a state.
func (l *timeline) enter(s step) {
	to := stretch{from: s.at}
	switch s.state {
	case sessions.Queued, sessions.Ready:
		to.kind, to.name = useQueue, "a run slot"
	case sessions.Init:
		if open := l.open(); open != nil && open.kind != useQueue { // of a process that is gone
			open.to = l.last
			l.begin(stretch{kind: useAway, from: l.last})
		}
		to.kind = useInit
	case sessions.Held:
		to.kind, to.name = useHeld, s.name
		if s.name == string(sessions.HeldLimit) {
			to.kind, to.name = useQueue, "a run slot"
		}
	case sessions.Ran:
		to.kind, to.name = useQueue, "an eval slot"
		l.over = true
	case sessions.Evaluating:
		to.kind = useEval
		l.over = true
	case sessions.Done, sessions.Failed, sessions.Cancelled:
		if open := l.open(); open != nil {
			open.to = s.at
		}
		l.ended = true
		return
	}
	l.next(to)
}

// open is the span that goes on, nil when none does.
func (l *timeline) open() *stretch {
	list := l.list()
	if n := len(*list); n > 0 && (*list)[n-1].to.IsZero() {
		return &(*list)[n-1]
	}
	return nil
}

// list that the newest span stands in.
func (l *timeline) list() *[]stretch {
	switch {
	case l.over && len(l.after) > 0:
		return &l.after
	case len(l.turns) > 0:
		for i := len(l.turns) - 1; i >= 0; i-- {
			if len(l.turns[i].spans) > 0 {
				return &l.turns[i].spans
			}
		}
	}
	return &l.before
}

// next ends what goes on and begins another span.
func (l *timeline) next(s stretch) {
	if open := l.open(); open != nil {
		open.to = s.from
	}
	l.begin(s)
}

func (l *timeline) begin(s stretch) {
	switch {
	case l.over:
		l.after = append(l.after, s)
	case len(l.turns) == 0:
		l.before = append(l.before, s)
	default:
		t := &l.turns[len(l.turns)-1]
		if n := len(t.spans); n >= mostSpans { // the newest takes the place of the one before
			t.lost.add(t.spans[n-1:], s.from)
			t.spans[n-1] = s
			return
		}
		t.spans = append(t.spans, s)
	}
}

// until is how far the timeline goes: what goes on goes on now, but not of a run whose
// process is gone.
func (l *timeline) until(now time.Time, gone bool) time.Time {
	switch list := *l.list(); {
	case l.ended && len(list) > 0:
		return list[len(list)-1].to
	case gone:
		return l.last
	}
	return now
}

// bounds of spans in time; false when there are none.
func bounds(spans []stretch, now time.Time) (from, to time.Time, some bool) {
	if len(spans) == 0 {
		return from, to, false
	}
	last := spans[len(spans)-1]
	return spans[0].from, last.from.Add(last.took(now)), true
}

// sums are the time of each kind in spans.
type sums [useKinds]time.Duration

func (s *sums) add(spans []stretch, now time.Time) {
	for i := range spans {
		s[spans[i].kind] += spans[i].took(now)
	}
}

// total of all turns, what came before and after.
func (l *timeline) total(now time.Time) (s sums) {
	s.add(l.before, now)
	for i := range l.turns {
		s.add(l.turns[i].spans, now)
		for k, d := range l.turns[i].lost {
			s[k] += d
		}
	}
	s.add(l.after, now)
	return s
}

// slowest are the turns with the longest model call and the longest tool call, counted
// from 0; −1 where none took any time.
func (l *timeline) slowest(now time.Time) (model, tool int) {
	model, tool = -1, -1
	var most [2]time.Duration
	for i := range l.turns {
		for j := range l.turns[i].spans {
			s := &l.turns[i].spans[j]
			d := s.took(now)
			switch {
			case s.kind == useModel && d > most[0]:
				most[0], model = d, i
			case s.kind == useTool && d > most[1]:
				most[1], tool = d, i
			}
		}
	}
	return model, tool
}
