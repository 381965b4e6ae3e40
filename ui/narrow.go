package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
)

// narrow shows only those rows of a sheet that have all the words typed, as they
// are typed. Headings stay above what is left of them.
type narrow struct {
	title  string
	source func() *page // made anew for every frame: messages come, keys begin to act
	typing bool
	input  textinput.Model
	n      int // rows shown, of a narrowed page
}

// narrowKeys are the rows of the key table that act in sheets which can be narrowed.
func narrowKeys() []binding {
	return []binding{
		{Binding: on("show only what has all the words; esc shows everything again", "/"), name: "narrow", scope: inNarrow, do: doNarrow},
	}
}

// openNarrow opens a page in a sheet that can be narrowed.
func (w *Workbench) openNarrow(title, opener string, source func() *page) {
	n := &narrow{title: title, source: source, input: newFilter("")}
	w.openSheet(&sheet{title: title, opener: opener, scope: inNarrow, narrow: n, own: n.key, head: n.head,
		page: func(int, int) document { return n.page() }, typing: func() bool { return n.typing }})
}

func doNarrow(w *Workbench) tea.Cmd {
	w.sheet.narrow.typing = true
	return nil
}

// key takes what is typed, and esc while rows are left out.
func (n *narrow) key(w *Workbench, m tea.KeyMsg) (cmd tea.Cmd, own bool) {
	k := m.String()
	switch {
	case k == "esc" && n.takesEsc(), k == "ctrl+c" && n.typing:
		n.typing = false
		n.set(w, "")
	case !n.typing:
		return nil, false
	case k == "enter", k == "up", k == "down", k == "tab":
		n.typing = false
	default:
		before := n.input.Value()
		if n.input, cmd = n.input.Update(m); n.input.Value() != before {
			w.sheet.scroll = scroller{}
		}
	}
	return cmd, true
}

// set the words, as if typed.
func (n *narrow) set(w *Workbench, text string) {
	n.input.SetValue(text)
	n.input.CursorEnd()
	w.sheet.scroll = scroller{}
}

// page as it is now, of which the words typed leave some.
func (n *narrow) page() (p *page) {
	p = n.source()
	if words := strings.Fields(strings.ToLower(n.input.Value())); len(words) > 0 {
		p, n.n = narrowed(p, words)
	}
	return p
}

// takesEsc: it shows all again instead of closing the sheet.
func (n *narrow) takesEsc() bool { return n.typing || n.input.Value() != "" }

// narrowed is the page with the rows that have all the words, and how many they are.
func narrowed(p *page, words []string) (*page, int) {
	s := &section{labels: p.sections[0].labels}
	rows := 0
	var above *block
	for _, sec := range p.sections {
		for i := range sec.blocks {
			b := &sec.blocks[i]
			if b.kind == heading {
				above = b
				continue
			}
			text := strings.ToLower(b.label + " " + b.text)
			if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
				continue
			}
			if above != nil {
				s.add(*above)
				above = nil
			}
			s.add(*b)
			rows++
		}
	}
	if rows == 0 {
		s.note("Nothing here has all these words.")
	}
	return onePage(s), rows
}

// head is the title with what is typed.
func (n *narrow) head() line {
	l := line{{strong, n.title}}
	switch {
	case n.typing:
		return append(append(l, seg{plain, " "}), inputLine(windowed(n.input, 40))...)
	case n.input.Value() != "":
		l.add(plain, " /"+cleanLine(n.input.Value()))
		l.add(dim, fmt.Sprintf(" · %s", counted(n.n, "row")))
	}
	return l
}
