package ui

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
	"rollbench/sessions"
)

// history is what is read of the run's past: its time series, and who changed
// the limits.
type history struct {
	series  *series
	limits  limitLog
	read    time.Time // when the series was read last
	whole   bool      // it was read after the end
	failed  bool      // it could not be
	stale   bool      // a limit was changed since
	loading bool
	drawn   drawnSeries
}

// historyMsg brings both. limits.seq is 0 when they were not asked for.
type historyMsg struct {
	series *series
	limits limitLog
	whole  bool
	err    error
}

// How often the series of a running run is read again: for the head, and while
// it is looked at.
const (
	seriesEvery  = 5 * time.Second
	seriesLooked = 2 * time.Second
)

// loadHistory reads the series now and then, and the changes of the limits
// only while the queues are looked at: they lie among all other events.
func (w *Workbench) loadHistory() tea.Cmd {
	h := &w.history
	looked, every := w.sheet != nil && w.sheet.opener == queuesKey, seriesEvery
	if looked {
		every = seriesLooked
	}
	old := w.now.Sub(h.read) >= every
	if h.loading || !w.primed || h.failed && !old {
		return nil
	}
	due := h.read.IsZero() || w.gauges.ended && !h.whole || !w.gauges.ended && old
	scan := looked && h.limits.seq < w.seq && (due || h.stale || h.limits.seq == 0)
	if !due && !scan {
		return nil
	}
	h.loading = true
	r, log, whole := w.opt.Reader, h.limits, w.gauges.ended
	return w.job(func(ctx context.Context) tea.Msg {
		m := historyMsg{whole: whole}
		data, err := r.Series(ctx)
		if err == nil {
			m.series, err = readSeries(data)
		}
		if err == nil && scan {
			m.limits, err = log.read(ctx, r)
		}
		m.err = err
		return m
	})
}

// applyHistory shows what could be read; what could not is asked for again
// later, not at once.
func (w *Workbench) applyHistory(m historyMsg) {
	h := &w.history
	h.loading, h.read, h.failed = false, w.now, m.err != nil
	if m.err != nil {
		w.complain(m.err)
		return
	}
	h.series, h.whole = m.series, m.whole
	w.gauges.series = m.series
	if m.limits.seq > 0 {
		h.limits, h.stale = m.limits, m.limits.seq < w.seq
	}
}

// limitChange is one run.limits event in words.
type limitChange struct {
	at             time.Time
	who, what, why string
}

// keptChanges bounds the log to the newest.
const keptChanges = 200

// limitLog is the changes of the limits up to the event seq, oldest first.
type limitLog struct {
	seq     int64
	now     *engine.Limits // nil: none seen
	tuning  engine.Tuning  // with them
	changes []limitChange
	dropped int // older ones
}

// read goes on with the log, page by page; what is no change of limits is let go.
func (l limitLog) read(ctx context.Context, r sessions.Reader) (limitLog, error) {
	l.changes = slices.Clone(l.changes)
	for {
		events, err := r.Since(ctx, l.seq, pullEvents)
		if err != nil {
			return l, err
		}
		for _, e := range events {
			l.seq = e.Seq
			if e.Kind == sessions.KindLimits {
				l.add(e)
			}
		}
		if len(events) < pullEvents {
			return l, nil
		}
	}
}

// add an event. A resume with the limits there were is no change.
func (l *limitLog) add(e sessions.Event) {
	var p sessions.Limits
	if err := json.Unmarshal(e.Data, &p); err != nil {
		return
	}
	now := limitsOf(p)
	what := "as configured: " + limitsLine(now)
	if l.now != nil {
		if what = changed(*l.now, now, l.tuning, engine.TuningOf(p)); what == "" {
			return
		}
	}
	l.now, l.tuning = &now, engine.TuningOf(p)
	l.changes = append(l.changes, limitChange{e.Time, cleanLine(p.Who), what, cleanLine(p.Why)})
	if over := len(l.changes) - keptChanges; over > 0 {
		l.changes = slices.Delete(l.changes, 0, over)
		l.dropped += over
	}
}
