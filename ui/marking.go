package ui

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// rowMarks are the trajectories that a person marked in the list, to compare them.
type rowMarks map[sessions.Key]bool

// of the list's trajectories, in its order: what is no more is not among them.
func (m rowMarks) of(ts []sessions.Trajectory) (list []sessions.Trajectory) {
	for _, t := range ts {
		if m[t.Key] {
			list = append(list, t)
		}
	}
	return list
}

func canMarkRow(w *Workbench) string {
	if _, some := w.list.chosenGroup(); !some {
		return "there is nothing to mark"
	}
	return ""
}

// doMarkRow marks the chosen trajectory, or takes its mark away, and goes on to the next
// row; on a group's heading it does so with all members that are shown.
func doMarkRow(w *Workbench) tea.Cmd {
	p := &w.list
	if p.marks == nil {
		p.marks = rowMarks{}
	}
	if t, one := p.chosen(); one {
		p.marks.set(t.Key, !p.marks[t.Key])
		p.at = min(p.at+1, len(p.rows)-1)
		return nil
	}
	g, _ := p.chosenGroup()
	all := true
	for _, i := range g.shown {
		all = all && p.marks[g.members[i].Key]
	}
	for _, i := range g.shown {
		p.marks.set(g.members[i].Key, !all)
	}
	return nil
}

func (m rowMarks) set(key sessions.Key, on bool) {
	if on {
		m[key] = true
	} else {
		delete(m, key)
	}
}

// markNote says how many are marked; nil for none.
func (p *listPane) markNote() line {
	if len(p.marks) == 0 {
		return nil
	}
	return line{{call, fmt.Sprintf(" · %d marked", len(p.marks))}}
}
