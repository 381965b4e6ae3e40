package ui

import (
	"context"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// foundMsg is where search n found what it looked for.
type foundMsg struct {
	view    *outputView
	n       int
	i, off  int // piece and offset in its text; i is -1 where there is none
	s       *section
	wrapped bool
	err     error
}

func doFind(w *Workbench) tea.Cmd {
	v := w.sheet.output
	v.typing, v.input = true, newFilter("")
	return nil
}

// key takes what is typed while the query is.
func (v *outputView) key(w *Workbench, m tea.KeyMsg) (tea.Cmd, bool) {
	if !v.typing {
		return nil, false
	}
	var cmd tea.Cmd
	switch m.String() {
	case "enter":
		v.typing = false
		if text := v.input.Value(); text != "" {
			v.query, v.hit = text, nil
			return v.find(w, 1), true
		}
		v.quit() // what is looked for is forgotten
		v.query = ""
	case "esc", "ctrl+c":
		v.typing = false
	default:
		v.input, cmd = v.input.Update(m)
	}
	return cmd, true
}

func canFindAgain(w *Workbench) string {
	if w.sheet == nil || w.sheet.output == nil || w.sheet.output.query == "" {
		return "nothing is looked for: / does"
	}
	return ""
}

func doFindAgain(step int) func(*Workbench) tea.Cmd {
	return func(w *Workbench) tea.Cmd { return w.sheet.output.find(w, step) }
}

// quit ends the search under way; its answer is not waited for any more.
func (v *outputView) quit() {
	if v.stop != nil {
		v.stop()
	}
	v.stop, v.looking = nil, false
	v.n++
}

// find the query from the cursor's row on, forwards or backwards, and once
// around. All of the output is looked through, whatever is loaded.
func (v *outputView) find(w *Workbench, step int) tea.Cmd {
	v.quit()
	in := w.sheetBox()
	s := &w.sheet.scroll
	s.settle(v, in.w, in.h)
	at, from := s.cursor.section, 0
	if sec := v.loaded[at]; sec != nil && len(sec.rows) > 0 && s.cursor.row < len(sec.rows[0]) {
		if r := sec.rows[0][s.cursor.row]; step > 0 {
			from = r.to
			if s.cursor == (place{}) && v.hit == nil { // from the very start its first row counts
				from = r.from
			}
		} else {
			from = r.from
		}
	}
	ctx, stop := context.WithCancel(w.jobs.ctx)
	v.looking, v.stop = true, stop
	m, f := foundMsg{view: v, n: v.n, i: -1}, newFinder(v.query)
	r, p, place := w.opt.Reader, v.pieces, v.ref.at
	return w.job(func(context.Context) tea.Msg {
		m.search(ctx, r, p, place, f, at, from, step)
		return m
	})
}

// search the pieces from one on, and that one again at the end: its other part
// comes last.
func (m *foundMsg) search(ctx context.Context, r sessions.Reader, p pieces, place sessions.CallPlace, f finder, at, from, step int) {
	n := p.count()
	for k := 0; k <= n; k++ {
		i := at + k*step
		m.wrapped = i < 0 || i >= n
		i = (i + n) % n
		if p.gap(i) {
			continue
		}
		sec, err := p.read(ctx, r, place, i)
		if err != nil {
			m.err = err
			return
		}
		text := f.text(sec.blocks[0].text)
		lo, hi := 0, len(text)
		switch {
		case k == 0 && step > 0:
			lo = min(from, hi)
		case k == 0:
			hi = min(from, hi)
		}
		off := strings.Index(text[lo:hi], f.query)
		if step < 0 {
			off = strings.LastIndex(text[lo:hi], f.query)
		}
		if off >= 0 {
			m.i, m.off, m.s = i, lo+off, sec
			m.wrapped = m.wrapped || k == n
			return
		}
	}
}

// applyFound goes to what was found.
func (w *Workbench) applyFound(m foundMsg) {
	v := m.view
	if m.n != v.n || w.sheet == nil || w.sheet.output != v {
		return
	}
	v.quit()
	switch {
	case m.err != nil:
		w.complain(m.err)
		return
	case m.i < 0:
		w.toasts.add(w.now, caution, "nothing in the output matches "+cleanLine(v.query))
		return
	case m.wrapped:
		w.toasts.add(w.now, note, "the search went on from the other end")
	}
	in := w.sheetBox()
	s := &w.sheet.scroll
	v.near = m.i
	if v.loaded[m.i] == nil {
		v.put(m.i, m.s)
	}
	sec := v.loaded[m.i]
	sec.layout(in.w, &s.folds)
	row := 0
	for i, r := range sec.rows[0] {
		if r.from <= m.off {
			row = i
		}
	}
	s.cursor, s.follow = place{m.i, row}, false
	v.hit = &place{m.i, row}
	s.top = s.move(v, s.cursor, -in.h/3, in.w)
}
