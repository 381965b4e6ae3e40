package ui

import (
	"encoding/json"
	"fmt"
	"strconv"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
	"rollbench/sessions"
)

// breaksKey opens the list of breakpoints.
const breaksKey = "B"

// breakKeys are the rows of the key table that concern breakpoints.
func breakKeys() []binding {
	return []binding{
		{Binding: on("set a breakpoint, on calls or lines of answers like the one under the cursor", "b", "f9"), verb: "break", scope: anywhere, over: true, can: canPauseAll, do: doBreak},
		{Binding: on("the breakpoints, and how often each was met", breaksKey), verb: "breakpoints", scope: anywhere, over: true, do: doBreaks},
		{Binding: on("change the breakpoint under the cursor", "enter"), name: "change", scope: inBreaks, can: canBreakpoint, do: doChangeBreak},
		{Binding: on("look at it again, or no more", " "), name: "on/off", verb: "switch", scope: inBreaks, can: canBreakpoint, do: doSwitchBreak},
		{Binding: on("remove it; what it holds stays held", "d"), name: "remove", scope: inBreaks, can: canBreakpoint, do: doRemoveBreak},
	}
}

// doBreak opens a form with a breakpoint for what is looked at.
func doBreak(w *Workbench) tea.Cmd {
	w.openBreak(0, w.breakHere())
	return nil
}

// breakHere is a breakpoint on calls like the one under the cursor, on answers with
// the line under it, or on calls like that of the turn it is in, else on the call that
// waits, else on the last tool; "" where there is none.
func (w *Workbench) breakHere() string {
	t, ok := w.list.chosen()
	if !ok || w.sheet != nil {
		return ""
	}
	if s := w.scroller(); s != nil && w.focus == viewFocus {
		switch b := s.block(w.document(), w.viewWidth()); {
		case b == nil:
		case b.call != nil:
			return engine.BreakpointFor(b.call.Name, b.call.Arguments)
		case b.tool != "":
			return engine.BreakpointForAnswer(b.tool, s.rowText(w.document(), w.viewWidth()))
		default:
			if c := s.call(w.document(), w.viewWidth()); c != nil {
				return engine.BreakpointFor(c.Name, c.Arguments)
			}
		}
	}
	switch {
	case t.HeldAt == sessions.AfterReply && len(w.turns.waits) > 0:
		c := w.turns.waits[0]
		return engine.BreakpointFor(c.Name, c.Arguments)
	case t.Tool != "":
		return engine.BreakpointFor(t.Tool, "")
	}
	return ""
}

// openBreak asks for the text of a breakpoint; id 0 is a new one.
func (w *Workbench) openBreak(id int, text string) {
	f := &form{
		name:   "Breakpoint",
		help:   "Holds every trajectory where all of it is true, and changes nothing in the record. " + engine.BreakpointGrammar,
		fields: []field{{name: "when", editor: newEditor(text, true), ext: ".txt"}},
		edit:   w.external,
	}
	said := "breakpoint set: "
	if id > 0 {
		f.name, said = fmt.Sprintf("Breakpoint #%d", id), fmt.Sprintf("breakpoint #%d is now: ", id)
	}
	f.send = func(v []string) (tea.Cmd, error) {
		text, err := engine.ParseBreakpoint(v[0])
		if err != nil {
			return nil, err
		}
		return w.verb(said+text, func(c Commands) error { return c.SetBreakpoint(id, text) }), nil
	}
	w.dialog = f
}

// doBreaks lists them; it is made anew for every frame.
func doBreaks(w *Workbench) tea.Cmd {
	w.openSheet(&sheet{title: "breakpoints", opener: breaksKey, scope: inBreaks, page: func(int, int) document { return breaksPage(w.gauges.status) }})
	if s := w.gauges.status; s != nil && len(s.Breakpoints) > 0 {
		w.sheet.scroll.cursor = place{1, 0}
	}
	return nil
}

func breaksPage(s *engine.Status) *page {
	top := &section{labels: 1}
	if s == nil || len(s.Breakpoints) == 0 {
		top.add(block{id: "none", body: dim, text: "No breakpoints. b sets one: " + engine.BreakpointGrammar})
		return onePage(top)
	}
	top.cells(line{{dim, pad("#", 5) + pad("state", 8) + padLeft("hits", 6) + "  " + pad("at", 14) + "when"}})
	rows := &section{}
	for _, b := range s.Breakpoints {
		state, r := "● on", good
		switch {
		case b.Off:
			state, r = "○ off", dim
		case b.Log:
			state, r = "● log", live
		}
		at := string(b.At)
		if at == "" {
			at = "the verdict"
		}
		rows.add(block{id: strconv.Itoa(b.ID), kind: cells, raw: b.Text, title: line{{strong, pad("#"+strconv.Itoa(b.ID), 5)}, {r, pad(state, 8)},
			{plain, padLeft(thousands(int64(b.Hits)), 6) + "  "}, {dim, pad(at, 14)}, {plain, cleanLine(b.Text)}}})
	}
	return &page{sections: []*section{top, rows}}
}

// breakpoint under the cursor; false where there is none.
func (w *Workbench) breakpoint() (engine.Breakpoint, bool) {
	s, in := w.gauges.status, w.sheetBox()
	if s == nil || w.sheet == nil {
		return engine.Breakpoint{}, false
	}
	w.sheet.scroll.settle(w.sheet.page(in.w, in.h), in.w, in.h)
	if at := w.sheet.scroll.cursor; at.section == 1 && at.row < len(s.Breakpoints) {
		return s.Breakpoints[at.row], true
	}
	return engine.Breakpoint{}, false
}

func canBreakpoint(w *Workbench) string {
	if w.sheet == nil || w.sheet.scope != inBreaks { // as the help lists it
		return ""
	}
	if _, ok := w.breakpoint(); !ok {
		return "choose a breakpoint first (b sets one)"
	}
	return canPauseAll(w)
}

func doChangeBreak(w *Workbench) tea.Cmd {
	b, _ := w.breakpoint()
	w.openBreak(b.ID, b.Text)
	return nil
}

func doSwitchBreak(w *Workbench) tea.Cmd {
	b, _ := w.breakpoint()
	said := fmt.Sprintf("breakpoint #%d is off: it is not looked at", b.ID)
	if b.Off {
		said = fmt.Sprintf("breakpoint #%d is on", b.ID)
	}
	return w.verb(said, func(c Commands) error { return c.EnableBreakpoint(b.ID, b.Off) })
}

func doRemoveBreak(w *Workbench) tea.Cmd {
	b, _ := w.breakpoint()
	return w.verb(fmt.Sprintf("breakpoint #%d is removed: %s", b.ID, b.Text), func(c Commands) error { return c.RemoveBreakpoint(b.ID) })
}

// applyHit keeps the hits of log-only breakpoints among the messages. Others
// tell of themselves by what they hold.
func (w *Workbench) applyHit(e sessions.Event) {
	var p sessions.BreakpointHit
	if err := json.Unmarshal(e.Data, &p); err == nil && p.Log {
		w.toasts.keep(w.now, withKey(e.Key, fmt.Sprintf("met #%d %s in turn %d", p.ID, p.Text, p.Turn)))
	}
}
