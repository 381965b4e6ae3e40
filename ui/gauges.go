package ui

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"rollbench/engine"
	"rollbench/sessions"
	"rollbench/ui/replay"
)

// gaugePane is the head of the screen: what runs, how the queues stand, what
// limits them, how the endpoint and the GPUs do. status is nil until the
// engine (or what it left in the session) is seen.
type gaugePane struct {
	run    sessions.Run
	status *engine.Status
	tally  tally
	verdicts
	ended  bool // nothing more will happen
	since  time.Time
	series *series
	hits   prefixHits
	gone   bool             // no process writes it, and not all have ended
	driven bool             // from here, not by another process
	next   string           // what to do with it, once ended
	replay *replay.Position // nil: it is no replay
}

// rows the full head takes: endpoints one a row, GPUs two a row, more than eight
// of either on one.
func (p *gaugePane) rows() int {
	if p.status == nil || p.ended || p.gone { // then nobody watches them
		return 5
	}
	gpus := (len(p.status.GPUs) + 1) / 2
	if len(p.status.GPUs) > 8 {
		gpus = 1
	}
	endpoints := max(len(p.status.Endpoints), 1)
	if endpoints > 8 {
		endpoints = 1
	}
	return 4 + endpoints + gpus
}

// simulated trusts the session and the probe alike: either one marks the screen.
func (p *gaugePane) simulated() bool {
	return p.run.Simulate || p.status != nil && len(p.status.Endpoints) > 0 && p.status.Endpoints[0].Capabilities.Simulated
}

// render the full head in h rows.
func (p *gaugePane) render(t *theme, w, h int, now time.Time) []string {
	lines := []line{p.identity(w, now), p.queues(w), p.outcome(w), p.pace(w, now)}
	gpus := p.gpus(w, now)
	lines = append(lines, p.endpoints(w, h-len(lines)-len(gpus), now)...)
	lines = append(lines, gpus...)
	out := make([]string, 0, h)
	for i := 0; i < h; i++ {
		if i < len(lines) {
			out = append(out, t.fit(lines[i], w))
		} else {
			out = append(out, spaces(w))
		}
	}
	return out
}

// identity of the run and its endpoint, the clock at the right.
func (p *gaugePane) identity(w int, now time.Time) line {
	l := line{{strong, " rollbench  "}, {plain, cut(cleanLine(p.run.ID), 26)}}
	if p.run.Title != "" {
		l.add(plain, " "+cut(cleanLine(p.run.Title), 26))
	}
	groups := map[string]bool{}
	for _, m := range p.run.Members {
		groups[m.Instance] = true
	}
	l.add(dim, fmt.Sprintf(" %d×%d  ", len(groups), p.run.N))
	l = append(l, p.health(now)...)
	if policy := p.policy(); policy != "" {
		l.add(dim, "  "+cleanLine(policy))
	}
	if host := hosts(p.run.Endpoint); host != "" {
		l.add(dim, "  @"+host)
	}
	if p.replay != nil {
		return p.besideReplay(l, w)
	}
	right := p.clock(now)
	room := w - len(right) - 1
	l = clip(l, room-1)
	l.add(plain, spaces(room-l.width()))
	l.add(strong, right)
	l.add(plain, " ")
	return l
}

func (p *gaugePane) policy() string {
	if p.status != nil && p.status.Policy != "" {
		return p.status.Policy
	}
	return p.run.Policy
}

// clock runs from the start of this process's part of the run, and stands still
// at the end of the last trajectory.
func (p *gaugePane) clock(now time.Time) string {
	start := p.run.Created
	if p.status != nil && !p.status.Started.IsZero() {
		start = p.status.Started
	}
	if start.IsZero() {
		return "--:--:--"
	}
	switch {
	case p.ended && !p.since.IsZero():
		now = p.since
	case p.gone && p.status != nil && !p.status.At.IsZero():
		now = p.status.At
	}
	return clock(now.Sub(start))
}

// silent is a run of another process that has not written its gauges for a
// while: whether it still runs cannot be told from here.
func (p *gaugePane) silent(now time.Time) bool {
	if p.replay != nil {
		return p.gone // its gauges are made for the moment
	}
	return p.gone || !p.driven && p.status != nil && !p.status.At.IsZero() && now.Sub(p.status.At) > gaugesOld
}

// gaugesOld is when gauges are no longer those of now.
const gaugesOld = 15 * time.Second

// health of the endpoints: ● up SIMULATED model vllm tokens+logprobs.
// What must be seen comes first: names may be long.
func (p *gaugePane) health(now time.Time) line {
	l, trouble := line{}, ""
	switch s := p.status; {
	case p.replay != nil:
		l.add(dim, "◌ recorded ")
	case s == nil, p.ended, p.silent(now):
		l.add(dim, "○ not watched ")
	case len(s.Endpoints) == 0: // none is asked: a person writes the turns
		l.add(warn, "○ no endpoint ")
	case len(s.Endpoints) > 1 && s.Up() < len(s.Endpoints):
		l = append(l, up(s)...)
		l.add(plain, " ")
	case s.Endpoints[0].Healthy:
		l.add(good, "● up ")
	case s.Endpoints[0].Problem != "":
		l.add(fail, "✘ down ")
		trouble = cleanLine(s.Endpoints[0].Problem)
	default:
		l.add(warn, "○ not reached yet ")
	}
	if p.simulated() {
		l.add(warn, "SIMULATED ")
	}
	l.add(plain, cut(cleanLine(p.run.Model), 30))
	if trouble != "" {
		l.add(fail, " "+trouble)
	}
	if p.status != nil && len(p.status.Endpoints) > 0 {
		if caps := capabilities(p.status.Endpoints[0]); caps != "" {
			l.add(dim, " "+caps)
		}
	}
	return l
}

// capabilities names what matters for training first: token ids and logprobs.
func capabilities(e engine.Endpoint) string {
	c := e.Capabilities
	parts := []string{}
	if c.Trainable() {
		parts = append(parts, "tokens")
	}
	if c.Logprobs {
		parts = append(parts, "logprobs")
	}
	text := strings.Join(parts, "+")
	if text == "" && c.Server != "" {
		text = "no token ids"
	}
	if c.Simulated { // said before
		return text
	}
	return strings.TrimSpace(cleanLine(c.Server) + " " + text)
}

// hosts of a run's endpoints: the first, and how many more.
func hosts(urls string) string {
	first, rest, several := strings.Cut(urls, ", ")
	if !several {
		return hostOf(first)
	}
	return fmt.Sprintf("%s +%d", hostOf(first), 1+strings.Count(rest, ", "))
}

// hostOf leaves scheme and path away; a URL with credentials loses them too.
func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return cleanLine(base)
	}
	return cleanLine(u.Host)
}

// queues is the strip: init → ready → run → eval, sandboxes. The
// bars shrink until it fits.
func (p *gaugePane) queues(w int) line {
	var l line
	for _, bar := range []int{10, 8, 6, 4, 0} {
		l = p.strip(bar)
		if l.width() <= w {
			break
		}
	}
	return l
}

// strip is the queues with bars of at most so many cells.
func (p *gaugePane) strip(bar int) line {
	l := line{{plain, " "}}
	if s := p.status; s != nil && !p.gone { // those of a dead process are not there any more
		l = append(l, queue("init", s.Init, bar)...)
		l.add(dim, " │ ")
		l.add(dim, "ready ")
		l.add(plain, fmt.Sprint(s.Ready.Waiting)+limit(s.Ready.Limit))
		l.add(dim, " │ ")
		l = append(l, queue("run", s.Run, bar)...)
		if s.Held > 0 {
			l.add(warn, fmt.Sprintf(" ◆%d", s.Held))
		}
		l.add(dim, " │ ")
		l = append(l, queue("eval", s.Eval, bar)...)
		l.add(dim, " │ sandboxes ")
		l.add(plain, fmt.Sprint(s.Live)+limit(s.MaxLive))
	} else if p.gone {
		l.add(dim, "no queues: no process works on this run")
	} else {
		l.add(dim, "no queues: the engine has not reported yet")
	}
	return l
}

// limit is "/n", or nothing where there is none: 0 is not a limit.
func limit(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("/%d", n)
}

// queue of one stage: busy/limit, a bar of the slots, +waiting.
func queue(name string, q engine.Queue, bar int) line {
	l := line{{dim, name + " "}, {plain, fmt.Sprint(q.Busy) + limit(q.Limit)}}
	if q.Limit > 0 && bar > 0 {
		l.add(plain, " ")
		l = append(l, meter(float64(q.Busy)/float64(q.Limit), min(bar, q.Limit), live)...)
	}
	if q.Waiting > 0 {
		l.add(warn, fmt.Sprintf(" +%d", q.Waiting))
	}
	return l
}

// meter draws a share of n cells. Anything above nothing shows a cell.
func meter(share float64, n int, r role) line {
	full := int(min(max(share, 0), 1)*float64(n) + 0.5)
	if share > 0 && full == 0 {
		full = 1
	}
	return line{{r, strings.Repeat("▮", full)}, {dim, strings.Repeat("▯", n-full)}}
}
