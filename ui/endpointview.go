package ui

import (
	"fmt"
	"strings"
	"time"

	"rollbench/engine"
	"rollbench/engine/infer"
)

// endpoints are one row each where there is room for so many rows, else one for
// all. What else is to be said of gauges stands in the last.
func (p *gaugePane) endpoints(w, room int, now time.Time) []line {
	if !p.watched(now) || len(p.status.Endpoints) < 2 || len(p.status.Endpoints) > room {
		return []line{p.withWarning(p.endpoint(8, now), w)}
	}
	name := 0
	for _, e := range p.status.Endpoints {
		name = max(name, width(hostOf(e.URL)))
	}
	var lines []line
	for _, e := range p.status.Endpoints {
		lines = append(lines, endpointRow(e, min(name, 24), p.hits.age(now, e.URL)))
	}
	last := len(lines) - 1
	lines[last] = p.withWarning(lines[last], w)
	return lines
}

// watched: the gauges are those of now.
func (p *gaugePane) watched(now time.Time) bool { return p.status != nil && !p.ended && !p.silent(now) }

// endpointRow is one of several, its name so many cells wide.
func endpointRow(e engine.Endpoint, name int, hits time.Duration) line {
	host := cut(hostOf(e.URL), name)
	l := line{{plain, " " + host + spaces(name-width(host))}}
	if e.Healthy {
		l.add(good, " ● up   ")
	} else {
		l.add(fail, " ✘ down ")
	}
	l.add(plain, fmt.Sprintf("%2d", e.Trajectories))
	l.add(dim, " traj  ")
	if !e.Healthy {
		if e.Errors > 0 {
			l = append(append(l, failures(e.Errors)...), seg{plain, "  "})
		}
		l.add(fail, cleanLine(problem(e)))
		return l
	}
	g := e.Gauges
	if g == nil {
		g = &infer.Gauges{}
	}
	l = append(l, gauges(g, 8, hits)...)
	return append(append(l, seg{plain, "  "}), failures(e.Errors)...)
}

// failures are the attempts that failed.
func failures(n int64) line {
	l := line{{dim, "0 errors"}}
	if n > 0 {
		l = line{{warn, plural(int(n), "error", "errors")}}
	}
	return l
}

// problem of an endpoint without its address, which stands beside it.
func problem(e engine.Endpoint) string {
	return strings.TrimPrefix(e.Problem, "endpoint "+e.URL+": ")
}

// up says how many of several endpoints are healthy.
func up(s *engine.Status) line {
	n, all := s.Up(), len(s.Endpoints)
	text := fmt.Sprintf("%d of %d up", n, all)
	switch n {
	case all:
		return line{{good, "● " + text}}
	case 0:
		return line{{fail, "✘ " + text}}
	}
	return line{{warn, "▲ " + text}}
}

// endpoint is the gauge line of all endpoints together, its KV meter so many
// cells wide.
func (p *gaugePane) endpoint(cells int, now time.Time) line {
	several := p.status != nil && len(p.status.Endpoints) > 1
	l := line{{dim, " endpoint "}}
	switch {
	case several && cells == 0: // a small screen
		l = line{{plain, " "}}
	case several:
		l = line{{dim, " endpoints "}}
	}
	if p.ended { // its last gauges would read as if something ran
		l.add(dim, "not watched: nothing runs any more")
		return l
	}
	if p.silent(now) {
		l.add(dim, "not watched")
		return l
	}
	if p.status != nil && len(p.status.Endpoints) == 0 {
		l.add(dim, "none: a person writes the turns")
		return l
	}
	g := infer.Gauges{}
	if p.status != nil {
		g = p.status.Total()
	}
	if several {
		l = append(l, up(p.status)...)
		l.add(plain, "  ")
	}
	var hits time.Duration
	if p.status != nil {
		for _, e := range p.status.Endpoints {
			hits = max(hits, p.hits.age(now, e.URL))
		}
	}
	l = append(l, gauges(&g, cells, hits)...)
	if n := p.errors(); p.status != nil && (n > 0 || cells > 0) {
		l.add(plain, "  ")
		l = append(l, failures(n)...)
	}
	if p.status == nil || len(p.status.GPUs) == 0 {
		l.add(dim, "  gpu N/A")
	}
	return l
}

// errors of all endpoints.
func (p *gaugePane) errors() (n int64) {
	if p.status != nil {
		for _, e := range p.status.Endpoints {
			n += e.Errors
		}
	}
	return n
}

// gauges of one endpoint or of all. hits is how old the share of prefix hits is.
func gauges(g *infer.Gauges, cells int, hits time.Duration) line {
	var l line
	put := func(text, name string) {
		r := plain
		if text == "N/A" {
			r = dim
		}
		l.add(r, text)
		l.add(dim, " "+name+"  ")
	}
	names := []string{"running", "waiting", "prefix hits"}
	if cells == 0 { // a small screen
		names = []string{"run", "wait", "hits"}
	}
	put(amount(g.Running), names[0])
	put(amount(g.Waiting), names[1])
	l.add(dim, "KV ")
	l = append(l, share(g.KVUse, cells)...)
	l.add(plain, "  ")
	put(amount(g.TokensPerSec), "tok/s")
	l.add(dim, names[2]+" ")
	l = append(l, share(g.PrefixHitRate, 0)...)
	if hits >= hitsOld {
		l.add(dim, " "+age(hits)+" ago")
	}
	return l
}

// share of a whole as a meter and a number, N/A when not reported.
func share(v *float64, cells int) line {
	if v == nil {
		return line{{dim, "N/A"}}
	}
	r := live
	if *v >= 0.95 {
		r = warn
	}
	l := line{}
	if cells > 0 {
		l = append(l, meter(*v, cells, r)...)
		l.add(plain, " ")
	}
	l.add(plain, percent(v))
	return l
}

// paceRoom is what the pace needs beside the scores: the limit and the ETA.
const paceRoom = 28

// compact is the head of small screens: the queues, the outcomes and the pace,
// and where there is a third row the endpoint.
func (p *gaugePane) compact(t *theme, w, h int, now time.Time) []string {
	queues := line{}
	if s := p.status; s != nil && !p.gone {
		queues = append(queues, queue("init", s.Init, 0)...)
		queues.add(dim, " ready ")
		queues.add(plain, fmt.Sprint(s.Ready.Waiting)+" ")
		queues = append(queues, queue("run", s.Run, 0)...)
		queues.add(plain, " ")
		queues = append(queues, queue("eval", s.Eval, 0)...)
	}
	first := append(line{{plain, " "}}, p.compactHealth(now)...)
	first.add(strong, cleanLine(p.run.ID))
	first.add(plain, " "+cleanLine(p.run.Title)+" ")
	first.add(dim, cleanLine(p.run.Model))
	first = clip(first, max(w-queues.width()-2, 14)) // names give way to numbers
	first.add(plain, "  ")
	first = append(first, queues...)
	second := append(line{{plain, " "}}, p.outcomes()...)
	if p.stalls(now) { // what has ended stands in the bottom line, too
		second = p.pace(w, now)
	} else if h >= 3 {
		if scores := p.scores(); second.width()+scores.width()+paceRoom <= w {
			second = append(second, scores...)
		}
		second.add(plain, " ")
		second = append(second, p.pace(w-second.width(), now)...)
	}
	if h < 3 {
		if !p.stalls(now) {
			second = append(p.withWarning(second, w), seg{plain, "  "})
			second = append(second, p.compactGauges(now)...)
		}
		return []string{t.fit(first, w), t.fit(p.besideReplay(second, w), w)}[:h]
	}
	third := p.endpoint(0, now)
	if s := p.status; p.watched(now) && s.Up() == 0 && len(s.Endpoints) > 0 && s.Endpoints[0].Problem != "" {
		which := " endpoint down: "
		if n := len(s.Endpoints); n > 1 {
			which = fmt.Sprintf(" all %d endpoints down: ", n)
		}
		third = line{{fail, which + cleanLine(s.Endpoints[0].Problem)}}
	} else if p.watched(now) && len(p.status.GPUs) > 0 {
		_, util := spread(p.status.GPUs, func(g engine.GPU) *float64 { return g.Util })
		third.add(dim, "  gpu ")
		third.add(plain, percent(util))
	}
	return []string{t.fit(first, w), t.fit(second, w), t.fit(p.besideReplay(p.withWarning(third, w), w), w)}
}

func (p *gaugePane) compactHealth(now time.Time) line {
	l := line{}
	switch {
	case p.replay != nil:
		l.add(dim, "◌ ")
	case !p.watched(now):
		l.add(dim, "○ ")
	case len(p.status.Endpoints) == 0:
		l.add(warn, "○ ")
	case p.status.Up() == len(p.status.Endpoints):
		l.add(good, "● ")
	case p.status.Up() > 0:
		l.add(warn, fmt.Sprintf("▲ %d/%d ", p.status.Up(), len(p.status.Endpoints)))
	case p.status.Endpoints[0].Problem != "":
		l.add(fail, "✘ down ")
	default:
		l.add(warn, "○ ")
	}
	if p.simulated() {
		l.add(warn, "SIMULATED ")
	}
	return l
}

// compactGauges are what is worth half a row: pressure, speed, end, limit.
func (p *gaugePane) compactGauges(now time.Time) line {
	l := line{}
	s := p.status
	if p.ended {
		return append(p.over(0), seg{dim, "  in " + p.clock(now)})
	}
	if s == nil {
		return line{{dim, "no gauges yet"}}
	}
	if s.Paused {
		text := "◆ all paused  "
		if n := p.tally.running + p.tally.starting + p.tally.queued + p.tally.evaluating; n > 0 {
			text = fmt.Sprintf("◆ pausing, %d move  ", n)
		}
		l.add(warn, text)
	}
	g := s.Total()
	_, util := spread(s.GPUs, func(g engine.GPU) *float64 { return g.Util })
	l.add(dim, "KV ")
	l.add(plain, percent(g.KVUse))
	l.add(dim, "  gpu ")
	l.add(plain, percent(util)+"  "+amount(g.TokensPerSec))
	l.add(dim, " tok/s  ETA ")
	l.add(plain, eta(s.Forecast))
	if s.LimitedBy != "" {
		l.add(dim, "  limit ")
		l.add(plain, cleanLine(s.LimitedBy))
	}
	return l
}
