package ui

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"
)

func doTab(w *Workbench) tea.Cmd {
	w.focus = 1 - w.focus
	return nil
}

func doZoom(w *Workbench) tea.Cmd {
	w.zoom = !w.zoom
	return nil
}

func doFollow(w *Workbench) tea.Cmd {
	if w.atTokens() {
		w.tokens.toTurn(w.tokens.turn, !w.tokens.follow)
	}
	if s := w.scroller(); s != nil {
		s.follow = !s.follow
	}
	return nil
}

// The list gets the keys with the filter, so that enter leaves one in it.
func doFilter(w *Workbench) tea.Cmd {
	w.focus = listFocus
	w.filtering = true
	w.filter = newFilter(w.list.filter)
	return nil
}

// Enter goes in where there is something to go into, and folds a group.
func doEnterList(w *Workbench) tea.Cmd {
	if _, ok := w.list.chosen(); ok {
		w.focus = viewFocus
		return nil
	}
	if g, ok := w.list.chosenGroup(); ok {
		w.list.foldHere(!w.list.folded[g.instance])
	}
	return nil
}

// canFold keeps enter honest: a short block has nothing to unfold.
func canFold(w *Workbench) string {
	if s := w.scroller(); s != nil && s.canFold(w.document(), w.viewWidth()) {
		return ""
	}
	return "there is nothing to unfold here"
}

func doFold(open *bool) func(*Workbench) tea.Cmd {
	return func(w *Workbench) tea.Cmd {
		if s := w.scroller(); s != nil {
			s.fold(w.document(), w.viewWidth(), open)
		}
		return nil
	}
}

func doHelp(w *Workbench) tea.Cmd {
	w.openNarrow("help", "?", w.helpPage)
	return nil
}

func doMessages(w *Workbench) tea.Cmd {
	w.openNarrow("messages", "m", w.toasts.page)
	w.sheet.scroll.follow = true
	return nil
}

// doBack goes back one level at a time. It never stops work.
func doBack(w *Workbench) tea.Cmd {
	switch {
	case w.finding():
		w.find.quit()
	case w.zoom:
		w.zoom = false
	case w.focus == viewFocus:
		w.focus = listFocus
	case len(w.list.marks) > 0:
		w.list.marks = nil
	case w.list.filter != "":
		w.list.filter = ""
		w.list.rebuild()
	default:
		w.toasts.add(w.now, note, "esc: there is nothing to go back from; q leaves")
	}
	return nil
}

// doQuit asks only while work is running here.
func doQuit(w *Workbench) tea.Cmd {
	if w.opt.Commands == nil || w.engineDone || w.list.trajs != nil && w.gauges.tally.still == 0 {
		return tea.Quit
	}
	c := w.gauges.tally
	w.dialog = &question{
		name: "Leave while work is running?", brief: "l leaves, resumable  esc stays",
		text: []line{
			{{plain, fmt.Sprintf("%d of %d trajectories have not ended: %d running, %d held, %d queued, %d in other stages.", c.still, c.all+c.forks, c.running, c.held, c.queued,
				c.still-c.running-c.held-c.queued)}},
			{{plain, "Leaving stops the engine and closes its sandboxes. Nothing recorded is lost; this continues it:"}},
			{{strong, "rollbench resume " + cleanLine(w.gauges.run.ID)}},
		},
		choices: []choice{
			{text: "Stay"},
			{key: "l", also: "y", text: "Leave it resumable", do: func() tea.Cmd {
				w.left = true
				return tea.Quit
			}},
		},
	}
	return nil
}

// canExport needs something that has ended: only whole trajectories are written.
func canExport(w *Workbench) string {
	if w.opt.Export == nil {
		return "nothing to export with here: rollbench export " + cleanLine(w.gauges.run.ID)
	}
	if w.gauges.tally.ended == 0 {
		return "no trajectory has ended yet"
	}
	return ""
}

// exportMsg is how an export went.
type exportMsg struct {
	path, summary string
	err           error
}

// Exporting changes nothing, so its dialog has the focus on doing it.
func doExport(w *Workbench) tea.Cmd {
	c := w.gauges.tally
	run := func(included bool) func() tea.Cmd {
		return func() tea.Cmd {
			w.toasts.add(w.now, note, "exporting…")
			return w.job(func(ctx context.Context) tea.Msg {
				path, summary, err := w.opt.Export(ctx, included)
				return exportMsg{path, summary, err}
			})
		}
	}
	text := fmt.Sprintf("%d of %d trajectories have ended, %d of them masked. One JSON line for each transition.", c.ended, c.all, c.masked)
	q := &question{name: "Export transitions", text: []line{{{plain, text}}},
		choices: []choice{{text: "Do not export"}, {key: "y", text: "Export", do: run(false)}}}
	if w.gauges.simulated() {
		q.text = append(q.text, line{{warn, "▲ The endpoint is SIMULATED; the file says so."}})
	}
	if n := c.intervened + c.forks; n > 0 {
		said := fmt.Sprintf("✎ %d intervened", n)
		if c.forks > 0 {
			said += fmt.Sprintf(", %d of them forks", c.forks)
		}
		q.text = append(q.text, line{{person, said + ": left out unless included; then only sampled tokens train."}})
		q.choices = append(q.choices, choice{key: "a", text: "Include intervened", do: run(true)})
	}
	q.at = 1 // nothing is lost by exporting
	w.dialog = q
	return nil
}

func canCopy(w *Workbench) string {
	if w.focus == listFocus {
		if _, ok := w.list.chosenGroup(); !ok {
			return "there is nothing to copy"
		}
		return ""
	}
	if w.atTokens() {
		if w.tokens.shows() && w.tokens.n > 0 {
			return ""
		}
		return "there is nothing to copy here yet"
	}
	if s := w.scroller(); s == nil || s.block(w.document(), w.viewWidth()) == nil {
		return "there is nothing to copy here yet"
	}
	return ""
}

func doCopy(w *Workbench) tea.Cmd {
	if w.focus == listFocus {
		if t, ok := w.list.chosen(); ok {
			return w.copyText("its name", t.Key.String())
		}
		g, _ := w.list.chosenGroup()
		return w.copyText("the instance's name", g.instance)
	}
	if w.atTokens() {
		return w.copyText("the token", w.tokens.copied())
	}
	b := w.scroller().block(w.document(), w.viewWidth())
	text := b.text
	if b.raw != "" {
		text = clean(b.raw)
	}
	return w.copyText("this block", text)
}

func doCopyID(w *Workbench) tea.Cmd {
	text, what := w.gauges.run.ID, "the run's id"
	if t, ok := w.list.chosen(); ok {
		text, what = text+" "+t.Key.String(), "the run's id and the name"
	} else if g, ok := w.list.chosenGroup(); ok {
		text, what = text+" "+g.instance, "the run's id and the instance's name"
	}
	return w.copyText(what, text)
}
