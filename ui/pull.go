package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
	"rollbench/sessions"
)

// How often the session and the gauges are looked at.
const (
	pullEvery   = 100 * time.Millisecond // at most
	pullEvents  = 2000                   // events a pull
	gaugeEvery  = time.Second
	streamEvery = 250 * time.Millisecond // while the chosen trajectory streams
	idleEvery   = 5 * time.Second        // while nothing runs
	replayEvery = 500 * time.Millisecond // for the clock of a replay
)

// dataMsg is what is new in the session.
type dataMsg struct {
	trajs  []sessions.Trajectory
	at     int64 // they stand as of this event
	events []sessions.Event
	seq    int64
	status *engine.Status
	gone   bool // no process writes the run
	more   bool // there are further events
	err    error
}

// wakeMsg says that something was committed.
type wakeMsg struct{}

// tickMsg brings new gauges.
type tickMsg struct {
	status *engine.Status
	gone   bool // no process writes the run
}

// engineDoneMsg says that the engine has finished.
type engineDoneMsg struct{}

// expireMsg takes a toast away.
type expireMsg struct{}

// pull reads what was committed since the last pull. The first one takes the
// trajectories as they stand and leaves the history on disk.
func (w *Workbench) pull() tea.Cmd {
	seq, primed := w.seq, w.primed
	return w.job(func(ctx context.Context) tea.Msg {
		trajs, at, err := w.opt.Reader.Trajectories(ctx)
		m := dataMsg{trajs: trajs, at: at, seq: at, err: err}
		if err == nil && primed && at > seq {
			m.events, m.err = w.opt.Reader.Since(ctx, seq, pullEvents)
			if n := len(m.events); n > 0 {
				m.seq = m.events[n-1].Seq
				m.more = n == pullEvents
			}
		}
		m.status = w.readStatus(ctx, &m.err)
		m.gone = w.isGone(&m.err)
		return m
	})
}

// readStatus asks the engine, or takes what another process left of its gauges.
func (w *Workbench) readStatus(ctx context.Context, failed *error) *engine.Status {
	if w.opt.Commands != nil {
		return w.opt.Commands.Status()
	}
	data, err := w.opt.Reader.Gauge(ctx)
	if err != nil || len(data) == 0 {
		if err != nil && *failed == nil {
			*failed = err
		}
		return nil
	}
	s := &engine.Status{}
	if err := json.Unmarshal(data, s); err != nil && *failed == nil {
		*failed = fmt.Errorf("read the gauges of the run: %w", err)
		return nil
	}
	return s
}

// isGone asks whether a process still writes the run, where it is another's.
func (w *Workbench) isGone(failed *error) bool {
	if w.opt.Commands != nil || w.opt.Written == nil {
		return false
	}
	written, err := w.opt.Written()
	if err != nil && *failed == nil {
		*failed = err
	}
	return err == nil && !written
}

// watch waits for the next commit, but not before pullEvery has passed. There
// is never more than one.
func (w *Workbench) watch() tea.Cmd {
	if w.watching {
		return nil
	}
	w.watching = true
	wake := w.wake
	return w.job(func(ctx context.Context) tea.Msg {
		if !sleep(ctx, pullEvery) {
			return nil
		}
		select {
		case <-wake:
			return wakeMsg{}
		case <-ctx.Done():
			return nil
		}
	})
}

// tick brings gauges after a while: often while something streams, seldom
// while nothing runs, never once all has ended.
func (w *Workbench) tick() tea.Cmd {
	d := w.tickAfter()
	if d == 0 || w.ticking {
		return nil
	}
	w.ticking = true
	return w.job(func(ctx context.Context) tea.Msg {
		if !sleep(ctx, d) {
			return nil
		}
		var failed error
		s := w.readStatus(ctx, &failed)
		gone := w.isGone(&failed)
		if failed != nil {
			return dataMsg{err: failed, seq: -1}
		}
		return tickMsg{s, gone}
	})
}

// tickAfter is how long the gauges may stand; 0 stops the ticking.
func (w *Workbench) tickAfter() time.Duration {
	c := w.gauges.tally
	switch {
	case w.gauges.replay != nil && (w.gauges.replay.Paused || w.gauges.replay.Over):
		return 0 // nothing moves
	case w.gauges.replay != nil:
		return replayEvery
	case w.gauges.ended:
		return 0
	case w.stream() != nil:
		return streamEvery
	case w.gauges.gone, c.all > 0 && c.still == c.held:
		return idleEvery
	}
	return gaugeEvery
}

// sleep reports whether the time passed before the context ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// waitDone waits for the engine's end.
func (w *Workbench) waitDone() tea.Cmd {
	done := w.opt.Done
	if done == nil {
		return nil
	}
	return w.job(func(ctx context.Context) tea.Msg {
		select {
		case <-done:
			return engineDoneMsg{}
		case <-ctx.Done():
			return nil
		}
	})
}
