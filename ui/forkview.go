package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// placeForks puts each fork below its parent.
func placeForks(members []sessions.Trajectory) []sessions.Trajectory {
	if !slices.ContainsFunc(members, func(t sessions.Trajectory) bool { return t.Fork != nil }) {
		return members
	}
	children := map[int][]sessions.Trajectory{}
	for _, t := range members {
		if t.Fork != nil {
			children[t.Fork.Parent] = append(children[t.Fork.Parent], t)
		}
	}
	out := make([]sessions.Trajectory, 0, len(members))
	var put func(t sessions.Trajectory)
	put = func(t sessions.Trajectory) {
		out = append(out, t)
		for _, c := range children[t.ID] { // a child's number is higher than its parent's
			put(c)
		}
	}
	for _, t := range members {
		if t.Fork == nil {
			put(t)
		}
	}
	return out
}

// ofSet are the members that were fixed at the start of the run: those whose
// rewards are the group's.
func ofSet(members []sessions.Trajectory) []sessions.Trajectory {
	return slices.DeleteFunc(slices.Clone(members), func(t sessions.Trajectory) bool { return t.Fork != nil })
}

// forkNote is from whom and where a fork came: #0@7.
func forkNote(t sessions.Trajectory) string {
	if t.Fork == nil {
		return ""
	}
	return fmt.Sprintf("#%d@%d", t.Fork.Parent, t.Fork.Turn)
}

// forkLead stands above a fork's first own turn: where it comes from, and how its
// sandbox was rebuilt. r is nil while that is not known.
func forkLead(t sessions.Trajectory, r *sessions.Rebuilt) []block {
	f := t.Fork
	title := line{{person, fmt.Sprintf("%s forked from #%d at turn %d", forkGlyph, f.Parent, f.Turn)}}
	if f.Count > 1 {
		title.add(dim, fmt.Sprintf(" · %d children, #%d to #%d", f.Count, f.Group, f.Group+f.Count-1))
	}
	s := &section{}
	right := "the turns above are the parent's"
	if f.Turn == 1 {
		right = "it shares the task only"
	}
	s.add(block{id: "fork", kind: heading, title: title, right: line{{dim, right}}})
	goOn := ""
	if t.State == sessions.Held && t.Turn < f.Turn {
		goOn = ". c goes on all the same, X drops it."
	}
	switch n := t.Differs; {
	case r == nil && n > 0:
		s.add(block{id: "fork.sandbox", label: "≠ sandbox", labelRole: warn, body: warn, text: differSay(n, n)})
	case r == nil:
	case r.By == sessions.BySnapshot && n > 0:
		s.add(block{id: "fork.sandbox", label: "≠ sandbox", labelRole: warn, body: warn, text: "from a snapshot of the parent's; " + r.Say() + goOn})
		s.differences(r)
	case r.By == sessions.BySnapshot:
		s.add(block{id: "fork.sandbox", label: "sandbox", labelRole: dim, body: dim, text: "from a snapshot of the parent's; programs that ran there do not run here"})
	case n == 0 && r.Calls == 0:
		s.add(block{id: "fork.sandbox", label: "sandbox", labelRole: dim, body: dim, text: "a fresh one, as the parent's was: no call ran before that turn"})
	case n == 0:
		s.add(block{id: "fork.sandbox", label: "sandbox", labelRole: dim, body: dim, text: fmt.Sprintf("%s replayed in %s, all as recorded%s", plural(r.Calls, "call", "calls"), took(r.Wall), because(r.Why))})
	default:
		s.add(block{id: "fork.sandbox", label: "≠ sandbox", labelRole: warn, body: warn,
			text: fmt.Sprintf("%s replayed in %s: %s%s%s", plural(r.Calls, "call", "calls"), took(r.Wall), differSay(n, r.Recorded()), because(r.Why), goOn)})
		s.differences(r)
	}
	return s.blocks
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return " (no snapshot: " + cleanLine(why) + ")"
}

// differences one by one: the call, what was recorded, what came now.
func (s *section) differences(r *sessions.Rebuilt) {
	for i, d := range r.Differs {
		id := fmt.Sprintf("fork.d%d", i)
		label := fmt.Sprintf("≠ turn %d", d.Turn)
		switch {
		case d.Call < 0 && d.Args == "": // no command: a shell
			s.add(block{id: id, label: label, labelRole: warn, body: strong, text: trim(d.Tool), fold: foldPrompt})
		case d.Call < 0:
			s.add(block{id: id, label: label, labelRole: warn, body: strong, text: "by hand: " + trim(d.Args), fold: foldPrompt})
		default:
			v := viewCall(sessions.Call{Name: d.Tool, Arguments: d.Args})
			s.add(block{id: id, label: label, labelRole: warn, body: strong, text: strings.TrimSpace(v.label + " " + trim(v.text)), fold: foldPrompt})
		}
		if d.Why != "" {
			s.add(block{id: id + ".why", body: warn, text: trim(d.Why)})
			continue
		}
		s.add(block{id: id + ".was", label: "recorded", labelRole: dim, body: plain, text: orNothing(trim(d.Was)), fold: foldOutput})
		s.add(block{id: id + ".now", label: "here", labelRole: warn, body: plain, text: orNothing(trim(d.Now)), fold: foldOutput})
	}
	if r.More > 0 {
		s.add(block{id: "fork.more", body: warn, text: fmt.Sprintf("and %d more", r.More)})
	}
}

func orNothing(text string) string {
	if text == "" {
		return "(no output)"
	}
	return text
}

// leads puts the lead above the first own turn of a fork, and above its tail while
// there is none.
func (c *turnCache) leads(t sessions.Trajectory, r *sessions.Rebuilt) {
	if t.Fork == nil {
		return
	}
	sign := fmt.Sprint(t.Fork.Turn, t.Attempt, t.Differs, r != nil, t.State == sessions.Held)
	if r != nil {
		sign += r.Wall.String()
	}
	if c.leadSign != sign {
		c.leadSign, c.leadTurn, c.lead = sign, t.Fork.Turn, forkLead(t, r)
		if c.turns[c.leadTurn] != nil {
			c.stale[c.leadTurn] = true
		}
	}
	if t.Turn < t.Fork.Turn && c.tail != nil {
		c.tail.blocks = append(slices.Clone(c.lead), c.tail.blocks...)
	}
}

// forks is what is known of the sandboxes of forks.
type forks struct {
	rebuilt map[sessions.Key]*sessions.Rebuilt
	asked   map[sessions.Key]bool // the session was
}

func newForks() forks {
	return forks{map[sessions.Key]*sessions.Rebuilt{}, map[sessions.Key]bool{}}
}

// forkMsg brings how the sandbox of a fork was rebuilt, from the session's past.
type forkMsg struct {
	key     sessions.Key
	rebuilt *sessions.Rebuilt
	err     error
}

// loadFork reads what differs in the sandbox of the chosen fork, once: its events
// lie among all others.
func (w *Workbench) loadFork() tea.Cmd {
	t, one := w.list.chosen()
	if !one || t.Fork == nil || t.Differs == 0 || w.forks.rebuilt[t.Key] != nil || w.forks.asked[t.Key] {
		return nil
	}
	w.forks.asked[t.Key] = true
	r, key := w.opt.Reader, t.Key
	return w.job(func(ctx context.Context) tea.Msg {
		events, _, err := readEvents(ctx, r, key, 0)
		m := forkMsg{key: key, err: err}
		for _, e := range events {
			if e.Kind == sessions.KindRebuilt && err == nil {
				m.rebuilt = &sessions.Rebuilt{}
				m.err = json.Unmarshal(e.Data, m.rebuilt)
			}
		}
		return m
	})
}

func (w *Workbench) applyFork(m forkMsg) {
	if m.err != nil {
		w.complain(m.err)
		return
	}
	if m.rebuilt != nil && w.forks.rebuilt[m.key] == nil {
		w.forks.rebuilt[m.key] = m.rebuilt
	}
}

// forkWords of an event, false for others.
func forkWords(e sessions.Event) (string, bool) {
	switch e.Kind {
	case sessions.KindForked:
		var p sessions.Forked
		if json.Unmarshal(e.Data, &p) != nil {
			return "", false
		}
		text := fmt.Sprintf("from #%d at turn %d, %d children from #%d on", p.Parent, p.Turn, p.Count, p.Group)
		if p.Sampling != nil {
			text += " · sampling " + cleanLine(string(p.Sampling))
		}
		if p.Feedback != "" {
			text += " · feedback: " + cleanLine(p.Feedback)
		}
		return text, true
	case sessions.KindRebuilt:
		var p sessions.Rebuilt
		if json.Unmarshal(e.Data, &p) != nil {
			return "", false
		}
		text := fmt.Sprintf("by %s, %s, %s%s", p.By, plural(p.Calls, "call", "calls"), took(p.Wall), because(p.Why))
		for _, d := range p.Differs {
			text += fmt.Sprintf("\n≠ turn %d %s %s", d.Turn, cleanLine(d.Tool), cleanLine(d.Args))
			if d.Why != "" {
				text += "\n  " + cleanLine(d.Why)
				continue
			}
			text += "\n  recorded: " + cleanLine(d.Was) + "\n  here: " + cleanLine(d.Now)
		}
		return text, true
	}
	return "", false
}
