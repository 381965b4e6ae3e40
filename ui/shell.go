package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
	"rollbench/sessions"
)

// shellMsg brings a shell that was asked for.
type shellMsg struct {
	key   sessions.Key
	shell engine.Shell
	err   error
}

// shellLeftMsg says how a shell was left.
type shellLeftMsg struct {
	key sessions.Key
	err error
}

// openShell asks for a shell beside the screen: a copy of a large sandbox takes its
// time.
func (w *Workbench) openShell(key sessions.Key, look bool) tea.Cmd {
	term := engine.Terminal{Rows: w.h, Cols: w.w, Term: os.Getenv("TERM")}
	c := w.opt.Commands
	w.toasts.add(w.now, note, "a shell for "+key.String()+" is being opened")
	return w.job(func(ctx context.Context) tea.Msg {
		s, err := c.OpenShell(ctx, key, look, term)
		return shellMsg{key, s, err}
	})
}

// enterShell gives the terminal to the shell. Where a person types in a dialog by
// then, its next keys would be the shell's: it is left unopened.
func (w *Workbench) enterShell(m shellMsg) tea.Cmd {
	if m.err != nil {
		w.toasts.add(w.now, trouble, m.err.Error())
		return w.pull()
	}
	if w.dialog != nil || w.filtering || w.find.typing {
		return w.job(func(context.Context) tea.Msg {
			return shellLeftMsg{m.key, errors.Join(errors.New("something else was being typed when the shell was ready: $ opens it again"), m.shell.Close())}
		})
	}
	return tea.Exec(&shellSession{ctx: w.jobs.ctx, shell: m.shell}, func(err error) tea.Msg { return shellLeftMsg{m.key, err} })
}

func (w *Workbench) applyShellLeft(m shellLeftMsg) {
	w.report(ok, "the shell for "+m.key.String()+" is left", m.err)
}

// applyStopped tells what a stopped model call cost.
func (w *Workbench) applyStopped(e sessions.Event) {
	var p sessions.RequestStopped
	if json.Unmarshal(e.Data, &p) != nil {
		return
	}
	came := "how much had come is not known"
	switch {
	case p.Tokens != nil && *p.Tokens == 0:
		came = "nothing of the reply had come"
	case p.Tokens != nil:
		came = plural(*p.Tokens, "token that had come is dropped", "tokens that had come are dropped")
	}
	w.toasts.add(w.now, note, withKey(e.Key, fmt.Sprintf("the model call of turn %d was stopped after %s: %s", p.Turn, took(p.Wall), came)))
}

// gateHelp says what is ahead of a held trajectory, and whose turn it is; of one
// that only another process sees, that it is so.
func (w *Workbench) gateHelp(t sessions.Trajectory) string {
	if t.State != sessions.Held {
		if w.onlyWatched(t) {
			return "It comes here once it is recorded: only the process that drives the run shows it live."
		}
		return ""
	}
	if w.yours(t) && w.gauges.driven {
		if w.modelless() {
			return "This turn is yours.\na write  i inject"
		}
		return "This turn is yours.\na write  A give the model its turns  i inject"
	}
	return heldHelp(t.HeldAt, w.turns.answered, w.gauges.driven)
}
