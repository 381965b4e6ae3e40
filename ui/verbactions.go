package ui

import (
	"context"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// verbMsg is how a verb went: accepted, or why not.
type verbMsg struct {
	said string
	err  error
	form *form // that asked for it; nil: none did
}

// verb runs one of the engine's verbs away from the screen.
func (w *Workbench) verb(said string, f func(Commands) error) tea.Cmd {
	c := w.opt.Commands
	from, _ := w.dialog.(*form)
	return w.job(func(context.Context) tea.Msg { return verbMsg{said, f(c), from} })
}

// applyVerb tells how it went. A form whose verb was refused is there again, with what
// was typed.
func (w *Workbench) applyVerb(m verbMsg) {
	w.report(ok, m.said, m.err)
	if m.err != nil && m.form != nil && w.dialog == nil {
		m.form.fail(m.err)
		w.dialog = m.form
	}
}

// needTrajectory and the other can functions answer why a key does not apply.
func needTrajectory(w *Workbench) string {
	if w.opt.Commands == nil {
		return "read only: this run is not driven from here"
	}
	if w.engineDone {
		return "the run has ended"
	}
	t, ok := w.list.chosen()
	if !ok {
		return "choose one trajectory first (a group is chosen)"
	}
	if t.State.Ended() {
		return t.Key.String() + " has ended"
	}
	return ""
}

// canHeld is for verbs that let a held trajectory go on.
func canHeld(w *Workbench) string {
	if why := needTrajectory(w); why != "" {
		return why
	}
	switch t, _ := w.list.chosen(); {
	case t.State != sessions.Held:
		return t.Key.String() + " is not held: p pauses it at its next gate"
	case t.Held == sessions.HeldLimit:
		return t.Key.String() + " goes on as soon as a run slot is free: p pauses it again"
	}
	return ""
}

func canPause(w *Workbench) string {
	if why := needTrajectory(w); why != "" {
		return why
	}
	switch t, _ := w.list.chosen(); {
	case t.Held == sessions.HeldLimit:
	case t.State == sessions.Held:
		if w.yours(t) {
			return t.Key.String() + " is held already: a writes its turn"
		}
		return t.Key.String() + " is held already: c continues it"
	case t.State == sessions.Ran, t.State == sessions.Evaluating:
		return "its run stage is over: there is no gate ahead"
	}
	return ""
}

func canReject(w *Workbench) string {
	if why := canHeld(w); why != "" {
		return why
	}
	switch t, _ := w.list.chosen(); {
	case t.HeldAt != sessions.AfterReply:
		return "no call waits to run: it is held at " + string(t.HeldAt) + " (s goes to the next gate)"
	case w.turns.answered:
		return "its call is rejected already: c goes on"
	}
	return ""
}

// canEdit needs the waiting call itself, which is read with its turn.
func canEdit(w *Workbench) string {
	if t, _ := w.list.chosen(); t.HeldAt == sessions.AfterTool && canHeld(w) == "" {
		return canEditObservation(w)
	}
	if why := canReject(w); why != "" {
		return why
	}
	if w.turns.turns[w.turns.last] == nil || w.turns.stale[w.turns.last] {
		return "its last turn is still being read"
	}
	if len(w.turns.waits) == 0 {
		return "the reply that waits has no call to edit"
	}
	return ""
}

// canInject needs a model call ahead.
func canInject(w *Workbench) string {
	if why := needTrajectory(w); why != "" {
		return why
	}
	t, _ := w.list.chosen()
	if t.State == sessions.Ran || t.State == sessions.Evaluating || t.State == sessions.Held && t.HeldAt == sessions.BeforeEval {
		return "its run stage is over: no model call is ahead"
	}
	return ""
}

// canFinish is for the run stage only: before it there is nothing to evaluate.
func canFinish(w *Workbench) string {
	if why := needTrajectory(w); why != "" {
		return why
	}
	switch t, _ := w.list.chosen(); t.State {
	case sessions.Running, sessions.Held:
		return ""
	}
	return "it is not in its run stage"
}

func canCancel(w *Workbench) string { return needTrajectory(w) }

// canCancelCall needs a call that runs right now.
func canCancelCall(w *Workbench) string {
	if why := needTrajectory(w); why != "" {
		return why
	}
	switch t, _ := w.list.chosen(); {
	case w.byHand():
	case t.State == sessions.Held:
		return "no call is running: " + t.Key.String() + " is held"
	case t.State != sessions.Running:
		return "no call is running: it is not in its run stage"
	case t.ToolSince.IsZero():
		return "no call is running: the policy is replying"
	}
	return ""
}

func canPauseAll(w *Workbench) string {
	switch {
	case w.opt.Commands == nil:
		return "read only: this run is not driven from here"
	case w.engineDone || w.gauges.ended:
		return "the run has ended"
	}
	return ""
}

func doContinue(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	w.lastStep = "continue"
	return w.verb(t.Key.String()+" goes on", func(c Commands) error { return c.Continue(t.Key) })
}

func doStep(how string) func(*Workbench) tea.Cmd {
	said := map[string]string{"into": "to its next gate", "over": "to the end of this turn", "out": "to the end of its run stage"}[how]
	return func(w *Workbench) tea.Cmd {
		t, _ := w.list.chosen()
		w.lastStep = how
		return w.verb(t.Key.String()+" steps "+said, func(c Commands) error { return c.Step(t.Key, how) })
	}
}

func doPause(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	return w.verb(t.Key.String()+" will be held at its next gate", func(c Commands) error { return c.Pause(t.Key) })
}

// doPauseAll toggles by what the engine says, not by what was pressed before.
func doPauseAll(w *Workbench) tea.Cmd {
	if s := w.gauges.status; s != nil && s.Paused {
		return w.verb("all go on", func(c Commands) error { return c.Continue(sessions.Key{}) })
	}
	return w.verb("all will be held at their next gates: P continues them", func(c Commands) error { return c.Pause(sessions.Key{}) })
}

// doCancel asks: a cancelled trajectory cannot go on.
func doCancel(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	name := cleanLine(t.Key.String())
	w.dialog = &question{
		name: "Cancel 1 trajectory?",
		text: []line{
			{{strong, name}},
			{{plain, fmt.Sprintf("It ends now, after %d turns and %s tokens. It gets no reward, its tokens are masked, and it cannot go on. The others of its group are untouched.", t.Turn, short(float64(t.Tokens)))}},
		},
		choices: []choice{
			{text: "Leave it"},
			{key: "y", text: "Cancel it", do: func() tea.Cmd {
				return w.verb(name+" is being cancelled", func(c Commands) error { return c.Cancel(t.Key) })
			}},
		},
	}
	return nil
}

// doCancelCall asks: the trajectory counts as changed by a person then. The call
// that was named is the one that is cancelled, or none.
func doCancelCall(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	if w.byHand() { // a person's own: nothing of the record is lost
		return w.verb("the command by hand is being cancelled", func(c Commands) error { return c.CancelCall(t.Key, time.Time{}) })
	}
	name, tool := cleanLine(t.Key.String()), cleanLine(toolLabel(t.Tool))
	w.dialog = &question{
		name: "Cancel 1 call?",
		text: []line{
			{{strong, name + " · " + tool}, {plain, " has run for " + age(w.now.Sub(t.ToolSince))}},
			{{plain, "It is killed with all it started; the policy reads what it had printed and goes on. The trajectory counts as intervened: left out of exports unless asked for."}},
		},
		choices: []choice{
			{text: "Let it run"},
			{key: "y", text: "Cancel the call", do: func() tea.Cmd {
				return w.verb(tool+" of "+name+" is being cancelled", func(c Commands) error { return c.CancelCall(t.Key, t.ToolSince) })
			}},
		},
	}
	return nil
}

// doFinish asks: it masks the trajectory's tokens.
func doFinish(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	name := cleanLine(t.Key.String())
	w.dialog = &question{
		name: "End the run stage of 1 trajectory?",
		text: []line{
			{{strong, name}},
			{{plain, fmt.Sprintf("It stops after %d turns; its patch is taken and evaluated. Its finish reason is force_finished: its tokens are masked and it counts as intervened.", t.Turn)}},
		},
		choices: []choice{
			{text: "Leave it"},
			{key: "y", text: "End it", do: func() tea.Cmd {
				return w.verb(name+" is being wrapped up", func(c Commands) error { return c.Finish(t.Key) })
			}},
		},
	}
	return nil
}
