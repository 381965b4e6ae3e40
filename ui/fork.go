package ui

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
	"rollbench/sessions"
)

// forkGlyph stands before what was forked, below its parent.
const forkGlyph = "╰"

// forkKeys are the rows of the key table for forks.
func forkKeys() []binding {
	return []binding{
		{Binding: on("fork from the turn under the cursor: children that go on from before it in sandboxes of their own", "o"), name: "fork", scope: debugger, can: canFork, do: doFork},
	}
}

// canFork needs an engine that works on the run; the trajectory may have ended.
func canFork(w *Workbench) string {
	again := "rollbench fork " + cleanLine(w.gauges.run.ID) + " goes on with it"
	switch {
	case w.opt.Commands == nil && (w.gauges.ended || w.gauges.gone):
		return "no engine works on this run any more: " + again
	case w.opt.Commands == nil:
		return "read only: this run is not driven from here"
	case w.engineDone || w.gauges.ended:
		return "the run has ended and its engine with it: " + again
	}
	if _, one := w.list.chosen(); !one {
		return "choose one trajectory first (a group is chosen)"
	}
	return ""
}

// forkTurn is the turn to fork from: the one under the cursor, else the next one
// where the trajectory is held before it, else the last.
func (w *Workbench) forkTurn(t sessions.Trajectory) int {
	if w.focus == viewFocus && w.tab.ofTurn() {
		if w.atTokens() {
			return max(w.tokens.turn, 1)
		}
		if s := w.scroller(); s != nil && !s.follow && s.cursor.section < w.turns.last {
			return s.cursor.section + 1
		}
	}
	switch {
	case t.State == sessions.Held && (t.HeldAt == sessions.BeforeModel || t.HeldAt == sessions.AfterTool):
		return t.Turn + 1
	case t.Fork != nil:
		return max(t.Turn, t.Fork.Turn)
	}
	return max(t.Turn, 1)
}

// doFork asks what the children shall do otherwise.
func doFork(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	sampling := w.sampling()
	one := func(name, text, was string) field {
		return field{name: name, editor: newEditor(text, true), ext: ".txt", was: was}
	}
	f := &form{
		name: "Fork " + cleanLine(t.Key.String()),
		help: "The turns before the one given stay the parent's; the children sample that turn and what follows themselves. Their sandbox comes from a snapshot where the parent is held right there, else the recorded calls are replayed; where one answers differently the child is held and says so. " +
			"What is left empty is as the parent's. The children are a group of their own and count as intervened; parent and group stay as they are.",
		fields: []field{
			one("children", "2", ""), one("from turn", strconv.Itoa(w.forkTurn(t)), ""),
			{name: "feedback", editor: newEditor("", false), ext: ".txt"},
			one("temperature", "", shownNumber(sampling.Temperature)), one("top_p", "", shownNumber(sampling.TopP)), one("seed", "", shownSeed(sampling.Seed)),
			one("turns", "", strconv.Itoa(t.MaxTurns)), one("tokens", "", strconv.Itoa(t.Budget)),
			{name: "hold", editor: newEditor("no", true), ext: ".txt", options: []string{"no", "yes"}, hint: "yes or no"},
		},
		at:   2,
		edit: w.external,
	}
	f.send = func(v []string) (tea.Cmd, error) {
		turn, o, err := readFork(v)
		if err != nil {
			return nil, err
		}
		w.toasts.add(w.now, note, "forking…")
		said := fmt.Sprintf("%s of %s from turn %d: first in the queue", plural(o.N, "child", "children"), t.Key, turn)
		return w.verb(said, func(c Commands) error { return c.Fork(t.Key, turn, o) }), nil
	}
	w.dialog = f
	return nil
}

// sampling settings of the run.
func (w *Workbench) sampling() engine.Sampling {
	var c struct {
		Generator struct {
			Sampling engine.Sampling `json:"sampling_params"`
		} `json:"generator"`
	}
	if err := json.Unmarshal(w.gauges.run.Config, &c); err != nil {
		return engine.Sampling{} // nothing is shown beside the fields then
	}
	return c.Generator.Sampling
}

func shownNumber(p *float64) string {
	if p == nil {
		return ""
	}
	return strconv.FormatFloat(*p, 'g', -1, 64)
}

func shownSeed(p *int64) string {
	if p == nil {
		return ""
	}
	return strconv.FormatInt(*p, 10)
}

// readFork reads the fields of the form, in its order.
func readFork(v []string) (turn int, o engine.ForkOptions, err error) {
	r := forkReader{}
	o.N = r.whole("children", v[0], 1, 16)
	turn = r.whole("from turn", v[1], 1, 1<<30)
	if strings.TrimSpace(v[2]) != "" {
		o.Feedback = v[2]
	}
	o.Sampling.Temperature = r.real("temperature", v[3])
	o.Sampling.TopP = r.real("top_p", v[4])
	if s := strings.TrimSpace(v[5]); s != "" {
		seed, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			r.fail("seed is %q: use a whole number, or leave it empty", s)
		}
		o.Sampling.Seed = &seed
	}
	if s := strings.TrimSpace(v[6]); s != "" {
		o.Turns = r.whole("turns", s, 1, 1<<30)
	}
	if s := strings.TrimSpace(v[7]); s != "" {
		o.Tokens = r.whole("tokens", s, 1, 1<<30)
	}
	switch s := strings.TrimSpace(v[8]); s {
	case "yes":
		o.Hold = true
	case "no", "":
	default:
		r.fail("hold is %q: write yes or no", s)
	}
	return turn, o, r.err
}

// forkReader keeps the first thing that is wrong.
type forkReader struct{ err error }

func (r *forkReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *forkReader) whole(name, text string, least, most int) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	switch {
	case err == nil && n >= least && n <= most:
	case most < 1<<30:
		r.fail("%s is %q: use a whole number from %d to %d", name, text, least, most)
	default:
		r.fail("%s is %q: use a whole number from %d on", name, text, least)
	}
	return n
}

func (r *forkReader) real(name, text string) *float64 {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.fail("%s is %q: use a number, or leave it empty", name, text)
	}
	return &v
}

// applyRebuilt keeps what became of a fork's sandbox, and tells where calls answer
// differently in it.
func (w *Workbench) applyRebuilt(e sessions.Event) {
	var p sessions.Rebuilt
	if err := json.Unmarshal(e.Data, &p); err != nil {
		return
	}
	w.forks.rebuilt[e.Key] = &p
	switch n := len(p.Differs) + p.More; {
	case n > 0 && p.By == sessions.BySnapshot:
		w.toasts.add(w.now, caution, withKey(e.Key, p.Say()))
	case n > 0:
		w.toasts.add(w.now, caution, withKey(e.Key, differSay(n, p.Recorded())))
	}
}

func differSay(n, calls int) string {
	return fmt.Sprintf("%d of %s differently in its sandbox", n, plural(max(n, calls), "recorded call answers", "recorded calls answer"))
}
