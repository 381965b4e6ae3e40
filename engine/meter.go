package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"rollbench/engine/dispatch"
	"rollbench/sessions"
	"rollbench/sessions/stats"
)

// meter measures the run once a second: what its events add up to, what blocks
// the stages, and whether anything moves.
type meter struct {
	run     *stats.Run // of the measuring goroutine only
	last    time.Time  // of the last look
	stalled bool       // the stall that goes on was recorded

	mu  sync.Mutex // guards now
	now measured
}

// measured is what a look found. It is not changed afterwards.
type measured struct {
	stages  [3]stats.Stage
	tools   []stats.Tool
	blocked [3]map[string]time.Duration
	stall   *Stall
}

// BlockedOver is how long each stage had a free slot and work to come, by what
// it waited for, over a run's time series. Breaks between the parts of a run
// do not count.
func BlockedOver(points []Point) (blocked [3]map[string]time.Duration) {
	longest := 10 * time.Second
	if n := len(points); n > 1 { // of a long run few points stay
		longest = max(longest, 4*points[n-1].At.Sub(points[0].At)/time.Duration(n))
	}
	for i := range points {
		if i+1 == len(points) {
			break
		}
		d := points[i+1].At.Sub(points[i].At)
		if d <= 0 || d > longest {
			continue
		}
		for st, by := range points[i].Blocked {
			if by == "" {
				continue
			}
			if blocked[st] == nil {
				blocked[st] = map[string]time.Duration{}
			}
			blocked[st][by] += d
		}
	}
	return blocked
}

// Points of a run's time series, as its session has them.
func Points(series []json.RawMessage) ([]Point, error) {
	points := make([]Point, len(series))
	for i, data := range series {
		if err := json.Unmarshal(data, &points[i]); err != nil {
			return nil, fmt.Errorf("read the time series of the run: %w", err)
		}
	}
	return points, nil
}

// recallBlocked goes on with what the earlier parts of the run were blocked by.
func (e *Engine) recallBlocked(ctx context.Context) error {
	series, err := e.store.Series(ctx)
	if err != nil {
		return err
	}
	points, err := Points(series)
	if err != nil {
		return err
	}
	e.meter.now.blocked = BlockedOver(points)
	return nil
}

func (m *meter) read() measured {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// measure takes a look. Everything it says of the past comes from the session,
// so a resumed run goes on with its numbers.
func (e *Engine) measure(ctx context.Context, now time.Time) error {
	m := e.meter
	if err := m.run.Follow(ctx, e.store); err != nil {
		return err
	}
	found := measured{stages: m.run.Stages(), tools: m.run.Tools(), blocked: m.read().blocked}
	for st, by := range e.live.Snapshot().Blocked {
		if by == "" || m.last.IsZero() {
			continue
		}
		found.blocked[st] = maps.Clone(found.blocked[st])
		if found.blocked[st] == nil {
			found.blocked[st] = map[string]time.Duration{}
		}
		found.blocked[st][by] += now.Sub(m.last)
	}
	m.last = now
	var err error
	if found.stall, err = e.stall(ctx, now); err != nil {
		return err
	}
	m.mu.Lock()
	m.now = found
	m.mu.Unlock()
	return e.tellStall(ctx, found.stall)
}

// stall says what everyone waits for, nil while something moves: an event of
// a trajectory, a token, a byte of a tool's output.
func (e *Engine) stall(ctx context.Context, now time.Time) (*Stall, error) {
	after := time.Duration(e.Tuning().StallAfter)
	still := now.Sub(latest(e.meter.run.Moved(), e.streams.moved(), e.started))
	if after <= 0 || still < after || e.live.Snapshot().Left == 0 {
		return nil, nil
	}
	rows, _, err := e.store.Trajectories(ctx)
	if err != nil {
		return nil, err
	}
	return &Stall{For: still, Waits: e.waits(rows, now)}, nil
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// waits of all trajectories that are under way, most first.
func (e *Engine) waits(rows []sessions.Trajectory, now time.Time) []Wait {
	by := map[string]*Wait{}
	for _, row := range rows {
		what, since := "", row.Since
		switch row.State {
		case sessions.Init, sessions.Running, sessions.Evaluating:
			if doing, from := e.streams.of(row.Key).waits(); doing != "" {
				what, since = doing, from
			} else {
				what = "its next step"
			}
		case sessions.Held:
			what = heldFor(row.Held)
		case sessions.Ready:
			what = "a run slot"
		case sessions.Ran:
			what = "an eval slot"
		default:
			continue
		}
		w := by[what]
		if w == nil {
			w = &Wait{What: what}
			by[what] = w
		}
		w.N++
		if d := now.Sub(since); d > w.Longest {
			w.Longest, w.Key = d, row.Key
		}
	}
	out := make([]Wait, 0, len(by))
	for _, w := range by {
		out = append(out, *w)
	}
	slices.SortFunc(out, func(a, b Wait) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.What, b.What)) })
	return out
}

func heldFor(r sessions.HeldReason) string {
	switch r {
	case sessions.HeldError:
		return "the endpoint"
	case sessions.HeldLimit:
		return "a run slot"
	}
	return "a person"
}

// tellStall records a stall once, unless it is a person who holds everything.
func (e *Engine) tellStall(ctx context.Context, s *Stall) error {
	if s == nil {
		e.meter.stalled = false
		return nil
	}
	if e.meter.stalled || len(s.Waits) == 1 && s.Waits[0].What == "a person" {
		return nil
	}
	e.meter.stalled = true
	return e.commit(ctx, sessions.Key{}, sessions.KindWarning, sessions.Warning{Text: s.String()})
}

// String is the stall on one line.
func (s *Stall) String() string {
	parts := make([]string, len(s.Waits))
	for i, w := range s.Waits {
		parts[i] = fmt.Sprintf("%d for %s (longest %s, %v)", w.N, w.What, w.Key, w.Longest.Round(time.Second))
	}
	if len(parts) == 0 {
		parts = []string{"none is under way"}
	}
	return fmt.Sprintf("nothing has moved for %v; waiting: %s", s.For.Round(time.Second), strings.Join(parts, ", "))
}

// queue of a stage as the snapshots have it.
func (m measured) queue(q dispatch.Snapshot, st dispatch.Stage) Queue {
	return Queue{Waiting: q.Waiting[st], Busy: q.Busy[st], Limit: q.Limit[st], Blocked: q.Blocked[st], BlockedFor: m.blocked[st], Times: &m.stages[st]}
}
