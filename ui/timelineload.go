package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// timelines of all trajectories, read in one pass over the events once they are
// looked at, and followed from there.
type timelines struct {
	all     map[sessions.Key]*timeline
	seq     int64 // of the last event seen
	loading bool
	failed  string    // why they could not be read, until they can
	again   time.Time // when they are tried again
}

// timelineRetry is how long events that could not be read are left alone.
const timelineRetry = 2 * time.Second

// timelineMsg brings what is new.
type timelineMsg struct {
	steps []step
	seq   int64
	err   error
}

// timelineEvents are read at once: more would make an update slow.
const timelineEvents = 10_000

// loadTimelines reads the events that are not in the timelines yet.
func (w *Workbench) loadTimelines() tea.Cmd {
	l := &w.timelines
	if !w.atTimeline() || l.loading || l.seq >= w.seq && l.all != nil || w.now.Before(l.again) {
		return nil
	}
	l.loading = true
	r, from, seen := w.opt.Reader, l.seq, w.seq
	return w.job(func(ctx context.Context) tea.Msg {
		m := timelineMsg{seq: from}
		events, err := r.Since(ctx, from, timelineEvents)
		if err != nil {
			m.err = err
			return m
		}
		for _, e := range events {
			m.seq = e.Seq
			s, known, err := stepOf(e)
			if err != nil {
				m.err = err
				return m
			}
			if known {
				m.steps = append(m.steps, s)
			}
		}
		if len(events) < timelineEvents {
			m.seq = max(m.seq, seen)
		}
		return m
	})
}

// stepOf an event; most kinds say nothing of where time went.
func stepOf(e sessions.Event) (s step, known bool, err error) {
	s = step{key: e.Key, at: e.Time, kind: e.Kind}
	switch e.Kind {
	case sessions.KindAttempt:
		return s, true, nil
	case sessions.KindState, sessions.KindModelCalled, sessions.KindReply, sessions.KindToolStarted, sessions.KindToolFinished:
	default:
		return s, false, nil
	}
	var data struct {
		Turn   int            `json:"turn"`
		Tool   string         `json:"tool"`
		Status string         `json:"status"`
		State  sessions.State `json:"state"`
		Held   string         `json:"held"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return s, false, fmt.Errorf("read event %d: %w", e.Seq, err)
	}
	s.turn, s.name, s.status, s.state = data.Turn, data.Tool, data.Status, data.State
	if e.Kind == sessions.KindState {
		s.name = data.Held
	}
	return s, true, nil
}

func (w *Workbench) applyTimelines(m timelineMsg) {
	l := &w.timelines
	said := l.failed
	l.loading, l.failed = false, ""
	if l.all == nil {
		l.all = map[sessions.Key]*timeline{}
	}
	if m.err != nil {
		l.failed, l.again = m.err.Error(), w.now.Add(timelineRetry)
		if l.failed != said {
			w.complain(m.err)
		}
		return
	}
	for _, s := range m.steps {
		line := l.all[s.key]
		if line == nil {
			line = &timeline{}
			l.all[s.key] = line
		}
		line.see(s, w.gauges.run.Created)
	}
	l.seq = m.seq
}
