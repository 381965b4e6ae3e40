package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"rollbench/engine/agent"
	"rollbench/sandbox"
	"rollbench/sessions"
	"rollbench/tools"
)

// forkSnapshot is the parent's sandbox as it was forked, until the last child has
// its own.
type forkSnapshot struct {
	id    string
	carry *tools.Carry
	ran   []string // programs that it does not carry
	close func() error
	log   *slog.Logger

	mu   sync.Mutex // guards left
	left int        // children that are still to be opened
}

// release by n children; the last one removes it. One that cannot be removed is
// removed with its provider, or by the next start.
func (s *forkSnapshot) release(n int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.left -= n
	last := s.left <= 0
	s.mu.Unlock()
	if !last {
		return
	}
	if err := s.close(); err != nil {
		s.log.Warn("remove the snapshot of a fork", "snapshot", s.id, "error", err)
	}
}

// snapshotHere keeps the parent's sandbox where it is held right before the turn;
// why says what stands against it. The error is that the run has stopped.
func (e *Engine) snapshotHere(p *plan) (snap *forkSnapshot, why string, err error) {
	type taken struct {
		snap *forkSnapshot
		why  string
	}
	done := make(chan taken, 1)
	err = p.parent.gate.Beside(func(ctx context.Context, before int) {
		var t taken
		if t.why = p.notHere(before); t.why == "" {
			t.snap, t.why = e.snapshotOf(ctx, p)
		}
		done <- t
	})
	if err != nil {
		return nil, err.Error(), nil
	}
	select {
	case t := <-done:
		return t.snap, t.why, nil
	case <-p.parent.gate.Ended():
	}
	select {
	case t := <-done: // right before its end
		return t.snap, t.why, nil
	default:
		return nil, "the parent went on", nil
	}
}

// notHere says why the sandbox of the held parent is not as it was before the turn.
func (p *plan) notHere(before int) string {
	if before != p.fork.Turn {
		return "the parent is held at another turn"
	}
	for _, r := range p.later {
		if r.Turn == p.fork.Turn {
			return "a person's command has changed the sandbox since"
		}
	}
	return ""
}

// snapshotOf the parent's sandbox; it is called where its loop stands still.
func (e *Engine) snapshotOf(ctx context.Context, p *plan) (*forkSnapshot, string) {
	t := p.parent
	if t.place == nil || t.place.tools == nil {
		return nil, "the parent's sandbox is closed"
	}
	s, can := t.place.sb.(sandbox.Snapshotter)
	if !can {
		return nil, fmt.Sprintf("a %s sandbox keeps no snapshots", t.kind)
	}
	carry, err := t.place.tools.Carry()
	if err != nil {
		return nil, line(err)
	}
	ran, err := sandbox.LeftRunning(ctx, t.place.sb, tools.IsInterpreter)
	if err != nil {
		return nil, line(err)
	}
	kept, err := s.Snapshot(ctx)
	if err != nil {
		return nil, whyNoSnapshot(err)
	}
	return &forkSnapshot{id: kept.ID(), carry: carry, ran: ran, close: kept.Close, log: e.opt.Log, left: p.opt.N}, ""
}

// whyNoSnapshot is the reason alone: that there is no snapshot is said beside it.
func whyNoSnapshot(err error) string {
	text := line(err)
	if errors.Is(err, sandbox.ErrNoSnapshot) {
		_, text, _ = strings.Cut(text, sandbox.ErrNoSnapshot.Error()+": ")
	}
	return text
}

// differsMost bounds the list of differences in a fact.
const differsMost = 100

// rebuild brings the sandbox of a fork, just opened, to where the parent's was, and
// what the fork did since. Where calls answer otherwise it will be held.
func (e *Engine) rebuild(ctx context.Context, t *trajectory) error {
	began := time.Now()
	r := sessions.Rebuilt{By: sessions.BySnapshot}
	if snap := t.fork.snapshot(); snap != nil {
		for _, argv := range snap.ran {
			r.Differs = append(r.Differs, sessions.Difference{Turn: t.fork.Turn - 1, Call: -1, Tool: argv, Why: "it ran in the parent's sandbox, and does not run in this one: a snapshot has files only"})
		}
		cut(&r)
	} else {
		var err error
		if r, err = e.replayFork(ctx, t); err != nil {
			return err
		}
	}
	r.Wall = time.Since(began)
	if err := e.commit(ctx, t.key, sessions.KindRebuilt, r); err != nil {
		return err
	}
	went := lastOf(t.turns) != nil && lastOf(t.turns).Index >= t.fork.Turn
	n := len(r.Differs) + r.More
	differ := r.Say()
	switch {
	case n > 0 && !went && t.fork.Differs == DifferDrop:
		return errors.New("fork: " + differ)
	case n > 0 && t.fork.Differs != DifferGo && !(went && sameDifferences(t.fork.before, r)):
		t.fork.holdWhy = "paused by the fork: " + differ
	case t.fork.Hold && !went:
		t.fork.holdWhy = "paused by the fork, as asked for"
	}
	return nil
}

// replayFork replays the parent's calls and those of the fork itself. A fork whose
// own calls answer otherwise starts again where it was forked.
func (e *Engine) replayFork(ctx context.Context, t *trajectory) (sessions.Rebuilt, error) {
	r, err := e.replayOnce(ctx, t)
	if err == nil || ctx.Err() != nil {
		return r, err
	}
	e.closePlace(t)
	own := lastOf(t.turns)
	if own == nil || own.Index < t.fork.Turn { // nothing of its own was lost
		return r, err
	}
	if err := e.startAgain(ctx, t, "the sandbox could not be brought back: "+line(err)); err != nil {
		return r, err
	}
	if err := e.entered(ctx, t); err != nil {
		return r, err
	}
	return e.replayOnce(ctx, t)
}

func (e *Engine) replayOnce(ctx context.Context, t *trajectory) (sessions.Rebuilt, error) {
	r := sessions.Rebuilt{By: sessions.ByReplay, Why: t.fork.why}
	err := e.replay(ctx, t, func(ctx context.Context, l *agent.Loop) (err error) {
		r.Calls, r.Differs, err = l.Rebuild(ctx, t.turns, t.runs, t.fork.Turn)
		return err
	})
	cut(&r)
	return r, err
}

// cut a list of differences that is too long for a fact.
func cut(r *sessions.Rebuilt) {
	if over := len(r.Differs) - differsMost; over > 0 {
		r.Differs, r.More = r.Differs[:differsMost], over
	}
}

// shared are the parent's of the turns.
func (f *fork) shared(turns []sessions.Turn) []sessions.Turn {
	for i := range turns {
		if turns[i].Index >= f.Turn {
			return turns[:i]
		}
	}
	return turns
}

// sameDifferences: a person has seen these before.
func sameDifferences(before *sessions.Rebuilt, now sessions.Rebuilt) bool {
	if before == nil || before.More != now.More || len(before.Differs) != len(now.Differs) {
		return false
	}
	for i, d := range now.Differs {
		b := before.Differs[i]
		if b.Turn != d.Turn || b.Call != d.Call || b.Why != d.Why || !agent.Alike(b.Now, d.Now) {
			return false
		}
	}
	return true
}

// readForks takes what an earlier part of the run says of forks.
func (p *past) readForks(e sessions.Event) error {
	switch e.Kind {
	case sessions.KindForked:
		var f sessions.Forked
		if err := json.Unmarshal(e.Data, &f); err != nil {
			return err
		}
		p.forks[e.Key] = f
	case sessions.KindRebuilt:
		var r sessions.Rebuilt
		if err := json.Unmarshal(e.Data, &r); err != nil {
			return err
		}
		p.rebuilt[e.Key] = r
		return nil
	case sessions.KindAttempt:
	default:
		return nil
	}
	if f, is := p.forks[e.Key]; is && f.Feedback != "" {
		p.unsent[e.Key] = []feedback{{agent.AsUser, f.Feedback}}
	}
	return nil
}

// forkOf a row; its sampling settings were checked as it was made.
func (p *past) forkOf(row sessions.Trajectory) *fork {
	f := &fork{Forked: p.forks[row.Key], why: "the run was interrupted", runs: p.inherited(row.Key)}
	if r, there := p.rebuilt[row.Key]; there {
		f.before = &r
	}
	return f
}

// handRuns of an attempt, those before it was forked among them.
func (p *past) handRuns(a attempt) []sessions.HandRun {
	return append(p.inherited(a.key), p.runs[a]...)
}

// inherited by a fork: what was done in the sandboxes of its parents, in the attempts
// whose turns it has, before it was forked.
func (p *past) inherited(key sessions.Key) []sessions.HandRun {
	f, is := p.forks[key]
	if !is {
		return nil
	}
	return runsBefore(p.handRuns(attempt{f.ParentOf(key), f.Attempt}), f.Turn)
}

// endedMembers counts those of the set fixed at the start.
func (e *Engine) endedMembers() (n int) {
	for _, t := range e.all() {
		if t.fork == nil && t.done.Load() {
			n++
		}
	}
	return n
}
