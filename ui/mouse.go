package ui

import (
	tea "github.com/charmbracelet/bubbletea"
)

// wheelRows is how far a notch of the wheel goes.
const wheelRows = 3

// takeMouse asks the terminal for the mouse again after something else had the
// screen; nil where it is not wanted.
func (w *Workbench) takeMouse() tea.Cmd {
	if !w.mouse {
		return nil
	}
	return tea.EnableMouseCellMotion
}

func offerMouse(*Workbench, string) []offer {
	return []offer{{"on", "the wheel scrolls, a click chooses"}, {"off", "the terminal's own selection works"}}
}

// doMouseTyped turns the mouse on or off; without a word the other way round.
func doMouseTyped(w *Workbench, arg string) (tea.Cmd, error) {
	w.mouse = arg == "on" || arg == "" && !w.mouse
	if w.mouse {
		w.toasts.add(w.now, ok, "the mouse is on: the wheel scrolls, a click chooses, a second one opens; text is selected with shift")
		return tea.EnableMouseCellMotion, nil
	}
	w.toasts.add(w.now, ok, "the mouse is off: the terminal's own selection works")
	return tea.DisableMouse, nil
}

// pointed is what the mouse did: a turn of the wheel or a press of the left button.
func (w *Workbench) pointed(m tea.MouseMsg) tea.Cmd {
	if m.Action != tea.MouseActionPress {
		return nil
	}
	step := 0
	switch m.Button {
	case tea.MouseButtonWheelUp:
		step = -1
	case tea.MouseButtonWheelDown:
		step = 1
	case tea.MouseButtonLeft:
		w.toasts.dismiss()
	default:
		return nil
	}
	a := w.arrange()
	switch p, isPalette := w.dialog.(*palette); {
	case a.mode == tiny:
		return nil
	case isPalette:
		return w.pointPalette(p, m, step)
	case w.dialog != nil:
		w.pointDialog(step)
		return nil
	case w.sheet != nil:
		return w.pointSheet(m, step)
	case step != 0:
		w.wheel(a, m, step*wheelRows)
		return nil
	}
	return w.click(a, m)
}

// in reports whether a cell is within the box.
func (b box) in(x, y int) bool { return x >= b.x && x < b.x+b.w && y >= b.y && y < b.y+b.h }

// wheel scrolls the pane under the pointer. The keys stay where they are.
func (w *Workbench) wheel(a arrangement, m tea.MouseMsg, rows int) {
	switch {
	case a.list.in(m.X, m.Y):
		w.list.at = max(min(w.list.at+rows, len(w.list.rows)-1), 0)
	case !a.view.in(m.X, m.Y):
	case w.atTokens():
		w.tokens.step(rows)
		w.tokens.at = max(min(w.tokens.at, w.tokens.n-1), 0)
		w.tokens.follow = false
	default:
		if s := w.scroller(); s != nil {
			in := a.inner(a.view)
			s.wheel(w.document(), rows, in.w, in.h)
		}
	}
}

// wheel moves the window, and the cursor with it.
func (s *scroller) wheel(d document, rows, w, h int) {
	s.settle(d, w, h)
	if d.count() == 0 {
		return
	}
	s.follow, s.pinned = false, false
	s.top, s.cursor = s.move(d, s.top, rows, w), s.move(d, s.cursor, rows, w)
	s.settle(d, w, h)
}

// click chooses a tab, a pane and a row in it; one that is chosen opens.
func (w *Workbench) click(a arrangement, m tea.MouseMsg) tea.Cmd {
	if t, list, hit := w.tabAt(a, m.X, m.Y); hit {
		if w.focus = viewFocus; list {
			w.focus = listFocus
		} else {
			w.toTab(t)
		}
		return nil
	}
	switch {
	case a.list.in(m.X, m.Y):
		return w.clickList(a, m)
	case a.view.in(m.X, m.Y):
		return w.clickView(a, m)
	}
	return nil
}

func (w *Workbench) clickList(a arrangement, m tea.MouseMsg) tea.Cmd {
	had := w.focus == listFocus
	w.focus, w.filtering = listFocus, false
	in := a.inner(a.list)
	row := w.list.top + m.Y - in.y - 1 // below the names of the columns
	if !in.in(m.X, m.Y) || m.Y == in.y || row >= len(w.list.rows) {
		return nil
	}
	if row == w.list.at && had {
		return doEnterList(w)
	}
	w.list.at = row
	return nil
}

func (w *Workbench) clickView(a arrangement, m tea.MouseMsg) tea.Cmd {
	had := w.focus == viewFocus
	w.focus = viewFocus
	in := a.inner(a.view)
	if !in.in(m.X, m.Y) {
		return nil
	}
	if w.atTokens() {
		w.tokens.clickAt(m.X-in.x, m.Y-in.y)
		return nil
	}
	if s := w.scroller(); s != nil && s.click(w.document(), m.Y-in.y, in.w, in.h) && had && canFold(w) == "" {
		return doFold(nil)(w)
	}
	return nil
}

// click puts the cursor into a row of the window; it reports whether it was there.
func (s *scroller) click(d document, row, w, h int) bool {
	s.settle(d, w, h)
	if d.count() == 0 {
		return false
	}
	to := s.move(d, s.top, row, w)
	was := s.cursor == to
	s.cursor, s.follow, s.pinned = to, false, false
	return was
}

// tabAt is the view whose name is at a cell; list: that of the list.
func (w *Workbench) tabAt(a arrangement, x, y int) (t tab, list, hit bool) {
	b, c := a.view, caption{}
	if a.view.h > 0 {
		follow := false
		if s := w.scroller(); s != nil {
			follow = s.follow
		} else if w.atTokens() {
			follow = w.tokens.follow
		}
		c = w.viewCaption(a, follow)
	} else {
		b, c = a.list, caption{title: w.listTitle(), note: w.listNote()}
	}
	row, from, l := b.y, 0, c.right(b.w)
	if a.mode == wide {
		row, from, l = b.y+b.h-1, b.x+2, c.foot
	} else {
		from = b.x + b.w - 3 - l.width()
	}
	if y != row || a.view.h == 0 && a.mode != single {
		return 0, false, false
	}
	first := 0
	if a.mode == single {
		first = 1 // the list is one of them
	}
	for i, s := range l {
		if n := width(s.text); x >= from && x < from+n {
			if n := i/2 - first; i%2 == 0 && n < int(tabs) {
				return tab(max(n, 0)), n < 0, true
			}
			return 0, false, false
		} else {
			from += n
		}
	}
	return 0, false, false
}

// pointSheet scrolls the sheet, or puts its cursor; what has it opens.
func (w *Workbench) pointSheet(m tea.MouseMsg, step int) tea.Cmd {
	in := w.sheetBox()
	d := w.sheet.page(in.w, in.h)
	before := w.sheet.scroll
	s := &w.sheet.scroll
	opens := false
	switch {
	case step != 0:
		s.wheel(d, step*wheelRows, in.w, in.h)
	case in.in(m.X, m.Y):
		opens = s.click(d, m.Y-in.y, in.w, in.h)
	}
	if w.sheet.output != nil && !w.sheet.output.ready(s) { // see sheetKey
		s.top, s.cursor = before.top, before.cursor
	}
	if opens {
		return w.sheetKey(tea.KeyMsg{Type: tea.KeyEnter})
	}
	return nil
}

// pointDialog scrolls replies that are compared. In forms and questions the wheel
// does nothing: it could change what enter takes.
func (w *Workbench) pointDialog(step int) {
	if p, ok := w.dialog.(*picker); ok && step != 0 {
		p.scrolls[p.at].wheel(p.pages[p.at], step*wheelRows, max(p.w, 1), max(p.h, 1))
	}
}

// pointPalette chooses a row; one that is chosen runs.
func (w *Workbench) pointPalette(p *palette, m tea.MouseMsg, step int) tea.Cmd {
	if step != 0 {
		p.choose(p.at + step)
		return nil
	}
	row, inside := p.rowAt(m.X, m.Y)
	switch {
	case !inside:
	case row == p.at && p.moved:
		return w.key(tea.KeyMsg{Type: tea.KeyEnter})
	default:
		p.choose(row)
	}
	return nil
}

// clickAt puts the cursor on the token at a cell of the window.
func (v *tokenView) clickAt(x, y int) {
	if !v.shows() || len(v.spans) == 0 {
		return
	}
	p, more := v.top, true
	for ; y > 0 && more; y-- {
		p, more = v.next(p)
	}
	if y > 0 || !more || p.chunk < 0 {
		return
	}
	s := &v.spans[p.span]
	r := v.lay(p.span, p.chunk)[p.row]
	at := 1 // the mark
	for i := r.from; i < r.to; i++ {
		cell, _ := v.cell(s.ids[i])
		if at += 1 + width(cell); x < at {
			v.at, v.follow = s.start+i, false
			return
		}
	}
}
