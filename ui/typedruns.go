package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
	"rollbench/sessions"
)

// offerConditions completes a breakpoint: words, tools, gates, instances.
func offerConditions(w *Workbench, typed string) []offer {
	var out []offer
	for _, c := range [][2]string{
		{"tool=", "a call of that tool"}, {"args~", "/RE/ matches its arguments"}, {"malformed", "a call that cannot be used"}, {"obs~", "/RE/ matches what it answered"},
		{"error", "it did not end well"}, {"error=timeout", ""}, {"error=stuck_in_a_loop", "the run stage ended so"}, {"turn>=", "then a number"}, {"context>", "then a share, as 80%"}, {"reward<", "then a number; with log"},
		{"at=after-reply", "look at that gate"}, {"at=after-tool", ""}, {"at=before-model", ""}, {"at=before-eval", ""}, {"every=", "hold at every so many"}, {"in=", "an instance, or one trajectory"}, {"log", "hold nothing"},
	} {
		out = append(out, offer{c[0], c[1]})
	}
	switch last := typed[strings.LastIndexByte(typed, ' ')+1:]; {
	case strings.HasPrefix(last, "tool="):
		for _, name := range w.toolNames() {
			out = append(out, offer{"tool=" + name, ""})
		}
	case strings.HasPrefix(last, "in="):
		for _, g := range w.list.groups {
			out = append(out, offer{"in=" + g.instance, ""})
		}
	}
	return out
}

// toolNames are the tools that this screen knows of: those that were called.
func (w *Workbench) toolNames() []string {
	names := []string{}
	add := func(n string) {
		if n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if s := w.gauges.status; s != nil {
		for _, t := range s.Tools {
			add(t.Name)
		}
	}
	for _, t := range w.list.trajs {
		add(t.Tool)
	}
	slices.Sort(names)
	return names
}

func doBreakTyped(w *Workbench, arg string) (tea.Cmd, error) {
	text, err := engine.ParseBreakpoint(arg)
	if err != nil {
		return nil, err
	}
	return w.verb("breakpoint set: "+text, func(c Commands) error { return c.SetBreakpoint(0, text) }), nil
}

func offerLimits(w *Workbench, _ string) []offer {
	var out []offer
	for _, f := range limitFields {
		help := f.name
		if w.limits != nil {
			help += ", now " + limitText(*f.of(w.limits), f.zero)
		}
		out = append(out, offer{f.short + "=", help})
	}
	return append(out, offer{"why=", "the reason, kept with the change"})
}

// doLimitsTyped reads run=4 eval=0 order=fifo why=the disk is full.
func doLimitsTyped(w *Workbench, arg string) (tea.Cmd, error) {
	shown, was := w.gauges.status.Limits, w.gauges.status.Tuning
	v := limitValues(shown, was)
	v = append(v, "")
	for rest := arg; rest != ""; {
		if why, ok := strings.CutPrefix(rest, "why="); ok {
			v[len(v)-1] = why
			break
		}
		word, more, _ := strings.Cut(rest, " ")
		rest = strings.TrimLeft(more, " ")
		name, value, ok := strings.Cut(word, "=")
		i := limitNamed(name, was)
		if !ok || i < 0 {
			return nil, fmt.Errorf("%q: write %s=NUMBER, 0 for none", word, limitNames())
		}
		if value == "none" || value == "default" {
			value = "0"
		}
		v[i] = value
	}
	return w.sendLimits(shown, was, v)
}

// limitValues are the fields of the form of limits as they are.
func limitValues(l engine.Limits, t engine.Tuning) []string {
	var v []string
	for _, f := range limitFields {
		v = append(v, strconv.Itoa(*f.of(&l)))
	}
	for _, f := range tunable(t) {
		v = append(v, f.show(t))
	}
	return v
}

// limitNamed is the place of a field in the form, −1 for none.
func limitNamed(name string, t engine.Tuning) int {
	for i, f := range limitFields {
		if name == f.short || name == f.name {
			return i
		}
	}
	for i, f := range tunable(t) {
		if name == f.name {
			return len(limitFields) + i
		}
	}
	return -1
}

func limitNames() string {
	var names []string
	for _, f := range limitFields {
		names = append(names, f.short)
	}
	return strings.Join(names, ", ")
}

// sendResample asks for n fresh replies.
func (w *Workbench) sendResample(t sessions.Trajectory, text string) (tea.Cmd, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 1 || n > 16 {
		return nil, fmt.Errorf("%q: ask for 1 to 16 replies", text)
	}
	return w.verb(fmt.Sprintf("%s is asked for %s", t.Key, plural(n, "fresh reply", "fresh replies")), func(c Commands) error { return c.Resample(t.Key, n) }), nil
}
