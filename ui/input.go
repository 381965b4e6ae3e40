package ui

import (
	tea "github.com/charmbracelet/bubbletea"
)

// typed splits what the terminal delivered as one piece: held keys and slow
// lines bring several at once. A paste stays whole.
func (w *Workbench) typed(m tea.KeyMsg) tea.Cmd {
	if m.Type == tea.KeyEsc && m.Alt { // two that came at once, as over a slow link
		esc := tea.KeyMsg{Type: tea.KeyEsc}
		return tea.Sequence(w.key(esc), w.key(esc))
	}
	if m.Type != tea.KeyRunes || m.Paste || len(m.Runes) < 2 {
		return w.key(m)
	}
	var cmds []tea.Cmd
	for _, r := range m.Runes {
		cmds = append(cmds, w.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: m.Alt}))
	}
	return tea.Sequence(cmds...)
}

// key goes to the dialog, the filter, the sheet, or by the table.
func (w *Workbench) key(m tea.KeyMsg) tea.Cmd {
	w.toasts.dismiss()
	if w.arrange().mode == tiny && !w.unseen(m.String()) {
		return nil
	}
	if w.dialog != nil {
		d := w.dialog
		cmd, done := d.key(m)
		if done && w.dialog == d {
			w.dialog = nil
		}
		return cmd
	}
	if w.filtering {
		return w.filterKey(m)
	}
	if w.find.typing {
		return w.findTyped(m)
	}
	if w.sheet != nil {
		return w.sheetKey(m)
	}
	b := w.findKey(m)
	if b == nil {
		w.sayUnbound(m)
		return nil
	}
	return w.act(b, m)
}

// unseen reports whether a key acts on a terminal that shows one line only: nothing is
// stopped, cancelled or changed by keys whose effect nobody sees.
func (w *Workbench) unseen(k string) bool {
	switch q, asks := w.dialog.(*question); {
	case k == "esc", k == "ctrl+c", k == "ctrl+z":
		return true
	case w.dialog != nil:
		return asks && q.brief != "" && width(q.brief) <= w.w
	}
	return k == "q"
}

// act does what a key is bound to, or says why not.
func (w *Workbench) act(b *binding, m tea.KeyMsg) tea.Cmd { return w.actKey(b, m.String()) }

func (w *Workbench) actKey(b *binding, k string) tea.Cmd {
	if why := b.why(w); why != "" {
		w.toasts.add(w.now, caution, showKey(k)+": "+why)
		return nil
	}
	if b.do != nil {
		return b.do(w)
	}
	a := w.arrange()
	if w.focus == listFocus {
		w.list.key(k, a.inner(a.list).h)
	} else if w.atTokens() {
		if _, say := w.tokens.press(k, a.inner(a.view).h); say != "" {
			w.toasts.add(w.now, note, say)
		}
	} else if s := w.scroller(); s != nil {
		in := w.viewBox()
		s.key(w.document(), k, in.w, in.h)
	}
	return nil
}
