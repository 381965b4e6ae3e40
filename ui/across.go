package ui

import (
	"fmt"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
)

const acrossKey = "ctrl+f"

// across looks for a text in all turns of all trajectories. What was found stays
// when its sheet is closed: one can come back from the place one went to.
type across struct {
	typing bool
	input  textinput.Model
	query  string
	hunt   hunt
	listed int // hits that the page was made of
	page   *page
	scroll scroller
}

func doAcross(w *Workbench) tea.Cmd {
	a := &w.across
	w.openSheet(&sheet{opener: acrossKey, scope: inAcross, head: func() line { return a.head() }, own: a.key,
		page: func(int, int) document { return a.document() }, typing: func() bool { return a.typing }})
	w.sheet.scroll = a.scroll
	if a.query == "" {
		return doAcrossType(w)
	}
	return nil
}

func doAcrossType(w *Workbench) tea.Cmd {
	w.across.typing, w.across.input = true, newFilter("")
	return nil
}

// key takes what is typed, and esc while the hunt goes on: that ends it first.
func (a *across) key(w *Workbench, m tea.KeyMsg) (cmd tea.Cmd, own bool) {
	a.scroll = w.sheet.scroll
	if !a.typing {
		if m.String() == "esc" && a.hunt.running {
			a.hunt.end()
			return nil, true
		}
		return nil, false
	}
	switch m.String() {
	case "enter":
		a.typing = false
		if text := a.input.Value(); text != "" {
			return w.beginAcross(text), true
		}
	case "esc", "ctrl+c":
		if a.typing = false; a.query == "" {
			w.closeSheet()
		}
	default:
		a.input, cmd = a.input.Update(m)
	}
	return cmd, true
}

// beginAcross looks through the trajectories in the order of the list.
func (w *Workbench) beginAcross(text string) tea.Cmd {
	a := &w.across
	a.query, a.listed, a.page = text, 0, nil
	w.sheet.scroll, a.scroll = scroller{}, scroller{}
	var list []target
	for _, t := range w.list.trajs {
		if t.Turn > 0 {
			to := target{key: t.Key, attempt: t.Attempt, turns: t.Turn}
			if t.Fork != nil { // what is before is found in its parent
				to.first = t.Fork.Turn
			}
			list = append(list, to)
		}
	}
	return w.beginHunt(&a.hunt, text, textTab, list, true)
}

func (w *Workbench) foundAcross(m huntMsg) tea.Cmd {
	if w.across.hunt.take(m) {
		return w.goOn(&w.across.hunt, true)
	}
	return nil
}

// document lists the turns that were found, one a row.
func (a *across) document() document {
	if a.page != nil && a.listed == len(a.hunt.hits) {
		return a.page
	}
	s := &section{}
	for i := range a.hunt.hits {
		h := &a.hunt.hits[i]
		l := line{{strong, pad(cleanLine(h.target.key.String()), 24)}, {dim, fmt.Sprintf(" turn %-4d ", h.turn)}, {dim, pad(h.label, 10) + " "}}
		l = append(l, marked(h.snippet, a.query, plain)...)
		if h.places > 1 {
			l.add(dim, fmt.Sprintf("  +%d", h.places-1))
		}
		s.add(block{id: fmt.Sprint(i), kind: cells, title: l})
	}
	a.page, a.listed = onePage(s), len(a.hunt.hits)
	if len(s.blocks) == 0 {
		a.page = nil // what it says changes as the hunt goes on
		switch {
		case a.query == "":
			s.note("What the policy thought, said and called, what came back, and the prompts of all trajectories are looked through.")
		case !a.hunt.running:
			s.note("Nothing was found. / looks for another text.")
		}
		return onePage(s)
	}
	return a.page
}

// head says how far it is.
func (a *across) head() line {
	if a.typing {
		return append(line{{strong, "in all trajectories "}}, inputLine(a.input)...)
	}
	l := line{{warn, "/" + cut(cleanLine(a.query), 32)}, {plain, fmt.Sprintf(" %s in %s", counted(a.hunt.places, "place"), counted(len(a.hunt.hits), "turn"))}}
	all := len(a.hunt.targets)
	switch {
	case a.hunt.running:
		l.add(dim, fmt.Sprintf(" · %d of %d trajectories looked through, esc stops", min(a.hunt.at, all), all))
	case a.hunt.at < all:
		l.add(dim, fmt.Sprintf(" · stopped after %d of %d trajectories", a.hunt.at, all))
	default:
		l.add(dim, fmt.Sprintf(" · all %d trajectories", all))
	}
	return l
}

// chosenHit is the row with the cursor.
func (w *Workbench) chosenHit() *hit {
	if w.sheet == nil || w.sheet.opener != acrossKey {
		return nil
	}
	if i := w.sheet.scroll.cursor.row; i >= 0 && i < len(w.across.hunt.hits) {
		return &w.across.hunt.hits[i]
	}
	return nil
}

func canGoThere(w *Workbench) string {
	if w.chosenHit() == nil {
		return "there is no place to go to"
	}
	return ""
}

// doGoThere shows the place in its transcript, with what was looked for marked.
func doGoThere(w *Workbench) tea.Cmd {
	h := *w.chosenHit()
	w.across.scroll = w.sheet.scroll
	w.closeSheet()
	if !w.list.show(h.target.key) {
		w.toasts.add(w.now, caution, cleanLine(h.target.key.String())+" is not in the list any more")
		return nil
	}
	w.focus, w.tab = viewFocus, textTab
	w.settle() // the transcript of that trajectory
	cmd := w.beginFind(w.across.query, 0)
	w.find.want = &h
	return cmd
}
