package ui

import (
	"context"
	"fmt"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
)

const whatIfKey = "w"

// whatIf is the newest simulation and what it said.
type whatIf struct {
	n      int // of the simulation: an older one's answer is dropped
	stop   context.CancelFunc
	busy   bool
	advice *engine.Advice
	at     time.Time
	failed string
}

// whatIfMsg is how simulation n went.
type whatIfMsg struct {
	n      int
	advice engine.Advice
	err    error
}

// end stops what is under way; its answer is not waited for any more.
func (f *whatIf) end() {
	if f.stop != nil {
		f.stop()
	}
	*f = whatIf{n: f.n + 1}
}

func canWhatIf(w *Workbench) string {
	if w.opt.WhatIf == nil {
		return "nothing to simulate with here: rollbench simulate --run " + cleanLine(w.gauges.run.ID)
	}
	return ""
}

// doWhatIf opens the view and simulates anew.
func doWhatIf(w *Workbench) tea.Cmd {
	w.openSheet(&sheet{title: "what if", opener: whatIfKey, scope: inWhatIf, page: func(cols, _ int) document { return w.whatIf.page(cols) }})
	return w.simulate()
}

// simulate away from the screen. What was simulated before stays until then.
func (w *Workbench) simulate() tea.Cmd {
	old := w.whatIf
	w.whatIf.end()
	ctx, stop := context.WithCancel(w.jobs.ctx)
	n := w.whatIf.n
	w.whatIf = whatIf{n: n, stop: stop, busy: true, advice: old.advice, at: old.at}
	return w.job(func(context.Context) tea.Msg {
		advice, err := w.opt.WhatIf(ctx)
		return whatIfMsg{n, advice, err}
	})
}

func (w *Workbench) applyWhatIf(m whatIfMsg) {
	f := &w.whatIf
	if m.n != f.n {
		return
	}
	f.stop()
	*f = whatIf{n: f.n}
	if m.err != nil {
		f.failed = cleanLine(m.err.Error())
		return
	}
	f.advice, f.at = &m.advice, w.now
	if s := w.sheet; s != nil && s.scope == inWhatIf && s.scroll.cursor.section == 0 {
		s.scroll.cursor = place{1, 1} // the best change, under the settings as they are
	}
}

// page is the advice in a line, what it rests on, and one row for each outlook.
func (f *whatIf) page(w int) *page {
	top := &section{labels: 1}
	if f.busy {
		top.add(block{id: "busy", body: warn, text: "simulating…"})
	}
	if f.failed != "" {
		top.add(block{id: "failed", body: fail, text: "✘ " + f.failed})
	}
	a := f.advice
	if a == nil {
		return onePage(top)
	}
	advice, r := "Nothing that was tried saves time: the settings are good as they are.", strong
	if a.Text != "" {
		advice, r = "→ "+cleanLine(a.Text), good
	}
	if len(a.Outlooks) == 0 {
		advice, r = "There is nothing to simulate yet: no trajectory has gone through a stage.", dim
	}
	top.add(block{id: "advice", body: r, text: advice})
	basis := fmt.Sprintf("Simulated at %s with the stage times of %d of %d trajectories.", wallClock(f.at), a.Known, a.All)
	if a.Bound > 0 {
		basis += " No schedule can beat " + seconds(a.Bound) + "."
	}
	top.add(block{id: "basis", body: dim, text: basis})
	if len(a.Outlooks) == 0 {
		return onePage(top)
	}
	top.cells(nil)
	return &page{sections: []*section{top, outlookTable(top, a.Outlooks, w)}}
}

// outlookCell is the width of a number in the table, outlookUse that of the share.
const (
	outlookCell = 10
	outlookUse  = 16
)

// outlookTable has a row for each outlook; its head goes on top. Where there is
// room each makespan is drawn beside the longest.
func outlookTable(top *section, all []engine.Outlook, w int) *section {
	cols, longest := 12, 0.0
	for _, o := range all {
		cols, longest = max(cols, width(cleanLine(o.Change))), max(longest, o.Makespan)
	}
	cols = min(cols, max(w-2-3*outlookCell-outlookUse, 12))
	head := line{{dim, pad("change", cols)}}
	for _, name := range []string{"makespan", "saves", "sandboxes"} {
		head.add(dim, padLeft(name, outlookCell))
	}
	head.add(dim, "  run slots used")
	bar := min(w-2-cols-3*outlookCell-outlookUse-3, 50)
	if bar < 10 || longest <= 0 {
		bar = 0
	} else {
		head.add(dim, "   makespan beside the longest")
	}
	top.cells(head)
	rows := &section{}
	for i, o := range all {
		l := outlookRow(o, i == 0, cols)
		if bar > 0 {
			l.add(plain, spaces(4))
			l = append(l, meter(o.Makespan/longest, bar, plain)...)
		}
		rows.add(block{id: strconv.Itoa(i), kind: cells, title: l})
	}
	return rows
}

func outlookRow(o engine.Outlook, asItIs bool, cols int) line {
	l := line{{plain, pad(cleanLine(o.Change), cols)}, {plain, padLeft(seconds(o.Makespan), outlookCell)}}
	switch saved := o.Saves; {
	case asItIs:
		l.add(dim, padLeft("–", outlookCell))
	case saved < 0:
		saved = -saved
		l.add(warn, padLeft("costs "+percent(&saved), outlookCell))
	case saved < 0.005:
		l.add(dim, padLeft("0%", outlookCell))
	default:
		l.add(good, padLeft(percent(&saved), outlookCell))
	}
	l.add(plain, padLeft(strconv.Itoa(o.MostLive), outlookCell)+"  ")
	return append(append(l, meter(o.RunUse, 8, live)...), seg{plain, " " + padLeft(percent(&o.RunUse), 4)})
}

// seconds of the simulation's clock as a duration.
func seconds(s float64) string { return took(time.Duration(s * float64(time.Second))) }

// outlook under the cursor; false where there is none.
func (w *Workbench) outlook() (engine.Outlook, bool) {
	a, in := w.whatIf.advice, w.sheetBox()
	w.sheet.scroll.settle(w.sheet.page(in.w, in.h), in.w, in.h)
	if at := w.sheet.scroll.cursor; a != nil && at.section == 1 && at.row < len(a.Outlooks) {
		return a.Outlooks[at.row], true
	}
	return engine.Outlook{}, false
}

// canUseOutlook needs a row that differs from today, in limits, type or order.
func canUseOutlook(w *Workbench) string {
	if w.sheet == nil || w.sheet.scope != inWhatIf { // as the help lists it
		return ""
	}
	o, ok := w.outlook()
	if !ok {
		return "choose a row of the table first"
	}
	now := w.whatIf.advice.Outlooks[0]
	if o.Policy == now.Policy && o.Order == now.Order && o.Limits == now.Limits {
		return "those are the limits as they are"
	}
	if why := canLimits(w); why != "" {
		return why
	}
	if (o.Policy != now.Policy || o.Order != now.Order) && tunable(w.gauges.status.Tuning) == nil {
		return "the engine has not told of its type and order yet"
	}
	return ""
}

func doUseOutlook(w *Workbench) tea.Cmd {
	o, _ := w.outlook()
	why := "simulated"
	if saved := o.Saves; saved > 0 {
		why = "simulated: saves " + percent(&saved)
	}
	t := w.gauges.status.Tuning
	t.Type, t.Order = o.Policy, o.Order
	w.openLimits(o.Limits, t, why)
	return nil
}
