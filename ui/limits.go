package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
	"rollbench/sessions"
)

// limitFields are the limits of the dispatcher, in the order of the form. zero
// is what 0 stands for.
var limitFields = []struct {
	name, short, zero string
	of                func(*engine.Limits) *int
}{
	{"max_parallel_init", "init", "none", func(l *engine.Limits) *int { return &l.Init }},
	{"max_parallel_agents", "run", "none", func(l *engine.Limits) *int { return &l.Run }},
	{"max_eval_parallel_agents", "eval", "none", func(l *engine.Limits) *int { return &l.Eval }},
	{"max_live_sandboxes", "sandboxes", "none", func(l *engine.Limits) *int { return &l.Live }},
	{"max_ready", "ready", "default", func(l *engine.Limits) *int { return &l.Ready }},
}

// limitName is the width of the names in the form.
const limitName = 25

func limitsOf(p sessions.Limits) engine.Limits {
	return engine.Limits{Init: p.MaxInit, Run: p.MaxAgents, Eval: p.MaxEval, Live: p.MaxLive, Ready: p.MaxReady}
}

// limitText is a limit in words: 0 is not a number of places.
func limitText(n int, zero string) string {
	if n <= 0 {
		return zero
	}
	return strconv.Itoa(n)
}

// limitsLine is all limits: init 8 · run 24 · eval none · …
func limitsLine(l engine.Limits) string {
	parts := make([]string, len(limitFields))
	for i, f := range limitFields {
		parts[i] = f.short + " " + limitText(*f.of(&l), f.zero)
	}
	return strings.Join(parts, " · ")
}

// limitsChanged is what differs: max_parallel_agents 24 → 32, …
func limitsChanged(from, to engine.Limits) string {
	parts := []string{}
	for _, f := range limitFields {
		if a, b := *f.of(&from), *f.of(&to); a != b {
			parts = append(parts, fmt.Sprintf("%s %s → %s", f.name, limitText(a, f.zero), limitText(b, f.zero)))
		}
	}
	return strings.Join(parts, ", ")
}

// changed is what differs in limits and tuning.
func changed(from, to engine.Limits, was, is engine.Tuning) string {
	parts := tuningChanged(was, is)
	if said := limitsChanged(from, to); said != "" {
		parts = append([]string{said}, parts...)
	}
	return strings.Join(parts, ", ")
}

// lowered reports whether some limit became tighter.
func lowered(from, to engine.Limits) bool {
	for _, f := range limitFields {
		if a, b := *f.of(&from), *f.of(&to); b > 0 && (a == 0 || b < a) {
			return true
		}
	}
	return false
}

// canLimits needs a run that goes on here, and its limits.
func canLimits(w *Workbench) string {
	if why := canPauseAll(w); why != "" {
		return why
	}
	if w.gauges.status == nil {
		return "the engine has not reported its limits yet"
	}
	return ""
}

func doLimits(w *Workbench) tea.Cmd {
	w.openLimits(w.gauges.status.Limits, w.gauges.status.Tuning, "")
	return nil
}

// openLimits opens the form with proposed limits and tuning in it.
func (w *Workbench) openLimits(proposed engine.Limits, tuned engine.Tuning, why string) {
	shown, was := w.gauges.status.Limits, w.gauges.status.Tuning
	f := &form{
		name:  "Limits of the dispatcher",
		help:  "0 is no limit; for max_ready it is the default, max_live_sandboxes less max_parallel_agents. A lowered limit drains: what is above it ends by itself, nothing is killed. Another type drains alike, another order is that of what waits for init.",
		label: limitName,
		edit:  w.external,
	}
	switch {
	case w.gauges.status.Adaptive != "":
		f.note = "dispatcher.adaptive is " + cleanLine(w.gauges.status.Adaptive) + ": max_parallel_agents follows it"
	case w.gauges.policy() == "async_batch":
		f.note = "under async_batch only max_live_sandboxes acts"
	}
	for _, l := range limitFields {
		f.fields = append(f.fields, field{name: l.name, editor: newEditor(strconv.Itoa(*l.of(&proposed)), true), ext: ".txt", was: strconv.Itoa(*l.of(&shown))})
	}
	for _, t := range tunable(was) {
		f.fields = append(f.fields, field{name: t.name, editor: newEditor(t.show(tuned), true), ext: ".txt", was: t.show(was), options: t.options})
	}
	f.fields = append(f.fields, field{name: "why", editor: newEditor(why, true), ext: ".txt"})
	f.send = func(v []string) (tea.Cmd, error) { return w.sendLimits(shown, was, v) }
	w.dialog = f
}

// sendLimits changes only what differs from what the form showed as today's:
// the others may have moved meanwhile.
func (w *Workbench) sendLimits(shown engine.Limits, was engine.Tuning, v []string) (tea.Cmd, error) {
	now, tuned := w.gauges.status.Limits, w.gauges.status.Tuning
	l, t := now, tuned
	for i, f := range limitFields {
		n, err := strconv.Atoi(strings.TrimSpace(v[i]))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s is %q: use a whole number, 0 for %s", f.name, v[i], f.zero)
		}
		if n != *f.of(&shown) {
			*f.of(&l) = n
		}
	}
	for i, f := range tunable(was) {
		value := strings.TrimSpace(v[len(limitFields)+i])
		if value == f.show(was) {
			continue
		}
		if err := f.set(&t, value); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	said := changed(now, l, tuned, t)
	if said == "" {
		return nil, errors.New("nothing is changed yet: esc leaves the limits as they are")
	}
	if lowered(now, l) {
		said += "; what is above a lowered limit drains, nothing is killed"
	}
	why := strings.TrimSpace(v[len(v)-1])
	if t == tuned {
		return w.verb(said, func(c Commands) error { return c.SetLimits(l, why) }), nil
	}
	return w.verb(said, func(c Commands) error { return c.Tune(l, t, why) }), nil
}

// applyLimits tells of a change that was not made here. One that the adaptive
// limit makes is only kept: there are many.
func (w *Workbench) applyLimits(e sessions.Event) {
	var p sessions.Limits
	if err := json.Unmarshal(e.Data, &p); err != nil {
		return
	}
	w.history.stale = true
	before, was := w.limits, w.tuning
	now := limitsOf(p)
	w.limits, w.tuning = &now, engine.TuningOf(p)
	said := "the limits are now " + limitsLine(now)
	if before != nil {
		said = changed(*before, now, was, w.tuning)
	}
	if said == "" || p.Who == "config" || p.Who == "operator" && w.opt.Commands != nil { // a verb has told of it
		return
	}
	said = p.Who + ": " + said
	if p.Why != "" {
		said += " (" + p.Why + ")"
	}
	if p.Who == "operator" {
		w.toasts.add(w.now, note, said)
		return
	}
	w.toasts.keep(w.now, said)
}
