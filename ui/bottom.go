package ui

import (
	"fmt"

	"rollbench/sessions"
)

// bottomLine is always the last row: the state of what is chosen, the keys
// that act now, the counts. It never moves.
func (w *Workbench) bottomLine(cols int) string {
	left := w.stateLine()
	right := w.counts(cols)
	room := cols - right.width() - 3
	least := 20
	if t, ok := w.list.chosen(); ok && t.Held == sessions.HeldBreakpoint {
		least = 24 // which breakpoint it is must be seen
	}
	whole := left
	left = clip(left, max(min(left.width(), room/3), min(least, room)))
	keys := w.barKeys(room - left.width() - 4)
	if len(keys) > 0 { // what the keys leave is the state's
		left = clip(whole, max(left.width(), room-4-keys.width()))
	}
	l := append(line{{plain, " "}}, left...)
	if len(keys) > 0 {
		l.add(dim, " │ ")
		l = append(l, keys...)
	}
	l = clip(l, max(cols-right.width()-1, 0))
	l.add(plain, spaces(cols-right.width()-1-l.width()))
	l = append(l, right...)
	l.add(plain, " ")
	return w.th.fit(l, cols)
}

// stateLine is the state of what is chosen; of the run when that is a group.
func (w *Workbench) stateLine() line {
	t, ok := w.list.chosen()
	switch {
	case ok && t.State == sessions.Held:
		return line{{warn, "◆ held: " + heldText(t)}}
	case ok:
		look := looks(t)
		text := look.glyph + " " + look.word
		if t.State.Ended() && t.Finish != "" {
			text += ": " + cleanLine(t.Finish)
		}
		return line{{look.role, text}}
	case (w.gauges.ended || w.gauges.gone) && w.gauges.tally.still > 0:
		return line{{warn, "run stopped"}}
	case w.gauges.ended:
		return line{{strong, "run finished"}}
	case len(w.list.trajs) == 0:
		return line{{dim, "reading the session"}}
	case len(w.list.rows) == 0:
		return line{{dim, "nothing chosen"}}
	}
	return line{{plain, "group"}}
}

// barKeys are the keys that act now, as many as fit; help is always among them.
func (w *Workbench) barKeys(room int) line {
	help := line{{strong, "?"}, {dim, " help"}}
	switch {
	case room < help.width():
		return nil
	case w.dialog != nil:
		return line{{strong, "esc"}, {dim, " closes"}}
	case w.find.typing, w.sheet != nil && w.sheet.output != nil && w.sheet.output.typing, w.sheet != nil && w.sheet.typing != nil && w.sheet.typing():
		return line{{strong, "enter"}, {dim, " looks for it  "}, {strong, "esc"}, {dim, " does not"}}
	case w.sheet != nil && w.sheet.search != nil && w.sheet.search.typing:
		return line{{strong, "enter"}, {dim, " asks  "}, {strong, "esc"}, {dim, " does not"}}
	case w.sheet != nil && w.sheet.search != nil && w.sheet.search.busy != "":
		return line{{strong, "esc"}, {dim, " gives up"}}
	case w.sheet != nil:
		return w.sheetBar(room)
	case w.filtering:
		return line{{strong, "enter"}, {dim, " keep  "}, {strong, "esc"}, {dim, " clear"}}
	}
	l := line{}
	order := append(append([]scope{inReplay, debugger}, w.here()...), anywhere)
	if w.finding() { // its keys are those of the debugger elsewhere
		order = append([]scope{inFind}, order...)
	}
	yours := false
	if t, one := w.list.chosen(); one && w.yours(t) { // what it waits for comes first
		yours = true
		l = w.addKeys(l, room-help.width(), func(b *binding) bool { return b.scope == debugger && b.name == "write" })
	}
	for i, s := range order {
		if i > 0 && s == inFind {
			continue
		}
		l = w.addKeys(l, room-help.width(), func(b *binding) bool {
			return b.scope == s && b.name != "help" && !b.aside && !(yours && b.name == "write") && (s != debugger || !w.finding() || !isFindKey(b))
		})
	}
	return append(l, help...)
}

// isFindKey: while a text is looked for the key is not the debugger's.
func isFindKey(b *binding) bool { return b.Keys()[0] == "n" }

// sheetBar is the keys that act in the sheet. What closes it comes first.
func (w *Workbench) sheetBar(room int) line {
	l := line{{strong, "esc"}, {dim, " closes  "}}
	for _, s := range []scope{w.sheet.scope, inReplay, anywhere} {
		l = w.addKeys(l, room, func(b *binding) bool {
			return b.scope == s && b.inSheet(w.sheet) && b.Keys()[0] != w.sheet.opener
		})
	}
	return l
}

// addKeys that act now to a line of room columns, as many as fit.
func (w *Workbench) addKeys(l line, room int, which func(*binding) bool) line {
	for i := range w.table {
		b := &w.table[i]
		if b.name == "" || !which(b) || b.why(w) != "" {
			continue
		}
		k, name := showKey(b.Keys()[0]), w.barName(b)
		if name == "" || l.width()+width(k)+max(width(name), width(b.name))+3 > room {
			continue
		}
		l = append(l, seg{strong, k}, seg{dim, " " + name + "  "})
	}
	return l
}

func (w *Workbench) barName(b *binding) string {
	if b.name == "pause all" && w.gauges.status != nil && w.gauges.status.Paused {
		return "go on all" // as wide as the name it stands for
	}
	switch t, one := w.list.chosen(); {
	case b.name == "pause" && b.scope == inReplay && w.gauges.replay.Paused:
		return "go on"
	case b.name == "filter" && w.focus == viewFocus:
		return "find"
	case b.name == "again" && b.scope == debugger && w.lastStep != "":
		return w.lastStep + " again"
	case b.name == "stop now" && !one: // of all: the help tells of it
		return ""
	case b.name == "your turns" && one && w.human(t.Key):
		return "its turns"
	}
	return b.name
}

// counts stand at the right end, where the eye finds them at any width. Where
// keys need the room the head alone writes SIMULATED in full.
func (w *Workbench) counts(cols int) line {
	c := w.gauges.tally
	l := line{}
	if w.opt.Replay != nil {
		l.add(dim, "replay  ")
	} else if w.opt.Commands == nil {
		l.add(dim, "read only  ")
	}
	if w.gauges.simulated() && cols < 100 {
		l.add(warn, "SIM  ")
	} else if w.gauges.simulated() {
		l.add(warn, "SIMULATED  ")
	}
	l.add(live, fmt.Sprintf("▶%d ", c.running))
	if c.held > 0 {
		l.add(warn, fmt.Sprintf("◆%d ", c.held))
	}
	if c.failed > 0 {
		l.add(fail, fmt.Sprintf("!%d ", c.failed))
	}
	l.add(plain, fmt.Sprintf("%d/%d", c.ended, c.all))
	return l
}

// tinyLine is all there is on a very small terminal.
func (w *Workbench) tinyLine(cols int) string {
	if w.dialog != nil {
		q, asks := w.dialog.(*question)
		if asks && q.brief != "" && width(q.brief) <= cols {
			return w.th.fit(line{{warn, q.brief}}, cols)
		}
		return w.th.fit(line{{warn, "esc closes what is open"}}, cols)
	}
	c := w.gauges.tally
	l := line{}
	if w.gauges.simulated() {
		l.add(warn, "SIM ")
	}
	l.add(plain, fmt.Sprintf("%d/%d ", c.ended, c.all))
	l.add(good, fmt.Sprintf("✔%d ", c.solved))
	l.add(live, fmt.Sprintf("▶%d ", c.running))
	l.add(warn, fmt.Sprintf("◆%d ", c.held))
	l.add(dim, "q quits")
	return w.th.fit(l, cols)
}
