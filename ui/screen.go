package ui

import (
	"fmt"
)

// screen draws all rows, each exactly as wide as the terminal.
func (w *Workbench) screen() []string {
	a := w.arrange()
	if a.mode == tiny {
		rows := make([]string, w.h)
		for i := range rows {
			rows[i] = spaces(w.w)
		}
		rows[w.h-1] = w.tinyLine(w.w)
		return rows
	}
	rows := make([]string, 0, w.h)
	if a.mode == wide {
		rows = append(rows, w.gauges.render(&w.th, w.w, a.head.h, w.now)...)
	} else {
		rows = append(rows, w.gauges.compact(&w.th, w.w, a.head.h, w.now)...)
	}
	if w.sheet != nil {
		rows = append(rows, w.drawSheet()...)
	} else {
		rows = append(rows, w.panes(a)...)
	}
	rows = append(rows, w.bottomLine(w.w))
	if t, shown := w.toasts.shown(w.now); shown {
		t.draw(&w.th, rows, w.toastBox(len(rows)), w.w)
	}
	if w.dialog != nil {
		drawDialog(&w.th, rows, w.dialog, w.w)
	}
	return rows
}

// panes side by side when framed, else one over the other.
func (w *Workbench) panes(a arrangement) []string {
	if a.mode != wide {
		return append(w.drawList(a), w.drawView(a)...)
	}
	left, right := w.drawList(a), w.drawView(a)
	if len(left) == 0 {
		return right
	}
	for i := range left {
		if i < len(right) {
			left[i] += right[i]
		}
	}
	return left
}

func (w *Workbench) drawList(a arrangement) []string {
	if a.list.h == 0 {
		return nil
	}
	in := a.inner(a.list)
	has := w.focus == listFocus && w.sheet == nil
	rows := w.list.render(&w.th, in.w, in.h, w.now, has)
	return w.dress(a, a.list, has, caption{title: w.listTitle(), note: w.listNote()}, rows)
}

// listTitle becomes the input while a filter is typed.
func (w *Workbench) listTitle() line {
	if w.filtering {
		return w.filterLine()
	}
	l := line{{strong, "trajectories"}, {dim, fmt.Sprintf(" %d", len(w.list.trajs))}}
	if w.arrange().mode == single {
		l = line{{strong, fmt.Sprintf("%d listed", len(w.list.trajs))}}
	}
	if w.list.filter != "" {
		l.add(warn, fmt.Sprintf(" · %d match %q", w.list.matching(), cleanLine(w.list.filter)))
	}
	return append(l, w.list.markNote()...)
}

func (w *Workbench) listNote() line {
	if a := w.arrange(); a.mode == single {
		return w.tabLine(a.list.w - w.listTitle().width() - 7)
	}
	if len(w.list.rows) == 0 {
		return nil
	}
	l := line{{dim, fmt.Sprintf("%d/%d", w.list.at+1, len(w.list.rows))}}
	if sorted := w.list.sortNote(); sorted != nil {
		l = append(append(sorted, seg{dim, "  "}), l...)
	}
	return l
}

func (w *Workbench) drawView(a arrangement) []string {
	if a.view.h == 0 {
		return nil
	}
	in := a.inner(a.view)
	has := w.focus == viewFocus && w.sheet == nil
	var rows []string
	follow := false
	if w.atTokens() {
		rows, follow = w.tokens.render(&w.th, in.w, in.h, has), w.tokens.follow
	} else if s := w.scroller(); s != nil {
		body := w.viewBox()
		rows = s.render(&w.th, w.document(), body.w, body.h, has)
		if w.atTimeline() {
			rows = w.drawTimeline(in, rows)
		}
		follow = s.follow
	}
	return w.dress(a, a.view, has, w.viewCaption(a, follow), rows)
}

// viewCaption is what stands in the frame of the view.
func (w *Workbench) viewCaption(a arrangement, follow bool) caption {
	var note line
	if follow {
		note = line{{dim, "follow"}}
	}
	title := w.viewTitle()
	if f := w.findTitle(); f != nil {
		title = f
	}
	room := a.view.w - 6
	if a.mode != wide { // beside the title, see edge
		room = a.view.w - title.width() - 7
	} else if note != nil {
		room -= note.width() + 3
	}
	return caption{title: title, foot: w.tabLine(room), footNote: note}
}

// viewTitle is the chosen trajectory, its result and how much of its budgets it
// has used.
func (w *Workbench) viewTitle() line {
	t, one := w.list.chosen()
	if _, some := w.list.chosenGroup(); !some {
		return line{{dim, "nothing chosen"}}
	}
	if !one {
		return line{{strong, "group"}}
	}
	l := line{{strong, cleanLine(t.Key.String())}}
	if w.arrange().mode == single {
		return l // the tabs need the room
	}
	if t.State.Ended() { // beside the patch and the verifier's output, too
		look := looks(t)
		l.add(look.role, " "+look.glyph)
		l.add(plain, " reward "+reward(t.Reward))
		if w.arrange().mode == stacked {
			return l // what it used stands in the list
		}
	}
	if t.Attempt > 1 {
		l.add(warn, fmt.Sprintf(" attempt %d", t.Attempt))
	}
	if t.MaxTurns > 0 {
		l.add(dim, fmt.Sprintf(" turn %d/%d", t.Turn, t.MaxTurns))
	}
	if t.Budget > 0 {
		l.add(dim, fmt.Sprintf(" %s/%s", short(float64(t.Tokens)), short(float64(t.Budget))))
	}
	return l
}

// dress a pane: a frame on wide screens, a rule with its captions on others.
func (w *Workbench) dress(a arrangement, b box, has bool, c caption, rows []string) []string {
	edge := dim
	if has {
		edge = focused
	}
	if a.mode == wide {
		return w.th.frame(b, edge, c, rows)
	}
	for len(rows) < b.h-1 { // nothing is chosen
		rows = append(rows, spaces(b.w))
	}
	return append([]string{w.th.edge(b.w, edge, "─", "─", c.title, c.right(b.w))}, rows...)
}

// right is what stands at the right end of a rule of w columns.
func (c caption) right(w int) line {
	note := c.note
	if len(c.foot) > 0 {
		note = c.foot
	}
	if len(c.footNote) > 0 && c.title.width()+note.width()+c.footNote.width()+10 < w {
		note = append(append(append(line{}, note...), seg{dim, "  "}), c.footNote...)
	}
	return note
}

// sheetBox is the inner box of a sheet: the whole body.
func (w *Workbench) sheetBox() box {
	a := arrange(w.w, w.h, w.gauges.rows(), true, viewFocus)
	in := a.inner(a.view)
	n := max(min(len(w.sheetTop(in.w)), in.h-1), 0)
	in.y, in.h = in.y+n, in.h-n
	return in
}

// sheetTop are the rows of a sheet that do not scroll.
func (w *Workbench) sheetTop(cols int) []line {
	if w.sheet == nil || w.sheet.side == nil {
		return nil
	}
	return w.sheet.side.top(w, cols)
}

func (w *Workbench) drawSheet() []string {
	a := arrange(w.w, w.h, w.gauges.rows(), true, viewFocus)
	in := w.sheetBox()
	var rows []string
	for _, l := range w.sheetTop(in.w)[:a.inner(a.view).h-in.h] {
		rows = append(rows, w.th.fit(append(line{{plain, "  "}}, l...), in.w))
	}
	rows = append(rows, w.sheet.scroll.render(&w.th, w.sheet.page(in.w, in.h), in.w, in.h, true)...)
	title := line{{strong, w.sheet.title}}
	if w.sheet.head != nil {
		title = w.sheet.head()
	}
	note := line{{dim, "esc closes"}}
	if w.sheet.search != nil && w.sheet.search.takesEsc() || w.sheet.narrow != nil && w.sheet.narrow.takesEsc() {
		note = nil
	}
	return w.dress(a, a.view, true, caption{title: title, note: note}, rows)
}
