package replay

import (
	"context"
	"encoding/json"

	"rollbench/sessions"
)

// Run is the identity and the settings of the run.
func (p *Player) Run() sessions.Run { return p.src.Run() }

// Trajectories as of the replay's moment. Only this read moves what the others
// show, so that they agree.
func (p *Player) Trajectories(ctx context.Context) ([]sessions.Trajectory, int64, error) {
	p.reading.Lock()
	defer p.reading.Unlock()
	if err := p.past.goTo(ctx, p.reach()); err != nil {
		return nil, 0, err
	}
	return p.past.now.trajectories(), p.past.now.seq, nil
}

// Since returns events up to the moment that Trajectories showed.
func (p *Player) Since(ctx context.Context, seq int64, limit int) ([]sessions.Event, error) {
	last := p.seq()
	if seq >= last {
		return nil, nil
	}
	if n := int(last - seq); limit <= 0 || limit > n {
		limit = n
	}
	events, err := p.src.Since(ctx, seq, limit)
	for len(events) > 0 && events[len(events)-1].Seq > last {
		events = events[:len(events)-1]
	}
	return events, err
}

// seq of the moment that Trajectories showed.
func (p *Player) seq() int64 {
	p.reading.Lock()
	defer p.reading.Unlock()
	return p.past.now.seq
}

// row of a trajectory at the moment.
func (p *past) row(key sessions.Key) (sessions.Trajectory, bool) {
	i, known := p.index[key]
	if !known {
		return sessions.Trajectory{}, false
	}
	return p.now.rows[i], p.now.there[i]
}

// Turns as they were at the moment: without what came later.
func (p *Player) Turns(ctx context.Context, key sessions.Key, attempt, from, to int, withIDs bool) ([]sessions.Turn, error) {
	p.reading.Lock()
	row, there := p.past.row(key)
	seq := p.past.now.seq
	p.reading.Unlock()
	if !there {
		return nil, nil
	}
	if attempt == 0 {
		attempt = row.Attempt
	}
	turns, err := p.src.Turns(ctx, key, attempt, from, to, withIDs)
	if err != nil {
		return nil, err
	}
	p.reading.Lock()
	defer p.reading.Unlock()
	return p.past.ledger.asOf(turns, key, attempt, seq), nil
}

// Patch once it was taken.
func (p *Player) Patch(ctx context.Context, key sessions.Key) ([]byte, error) {
	p.reading.Lock()
	row, there := p.past.row(key)
	taken := there && p.past.ledger.has(patched, key, row.Attempt, p.past.now.seq)
	p.reading.Unlock()
	if !taken {
		return nil, nil
	}
	return p.src.Patch(ctx, key)
}

// EvalLog once the trajectory has ended: it is stored with its end.
func (p *Player) EvalLog(ctx context.Context, key sessions.Key) ([]byte, error) {
	p.reading.Lock()
	row, there := p.past.row(key)
	p.reading.Unlock()
	if !there || !row.State.Ended() {
		return nil, nil
	}
	return p.src.EvalLog(ctx, key)
}

// Output of a call whose turn has its observations.
func (p *Player) Output(ctx context.Context, at sessions.CallPlace, from int64, n int) ([]byte, error) {
	p.reading.Lock()
	row, there := p.past.row(at.Key)
	if at.Attempt == 0 {
		at.Attempt = row.Attempt
	}
	seen := false
	for _, f := range p.past.ledger.before(at.Key, at.Attempt, p.past.now.seq) {
		seen = seen || (f.what == answered || f.what == rejected) && f.turn == at.Turn
	}
	p.reading.Unlock()
	if !there || !seen {
		return nil, nil
	}
	return p.src.Output(ctx, at, from, n)
}

// Spell gives the texts of ids: what an id stands for does not change with time.
func (p *Player) Spell(ctx context.Context, ids []int32) (map[int32]string, error) {
	return p.src.Spell(ctx, ids)
}

// Gauge is what the engine would have said of itself, as far as it is recorded.
func (p *Player) Gauge(ctx context.Context) (json.RawMessage, error) {
	now := p.Now()
	p.reading.Lock()
	defer p.reading.Unlock()
	s, err := p.past.status(ctx, now)
	if err != nil || s == nil {
		return nil, err
	}
	return json.Marshal(s)
}

// Series up to the moment.
func (p *Player) Series(ctx context.Context) ([]json.RawMessage, error) {
	now := p.Now()
	p.reading.Lock()
	defer p.reading.Unlock()
	if err := p.past.series.read(ctx, p.src); err != nil {
		return nil, err
	}
	return p.past.series.raw[:p.past.series.upTo(now)], nil
}
