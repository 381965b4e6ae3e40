package ui

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// humanKeys are the rows of the key table for turns that a person writes, for
// stopping at once, for shells, and for stepping again.
func humanKeys() []binding {
	return []binding{
		{Binding: on("write this turn yourself, or replace the reply that waits", "a"), name: "write", scope: debugger, can: canWrite, do: doWrite},
		{Binding: on("repeat the last step: into, over, out or continue", "."), name: "again", scope: debugger, can: canRepeat, do: doRepeat},
		{Binding: on("stop now: give up the model call under way; on a group's heading, of all", "S"), name: "stop now", scope: debugger, can: canStop, do: doStop},
		{Binding: on("write all turns of it yourself, or give the model its turns back", "A"), name: "your turns", scope: debugger, can: canHuman, do: doHuman},
		{Binding: on("open a shell in its sandbox, or in a copy of it", "$"), verb: "shell", scope: debugger, danger: true, can: canShell, do: doShell},
	}
}

// human reports whether a person writes the turns of the trajectory.
func (w *Workbench) human(key sessions.Key) bool {
	s := w.gauges.status
	return s != nil && s.Human[key.String()]
}

// yours: the turn that is held is a person's to write.
func (w *Workbench) yours(t sessions.Trajectory) bool {
	return t.State == sessions.Held && t.HeldAt == sessions.BeforeModel && w.human(t.Key)
}

// canGoOn is canHeld for verbs that may ask the model.
func canGoOn(w *Workbench) string {
	if why := canHeld(w); why != "" {
		return why
	}
	if t, _ := w.list.chosen(); w.yours(t) {
		if w.modelless() {
			return "this turn is yours: a writes it"
		}
		return "this turn is yours: a writes it, A gives the model its turns back"
	}
	return ""
}

// modelless: the run has no endpoint that could be asked for a turn.
func (w *Workbench) modelless() bool {
	return w.gauges.status != nil && len(w.gauges.status.Endpoints) == 0
}

// canWrite needs a turn that has not been asked for, or a reply that waits.
func canWrite(w *Workbench) string {
	if why := canHeld(w); why != "" {
		return why
	}
	switch t, _ := w.list.chosen(); {
	case t.HeldAt == sessions.BeforeModel:
		return ""
	case t.HeldAt != sessions.AfterReply:
		return "no turn waits to be written: it is held at " + string(t.HeldAt) + " (n goes to the next one)"
	case w.turns.answered:
		return "its call is rejected already: c goes on"
	}
	return ""
}

// canHuman: where there is no endpoint nobody else could have them.
func canHuman(w *Workbench) string {
	if why := canInject(w); why != "" {
		return why
	}
	if t, _ := w.list.chosen(); w.modelless() && w.human(t.Key) {
		return "the run has no endpoint: every turn is yours to write"
	}
	return ""
}

func doHuman(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	on := !w.human(t.Key)
	said := "the model has its turns of " + t.Key.String() + " back: c asks it"
	if on {
		said = "the turns of " + t.Key.String() + " are yours from the next one on: a writes one"
	}
	return w.verb(said, func(c Commands) error { return c.Human(t.Key, on) })
}

// canStop is for one that goes on, or for all on a group's heading.
func canStop(w *Workbench) string {
	if _, one := w.list.chosen(); !one {
		return canPauseAll(w)
	}
	return canPause(w)
}

// doStop asks only where it is for all.
func doStop(w *Workbench) tea.Cmd {
	t, one := w.list.chosen()
	if !one {
		w.askStopAll()
		return nil
	}
	said := "the model call of " + t.Key.String() + " is given up: it is held before it"
	switch {
	case t.State != sessions.Running:
		said = t.Key.String() + " will be held at its next gate"
	case !t.ToolSince.IsZero():
		said = toolLabel(t.Tool) + " of " + t.Key.String() + " goes on, and it is held after it: C cancels the call"
	}
	return w.verb(said, func(c Commands) error { return c.StopNow(t.Key) })
}

func (w *Workbench) askStopAll() {
	c := w.gauges.tally
	w.dialog = &question{
		name: "Stop all now?",
		text: []line{
			{{strong, fmt.Sprintf("%d running, %d of them at a model call", c.running, w.replying())}},
			{{plain, "Model calls under way are given up, and made anew when they go on: what had come of them is lost, and costs its tokens again. Calls of tools are left: their trajectories are held after them. Nothing counts as intervened. P continues all."}},
		},
		choices: []choice{
			{text: "Leave them"},
			{key: "y", text: "Stop all", do: func() tea.Cmd {
				return w.verb("all are stopped: P continues them", func(c Commands) error { return c.StopNow(sessions.Key{}) })
			}},
		},
	}
}

// replying are the trajectories whose model call is under way.
func (w *Workbench) replying() (n int) {
	if s := w.gauges.status; s != nil {
		for _, st := range s.Streams {
			n += boolInt(st.What == "model")
		}
	}
	return n
}

func canRepeat(w *Workbench) string {
	if why := canGoOn(w); why != "" {
		return why
	}
	if w.lastStep == "" {
		return "nothing was stepped yet: s, n, f or c"
	}
	return ""
}

func doRepeat(w *Workbench) tea.Cmd {
	if w.lastStep == "continue" {
		return doContinue(w)
	}
	return doStep(w.lastStep)(w)
}

// canShell needs an open sandbox; whether it is held decides what is offered.
func canShell(w *Workbench) string {
	if why := needTrajectory(w); why != "" {
		return why
	}
	switch t, _ := w.list.chosen(); {
	case t.HeldAt == sessions.BeforeEval:
		return "its run stage is over: the patch is what counts now"
	case t.State == sessions.Running, t.State == sessions.Held, t.State == sessions.Ready:
		return ""
	}
	return "its sandbox is not open"
}

// doShell asks which sandbox is meant. Looking around changes nothing, so it has the
// focus.
func doShell(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	open := func(look bool) func() tea.Cmd { return func() tea.Cmd { return w.openShell(t.Key, look) } }
	q := &question{
		name: "Open a shell for " + cleanLine(t.Key.String()),
		text: []line{
			{{plain, "Look around: in a copy of its sandbox, thrown away afterwards. Nothing counts as intervened."}},
		},
		choices: []choice{{text: "Do not"}, {key: "l", text: "Look around", do: open(true)}},
		at:      1,
	}
	if canByHand(w) == "" {
		q.text = append(q.text, line{{warn, "▲ Change things: in the sandbox itself. The policy is not told. What is typed is not recorded and cannot be repeated, so that a resume starts this trajectory again; it counts as intervened."}})
		q.choices = append(q.choices, choice{key: "c", text: "Change things", do: open(false)})
	} else {
		q.text = append(q.text, line{{dim, "To change things hold it first: p."}})
	}
	w.dialog = q
	return nil
}
