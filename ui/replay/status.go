package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"rollbench/engine"
	"rollbench/engine/infer"
	"rollbench/sessions"
)

// series of the run, and the engine's last words.
type series struct {
	done   bool
	raw    []json.RawMessage
	points []engine.Point
	last   *engine.Status // nil: there are none
}

// read both, once.
func (s *series) read(ctx context.Context, r sessions.Reader) error {
	if s.done {
		return nil
	}
	var err error
	if s.raw, err = r.Series(ctx); err != nil {
		return err
	}
	if s.points, err = engine.Points(s.raw); err != nil {
		return err
	}
	data, err := r.Gauge(ctx)
	if err == nil && len(data) > 0 {
		s.last = &engine.Status{}
		if err = json.Unmarshal(data, s.last); err != nil {
			err = fmt.Errorf("read the gauges of the run: %w", err)
		}
	}
	s.done = err == nil
	return err
}

// upTo is how many points there were by then.
func (s *series) upTo(now time.Time) int {
	n := 0
	for n < len(s.points) && !s.points[n].At.After(now) {
		n++
	}
	return n
}

// freshFor is how long a point tells of now at least. Of a long run few stay.
const freshFor = 5 * time.Second

// point that tells of now, nil where none is near.
func (s *series) point(now time.Time) *engine.Point {
	n := s.upTo(now)
	if n == 0 {
		return nil
	}
	p, fresh := &s.points[n-1], freshFor
	if n > 1 {
		fresh = max(fresh, 3*p.At.Sub(s.points[n-2].At))
	}
	if now.Sub(p.At) > min(fresh, 5*time.Minute) {
		return nil
	}
	return p
}

// status at the moment: queues and outcomes by the trajectories, limits by the
// events, measures by the nearest point of the series. What nobody recorded (what a
// policy was saying, the notes, each GPU by itself) is absent; nil before the run
// began.
func (p *past) status(ctx context.Context, now time.Time) (*engine.Status, error) {
	m := p.now
	if m.started.IsZero() {
		return nil, nil
	}
	if err := p.series.read(ctx, p.src); err != nil {
		return nil, err
	}
	s := &engine.Status{At: now, Started: m.started, Running: true, Paused: m.paused, Policy: p.src.Run().Policy, Tools: m.stats.Tools()}
	m.count(s, now)
	stages := m.stats.Stages()
	s.Init.Times, s.Run.Times, s.Eval.Times = &stages[0], &stages[1], &stages[2]
	if l := m.stats.Limits(); l != nil {
		s.Limits = engine.Limits{Init: l.MaxInit, Run: l.MaxAgents, Eval: l.MaxEval, Live: l.MaxLive, Ready: l.MaxReady}
		s.Tuning = engine.TuningOf(*l)
		s.Init.Limit, s.Run.Limit, s.Eval.Limit, s.MaxLive = l.MaxInit, l.MaxAgents, l.MaxEval, l.MaxLive
		if l.Policy != "" {
			s.Policy = l.Policy
		}
	}
	point := p.series.point(now)
	blocked := engine.BlockedOver(p.series.points[:p.series.upTo(now)])
	for i, q := range []*engine.Queue{&s.Init, &s.Run, &s.Eval} {
		q.BlockedFor = blocked[i]
		if point != nil {
			q.Blocked, q.Limit = point.Blocked[i], point.Limit[i]
		}
	}
	s.LimitedBy = limitedBy(s)
	for _, b := range m.breaks {
		h := m.hits[b.ID]
		s.Breakpoints = append(s.Breakpoints, engine.Breakpoint{ID: b.ID, Text: b.Text, Off: b.Off, At: h.At, Log: h.Log, Hits: h.Hits, Matches: h.Matches})
	}
	if last := p.series.last; last != nil {
		s.Adaptive, s.Isolation, s.Endpoints = last.Adaptive, last.Isolation, endpoints(last.Endpoints, p.src.Run(), point)
		if len(last.GPUs) == 1 && point != nil { // of several only the mean is recorded
			s.GPUs = []engine.GPU{{Index: last.GPUs[0].Index, Name: last.GPUs[0].Name, Util: point.GPU}}
		}
	}
	return s, nil
}

// limitedBy names what keeps those that wait from going on, as the dispatcher does.
func limitedBy(s *engine.Status) string {
	switch {
	case s.Eval.Waiting > 0 && s.Eval.Limit > 0 && s.Eval.Busy >= s.Eval.Limit:
		return "eval"
	case s.Run.Waiting > 0:
		return "run"
	case s.Init.Waiting+s.Eval.Waiting > 0 && s.MaxLive > 0 && s.Live >= s.MaxLive:
		return "sandboxes"
	case s.Init.Waiting > 0:
		return "init"
	}
	return ""
}

// rateOver is the time over which the speed is taken.
const rateOver = 5 * time.Minute

// count the trajectories into the queues, and how many ended lately.
func (m *moment) count(s *engine.Status, now time.Time) {
	span, left, ended := min(now.Sub(m.started), rateOver), 0, 0
	for i, t := range m.rows {
		if !m.there[i] {
			continue
		}
		switch t.State {
		case sessions.Queued:
			s.Init.Waiting++
		case sessions.Init:
			s.Init.Busy++
		case sessions.Ready:
			s.Ready.Waiting++
			s.Run.Waiting++
		case sessions.Running:
			s.Run.Busy++
		case sessions.Held:
			s.Held++
		case sessions.Ran:
			s.Eval.Waiting++
		case sessions.Evaluating:
			s.Eval.Busy++
		}
		if t.Sandbox != "" {
			s.Live++
		}
		if !t.State.Ended() {
			left++
			continue
		}
		if t.Fork == nil {
			s.Ended++
		}
		if now.Sub(t.Ended) <= span {
			ended++
		}
	}
	if ended > 0 && span >= time.Second {
		s.PerMinute = float64(ended) / span.Minutes()
	}
	s.Forecast = engine.Foresee(left-s.Held, ended, span)
}

// endpoints of the run with what the point says of all of them together.
func endpoints(last []engine.Endpoint, run sessions.Run, point *engine.Point) []engine.Endpoint {
	if len(last) == 0 {
		return nil
	}
	e := engine.Endpoint{URL: last[0].URL, Model: last[0].Model, Weight: 1, Capabilities: last[0].Capabilities}
	if len(last) > 1 {
		e.URL = strings.TrimSpace(run.Endpoint)
	}
	if point != nil {
		e.Healthy = true
		e.Gauges = &infer.Gauges{At: point.At, Running: point.Requests, Waiting: point.Queued, KVUse: point.KVUse, TokensPerSec: point.Tokens}
	}
	return []engine.Endpoint{e}
}
