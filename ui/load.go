package ui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// turnsMsg brings turns, already laid out as sections of a tab.
type turnsMsg struct {
	tab      tab
	key      sessions.Key
	attempt  int
	from, to int
	turns    []sessions.Turn
	views    map[int]*section
	missing  error // why some of it is not known
	err      error
}

// cache of the turns in a tab, nil where it has none.
func (w *Workbench) cache(t tab) *turnCache {
	switch t {
	case textTab:
		return &w.turns
	case rawTab:
		return &w.raws
	case messagesTab:
		return &w.messages
	}
	return nil
}

// loadTurns reads the turns that the screen wants. One read at a time: while
// it is under way the next wishes add up. Those of the transcript come first:
// what can be done with a held trajectory is told by them.
func (w *Workbench) loadTurns() tea.Cmd {
	if w.loading || w.turns.key.IsZero() {
		return nil
	}
	for _, t := range []tab{textTab, w.tab} {
		if c := w.cache(t); c != nil && c.key == w.turns.key {
			if cmd := w.loadInto(t, c); cmd != nil {
				return cmd
			}
		}
	}
	return nil
}

func (w *Workbench) loadInto(t tab, c *turnCache) tea.Cmd {
	near := c.last
	if s := w.scrolls[scrollKey{c.key, t}]; s != nil && !s.follow {
		near = s.cursor.section + 1
	}
	from, to := c.ask(near)
	if from == 0 {
		return nil
	}
	w.loading = true
	read := turnReader{w.opt.Reader, w.spelling(), t, c.key, c.attempt}
	return w.job(func(ctx context.Context) tea.Msg {
		m := read.views(ctx, from, to)
		m.tab, m.key, m.attempt, m.from, m.to = t, read.key, read.attempt, from, to
		return m
	})
}

// turnReader reads turns of an attempt as a tab shows them.
type turnReader struct {
	reader  sessions.Reader
	spell   spelling
	tab     tab
	key     sessions.Key
	attempt int
}

func (r turnReader) views(ctx context.Context, from, to int) turnsMsg {
	view := viewTurn
	switch r.tab {
	case rawTab:
		return r.raws(ctx, from, to)
	case messagesTab:
		view = viewMessages
	}
	turns, err := r.reader.Turns(ctx, r.key, r.attempt, from, to, false)
	return turnsMsg{turns: turns, views: byTurn(turns, view), err: err}
}

// applyTurns shows a failed read in the place of the turns, so that it is not
// asked for again and again.
func (w *Workbench) applyTurns(m turnsMsg) {
	w.loading = false
	if m.missing != nil {
		w.complain(m.missing)
	}
	if m.err != nil {
		w.complain(m.err)
		m.views = map[int]*section{}
		for n := m.from; n <= m.to; n++ {
			m.views[n] = &section{blocks: []block{{id: "error", label: "✘ error", labelRole: fail, text: cleanLine(m.err.Error())}}}
		}
	}
	if c := w.cache(m.tab); m.key == c.key && m.attempt == c.attempt {
		c.put(m.turns, m.views, m.from, m.to)
		w.turns.last = max(w.turns.last, c.last)
		c.evict(keepBytes) // what is looked at has the first claim
		w.turns.evict(keepBytes - w.raws.bytes - w.messages.bytes)
	}
}

// pageKey names a page that is read as a whole.
type pageKey struct {
	key     sessions.Key
	attempt int
	tab     tab
}

// pageMsg brings a page.
type pageMsg struct {
	key    pageKey
	page   *page
	events []sessions.Event
	seq    int64
	err    error
}

// loadPage reads the patch, the verifier's output or the new events of the
// chosen trajectory, when they are looked at and not there yet.
func (w *Workbench) loadPage() tea.Cmd {
	t, ok := w.list.chosen()
	if !ok || !w.tab.ofPage() || w.pageLoading {
		return nil
	}
	want := pageKey{t.Key, t.Attempt, w.tab}
	if w.pageKey != want {
		w.pageKey, w.page, w.pageStale = want, nil, true
		w.look.asked = true
		w.events, w.eventsSeq = nil, 0
	}
	if !w.pageStale && (w.tab != eventsTab || w.eventsSeq >= w.seq) {
		return nil
	}
	look := w.looker(t)
	if look != nil && !w.mayLook() {
		return nil // it stays stale, and is asked for at a later tick
	}
	w.pageLoading, w.pageStale = true, false
	from, seen := w.eventsSeq, w.seq
	r, none := w.opt.Reader, w.noPatch(t)
	return w.job(func(ctx context.Context) tea.Msg {
		m := pageMsg{key: want, seq: from}
		switch want.tab {
		case patchTab:
			m.page, m.err = readPatch(ctx, r, t, look, none)
		case verifierTab:
			m.page, m.err = readVerifier(ctx, r, t)
		case eventsTab:
			m.events, m.seq, m.err = readEvents(ctx, r, t.Key, from)
			m.seq = max(m.seq, seen) // what comes while it is read is read next
		}
		return m
	})
}

// applyPage drops what came for a trajectory that is no longer chosen.
func (w *Workbench) applyPage(m pageMsg) {
	w.pageLoading = false
	if m.err != nil {
		w.complain(m.err)
	}
	if m.key != w.pageKey {
		return
	}
	if m.err != nil {
		w.page = textPage(m.err.Error(), prose, fail)
		return
	}
	if m.key.tab == eventsTab {
		w.events = append(w.events, m.events...)
		w.eventsSeq = m.seq
		if over := len(w.events) - keptEvents; over > 0 {
			w.events = w.events[over:]
		}
		m.page = viewEvents(w.events)
	}
	w.page = m.page
}

// keptEvents bounds the events view to the newest.
const keptEvents = 5000

// readEvents takes the trajectory's events after seq, page by page.
func readEvents(ctx context.Context, r sessions.Reader, key sessions.Key, seq int64) ([]sessions.Event, int64, error) {
	var mine []sessions.Event
	for {
		events, err := r.Since(ctx, seq, pullEvents)
		if err != nil {
			return nil, seq, err
		}
		for _, e := range events {
			seq = e.Seq
			if e.Key == key {
				mine = append(mine, e)
			}
		}
		if len(events) < pullEvents {
			return mine, seq, nil
		}
	}
}
