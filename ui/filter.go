package ui

import (
	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
)

// newFilter is the line that a filter is typed into. The input keeps the text
// and the cursor; the title of the list draws them in the screen's roles.
func newFilter(text string) textinput.Model {
	in := textinput.New()
	in.KeyMap.Paste = key.NewBinding() // asks for programs of the desktop; what a terminal pastes comes as keys
	in.Cursor.SetMode(cursor.CursorStatic)
	in.SetValue(text)
	in.CursorEnd()
	in.Focus()
	return in
}

// filterKey types into the filter, which acts at once.
func (w *Workbench) filterKey(m tea.KeyMsg) (cmd tea.Cmd) {
	switch m.String() {
	case "enter", "tab", "up", "down":
		w.filtering = false
		return nil
	case "esc", "ctrl+c":
		w.filtering = false
		w.filter.SetValue("")
	default:
		w.filter, cmd = w.filter.Update(m)
	}
	w.list.filter = w.filter.Value()
	w.list.rebuild()
	return cmd
}

// filterLine is the filter while it is typed.
func (w *Workbench) filterLine() line { return inputLine(w.filter) }

// inputLine is a line while it is typed, with its cursor.
func inputLine(in textinput.Model) line {
	text, at := []rune(in.Value()), in.Position()
	l := line{{strong, "/"}, {plain, cleanLine(string(text[:at]))}}
	if at == len(text) {
		return append(l, seg{chosen, " "})
	}
	return append(l, seg{chosen, cellText(text[at], 0)}, seg{plain, cleanLine(string(text[at+1:]))})
}
