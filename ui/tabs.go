package ui

import (
	"strconv"

	tea "github.com/charmbracelet/bubbletea"
)

// tab is a view of the chosen trajectory. The number keys from 2 on choose them
// in this order.
type tab uint8

const (
	textTab tab = iota
	patchTab
	verifierTab
	eventsTab
	tokensTab
	rawTab
	messagesTab
	timelineTab
	tabs
)

// Names of the tabs, in full and where there is little room.
var (
	tabNames  = [tabs]string{"text", "patch", "verifier", "events", "tokens", "raw", "messages", "timeline"}
	tabShorts = [tabs]string{"text", "patch", "eval", "events", "tok", "raw", "json", "time"}
)

// ofTurn reports whether the tab shows turns: going from one to another of them
// stays at the same turn.
func (t tab) ofTurn() bool {
	return t == textTab || t == tokensTab || t == rawTab || t == messagesTab || t == timelineTab
}

// ofPage reports whether the tab shows what is read as a whole.
func (t tab) ofPage() bool { return t == patchTab || t == verifierTab || t == eventsTab }

// tabLine names the views in room columns: in full, in short, or the one shown
// among the keys of the others. On small screens the list is one of them.
func (w *Workbench) tabLine(room int) line {
	alone := w.arrange().mode == single
	if _, one := w.list.chosen(); !one && !alone {
		return nil
	}
	names := make([]string, 0, tabs+1)
	shown := int(w.tab)
	if alone {
		names = append(names, "list")
		if shown++; w.focus == listFocus {
			shown = 0
		}
	}
	first := 2
	if alone {
		first = 1
	}
	full := tabText(append(names, tabNames[:]...), shown, " · ")
	if full.width() <= room {
		return full
	}
	short := append(names, tabShorts[:]...)
	if l := tabText(short, shown, "·"); l.width() <= room {
		return l
	}
	for i := range short {
		if n := strconv.Itoa(first + i); i == shown {
			short[i] = n + " " + short[i]
		} else {
			short[i] = n
		}
	}
	return tabText(short, shown, " ")
}

func tabText(names []string, shown int, between string) line {
	l := line{}
	for i, n := range names {
		if i > 0 {
			l.add(dim, between)
		}
		r := dim
		if i == shown {
			r = strong
		}
		l.add(r, n)
	}
	return l
}

func doGoto(p pane, t tab) func(*Workbench) tea.Cmd {
	return func(w *Workbench) tea.Cmd {
		w.focus = p
		if p == viewFocus {
			if t == patchTab && t == w.tab {
				w.lookAgain()
			}
			w.toTab(t)
		}
		return nil
	}
}

func doTurnTab(step int) func(*Workbench) tea.Cmd {
	return func(w *Workbench) tea.Cmd {
		w.toTab(tab((int(w.tab) + step + int(tabs)) % int(tabs)))
		return nil
	}
}

// toTab shows another view, at the turn that the last one of turns was at.
func (w *Workbench) toTab(t tab) {
	if t == w.tab {
		return
	}
	turn, follows := w.turnHere()
	w.tab = t
	if turn > 0 && t.ofTurn() {
		w.goTurn(turn, follows)
	}
}

// turnHere is the turn looked at, and whether the view goes on to those that come;
// 0 where no turn is.
func (w *Workbench) turnHere() (turn int, follows bool) {
	t, one := w.list.chosen()
	if !one || w.turns.last == 0 {
		return 0, false
	}
	if w.tab.ofTurn() {
		w.seen = w.tab
	}
	if w.seen == tokensTab {
		return w.tokens.turn, w.tokens.follow
	}
	s := w.scrolls[scrollKey{t.Key, w.seen}]
	if s == nil || s.follow {
		return w.turns.last, true
	}
	return min(s.cursor.section+1, w.turns.last), false
}

// goTurn brings the view to a turn. One that is at it stays where it is.
func (w *Workbench) goTurn(turn int, follows bool) {
	if w.tab == tokensTab {
		w.tokens.toTurn(turn, follows)
		return
	}
	s := w.scroller()
	if s == nil || s.follow && follows {
		return
	}
	s.follow = follows
	if !follows && s.cursor.section != turn-1 {
		s.cursor, s.pinned = place{turn - 1, 0}, true
	}
}
