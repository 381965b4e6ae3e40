package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
	"rollbench/sessions/stats"
)

const queuesKey = "Q"

// doQueues opens the queues, which stay as up to date as the head.
func doQueues(w *Workbench) tea.Cmd {
	w.openSheet(&sheet{title: "queues", opener: queuesKey, page: w.queuesPage})
	return nil
}

// queuesPage is what the engine reports now, then what the session knows of
// the time before.
func (w *Workbench) queuesPage(cols, rows int) document {
	s := w.gauges.status
	if s == nil {
		s = &engine.Status{}
	}
	p := &page{sections: []*section{
		w.gauges.viewStages(s, cols, w.now), viewTools(s.Tools, cols),
		w.history.drawn.view(w.history.series, s.MaxLive, cols, chartRows(rows)), viewLimits(&w.history.limits, s, w.history.loading),
	}}
	for i, sec := range p.sections {
		sec.labels = 1
		if i == len(p.sections)-1 {
			sec.labels = changeTime
		}
	}
	return p
}

// cells adds a row of the table.
func (s *section) cells(l line) { s.add(block{kind: cells, title: l}) }

// timeCell is the width of a duration in the tables.
func timeCell(cols int) int {
	if cols >= 110 {
		return 9
	}
	return 7
}

// viewStages is the table of the stages.
func (g *gaugePane) viewStages(s *engine.Status, cols int, now time.Time) *section {
	sec := &section{}
	right := line{}
	if g.ended || g.silent(now) {
		right.add(dim, "as last reported at "+wallClock(s.At)+"  ")
	}
	right = append(right, line{{dim, "sandboxes "}, {plain, fmt.Sprint(s.Live) + limit(s.MaxLive)}}...)
	if s.Held > 0 {
		right.add(warn, fmt.Sprintf("  ◆%d held", s.Held))
	}
	sec.add(block{id: "stages", kind: heading, title: line{{strong, "stages"}}, right: right})
	if g.status == nil {
		sec.note("The engine of this run has left no gauges.")
		return sec
	}
	if g.stalls(now) {
		text := ""
		for _, part := range stalled(s.Stall) {
			text += part.text
		}
		sec.add(block{id: "stall", body: warn, text: text})
	}
	cell := timeCell(cols)
	group := func(name string) string {
		return spaces(cell-3) + name + " " + strings.Repeat("─", 2*cell+3-len(name)-1)
	}
	sec.cells(line{{dim, spaces(6+5+8+10) + group("service") + group("waited")}})
	quantiles := padLeft("p50", cell) + padLeft("p90", cell) + padLeft("max", cell)
	sec.cells(line{{dim, pad("stage", 6) + padLeft("queue", 5) + padLeft("busy", 8) + pad(" waits for", 10) + quantiles + quantiles + padLeft("struck", 7)}})
	for _, st := range stagesOf(s) {
		sec.cells(stageRow(st.name, st.Queue, cell))
	}
	idle := []string{}
	for _, st := range stagesOf(s) {
		if text := blockedFor(st.BlockedFor); text != "" {
			idle = append(idle, st.name+" "+text)
		}
	}
	if len(idle) > 0 {
		sec.note("Waited with a free place so far: " + strings.Join(idle, " · "))
	}
	if s.Init.Times == nil && s.Run.Times == nil && s.Eval.Times == nil {
		sec.note("How long the stages took was not kept.")
	}
	return sec
}

// stage is a queue with its name.
type stage struct {
	name string
	engine.Queue
}

func stagesOf(s *engine.Status) []stage {
	return []stage{{"init", s.Init}, {"ready", s.Ready}, {"run", s.Run}, {"eval", s.Eval}}
}

// stageRow of ready has no times: nothing works there.
func stageRow(name string, q engine.Queue, cell int) line {
	l := line{{strong, pad(name, 6)}}
	if name == "ready" {
		l.add(plain, padLeft(strconv.Itoa(q.Waiting)+limit(q.Limit), 5+8))
		return l
	}
	r := plain
	if q.Waiting > 0 {
		r = warn
	}
	l.add(r, padLeft(strconv.Itoa(q.Waiting), 5))
	l.add(plain, padLeft(strconv.Itoa(q.Busy)+limit(q.Limit), 8))
	l.add(strong, " "+pad(awaited(q.Blocked), 9))
	t := q.Times
	if t == nil {
		t = &stats.Stage{}
	}
	l = append(append(l, spreadCells(t.Service, cell)...), spreadCells(t.Wait, cell)...)
	struck := seg{plain, strconv.Itoa(t.Struck)}
	if t.Struck > 0 {
		struck.r = warn
	} else if q.Times == nil {
		struck = seg{dim, "–"}
	}
	return append(l, seg{struck.r, padLeft(struck.text, 7)})
}

// spreadCells are p50, p90 and max; dashes where nothing was measured.
func spreadCells(s stats.Spread, cell int) line {
	if s.N == 0 {
		return line{{dim, strings.Repeat(padLeft("–", cell), 3)}}
	}
	return line{{plain, padLeft(took(s.P50), cell) + padLeft(took(s.P90), cell)}, {strong, padLeft(took(s.Max), cell)}}
}

// awaited is what a stage waits for, as the object of waiting.
func awaited(by string) string {
	switch by {
	case "sandboxes":
		return "a sandbox"
	case "held":
		return "a person"
	}
	return cleanLine(by)
}

// blockedFor is how long a stage waited, and for what, the longest first.
func blockedFor(by map[string]time.Duration) string {
	names := []string{}
	for name, d := range by {
		if d > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if by[a] != by[b] {
			return int(min(max(by[b]-by[a], -1), 1))
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = span(by[name]) + " for " + awaited(name)
	}
	return strings.Join(names, ", ")
}

// viewTools is the table of the tools, those with too many timeouts explained.
func viewTools(tools []stats.Tool, cols int) *section {
	sec := &section{}
	sec.add(block{id: "tools", kind: heading, title: line{{strong, "tools"}}, right: line{{dim, "reward: of trajectories that met a timeout, and that met none"}}})
	if len(tools) == 0 {
		sec.note("No call of a tool was measured.")
		return sec
	}
	cell := timeCell(cols)
	name := min(max(cols-2-4*cell-toolCells, 8), 32)
	sec.cells(line{{dim, pad("tool", name) + padLeft("calls", 7) + padLeft("p50", cell) + padLeft("p90", cell) + padLeft("p99", cell) + padLeft("max", cell) +
		padLeft("timeouts", 10) + padLeft("errors", 7) + padLeft("reward", 12)}})
	for _, t := range tools {
		sec.cells(toolRow(t, name, cell))
	}
	for _, t := range tools {
		if t.Warn() {
			sec.add(block{id: "warn " + t.Name, body: warn, text: toolTrouble(t)})
		}
	}
	return sec
}

// toolCells is the width of a tool's row without its name and its times.
const toolCells = 7 + 10 + 7 + 12

func toolRow(t stats.Tool, name, cell int) line {
	r, mark := plain, ""
	if t.Warn() {
		r, mark = warn, "▲ "
	}
	l := line{{r, pad(mark+cleanLine(t.Name), name)}, {plain, padLeft(short(float64(t.Calls)), 7)}}
	if t.Wall.N == 0 {
		l.add(dim, strings.Repeat(padLeft("–", cell), 4))
	} else {
		l.add(plain, padLeft(took(t.Wall.P50), cell)+padLeft(took(t.Wall.P90), cell)+padLeft(took(t.Wall.P99), cell))
		l.add(strong, padLeft(took(t.Wall.Max), cell))
	}
	share := timeouts(t)
	if t.Timeouts == 0 {
		l.add(dim, padLeft("0", 10))
	} else {
		l.add(r, padLeft(fmt.Sprintf("%d %s", t.Timeouts, padLeft(percent(&share), 4)), 10))
	}
	l.add(plain, padLeft(strconv.Itoa(t.Errors), 7))
	l.add(plain, padLeft(rewardMean(t.MetReward)+" / "+rewardMean(t.FreeReward), 12))
	return l
}

// rewardMean is a mean with two places; absent is a dash.
func rewardMean(v *float64) string {
	if v == nil {
		return "–"
	}
	return reward2(*v)
}

// toolTrouble says why the timeouts of a tool matter.
func toolTrouble(t stats.Tool) string {
	share := timeouts(t)
	text := fmt.Sprintf("▲ %s: %s of %s calls timed out", cleanLine(t.Name), percent(&share), thousands(int64(t.Calls)))
	if t.MetReward != nil {
		text += fmt.Sprintf("; mean reward %s of %d that met one", rewardMean(t.MetReward), t.Met)
		if t.FreeReward != nil {
			text += fmt.Sprintf(", %s of %d that met none", rewardMean(t.FreeReward), t.Free)
		}
	}
	return text + ": the policy learns the machine's load."
}

// limitsNow are those last recorded; of a session of an older version what its
// gauges show.
func limitsNow(log *limitLog, s *engine.Status) engine.Limits {
	switch {
	case log.now != nil:
		return *log.now
	case s.Limits != (engine.Limits{}):
		return s.Limits
	}
	return engine.Limits{Init: s.Init.Limit, Run: s.Run.Limit, Eval: s.Eval.Limit, Live: s.MaxLive, Ready: s.Ready.Limit}
}

// tuningNow is the tuning in force, the bounds of the adaptive limit only where it is
// on; nothing where it is not known.
func tuningNow(log *limitLog, s *engine.Status) string {
	now := log.tuning
	if tunable(now) == nil { // no change is read yet, or none that tells of it
		now = s.Tuning
	}
	var parts []string
	for _, f := range tunable(now) {
		if now.Adaptive != "" || !strings.HasPrefix(f.name, "adaptive_") {
			parts = append(parts, f.name+" "+cleanLine(f.show(now)))
		}
	}
	return strings.Join(parts, " · ")
}

// changeTime is the width of the times of changes.
const changeTime = 11

// viewLimits is the limits in force, then who changed them, the newest first.
func viewLimits(log *limitLog, s *engine.Status, reading bool) *section {
	sec := &section{}
	right := line{}
	if s.Adaptive != "" {
		right.add(warn, "adaptive: "+cleanLine(s.Adaptive)+" moves max_parallel_agents")
	}
	sec.add(block{id: "limits", kind: heading, title: line{{strong, "limits"}}, right: right})
	sec.cells(line{{dim, pad("now", changeTime-1)}, {strong, limitsLine(limitsNow(log, s))}})
	if said := tuningNow(log, s); said != "" {
		sec.add(block{id: "tuning", label: " ", labelRole: dim, body: plain, text: said})
	}
	for i := len(log.changes) - 1; i >= 0; i-- {
		c := log.changes[i]
		r := plain
		if c.who == "operator" {
			r = person
		}
		text := pad(c.who, 9) + " " + c.what
		if c.why != "" {
			text += " · " + c.why
		}
		sec.add(block{id: "change " + strconv.Itoa(log.dropped+i), label: " " + wallClock(c.at), labelRole: dim, body: r, text: text})
	}
	if reading && log.seq == 0 {
		sec.note("reading who changed them…")
	}
	if log.dropped > 0 {
		sec.note(fmt.Sprintf("%d older changes are in the session.", log.dropped))
	}
	return sec
}
