package ui

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// verb is what the palette runs.
type verb struct {
	name, keys, help string
	why              string // it does not apply now, "" when it does
	arg              *argument
	run              func(arg string) (tea.Cmd, error)
}

// typedVerb is a verb of the palette that has no key, or that takes an argument
// beside it: then it has the name of its row.
type typedVerb struct {
	name, help string // help "" is that of the row
	arg        argument
	can        func(*Workbench) string // nil: that of the row, or always
	// do with the argument; "" where it may be left out, and the row's does that
	// where bare is set.
	do   func(w *Workbench, arg string) (tea.Cmd, error)
	bare bool
}

// slug is the binding's name in the palette.
func (b *binding) slug() string {
	if b.verb != "" {
		return b.verb
	}
	return strings.ReplaceAll(b.name, " ", "-")
}

// verbs there are here and now: the rows of the key table, then what has no key. Of
// rows with one name that which acts here counts.
func (w *Workbench) verbs() []verb {
	var list []verb
	index := map[string]int{}
	inactive := map[string]bool{}
	for i := range w.table {
		b := &w.table[i]
		why, acts := w.whyRow(b)
		v := verb{name: b.slug(), keys: b.Help().Key, help: b.Help().Desc, why: why}
		v.run = func(string) (tea.Cmd, error) { return w.runRow(b), nil }
		if at, seen := index[v.name]; !seen {
			index[v.name] = len(list)
			inactive[v.name] = !acts
			list = append(list, v)
		} else if acts && inactive[v.name] {
			list[at] = v
			inactive[v.name] = false
		}
	}
	for i := range typedVerbs {
		t := &typedVerbs[i]
		at, seen := index[t.name]
		if seen && w.sheet != nil && w.sheet.scope != "" && w.sheetRow(t.name) {
			continue
		}
		if !seen {
			at = len(list)
			list = append(list, verb{name: t.name})
		}
		w.giveArgument(&list[at], t)
	}
	return list
}

// sheetRow reports whether the name is that of a row which acts in the open sheet
// only: there it means that row.
func (w *Workbench) sheetRow(name string) bool {
	return slices.ContainsFunc(w.table, func(b binding) bool { return b.scope == w.sheet.scope && b.slug() == name })
}

// giveArgument gives a verb its argument.
func (w *Workbench) giveArgument(v *verb, t *typedVerb) {
	row := v.run
	v.arg = &t.arg
	if t.help != "" {
		v.help = t.help
	}
	if t.can != nil {
		v.why = t.can(w)
	}
	v.run = func(arg string) (tea.Cmd, error) {
		if arg == "" && t.bare && row != nil {
			return row("")
		}
		return t.do(w, arg)
	}
}

// whyRow is why a row of the table does not apply, and whether its scope acts here.
// Rows of the two panes act from anywhere: their pane gets the keys.
func (w *Workbench) whyRow(b *binding) (why string, acts bool) {
	switch b.scope {
	case inList, inView:
		focus := w.focus
		defer func() { w.focus = focus }()
		w.focus = paneOf(b.scope)
		return b.why(w), b.scope == w.here()[len(w.here())-1]
	case anywhere, debugger:
		return b.why(w), true
	}
	if w.sheet != nil && b.scope == w.sheet.scope || w.sheet == nil && slices.Contains(w.here(), b.scope) {
		return b.why(w), true
	}
	s := string(b.scope)
	return "acts " + strings.ToLower(s[:1]) + s[1:], false
}

func paneOf(s scope) pane {
	if s == inList {
		return listFocus
	}
	return viewFocus
}

// runRow does what the key of a row does, as if its pane had the keys.
func (w *Workbench) runRow(b *binding) tea.Cmd {
	if w.sheet != nil && !b.inSheet(w.sheet) {
		w.closeSheet()
	}
	if b.scope == inList || b.scope == inView {
		w.focus = paneOf(b.scope)
	}
	return w.actKey(b, b.Keys()[0])
}

// typedMarkdown is the part of docs/keys.md on verbs that are typed with an argument.
func typedMarkdown() string {
	var b strings.Builder
	b.WriteString("\n## Verbs of the palette with an argument\n\nOne in brackets may be left out.\n\n| verb | argument | what it does |\n|---|---|---|\n")
	table := keyTable()
	for _, t := range typedVerbs {
		help, arg := t.help, "`"+t.arg.name+"`"
		for i := range table {
			if help == "" && table[i].slug() == t.name {
				help = table[i].Help().Desc
			}
		}
		if !t.arg.needed {
			arg = "[" + arg + "]"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", t.name, arg, help)
	}
	return b.String()
}
