package ui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// sheet covers the panes: help, messages, the queues, a full output, a search. esc closes it.
type sheet struct {
	title  string
	opener string // key that opened it, which closes it, too
	scope  scope  // of the keys that act in it only, "" for none
	// page at a size: what goes on is made anew for every frame.
	page   func(w, h int) document
	scroll scroller
	// head is the title where it changes; nil: title.
	head func() line
	// own takes keys before all else, and reports whether one was its own.
	own    func(*Workbench, tea.KeyMsg) (tea.Cmd, bool)
	output *outputView // nil in other sheets
	search *searchView // nil in other sheets
	side   comparison  // what is compared, nil in other sheets
	typing func() bool // a text is being typed; nil: never
	narrow *narrow     // its rows can be narrowed; nil in sheets that look for texts otherwise
}

// openSheet in the place of the one that is open.
func (w *Workbench) openSheet(s *sheet) {
	w.closeSheet()
	w.sheet = s
}

// closeSheet also ends what is worked out for it.
func (w *Workbench) closeSheet() {
	if w.sheet != nil && w.sheet.output != nil {
		w.sheet.output.quit()
	}
	if w.sheet != nil && w.sheet.search != nil {
		w.sheet.search.quit()
	}
	if w.sheet != nil && w.sheet.opener == acrossKey {
		w.across.typing = false
		w.across.hunt.end()
	}
	if v, is := w.side().(*compareView); is {
		v.scroll = w.sheet.scroll
	}
	w.sheet = nil
	w.whatIf.end()
}

// helpPage is the key table with what applies now.
func (w *Workbench) helpPage() *page {
	s := &section{labels: helpGutter}
	for _, sc := range scopes {
		if sc == inReplay && w.opt.Replay == nil {
			continue // nothing of it ever applies here
		}
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
	{"◌", "stopped with its process; rollbench resume goes on"},
	{"⊘ ✎ ≠", "masked (out of the gradient), intervened (changed by a person), token prefix broken"},
	{tamperGlyph, "signs of tampering: the transcript's end and the verifier's page name them; the filter tampered finds them"},
	{forkGlyph, "forked from another: #0@7 from trajectory 0 before its turn 7"},
	{"░ ▒ ▓ –", "a token's logprob: under −0.1, under −1, under −3, absent; underlined: it trains"},
	{"▲", "asks before it acts"},
}

// sheetKey handles a key while a sheet is open: its own keys, those that act
// over sheets, and moves.
func (w *Workbench) sheetKey(m tea.KeyMsg) tea.Cmd {
	if w.sheet.own != nil {
		if cmd, took := w.sheet.own(w, m); took {
			return cmd
		}
	}
	switch k := m.String(); k {
	case "esc", "q", "ctrl+c", w.sheet.opener:
		w.closeSheet()
		return nil
	}
	for i := range w.table {
		if b := &w.table[i]; b.inSheet(w.sheet) && key.Matches(m, b.Binding) {
			return w.act(b, m)
		}
	}
	in := w.sheetBox()
	before := w.sheet.scroll
	if !w.sheet.scroll.key(w.sheet.page(in.w, in.h), m.String(), in.w, in.h) {
		w.sayCovered(m)
	}
	if s := &w.sheet.scroll; w.sheet.output != nil && !w.sheet.output.ready(s) {
		// A step into a piece that is not there yet would land anywhere in it.
		s.top, s.cursor = before.top, before.cursor
	}
	return nil
}

// sayCovered says why a key of the panes does nothing: a sheet is over them.
func (w *Workbench) sayCovered(m tea.KeyMsg) {
	for i := range w.table {
		b := &w.table[i]
		if (b.scope == debugger || b.scope == anywhere) && key.Matches(m, b.Binding) {
			w.toasts.add(w.now, caution, showKey(m.String())+": esc closes what covers the panes first")
			return
		}
	}
	w.sayUnbound(m)
}
