package stats

import (
	"cmp"
	"context"
	"slices"
	"time"

	"rollbench/sessions"
)

// The stages.
const (
	initStage = iota
	runStage
	evalStage
)

// Run adds up the events of one run. Forks are outside the set that it tells of.
// It is not safe for concurrent use.
type Run struct {
	seq    int64     // of the last event seen
	last   time.Time // its time
	clocks []clock
	index  map[sessions.Key]int
	stages [3]stage
	tools  []tool // in the order first called
	limits *sessions.Limits
	moved  time.Time
}

type stage struct {
	service, wait histogram
	struck        int
}

type tool struct {
	name                    string
	calls, errors, timeouts int
	wall                    histogram
	met, free               rewards
}

type rewards struct {
	n   int
	sum float64
}

func (r rewards) mean() *float64 {
	if r.n == 0 {
		return nil
	}
	mean := r.sum / float64(r.n)
	return &mean
}

// clock of one trajectory.
type clock struct {
	key     sessions.Key
	in      sessions.State
	since   time.Time
	seconds [3]float64
	run     time.Duration // of the run stage so far: it may be held in between
	ended   bool
	holds   bool         // the sandbox of its run stage is open
	kept    bool         // and was so when its verifier began
	called  map[int]bool // tools of this attempt: true where a timeout was met
}

// New is a run before its first event.
func New(run sessions.Run) *Run {
	r := &Run{clocks: make([]clock, len(run.Members)), index: make(map[sessions.Key]int, len(run.Members))}
	for i, k := range run.Members {
		r.clocks[i] = clock{key: k, in: sessions.Queued, since: run.Created}
		r.index[k] = i
	}
	return r
}

// Read is a run as its session has it.
func Read(ctx context.Context, s sessions.Reader) (*Run, error) {
	r := New(s.Run())
	return r, r.Follow(ctx, s)
}

// Follow sees the events that were committed since the last one seen, and shows each
// to those who want to see it as well.
func (r *Run) Follow(ctx context.Context, s sessions.Reader, also ...func(sessions.Event) error) error {
	for {
		events, err := s.Since(ctx, r.seq, 1000)
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			if err := r.See(e); err != nil {
				return err
			}
			for _, see := range also {
				if err := see(e); err != nil {
					return err
				}
			}
		}
	}
}

// See one event, in the order of their Seq.
func (r *Run) See(e sessions.Event) error {
	r.seq = e.Seq
	before := r.last
	r.last = e.Time
	var err error
	switch e.Kind {
	case sessions.KindRunStarted:
		r.started(e.Time, before)
	case sessions.KindLimits:
		err = sessions.ReadEvent(e, func(l sessions.Limits) { r.limits = &l })
	case sessions.KindLimit:
		err = sessions.ReadEvent(e, r.struck)
	}
	if !e.Key.IsZero() {
		r.moved = e.Time // a fork's, too
	}
	i, member := r.index[e.Key]
	if err != nil || !member {
		return err
	}
	c := &r.clocks[i]
	switch e.Kind {
	case sessions.KindAttempt:
		c.called, c.run, c.seconds = nil, 0, [3]float64{}
	case sessions.KindState:
		err = sessions.ReadEvent(e, func(s sessions.StateChange) { r.enter(c, s.State, e.Time) })
	case sessions.KindSandbox:
		err = sessions.ReadEvent(e, func(s sessions.SandboxChange) {
			if s.Purpose == "run" {
				c.holds = s.Open
			}
		})
	case sessions.KindToolFinished:
		err = sessions.ReadEvent(e, func(f sessions.ToolFinished) { r.finished(c, f) })
	case sessions.KindReward:
		err = sessions.ReadEvent(e, func(f sessions.Rewarded) { r.rewarded(c, f.Reward) })
	}
	return err
}

// started: nothing was under way between the end of the process before, which
// was at its last event, and this one; whoever had not ended queues again.
func (r *Run) started(at, before time.Time) {
	for i := range r.clocks {
		c := &r.clocks[i]
		switch {
		case c.ended || c.in == sessions.Ran:
		case c.in == sessions.Evaluating:
			c.in = sessions.Ran
		case c.in == sessions.Running:
			c.run += max(before.Sub(c.since), 0)
			c.in = sessions.Queued
		default:
			c.in = sessions.Queued
		}
		c.since, c.holds = at, false
	}
}

// enter a state: time spent working and waiting is added to its stage.
func (r *Run) enter(c *clock, next sessions.State, at time.Time) {
	spent := at.Sub(c.since)
	switch c.in {
	case sessions.Init:
		r.left(c, initStage, spent)
	case sessions.Running:
		c.run += spent
	case sessions.Evaluating:
		r.left(c, evalStage, spent)
	}
	if (c.in == sessions.Running || c.in == sessions.Held) && next != sessions.Running && next != sessions.Held {
		r.left(c, runStage, c.run)
		c.run = 0
	}
	switch {
	case next == sessions.Init:
		r.stages[initStage].wait.add(spent)
	case next == sessions.Running && c.in == sessions.Ready:
		r.stages[runStage].wait.add(spent)
	case next == sessions.Evaluating && c.in == sessions.Ran:
		r.stages[evalStage].wait.add(spent)
	}
	if next == sessions.Evaluating {
		c.kept = c.holds
	}
	c.in, c.since, c.ended = next, at, next.Ended()
	if c.ended {
		c.called = nil // without a reward it stayed
	}
}

func (r *Run) left(c *clock, stage int, took time.Duration) {
	c.seconds[stage] = took.Seconds()
	r.stages[stage].service.add(took)
}

func (r *Run) struck(l sessions.LimitStruck) {
	if i := slices.Index([]string{"init", "run", "eval"}, l.Stage); i >= 0 {
		r.stages[i].struck++
	}
}

// finished counts a call that ran: one with wrong arguments, of an unknown tool
// or against a rule says nothing of a tool's capacity.
func (r *Run) finished(c *clock, f sessions.ToolFinished) {
	if f.Status == "invalid" || f.Status == "denied" {
		return
	}
	i := slices.IndexFunc(r.tools, func(t tool) bool { return t.name == f.Tool })
	if i < 0 {
		i = len(r.tools)
		r.tools = append(r.tools, tool{name: f.Tool})
	}
	t := &r.tools[i]
	t.calls++
	t.wall.add(f.Wall)
	if c.called == nil {
		c.called = map[int]bool{}
	}
	c.called[i] = c.called[i] || f.Status == "timeout"
	switch f.Status {
	case "timeout":
		t.timeouts++
	case "error":
		t.errors++
	}
}

// rewarded puts a reward beside the tools that led to it. Absent is not 0.
func (r *Run) rewarded(c *clock, reward *float64) {
	if reward == nil {
		return
	}
	for i, met := range c.called {
		side := &r.tools[i].free
		if met {
			side = &r.tools[i].met
		}
		side.n++
		side.sum += *reward
	}
	c.called = nil
}

// Stages are init, run and eval.
func (r *Run) Stages() [3]Stage {
	var out [3]Stage
	for i := range r.stages {
		s := &r.stages[i]
		out[i] = Stage{Service: s.service.spread(), Wait: s.wait.spread(), Struck: s.struck}
	}
	return out
}

// Tools by name.
func (r *Run) Tools() []Tool {
	out := make([]Tool, len(r.tools))
	for i := range r.tools {
		t := &r.tools[i]
		out[i] = Tool{Name: t.name, Calls: t.calls, Errors: t.errors, Timeouts: t.timeouts, Wall: t.wall.spread(),
			Met: t.met.n, MetReward: t.met.mean(), Free: t.free.n, FreeReward: t.free.mean()}
	}
	slices.SortFunc(out, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Times of all members, in queue order.
func (r *Run) Times() []Times {
	out := make([]Times, len(r.clocks))
	for i := range r.clocks {
		c := &r.clocks[i]
		out[i] = Times{Key: c.key, Seconds: c.seconds, Ended: c.ended, Whole: c.in == sessions.Done, Kept: c.kept}
	}
	return out
}

// Limits in force last, nil before the first part of the run started.
func (r *Run) Limits() *sessions.Limits { return r.limits }

// Moved is the time of the last event of any trajectory, zero before the first.
func (r *Run) Moved() time.Time { return r.moved }
