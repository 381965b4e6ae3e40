package ui

import (
	"fmt"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// find looks for a text in the view of a trajectory. All of it is looked through,
// whatever is loaded; n and N then go from place to place.
type find struct {
	typing bool
	input  textinput.Model

	query string // "": nothing is looked for
	key   sessions.Key
	tab   tab
	hunt  hunt
	// want is where to go as soon as it can be drawn; step, which way to go as soon
	// as something is found.
	want *hit
	step int
}

// finding reports whether a text is looked for in what the view shows.
func (w *Workbench) finding() bool {
	return w.find.query != "" && w.focus == viewFocus && w.sheet == nil && w.find.here(w)
}

// here reports whether the view still is the one looked through.
func (f *find) here(w *Workbench) bool {
	t, one := w.list.chosen()
	return one && t.Key == f.key && w.tab == f.tab
}

// quit forgets what is looked for.
func (f *find) quit() {
	f.hunt.end()
	*f = find{hunt: hunt{n: f.hunt.n}}
}

// canSlash: what has no text cannot be looked through.
func canSlash(w *Workbench) string {
	if w.focus == viewFocus && w.atTokens() {
		return "the tokens are not looked through: 2 or 7 and / look for a text"
	}
	return ""
}

// doSlash looks for a text in the transcript, and filters the list elsewhere.
func doSlash(w *Workbench) tea.Cmd {
	if _, one := w.list.chosen(); w.focus != viewFocus || !one {
		return doFilter(w)
	}
	w.find.quit()
	w.find.typing, w.find.input = true, newFilter("")
	return nil
}

// findTyped types what is to be looked for.
func (w *Workbench) findTyped(m tea.KeyMsg) (cmd tea.Cmd) {
	f := &w.find
	switch m.String() {
	case "enter":
		text := f.input.Value()
		f.quit()
		if text != "" {
			return w.beginFind(text, 1)
		}
	case "esc", "ctrl+c":
		f.quit()
	default:
		f.input, cmd = f.input.Update(m)
	}
	return cmd
}

// beginFind looks for a text in what the view shows. A page is there as a whole
// and is looked through at once.
func (w *Workbench) beginFind(text string, step int) tea.Cmd {
	t, one := w.list.chosen()
	if !one {
		return nil
	}
	f := &w.find
	f.query, f.key, f.tab, f.step = text, t.Key, w.tab, step
	to := target{key: t.Key, attempt: t.Attempt, turns: w.turns.last}
	if !w.tab.ofPage() {
		return w.beginHunt(&f.hunt, text, w.tab, []target{to}, false)
	}
	f.hunt.end()
	f.hunt = hunt{n: f.hunt.n, find: newFinder(text)}
	for i, d := 0, w.document(); i < d.count(); i++ {
		for _, x := range d.section(i).hits(f.hunt.find, to, i+1, false) {
			f.hunt.hits, f.hunt.places = append(f.hunt.hits, x), f.hunt.places+1
		}
	}
	w.goStep()
	return nil
}

// foundHere takes what a step of the hunt found, and goes there when it is what
// was waited for.
func (w *Workbench) foundHere(m huntMsg) tea.Cmd {
	f := &w.find
	more := f.hunt.take(m)
	w.goStep()
	if more {
		return w.goOn(&f.hunt, false)
	}
	return nil
}

// goStep goes to the place that was asked for, when it is found; while the hunt
// goes on the search does not turn around.
func (w *Workbench) goStep() {
	f := &w.find
	if f.step == 0 || f.want != nil {
		return
	}
	i, wrapped := w.nextHit(f.step)
	switch {
	case len(f.hunt.hits) == 0 && !f.hunt.running:
		w.toasts.add(w.now, caution, "nothing here matches "+cleanLine(f.query))
		f.step = 0
	case i < 0, wrapped && f.hunt.running:
	default:
		if s := w.scroller(); wrapped && s != nil && !s.follow {
			w.toasts.add(w.now, note, "the search went on from the other end")
		}
		f.want, f.step = &f.hunt.hits[i], 0
		w.goWanted()
	}
}

// nextHit is the place after the cursor, or before it; −1 where there is none.
// wrapped says that it lies behind the end.
func (w *Workbench) nextHit(step int) (i int, wrapped bool) {
	hits, s := w.find.hunt.hits, w.scroller()
	if len(hits) == 0 || s == nil {
		return -1, false
	}
	cur := s.cursor
	if s.follow {
		cur = place{w.document().count(), 0}
	}
	for k := range hits {
		i := k
		if step < 0 {
			i = len(hits) - 1 - k
		}
		p := w.placeOf(&hits[i])
		if step > 0 && before(cur, p) || step < 0 && before(p, cur) {
			return i, false
		}
	}
	if step < 0 {
		return len(hits) - 1, true
	}
	return 0, true
}

// placeOf a hit. Of a turn that is not loaded only the turn is known.
func (w *Workbench) placeOf(h *hit) place {
	p := place{h.turn - 1, 0}
	d, s := w.document(), w.scroller()
	if p.section >= d.count() || s == nil {
		return p
	}
	if c := w.cache(w.tab); c != nil && c.turns[h.turn] == nil {
		return p // not to be read for this
	}
	sec := d.section(p.section)
	if sec == nil {
		return p
	}
	sec.layout(max(w.viewWidth(), 1), &s.folds)
	for i := range sec.blocks {
		if sec.blocks[i].id != h.block {
			continue
		}
		row := 0
		for n, r := range sec.rows[i] {
			if r.from <= h.off {
				row = n
			}
		}
		if b := &sec.blocks[i]; b.foldable(len(sec.rows[i])) && !s.folds.open[b.id] {
			row = min(row, b.fold)
		}
		p.row = sec.starts[i] + row
	}
	return p
}

// goWanted goes to the place that is wanted. A turn that is not loaded is asked
// for by being looked at; settle calls again once it may be there.
func (w *Workbench) goWanted() {
	h, s := w.find.want, w.scroller()
	if h == nil || s == nil || w.viewWidth() == 0 {
		return
	}
	d := w.document()
	s.follow = false
	if h.turn > d.count() {
		w.find.want = nil
		return
	}
	sec := d.section(h.turn - 1)
	if sec == nil {
		s.cursor, s.top = place{h.turn - 1, 0}, place{h.turn - 1, 0}
		return
	}
	sec.layout(w.viewWidth(), &s.folds)
	for i := range sec.blocks {
		if b := &sec.blocks[i]; b.id == h.block && b.foldable(len(sec.rows[i])) && !s.folds.open[b.id] {
			for n, r := range sec.rows[i] {
				if n >= b.fold && r.from <= h.off && !s.folds.open[b.id] {
					s.folds.toggle(b.id, true)
				}
			}
		}
	}
	a := w.arrange()
	in := a.inner(a.view)
	s.cursor = w.placeOf(h)
	s.top = s.move(d, s.cursor, -in.h/3, in.w)
	w.find.want = nil
}

// doFindNext goes to the next place; turns that have come are looked through.
func doFindNext(step int) func(*Workbench) tea.Cmd {
	return func(w *Workbench) tea.Cmd {
		f := &w.find
		f.step, f.want = step, nil
		if h := &f.hunt; len(h.targets) == 1 && !h.running && h.targets[0].turns < w.turns.last {
			h.targets = []target{{key: f.key, attempt: w.turns.attempt, turns: w.turns.last}}
			h.at = 0 // and on behind the last turn looked through
			return w.goOn(h, false)
		}
		w.goStep()
		return nil
	}
}

// settleFind marks what is looked for, goes where it is, and forgets it once
// something else is shown.
func (w *Workbench) settleFind() {
	f := &w.find
	if f.query != "" && !f.here(w) {
		f.quit()
	}
	for _, t := range []tab{textTab, rawTab, messagesTab} {
		c := w.cache(t)
		c.find = ""
		if f.query != "" && f.tab == t {
			c.find = f.query
		}
	}
	if w.page != nil && w.tab.ofPage() {
		for _, s := range w.page.sections {
			s.find = f.query
		}
	}
	w.goWanted()
}

// findTitle is what is looked for, where the title of the view stands; nil when
// nothing is.
func (w *Workbench) findTitle() line {
	f := &w.find
	switch {
	case f.typing:
		return inputLine(f.input)
	case f.query == "":
		return nil
	}
	l := line{{warn, "/" + cut(cleanLine(f.query), 24)}}
	at := 0
	if s := w.scroller(); s != nil {
		for i := range f.hunt.hits {
			if p := w.placeOf(&f.hunt.hits[i]); p == s.cursor {
				at = i + 1
				break
			} else if before(s.cursor, p) {
				break
			}
		}
	}
	n := thousands(int64(f.hunt.places))
	if f.hunt.running {
		n += "…"
	}
	if at > 0 {
		l.add(plain, fmt.Sprintf(" %s/%s", thousands(int64(at)), n))
	} else {
		l.add(plain, " "+n)
	}
	return l
}
