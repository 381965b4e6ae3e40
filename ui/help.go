package ui

import tea "github.com/charmbracelet/bubbletea"

// sheet covers the panes: help, messages. esc closes it.
type sheet struct {
	title  string
	page   *page
	scroll scroller
}

// The key that opened a sheet closes it, too.
func (s *sheet) key(k string, w, h int) (done bool) {
	if k == "esc" || k == "q" || k == "?" || k == "m" || k == "ctrl+c" {
		return true
	}
	s.scroll.key(s.page, k, w, h)
	return false
}

// helpPage is the key table with what applies now.
func (w *Workbench) helpPage() *page {
	s := &section{labels: helpGutter}
	for _, sc := range []scope{debugger, anywhere, inList, inView} {
		shared := w.sharedWhy(sc)
		s.add(block{id: string(sc), kind: heading, title: line{{strong, string(sc)}}, right: line{{dim, cleanLine(shared)}}})
		for i := range w.table {
			b := &w.table[i]
			if b.scope != sc {
				continue
			}
			text, r := b.Help().Desc, plain
			if b.danger {
				text += " ▲"
			}
			if why := b.why(w); why != "" && sc != inView {
				r = dim
				if why != shared {
					text += "  (" + cleanLine(why) + ")"
				}
			}
			s.add(block{id: b.Help().Key, label: padLeft(b.Help().Key, helpGutter-3), labelRole: strong, body: r, text: text})
		}
	}
	s.add(block{id: "dialogs", kind: heading, title: line{{strong, "In dialogs"}}})
	for _, k := range dialogKeys {
		s.add(block{id: k.Help().Key, label: padLeft(k.Help().Key, helpGutter-3), labelRole: strong, text: k.Help().Desc})
	}
	s.add(block{id: "glyphs", kind: heading, title: line{{strong, "Glyphs"}}})
	for _, g := range glyphs {
		s.add(block{id: g[0], label: padLeft(g[0], helpGutter-3), labelRole: strong, text: g[1]})
	}
	return onePage(s)
}

// sharedWhy is why no key of a scope applies, when it is the same for all: said
// once it can be read.
func (w *Workbench) sharedWhy(sc scope) string {
	shared, first := "", true
	for i := range w.table {
		if w.table[i].scope != sc {
			continue
		}
		why := w.table[i].why(w)
		if !first && why != shared {
			return ""
		}
		shared, first = why, false
	}
	return shared
}

var glyphs = [][2]string{
	{"·◔○▶◆◇◕", "queued, init, ready, running, held, ran (waits for eval), evaluating"},
	{"✔ ✘ –", "done with reward 1 or more, with less, without a reward"},
	{"! ×", "failed, cancelled"},
	{"⊘ ✎ ≠", "masked (out of the gradient), intervened (changed by a person), token prefix broken"},
	{"▲", "asks before it acts"},
}

// sheetKey handles a key while a sheet is open.
func (w *Workbench) sheetKey(k string) tea.Cmd {
	in := w.sheetBox()
	if w.sheet.key(k, in.w, in.h) {
		w.sheet = nil
	}
	return nil
}
