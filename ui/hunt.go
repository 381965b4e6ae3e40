package ui

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// hunt looks through turns for a text, on disk, one trajectory after the other. It
// works in steps of huntStep, so that what is found shows while it goes on.
type hunt struct {
	n       int // of the hunt: an older one's answer is dropped
	stop    context.CancelFunc
	running bool

	find    finder
	tab     tab
	targets []target
	at      int // target looked through next, and its turn
	turn    int
	hits    []hit
	places  int // in all hits
}

// target is an attempt of a trajectory, and how many turns it has.
type target struct {
	key     sessions.Key
	attempt int
	turns   int
	first   int // turn; those before it are looked through elsewhere
}

// hit is a place in a turn: a block, and where its text has what is looked for.
type hit struct {
	target target
	turn   int
	block  string
	off    int
	// Of a list of turns: how many places the turn has, and the words around the
	// first.
	places  int
	label   string
	snippet string
}

// huntMsg is how far a hunt came.
type huntMsg struct {
	n        int
	one      bool // of a list of turns
	hits     []hit
	at, turn int
	err      error
}

// A step of a hunt takes about huntStep and reads huntTurns turns at a time.
const (
	huntStep  = 100 * time.Millisecond
	huntTurns = 4
	huntMost  = 20_000 // hits kept
)

// end the hunt; what was found stays.
func (h *hunt) end() {
	if h.stop != nil {
		h.stop()
	}
	h.stop, h.running = nil, false
	h.n++
}

// begin anew. one says that a turn is one hit, else each place in it is.
func (w *Workbench) beginHunt(h *hunt, query string, t tab, targets []target, one bool) tea.Cmd {
	h.end()
	*h = hunt{n: h.n, find: newFinder(query), tab: t, targets: targets, turn: 1}
	return w.goOn(h, one)
}

// goOn with a hunt from where it is.
func (w *Workbench) goOn(h *hunt, one bool) tea.Cmd {
	h.end()
	ctx, stop := context.WithCancel(w.jobs.ctx)
	h.running, h.stop = true, stop
	m := huntMsg{n: h.n, one: one, at: h.at, turn: h.turn}
	find, targets, t, reader, spell, clock := h.find, h.targets, h.tab, w.opt.Reader, w.spelling(), w.opt.Clock
	return w.job(func(context.Context) tea.Msg {
		until := clock().Add(huntStep)
		for m.err == nil && m.at < len(targets) && ctx.Err() == nil && clock().Before(until) {
			to := targets[m.at]
			m.turn = max(m.turn, to.first)
			if m.turn > to.turns {
				if m.at++; m.at < len(targets) {
					m.turn = 1
				}
				continue
			}
			last := min(m.turn+huntTurns-1, to.turns)
			got := turnReader{reader, spell, t, to.key, to.attempt}.views(ctx, m.turn, last)
			m.err = got.err
			for n := m.turn; n <= last; n++ {
				if s := got.views[n]; s != nil {
					m.hits = append(m.hits, s.hits(find, to, n, one)...)
				}
			}
			m.turn = last + 1
		}
		return m
	})
}

// take what a step brought; more says that it is to go on.
func (h *hunt) take(m huntMsg) (more bool) {
	h.at, h.turn = m.at, m.turn
	for _, x := range m.hits {
		h.places += x.places
		if len(h.hits) < huntMost {
			h.hits = append(h.hits, x)
		}
	}
	h.running = m.err == nil && (m.at < len(h.targets))
	return h.running
}

// hits of a section: its places, or with one all of them as a single hit.
func (s *section) hits(f finder, to target, turn int, one bool) []hit {
	var list []hit
	for i := range s.blocks {
		b := &s.blocks[i]
		text := f.text(b.text)
		for from := 0; from < len(text); {
			at := strings.Index(text[from:], f.query)
			if at < 0 {
				break
			}
			at += from
			from = at + len(f.query)
			if one && len(list) > 0 {
				list[0].places++
				continue
			}
			x := hit{target: to, turn: turn, block: b.id, off: at, places: 1}
			if one {
				x.label, x.snippet = b.label, snippet(b.text, at, from)
			}
			list = append(list, x)
		}
	}
	return list
}

// snippet is the line around text[from:to], cut in front of it where it is long.
func snippet(text string, from, to int) string {
	start := strings.LastIndexByte(text[:from], '\n') + 1
	end := len(text)
	if i := strings.IndexByte(text[to:], '\n'); i >= 0 {
		end = to + i
	}
	const ahead, behind = 24, 200
	lead := ""
	if from-start > ahead {
		start = from - ahead
		for start < from && text[start]&0xc0 == 0x80 { // not within a character
			start++
		}
		lead = "…"
	}
	if end-to > behind {
		end = to + behind
		for end > to && text[end]&0xc0 == 0x80 {
			end--
		}
	}
	return lead + strings.TrimLeft(strings.ReplaceAll(text[start:end], "\n", " ⏎ "), " ")
}

// applyHunt hands what was found to what asked for it.
func (w *Workbench) applyHunt(m huntMsg) tea.Cmd {
	h, apply := &w.find.hunt, w.foundHere
	if m.one {
		h, apply = &w.across.hunt, w.foundAcross
	}
	if m.n != h.n {
		return nil
	}
	if m.err != nil {
		w.complain(m.err)
	}
	return apply(m)
}
