package ui

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// A key that does nothing says why, and what to do instead. Only the moves that stop at
// an end in plain sight (a row, a page) are silent there.

// sayUnbound says of a key that no row of the table has here where it acts, if anywhere.
func (w *Workbench) sayUnbound(m tea.KeyMsg) {
	if m.Paste {
		return
	}
	where := "no key of the workbench; ? shows them all"
	for i := range w.table {
		b := &w.table[i]
		if (b.scope != inReplay || w.opt.Replay != nil) && key.Matches(m, b.Binding) {
			where = "acts " + strings.ToLower(string(b.scope[:1])) + string(b.scope[1:]) + " only"
			break
		}
	}
	w.toasts.add(w.now, caution, showKey(m.String())+": "+where)
}

// canTurnAfter and canTurnBefore: turns end somewhere.
func canTurnAfter(w *Workbench) string {
	const last = "this is the last turn: { goes back"
	if w.atTokens() {
		if w.tokens.turn >= w.tokens.last {
			return last
		}
		return ""
	}
	if s, d := w.scrolled(); s != nil && s.cursor.section >= d.count()-1 {
		if w.tab.ofTurn() {
			return "this is the end: { goes back"
		}
		return "nothing more follows here"
	}
	return ""
}

func canTurnBefore(w *Workbench) string {
	if w.atTokens() {
		if w.tokens.turn <= 1 {
			return "this is the first turn: } goes on"
		}
		return ""
	}
	if s, _ := w.scrolled(); s != nil && s.cursor == (place{}) {
		return "this is the start"
	}
	return ""
}

// scrolled is the view's scroller where it stands, with what it shows.
func (w *Workbench) scrolled() (*scroller, document) {
	s, d, in := w.scroller(), w.document(), w.viewBox()
	if s != nil {
		s.settle(d, in.w, in.h)
	}
	return s, d
}

// canOpenBlock and canCloseBlock tell a block that is so already from one that cannot.
func canOpenBlock(w *Workbench) string  { return w.canSetFold(true, "it is unfolded: ← folds it") }
func canCloseBlock(w *Workbench) string { return w.canSetFold(false, "it is folded: → unfolds it") }

func (w *Workbench) canSetFold(open bool, already string) string {
	if why := canFold(w); why != "" {
		return why
	}
	s := w.scroller()
	if b := s.block(w.document(), w.viewWidth()); s.folds.open[b.id] == open {
		return already
	}
	return ""
}

// canFoldGroup and canUnfoldGroup: on a trajectory ← goes to the heading.
func canFoldGroup(w *Workbench) string {
	if name, heading := w.list.heading(); heading && w.list.folded[name] {
		return "the group is folded: → unfolds it"
	}
	return ""
}

func canUnfoldGroup(w *Workbench) string {
	if name, heading := w.list.heading(); !heading || !w.list.folded[name] {
		return "the group is unfolded; enter opens what is chosen"
	}
	return ""
}

// heading is the instance of the chosen row, and whether it is a group's heading.
func (p *listPane) heading() (string, bool) {
	name, id := p.identity()
	return name, id < 0
}
