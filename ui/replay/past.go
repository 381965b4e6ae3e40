package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"rollbench/sessions"
	"rollbench/sessions/stats"
)

// moment is all that a number of events reduce to.
type moment struct {
	events  int   // applied
	seq     int64 // of the last one
	rows    []sessions.Trajectory
	there   []bool // rows that exist by now: a fork's are made as it goes
	stats   *stats.Run
	started time.Time // of the process that works on the run
	paused  bool      // everything is
	breaks  []sessions.Breakpoint
	hits    map[int]sessions.BreakpointHit
}

func (m *moment) clone() *moment {
	c := *m
	c.rows, c.there, c.stats = slices.Clone(m.rows), slices.Clone(m.there), m.stats.Clone()
	c.breaks, c.hits = slices.Clone(m.breaks), maps.Clone(m.hits)
	return &c
}

// between is how many events lie between two moments that are kept, so that
// going back costs no more than applying so many.
const between = 4096

// past is the run up to where the replay is.
type past struct {
	src    sessions.Reader
	index  map[sessions.Key]int
	now    *moment
	kept   []*moment // in order, the first one before any event
	ledger ledger
	series series
}

// newPast is a run before its first event.
func newPast(ctx context.Context, r sessions.Reader) (*past, error) {
	rows, _, err := r.Trajectories(ctx)
	if err != nil {
		return nil, err
	}
	run := r.Run()
	p := &past{src: r, index: make(map[sessions.Key]int, len(rows)), ledger: ledger{of: map[sessions.Key][]fact{}}}
	m := &moment{rows: make([]sessions.Trajectory, len(rows)), there: make([]bool, len(rows)), stats: stats.New(run), hits: map[int]sessions.BreakpointHit{}}
	for i, t := range rows {
		m.rows[i] = sessions.NewTrajectory(t.Key, run.Created)
		p.index[t.Key] = i
	}
	for _, k := range run.Members {
		if i, known := p.index[k]; known {
			m.there[i] = true
		}
	}
	p.now, p.kept = m.clone(), []*moment{m}
	return p, nil
}

// goTo the moment after so many events.
func (p *past) goTo(ctx context.Context, events int) error {
	if events < p.now.events {
		i := len(p.kept) - 1
		for p.kept[i].events > events {
			i--
		}
		p.now = p.kept[i].clone()
	}
	for p.now.events < events {
		list, err := p.src.Since(ctx, p.now.seq, min(page, events-p.now.events))
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return fmt.Errorf("replay: the recording has lost the events after %d", p.now.seq)
		}
		for _, e := range list {
			if err := p.apply(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply the next event. An error leaves the moment as it was.
func (p *past) apply(e sessions.Event) error {
	m := p.now
	if i, known := p.index[e.Key]; known {
		if err := sessions.Apply(&m.rows[i], e); err != nil {
			return err
		}
		m.there[i] = true
		if err := p.ledger.note(e, m.rows[i].Attempt); err != nil {
			return err
		}
	}
	if err := m.stats.See(e); err != nil {
		return err
	}
	if err := m.see(e); err != nil {
		return fmt.Errorf("read event %d (%s): %w", e.Seq, e.Kind, err)
	}
	m.events, m.seq = m.events+1, e.Seq
	if last := p.kept[len(p.kept)-1]; m.events >= last.events+between {
		p.kept = append(p.kept, m.clone())
	}
	return nil
}

// see what is of the run as a whole.
func (m *moment) see(e sessions.Event) error {
	switch e.Kind {
	case sessions.KindRunStarted:
		m.started, m.paused = e.Time, false
	case sessions.KindCommand:
		var c sessions.Commanded
		if err := json.Unmarshal(e.Data, &c); err != nil {
			return err
		}
		if c.All && (c.Verb == "pause" || c.Verb == "continue") {
			m.paused = c.Verb == "pause"
		}
	case sessions.KindBreakpoint:
		var b sessions.Breakpoint
		if err := json.Unmarshal(e.Data, &b); err != nil {
			return err
		}
		i := slices.IndexFunc(m.breaks, func(o sessions.Breakpoint) bool { return o.ID >= b.ID })
		switch {
		case i < 0:
			m.breaks = append(m.breaks, b)
		case m.breaks[i].ID == b.ID:
			m.breaks[i] = b
		default:
			m.breaks = slices.Insert(m.breaks, i, b)
		}
	case sessions.KindBreakpointRemoved:
		var b sessions.BreakpointRemoved
		if err := json.Unmarshal(e.Data, &b); err != nil {
			return err
		}
		m.breaks = slices.DeleteFunc(m.breaks, func(o sessions.Breakpoint) bool { return o.ID == b.ID })
	case sessions.KindBreakpointHit:
		var h sessions.BreakpointHit
		if err := json.Unmarshal(e.Data, &h); err != nil {
			return err
		}
		m.hits[h.ID] = h
	}
	return nil
}

// trajectories that exist at the moment, in queue order.
func (m *moment) trajectories() []sessions.Trajectory {
	out := make([]sessions.Trajectory, 0, len(m.rows))
	for i, t := range m.rows {
		if m.there[i] {
			out = append(out, t)
		}
	}
	return out
}
