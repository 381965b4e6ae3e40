package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rollbench/engine"
	"rollbench/sessions/stats"
)

// isolation says what contains the run's sandboxes.
func isolation(s *engine.Status) line {
	switch s.Isolation {
	case "":
		return nil
	case "none":
		return line{{warn, "  sandboxes NOT ISOLATED"}}
	}
	return line{{dim, "  in " + cleanLine(s.Isolation)}}
}

// pace says what limits the run, how fast it goes and when it will be over, in
// at most w columns.
func (p *gaugePane) pace(w int, now time.Time) line {
	l := line{{plain, " "}}
	s := p.status
	switch {
	case p.ended:
		return append(l, p.over(w)...)
	case s == nil:
		l.add(dim, "no gauges: the engine has not reported yet")
		return l
	case p.gone:
		return append(l, p.over(w)...)
	case p.silent(now):
		l.add(warn, "no news for "+age(now.Sub(s.At)))
		l.add(dim, ": if its process is gone, rollbench resume goes on")
		return l
	case s.Paused: // neither speed nor end mean anything now
		hold := line{{warn, p.pausing()}}
		if p.driven {
			hold.add(dim, ": P continues")
		}
		return append(l, choose(w-1, []part{{0, hold}, {1, isolation(s)}, {0, p.old(now)}})...)
	}
	return append(l, choose(w-1, p.paceParts(now))...)
}

// pausing says that everything is paused, once nothing moves any more: what runs or
// is prepared goes on to its next gate, and the verifier has no gate.
func (p *gaugePane) pausing() string {
	c := p.tally
	if blocked := p.status.Init.Blocked; blocked != "" && c.queued > 0 && c.running+c.starting+c.evaluating == 0 {
		why := fmt.Sprintf("%d queued", c.queued)
		if blocked == "sandboxes" {
			why = plural(c.queued, "waits for a sandbox of those held", "wait for a sandbox of those held")
		}
		return "◆ everything is paused, " + why
	}
	var parts []string
	for _, k := range []struct {
		n         int
		one, more string
	}{
		{c.running, "runs on to its next gate", "run on to their next gates"},
		{c.starting + c.queued, "starts, up to its first gate", "start, up to their first gates"},
		{c.evaluating, "is evaluated to its end", "are evaluated to their end"},
	} {
		switch k.n {
		case 0:
		case 1:
			parts = append(parts, "1 "+k.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", k.n, k.more))
		}
	}
	if parts == nil {
		return "◆ everything is paused"
	}
	return "◆ pausing: " + strings.Join(parts, ", ")
}

// part of a line. Where not all fit, those of the lowest rank stay.
type part struct {
	rank int
	line
}

// noteRank is that of a note, which may also be cut.
const noteRank = 6

// choose the parts that fit into w columns, in their order.
func choose(w int, parts []part) line {
	byRank := make([]int, len(parts))
	for i := range byRank {
		byRank[i] = i
	}
	slices.SortStableFunc(byRank, func(a, b int) int { return parts[a].rank - parts[b].rank })
	keep := make([]bool, len(parts))
	for _, i := range byRank {
		p := &parts[i]
		if p.rank == noteRank && p.width() > w && w >= 20 {
			p.line = clip(p.line, w)
		}
		if n := p.width(); p.rank == 0 || n <= w {
			keep[i] = true
			w -= n
		}
	}
	l := line{}
	for i, p := range parts {
		if keep[i] {
			l = append(l, p.line...)
		}
	}
	return l
}

// paceParts of a run that goes on. A stall stands where the limit would.
func (p *gaugePane) paceParts(now time.Time) []part {
	s := p.status
	limit, why := limitedBy(s)
	rate := line{}
	if s.PerMinute > 0 {
		rate = line{{dim, "  "}, {plain, strconv.FormatFloat(s.PerMinute, 'f', 1, 64)}, {dim, " traj/min"}}
	}
	parts := []part{
		{0, limit}, {2, why}, {3, rate},
		{1, line{{dim, "  ETA "}, {plain, eta(s.Forecast)}}}, {2, line{{dim, etaSpread(s.Forecast)}}},
	}
	if s.Stall != nil {
		parts = []part{{0, stalled(s.Stall)}}
	}
	contained := part{5, isolation(s)}
	if s.Isolation == "none" {
		contained.rank = 1
	}
	parts = append(parts, contained, part{0, p.old(now)})
	if graph := p.series.spark(sparkCells); graph != nil {
		parts = append(parts, part{4, append(line{{dim, "  "}}, graph...)})
	}
	if n := len(s.Notes); n > 0 {
		parts = append(parts, part{noteRank, line{{dim, "  " + cut(cleanLine(s.Notes[n-1]), 60)}}})
	}
	return parts
}

// sparkCells is the width of the sparkline in the head.
const sparkCells = 15

// limitedBy says which limit holds the run up, and in plain words which stages
// it blocks or starves: limited by run | : blocks init, starves eval.
func limitedBy(s *engine.Status) (limit, why line) {
	who, clauses := s.LimitedBy, []string{}
	for _, by := range []string{"init", "run", "eval", "sandboxes", "held"} {
		if text := suffers(s, by); text != "" && by == who {
			clauses = slices.Insert(clauses, 0, text)
		} else if text != "" {
			clauses = append(clauses, subjects[by]+" "+text)
		}
	}
	limit = line{{dim, "not limited"}}
	if who != "" {
		limit = line{{dim, "limited by "}, {strong, cleanLine(who)}}
	}
	if len(clauses) > 0 {
		why = line{{dim, ": "}, {plain, strings.Join(clauses, ", ")}}
	}
	return limit, why
}

// subjects are what a stage may wait for, as the one that acts.
var subjects = map[string]string{"init": "init", "run": "run", "eval": "eval", "sandboxes": "the sandbox limit", "held": "a hold"}

// suffers says what happens to the stages that wait for by: what stands before it is
// blocked, what comes after it starves.
func suffers(s *engine.Status, by string) string {
	stages := []string{"init", "run", "eval"}
	at := slices.Index(stages, by)
	var blocked, starved []string
	for i, q := range []engine.Queue{s.Init, s.Run, s.Eval} {
		switch {
		case q.Blocked != by:
		case at >= 0 && at < i:
			starved = append(starved, stages[i])
		default:
			blocked = append(blocked, stages[i])
		}
	}
	parts := []string{}
	if len(blocked) > 0 {
		parts = append(parts, "blocks "+strings.Join(blocked, "+"))
	}
	if len(starved) > 0 {
		parts = append(parts, "starves "+strings.Join(starved, "+"))
	}
	return strings.Join(parts, ", ")
}

// stalled says what everyone waits for.
func stalled(s *engine.Stall) line {
	l := line{{warn, "▲ nothing has moved for " + took(s.For)}}
	for i, wait := range s.Waits {
		what := cleanLine(wait.What)
		if !strings.HasPrefix(what, "to ") {
			what = "for " + what
		}
		switch {
		case i > 0:
			l.add(warn, fmt.Sprintf(" · %d %s", wait.N, what))
		case wait.N == 1:
			l.add(warn, fmt.Sprintf(": 1 waits %s (%s %s)", what, cleanLine(wait.Key.String()), took(wait.Longest)))
		default:
			l.add(warn, fmt.Sprintf(": %d wait %s (longest %s %s)", wait.N, what, cleanLine(wait.Key.String()), took(wait.Longest)))
		}
	}
	return l
}

// stalls reports whether the stall is what has to be said.
func (p *gaugePane) stalls(now time.Time) bool {
	return p.status != nil && p.status.Stall != nil && !p.ended && !p.silent(now) && !p.status.Paused
}

// toolWarning names the tool with the largest share of timeouts, when it is too
// large: what the policy learns is then the load of the machine.
func (p *gaugePane) toolWarning() line {
	if p.status == nil {
		return nil
	}
	var worst stats.Tool
	n := 0
	for _, t := range p.status.Tools {
		if !t.Warn() {
			continue
		}
		n++
		if n == 1 || timeouts(t) > timeouts(worst) {
			worst = t
		}
	}
	if n == 0 {
		return nil
	}
	share := timeouts(worst)
	text := fmt.Sprintf("▲ %s: %s of calls timed out", cut(cleanLine(worst.Name), 24), percent(&share))
	if n > 1 {
		text += fmt.Sprintf(" (+%d)", n-1)
	}
	return line{{warn, text}}
}

// timeouts is the share of a tool's calls that a time limit ended.
func timeouts(t stats.Tool) float64 { return float64(t.Timeouts) / float64(max(t.Calls, 1)) }

// withWarning puts the warning behind the gauges where both fit, else before
// them: it must be seen.
func (p *gaugePane) withWarning(gauges line, w int) line {
	warning := p.toolWarning()
	switch {
	case warning == nil:
		return gauges
	case gauges.width()+2+warning.width() < w:
		return append(append(gauges, seg{plain, "  "}), warning...)
	}
	warning = append(line{{plain, " "}}, warning...)
	return append(append(warning, seg{plain, " "}), clipParts(gauges, w-warning.width()-1)...)
}

// old warns of gauges that nobody keeps up.
func (p *gaugePane) old(now time.Time) line {
	if p.replay != nil {
		return nil
	}
	if old := now.Sub(p.status.At); old > gaugesOld && !p.status.At.IsZero() {
		return line{{warn, "  gauges are " + age(old) + " old"}}
	}
	return nil
}

// exportNext is what a run was for.
const exportNext = "E exports the transitions"

// over says how the run ended (all trajectories did, or it was stopped), and
// how to take the data along.
func (p *gaugePane) over(w int) line {
	if p.tally.still > 0 {
		return line{{warn, "stopped"}, {dim, fmt.Sprintf(": %d have not ended, rollbench resume goes on", p.tally.still)}}
	}
	l := line{{strong, "finished"}}
	if p.next != "" {
		l.add(dim, "  ")
		next := p.next
		if l.width()+width(next) > w && next == exportNext {
			next = "E exports"
		}
		l.add(strong, next)
	}
	if why := p.verdicts.masked(w - l.width() - 12); why != nil && w >= 100 {
		l.add(dim, "  masked: ")
		l = append(l, why...)
	}
	return l
}

// eta is – until enough trajectories have ended to tell.
func eta(f *engine.Forecast) string {
	if f == nil {
		return "–"
	}
	number, name := etaIn(f)
	return number(f.ETA) + name
}

// etaSpread is how sure it is, in the unit of the ETA: " (19–41)", " (≥19)" where
// nothing bounds it.
func etaSpread(f *engine.Forecast) string {
	if f == nil {
		return ""
	}
	number, _ := etaIn(f)
	low := number(f.Low)
	switch {
	case f.High == nil:
		return " (≥" + low + ")"
	case number(*f.High) == low:
		return ""
	}
	return " (" + low + "–" + number(*f.High) + ")"
}

// etaIn chooses the unit of an ETA.
func etaIn(f *engine.Forecast) (number func(time.Duration) string, name string) {
	unit, name, digits := time.Minute, " min", 0
	switch {
	case f.ETA < time.Minute:
		unit, name = time.Second, " s"
	case f.ETA >= 2*time.Hour:
		unit, name, digits = time.Hour, " h", 1
	}
	return func(d time.Duration) string { return strconv.FormatFloat(float64(d)/float64(unit), 'f', digits, 64) }, name
}
