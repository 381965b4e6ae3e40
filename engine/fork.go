package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"rollbench/engine/agent"
	"rollbench/engine/dispatch"
	"rollbench/engine/infer"
	"rollbench/sandbox"
	"rollbench/sessions"
)

// ForkOptions are what the children of a fork do otherwise than their parent.
type ForkOptions struct {
	N        int    // children, 1 to 16
	Feedback string // a user message before their first own model call
	// Sampling replaces those settings of the run that are set in it.
	Sampling infer.Sampling
	Turns    int  // budgets; 0: the parent's
	Tokens   int  // of everything after the first prompt
	Hold     bool // before they go on, in any case
	// Differs is what becomes of a child in whose sandbox a recorded call answers
	// otherwise: DifferHold (also ""), DifferGo, DifferDrop.
	Differs string
}

// What becomes of a child in whose sandbox a recorded call answers otherwise.
const (
	DifferHold = "hold" // a person decides
	DifferGo   = "go"   // it goes on all the same
	DifferDrop = "drop" // it ends
)

// maxForks bounds what one verb may add.
const maxForks = 16

func (o ForkOptions) check() error {
	switch {
	case o.N < 1 || o.N > maxForks:
		return fmt.Errorf("%d children: ask for 1 to %d at a time", o.N, maxForks)
	case o.Turns < 0 || o.Tokens < 0:
		return errors.New("a limit is a number from 1 on")
	case !slices.Contains([]string{"", DifferHold, DifferGo, DifferDrop}, o.Differs):
		return fmt.Errorf("%q is nothing that can be done with a child that differs: use hold, go or drop", o.Differs)
	}
	return checkSampling(o.Sampling)
}

// plan is a fork that can be made.
type plan struct {
	parent *trajectory
	kind   sandbox.Kind
	row    sessions.Trajectory
	fork   sessions.Fork
	opt    ForkOptions
	copied *sessions.Turn     // the last turn before the fork, where the parent's may still change
	turns  []sessions.Turn    // the parent's, before the fork
	runs   []sessions.HandRun // what a person did in its sandbox until there
	later  []sessions.HandRun // and from there on
	budget sessions.Budget    // that is not the configuration's
}

// Fork makes children of a trajectory: those turns before the given one are the
// parent's, and the children sample that turn and what follows themselves. Where
// the parent is held right there, and its sandbox can be copied, theirs are opened
// from a snapshot of it, else the recorded calls are replayed. The parent and its
// group stay as they are. Children of a run in which all are paused are held at their
// first gate. It may be called before Run.
func (e *Engine) Fork(key sessions.Key, turn int, o ForkOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	parent, err := e.find(key)
	if err != nil {
		return err
	}
	e.forking.Lock()
	defer e.forking.Unlock()
	if e.ctx.Err() != nil {
		return dispatch.ErrOver
	}
	p, err := e.planFork(e.ctx, parent, turn, o)
	if err != nil {
		return err
	}
	snap, why, err := e.snapshotHere(p)
	if err != nil {
		return err
	}
	err = e.live.Add(o.N, func(first dispatch.Item) error { return e.addForks(p, snap, why) })
	if err != nil {
		snap.release(o.N)
	}
	return err
}

// planFork says whether the trajectory can be forked there, and from what.
func (e *Engine) planFork(ctx context.Context, parent *trajectory, turn int, o ForkOptions) (*plan, error) {
	row, err := e.row(parent.key)
	if err != nil {
		return nil, err
	}
	if turn < 1 || turn > row.Turn+1 {
		return nil, fmt.Errorf("%s has no turn %d to fork from: use 1 to %d", row.Key, turn, row.Turn+1)
	}
	p := &plan{parent: parent, row: row, opt: o}
	if p.kind, err = e.kinds.choose(ctx, parent.in); err != nil { // the parent may have ended before this part of the run
		return nil, err
	}
	e.isolate(ctx)
	if turn > 1 {
		if p.turns, err = e.store.Turns(ctx, row.Key, row.Attempt, 1, turn-1, true); err != nil {
			return nil, err
		}
	}
	p.fork = sessions.Fork{Parent: row.ID, Attempt: row.Attempt, Turn: turn, Shared: turn - 1, Count: o.N}
	if last := lastOf(p.turns); last != nil {
		if !last.Complete {
			return nil, fmt.Errorf("turn %d of %s is not over: fork from turn %d, which the children then sample anew, or wait for the end of its calls", last.Index, row.Key, last.Index)
		}
		p.fork.Tokens, p.fork.FirstLen = usedBy(p.turns)
		if row.Turn < turn { // its observations can still be edited
			own := *last
			p.copied, p.fork.Shared = &own, turn-2
		}
	}
	if row.Intervened {
		before, err := readPast(ctx, e.store)
		if err != nil {
			return nil, err
		}
		all := before.handRuns(attempt{row.Key, row.Attempt})
		p.runs = runsBefore(all, turn)
		p.later = all[len(p.runs):]
	}
	return p, p.limits(e.opt.Config.Generator)
}

// lastOf the turns that count.
func lastOf(turns []sessions.Turn) *sessions.Turn {
	for i := len(turns) - 1; i >= 0; i-- {
		if !turns[i].Superseded {
			return &turns[i]
		}
	}
	return nil
}

// usedBy the turns of the budget of tokens, and how long the first prompt was that was
// counted. A turn that a person wrote where nobody counts tokens uses none.
func usedBy(turns []sessions.Turn) (tokens, first int) {
	for i := range turns {
		t := &turns[i]
		if t.Superseded || t.PromptTokens == 0 && t.Source == sessions.FromOperator {
			continue
		}
		if first == 0 {
			first = t.PromptTokens
		}
		tokens = t.PromptTokens + t.OutputTokens - first
	}
	return tokens, first
}

// runsBefore a turn was sampled.
func runsBefore(runs []sessions.HandRun, turn int) (out []sessions.HandRun) {
	for _, r := range runs {
		if r.Turn < turn || r.Turn == turn && r.At == sessions.BeforeModel {
			out = append(out, r)
		}
	}
	return out
}

// limits of the children: the parent's, or what was asked for, and no less than
// what the parent's turns have used.
func (p *plan) limits(g Generator) error {
	turns, tokens := g.MaxIterations, g.MaxPromptLength
	if p.row.MaxTurns > 0 {
		turns, tokens = p.row.MaxTurns, p.row.Budget
	}
	if p.opt.Turns > 0 {
		turns = p.opt.Turns
	}
	if p.opt.Tokens > 0 {
		tokens = p.opt.Tokens
	}
	switch used := p.fork.Turn - 1; {
	case turns <= used:
		return fmt.Errorf("%d turns are used before turn %d, and %d is the limit: give the children more turns", used, p.fork.Turn, turns)
	case tokens <= p.fork.Tokens:
		return fmt.Errorf("%d tokens are used before turn %d, and %d is the budget: give the children more tokens", p.fork.Tokens, p.fork.Turn, tokens)
	}
	if turns != g.MaxIterations || tokens != g.MaxPromptLength {
		p.budget = sessions.Budget{Turns: turns, Tokens: tokens}
	}
	return nil
}

// addForks records the children and puts them beside the others, in whose order
// the dispatcher takes them.
func (e *Engine) addForks(p *plan, snap *forkSnapshot, why string) error {
	first := e.run.N
	for _, t := range e.all() {
		if t.key.Instance == p.row.Instance {
			first = max(first, t.key.ID+1)
		}
	}
	p.fork.Group = first
	said, err := p.said()
	if err != nil {
		return err
	}
	var children []*trajectory
	for i := range p.opt.N {
		t, w := p.child(sessions.Key{Instance: p.row.Instance, ID: first + i}, said)
		if i == 0 {
			w.Events = append(w.Events, sessions.NewEvent(time.Now(), p.row.Key, sessions.KindCommand, sessions.Commanded{Verb: "fork", By: "operator",
				Note: fmt.Sprintf("turn %d: %s", p.fork.Turn, idsFrom(first, p.opt.N))}))
		}
		// A later one that cannot be stored stops the run; those before it are resumed.
		if err := e.store.Commit(e.ctx, w); err != nil {
			if i > 0 {
				e.fail(err)
			}
			return err
		}
		t.in, t.kind, t.fork.why = p.parent.in, p.kind, why
		t.fork.snap.Store(snap)
		t.gate.Human(e.opt.Config.Generator.Human || len(e.opt.Endpoints) == 0)
		children = append(children, t)
	}
	e.roster.Lock()
	defer e.roster.Unlock()
	for _, t := range children {
		if e.paused.Load() { // all are to be held, and these are among them
			t.gate.Pause()
		}
		e.index[t.key] = dispatch.Item(len(e.items))
		e.items = append(e.items, t)
	}
	return nil
}

func idsFrom(first, n int) string {
	if n == 1 {
		return fmt.Sprintf("#%d", first)
	}
	return fmt.Sprintf("#%d to #%d", first, first+n-1)
}

// said is the fact of the fork, alike for all children.
func (p *plan) said() (sessions.Forked, error) {
	f := sessions.Forked{Fork: p.fork, Feedback: p.opt.Feedback, Hold: p.opt.Hold, Differs: p.opt.Differs, By: "operator"}
	changed := p.parent.fork.sampling(infer.Sampling{}).With(p.opt.Sampling) // what is not changed is as the parent's
	text, err := json.Marshal(changed)
	if err != nil {
		return f, fmt.Errorf("sampling settings: %w", err)
	}
	if string(text) != "{}" {
		f.Sampling = text
	}
	return f, nil
}

// child of the plan, and what makes it one in the session.
func (p *plan) child(key sessions.Key, said sessions.Forked) (*trajectory, sessions.Write) {
	t := newTrajectory(key)
	t.turns, t.runs, t.budget, t.fork = p.turns, p.runs, p.budget, &fork{Forked: said, runs: p.runs}
	if said.Feedback != "" {
		t.injected = []feedback{{agent.AsUser, said.Feedback}}
	}
	now := time.Now()
	w := sessions.Write{Events: []sessions.Event{
		sessions.NewEvent(now, key, sessions.KindForked, said),
		sessions.NewEvent(now, key, sessions.KindIntervention, t.fork.intervention(key)),
	}}
	if p.budget != (sessions.Budget{}) {
		w.Events = append(w.Events, sessions.NewEvent(now, key, sessions.KindBudget, p.budget))
	}
	if p.copied != nil {
		own := *p.copied
		own.Key, own.Attempt, own.Origin = key, 1, nil
		w.Turn = &own
	}
	return t, w
}

// fork is a trajectory's past as a fork. The methods of nil are those of a
// trajectory that is none.
type fork struct {
	sessions.Forked
	snap    atomic.Pointer[forkSnapshot] // its sandbox is opened from it; nil: by replay
	why     string                       // why it is a replay
	runs    []sessions.HandRun           // what persons did in its parents' sandboxes before
	before  *sessions.Rebuilt
	holdWhy string // why it is held before it goes on
}

// intervention that a child begins with: it is not as the policy alone made it.
func (f *fork) intervention(key sessions.Key) sessions.Intervention {
	var changed []string
	if f.Sampling != nil {
		changed = append(changed, "sampling "+string(f.Sampling))
	}
	if f.Feedback != "" {
		changed = append(changed, "feedback: "+f.Feedback)
	}
	return sessions.Intervention{Verb: "fork", Turn: f.Turn, At: sessions.BeforeModel, By: f.By,
		Before: fmt.Sprintf("%s before turn %d", f.ParentOf(key), f.Turn), After: strings.Join(changed, "; ")}
}

// again is what the next attempt of a child begins with: it is forked as the first
// was.
func (f *fork) again(t *trajectory) []sessions.Event {
	if f.Feedback != "" {
		t.injected = []feedback{{agent.AsUser, f.Feedback}}
	}
	now := time.Now()
	events := []sessions.Event{sessions.NewEvent(now, t.key, sessions.KindIntervention, f.intervention(t.key))}
	if t.budget != (sessions.Budget{}) {
		events = append(events, sessions.NewEvent(now, t.key, sessions.KindBudget, t.budget))
	}
	return events
}

// sampling of the run, with what the fork changes of it.
func (f *fork) sampling(s infer.Sampling) infer.Sampling {
	if f == nil || f.Sampling == nil {
		return s
	}
	var changed infer.Sampling
	if err := json.Unmarshal(f.Forked.Sampling, &changed); err != nil {
		panic("engine: sampling settings of a fork cannot be read: " + err.Error()) // they were checked as they were made or recalled
	}
	return s.With(changed)
}

func (f *fork) hold() string {
	if f == nil {
		return ""
	}
	return f.holdWhy
}

func (f *fork) snapshot() *forkSnapshot {
	if f == nil {
		return nil
	}
	return f.snap.Load()
}

// opened: the snapshot is not needed any more for this one.
func (f *fork) opened() {
	if f != nil {
		f.snap.Swap(nil).release(1)
	}
}
