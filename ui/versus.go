package ui

import (
	"context"
	"errors"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
	"rollbench/sessions/compare"
)

const versusKey = "D"

// Runs knows the runs that this one can be compared with.
type Runs interface {
	// List them, newest first.
	List(ctx context.Context) ([]sessions.Summary, error)
	// Open one for reading.
	Open(ctx context.Context, id string) (sessions.Reader, error)
}

// versusView is this run, A, against another one, B.
type versusView struct {
	other      string
	intervened bool
	report     *compare.Report

	logs [2]*compare.Log // of a job while loading
	reading
	waiting bool      // for the time to read again
	read    time.Time // when it was
	drawn   drawnVersus
}

// versusEvery is how often runs that go on are compared again.
const versusEvery = 3 * time.Second

// versusMsg brings a comparison; going says that the other run goes on.
type versusMsg struct {
	view       *versusView
	report     compare.Report
	intervened bool
	going      bool
	err        error
}

// versusAgainMsg says that it may be read again.
type versusAgainMsg struct{ view *versusView }

// runsMsg brings the runs to choose from.
type runsMsg struct {
	picker *runPicker
	list   []sessions.Summary
	err    error
}

func canVersus(w *Workbench) string {
	if w.opt.Runs == nil {
		return "no other run is known here: rollbench compare " + cleanLine(w.gauges.run.ID) + " RUN"
	}
	return ""
}

// doVersus asks for a run, and reads which there are meanwhile.
func doVersus(w *Workbench) tea.Cmd {
	runs, mine := w.opt.Runs, w.gauges.run.ID
	p := &runPicker{name: "Compare " + cleanLine(mine) + " with which run?", input: newFilter("")}
	p.take = func(id string) tea.Cmd {
		w.openVersus(id)
		return nil
	}
	w.dialog = p
	return w.job(func(ctx context.Context) tea.Msg {
		list, err := runs.List(ctx)
		return runsMsg{p, slices.DeleteFunc(list, func(s sessions.Summary) bool { return s.ID == mine }), err}
	})
}

func (m runsMsg) applyTo(w *Workbench) tea.Cmd {
	m.picker.all, m.picker.ready = m.list, true
	if m.err != nil {
		w.toasts.add(w.now, trouble, m.err.Error())
	}
	return nil
}

func (w *Workbench) openVersus(id string) {
	v := &versusView{other: id, reading: reading{old: true}, logs: [2]*compare.Log{{}, {}}}
	w.openSheet(&sheet{opener: versusKey, scope: inVersus, side: v,
		head: func() line { return v.head(w.gauges.run.ID) },
		page: func(cols, _ int) document { return v.page(cols) }})
}

func (v *versusView) head(mine string) line {
	l := line{{strong, "A"}, {plain, " " + cleanLine(mine)}, {dim, " against "}, {strong, "B"}, {plain, " " + cleanLine(v.other)}}
	if v.intervened {
		l.add(person, " · with intervened")
	}
	if v.report == nil && v.failed == "" {
		l.add(dim, " · reading…")
	}
	return l
}

func (v *versusView) top(*Workbench, int) []line { return nil }

// stale at what changes a number of a trajectory that counts: those that ended.
func (v *versusView) stale(e sessions.Event) {
	switch e.Kind {
	case sessions.KindState, sessions.KindReward, sessions.KindMarks, sessions.KindIntervention:
		v.old = true
	}
}

func (v *versusView) load(w *Workbench) tea.Cmd {
	if v.waiting || !v.begins() {
		return nil
	}
	r, runs, logs, other := w.opt.Reader, w.opt.Runs, v.logs, v.other
	m := versusMsg{view: v, intervened: v.intervened}
	return w.job(func(ctx context.Context) tea.Msg {
		m.report, m.going, m.err = readVersus(ctx, r, runs, other, logs, m.intervened)
		return m
	})
}

// readVersus opens the other run for as long as it takes.
func readVersus(ctx context.Context, r sessions.Reader, runs Runs, other string, logs [2]*compare.Log, intervened bool) (report compare.Report, going bool, err error) {
	o, err := runs.Open(ctx, other)
	if err != nil {
		return report, false, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	a, b, err := compare.ReadSides(ctx, r, o, logs[0], logs[1])
	if err != nil {
		return report, false, err
	}
	going = slices.ContainsFunc(b.Rows, func(t sessions.Trajectory) bool { return !t.State.Ended() })
	report, err = compare.Runs(a, b, intervened)
	return report, going, err
}

func (m versusMsg) applyTo(w *Workbench) tea.Cmd {
	v := m.view
	shown := v.brought(w, v, m.err)
	if w.side() != comparison(v) {
		return nil
	}
	if shown && m.intervened == v.intervened {
		v.report = &m.report
	}
	v.old = v.old || m.going && m.err == nil
	v.waiting, v.read = true, w.now
	return w.job(func(ctx context.Context) tea.Msg {
		if !sleep(ctx, versusEvery) {
			return nil
		}
		return versusAgainMsg{v}
	})
}

func (m versusAgainMsg) applyTo(*Workbench) tea.Cmd {
	m.view.waiting = false // prepare asks for what is out of date
	return nil
}

// doIntervened counts the changed trajectories in, or out.
func doIntervened(w *Workbench) tea.Cmd {
	v := w.sheet.side.(*versusView)
	v.intervened, v.old, v.waiting = !v.intervened, true, false
	return nil
}

// flipHere is the instance under the cursor.
func (w *Workbench) flipHere() (string, bool) {
	v, open := w.side().(*versusView)
	if !open || v.report == nil {
		return "", false
	}
	w.sheetPage()
	at := w.sheet.scroll.cursor
	if at.section != flipsAt || at.row < flipsHead || at.row-flipsHead >= len(v.report.Flips) {
		return "", false
	}
	return v.report.Flips[at.row-flipsHead].Instance, true
}

func canGoFlip(w *Workbench) string {
	if _, ok := w.flipHere(); !ok && w.side() != nil {
		return "put the cursor on an instance that flips"
	}
	return ""
}

// doGoFlip chooses the group of the instance.
func doGoFlip(w *Workbench) tea.Cmd {
	name, _ := w.flipHere()
	w.closeSheet()
	w.list.filter = ""
	w.list.rebuildAt(name, -1)
	w.focus = listFocus
	return nil
}
