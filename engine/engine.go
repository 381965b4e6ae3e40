// Package engine is a run: it composes the dispatcher, the agent loop, the
// sandboxes, the endpoint and the session, offers the verbs of a person
// (pause, step, inject, edit, cancel …) and a Status snapshot of gauges.
//
// In: the instances, the configuration and what the wiring opened for it
// (providers, endpoint clients). Out: facts in the session, and nothing else.
// The engine never knows that a screen exists and never waits for one.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"rollbench/engine/agent"
	"rollbench/engine/breaks"
	"rollbench/engine/dispatch"
	"rollbench/engine/infer"
	"rollbench/engine/task"
	"rollbench/sandbox"
	"rollbench/sandbox/pool"
	"rollbench/sessions"
	"rollbench/sessions/stats"
	"rollbench/tools/follow"
)

// Options are what the wiring hands over.
type Options struct {
	Config       Config
	Instances    []*task.Instance
	Providers    map[sandbox.Kind]sandbox.Provider
	Endpoints    []Upstream
	Capabilities infer.Capabilities // of all endpoints together, see Agree
	Servers      *Servers           // MCP servers; nil: none
	Bases        *follow.Bases      // indexes for the search tool; nil without it
	// Meet and Forget tell the simulated endpoint of a trajectory before its
	// first model call and after its last; nil for others. stream is the same
	// in every run, so that runs repeat.
	Meet   func(session, stream string, in *task.Instance, workdir string)
	Forget func(session string)
	// Modelled is time that init and eval take besides their work, to stand for
	// slow images and verifiers; nil: none.
	Modelled func(key sessions.Key, st dispatch.Stage) time.Duration
	// History is how long a trajectory of an instance took in earlier runs,
	// in seconds, for dispatcher.order = longest_first.
	History map[string]float64
	// Past reads it when that order is chosen while the run goes on; unread names
	// what could not be. nil: nothing is known.
	Past func(ctx context.Context) (history map[string]float64, unread []string, err error)
	Log  *slog.Logger
}

// Engine is one run, from New to the end of Run.
type Engine struct {
	opt    Options
	store  *sessions.Store
	run    sessions.Run
	ctx    context.Context // ends when the run is stopped
	stop   context.CancelCauseFunc
	live   *dispatch.Live
	roster sync.RWMutex // guards items and index, which forks add to
	items  []*trajectory
	index  map[sessions.Key]dispatch.Item
	kinds  chooser // of sandboxes; used by New, and with forking held

	streams   *streams
	sources   sources
	desks     desks
	specs     func() ([]Tool, error)
	notes     *notes
	pace      *pace
	meter     *meter
	pool      *pool.Pool
	fleet     *fleet
	policies  policies
	breaks    *breaks.Set
	mounts    []sandbox.Mount
	gpus      []*gpuSource
	started   time.Time
	isolation atomic.Pointer[string] // of the kinds of sandbox this run uses, in a word
	wall      atomic.Int64           // of Run, once it has returned, in nanoseconds
	running   atomic.Bool
	paused    atomic.Bool

	forking  sync.Mutex // held while a trajectory is forked
	changing sync.Mutex // held while limits and tuning change
	mu       sync.Mutex // guards failed, limits and tuning
	failed   error      // the first error of the session itself
	limits   Limits     // in force
	tuning   Tuning     // in force
}

// trajectory is what the stages of one trajectory hand on. Its fields belong
// to the stage that runs; the gate is shared.
type trajectory struct {
	key     sessions.Key
	in      *task.Instance
	kind    sandbox.Kind
	attempt int
	gate    *agent.Gate
	skip    bool           // ended in an earlier part of the run
	settled sessions.State // the end state that is still to be recorded, "" for none
	begun   bool           // replied to in an earlier part of the run

	turns    []sessions.Turn    // recorded by an interrupted attempt
	fork     *fork              // nil: of the set fixed at the start
	injected []feedback         // it had not been sent yet
	shelled  bool               // a person worked in its sandbox at a shell
	budget   sessions.Budget    // raised by a person
	runs     []sessions.HandRun // commands of a person that changed its sandbox
	stop     *stop              // where it met breakpoints last
	patch    []byte             // of the finished run stage
	evalLog  []byte             // of a verifier that could not be run
	// over is why the loop ended in an earlier part that did not end the run stage, "": it did not
	over    sessions.FinishReason
	ran     bool        // the run stage ended in an earlier part
	patched bool        // its patch, and the signs in it, were recorded in an earlier part
	place   *place      // the open sandbox
	done    atomic.Bool // it has ended
}

func newTrajectory(key sessions.Key) *trajectory {
	return &trajectory{key: key, attempt: 1, gate: agent.NewGate()}
}

// ErrStopped is the cause when a person stops the run; it can be resumed.
var ErrStopped = errors.New("stopped: `rollbench resume` goes on")

// Members are the trajectories of a new run, those of an instance together.
// In which order they start is dispatcher.order.
func Members(instances []*task.Instance, n int) []sessions.Key {
	var keys []sessions.Key
	for _, in := range instances {
		for i := range n {
			keys = append(keys, sessions.Key{Instance: in.ID, ID: i})
		}
	}
	return keys
}

// New run on a session just created or, resumed, opened again. It checks that
// each instance has a sandbox on this machine before anything starts.
func New(ctx context.Context, o Options, store *sessions.Store) (*Engine, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{opt: o, store: store, run: store.Run(), index: map[sessions.Key]dispatch.Item{},
		streams: newStreams(), notes: &notes{}, pace: &pace{}, meter: &meter{run: stats.New(store.Run())}, started: time.Now()}
	e.limits, e.tuning = o.Config.Dispatcher.Limits(), o.Config.Dispatcher.Tuning()
	e.specs = specsOf(o)
	var err error
	if e.mounts, err = sandbox.ParseMounts(o.Config.Sandbox.Mounts); err != nil {
		return nil, fmt.Errorf("sandbox.mounts: %w", err)
	}
	e.ctx, e.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	byID := map[string]*task.Instance{}
	for _, in := range o.Instances {
		byID[in.ID] = in
	}
	rows, _, err := store.Trajectories(ctx)
	if err != nil {
		return nil, err
	}
	before, err := readPast(ctx, store)
	if err != nil {
		return nil, err
	}
	e.breaks = before.breaks
	e.kinds = chooser{config: o.Config.Sandbox, providers: o.Providers}
	for i, row := range rows {
		in := byID[row.Instance]
		if in == nil {
			return nil, fmt.Errorf("instance %q of run %s is not in the tasks any more: resume with the tasks it was started with (%s)", row.Instance, e.run.ID, e.run.Source)
		}
		t := newTrajectory(row.Key)
		t.in, t.attempt, t.skip, t.begun = in, max(row.Attempt, 1), row.State.Ended(), row.Turn > 0
		t.done.Store(t.skip)
		if row.Fork != nil {
			t.fork = before.forkOf(row)
		}
		if !t.skip {
			if t.kind, err = e.kinds.choose(ctx, in); err != nil {
				return nil, err
			}
			if err := e.recall(ctx, t, row, before); err != nil {
				return nil, err
			}
			human, told := before.human[t.key]
			t.gate.Human(told && human || !told && o.Config.Generator.Human || len(o.Endpoints) == 0)
		}
		e.items = append(e.items, t)
		e.index[t.key] = dispatch.Item(i)
	}
	if err := e.recallBlocked(ctx); err != nil {
		return nil, err
	}
	e.fleet = newFleet(o.Endpoints)
	e.gpus = gpuSources(o.Config.GPU, http.DefaultClient)
	e.isolate(ctx)
	e.live = dispatch.NewLive(e.core(), (*stages)(e))
	e.pool = pool.New(pool.Options{Warm: o.Config.Sandbox.Warm, Room: func() int { return e.Limits().Live }, Wanted: e.wanted, Log: o.Log})
	return e, nil
}

// isolate says anew what contains the sandboxes; a fork may bring another kind.
func (e *Engine) isolate(ctx context.Context) {
	word := e.kinds.isolation(ctx)
	e.isolation.Store(&word)
}

func (e *Engine) core() *dispatch.Core {
	d := e.opt.Config.Dispatcher
	groups := make([]string, len(e.items))
	for i, t := range e.items {
		groups[i] = t.key.Instance
	}
	order := dispatch.Arrange(dispatch.Order(d.Order), groups, e.opt.History)
	core := dispatch.NewCore(dispatch.Policy(d.Type), d.Limits(), len(e.items), order)
	core.KeepIf(func(it dispatch.Item) bool { return e.at(it).in.Grading() == task.InPlace })
	for i, t := range e.items {
		switch {
		case t.skip:
			core.Skip(dispatch.Item(i))
		case t.ran:
			core.SkipToEval(dispatch.Item(i))
		}
	}
	return core
}

// recall reads what an interrupted part of the run left of a trajectory.
func (e *Engine) recall(ctx context.Context, t *trajectory, row sessions.Trajectory, before *past) error {
	var err error
	if row.Reward == nil && row.Finish != "" && sessions.FinishReason(row.Finish).Rule().Evaluated {
		switch t.in.Grading() {
		case task.ByAnswer:
			t.ran = true // its answer is in the session
			return nil
		case task.ByArtifacts:
			if t.ran = e.collected(t); t.ran {
				return nil
			}
		case task.ByPatch:
			if row.HasPatch {
				t.ran = true
				t.patch, err = e.store.Patch(ctx, t.key)
				return err
			}
		}
	}
	t.patched = row.HasPatch
	if row.Finish != "" {
		switch reason := sessions.FinishReason(row.Finish); {
		case row.Reward != nil:
			t.settle(sessions.Done)
			return nil
		case reason == sessions.CancelledByPerson:
			t.settle(sessions.Cancelled)
			return nil
		case !reason.Rule().Evaluated:
			t.settle(sessions.Failed)
			return nil
		}
		t.over = sessions.FinishReason(row.Finish) // the run stage ends once its sandbox is brought back
	}
	t.injected, t.budget, t.runs = before.unsent[t.key], before.budgets[t.key], before.handRuns(before.now(t.key))
	t.shelled, t.stop = before.shells[t.key], before.stop(t.key)
	if row.Turn == 0 {
		return nil
	}
	t.turns, err = e.store.Turns(ctx, t.key, t.attempt, 0, 0, true)
	return err
}

// settle ends a trajectory whose last fact was recorded right before the crash.
// The session is told once the run has started again.
func (t *trajectory) settle(s sessions.State) {
	t.skip, t.settled = true, s
	t.done.Store(true)
}

// startAgain makes the next attempt of a trajectory; the one before stays in
// the session and is not exported.
func (e *Engine) startAgain(ctx context.Context, t *trajectory, why string) error {
	t.attempt++
	turns, budget := t.turns, t.budget
	t.turns, t.injected, t.over, t.patched = nil, nil, "", false
	t.budget, t.runs, t.shelled, t.stop = sessions.Budget{}, nil, false, nil
	events := []sessions.Event{sessions.NewEvent(time.Now(), t.key, sessions.KindAttempt, sessions.Attempt{N: t.attempt, Why: why})}
	if t.fork != nil { // again where it was forked
		t.turns, t.runs, t.budget = t.fork.shared(turns), t.fork.runs, budget
		events = append(events, t.fork.again(t)...)
	}
	return e.store.Commit(ctx, sessions.Write{Events: events})
}

// Run works until every trajectory has ended (nil) or ctx ends (its cause;
// the run can be resumed).
func (e *Engine) Run(ctx context.Context) error {
	outer := ctx
	defer context.AfterFunc(outer, func() { e.stop(context.Cause(outer)) })()
	ctx = e.ctx
	if err := e.begin(ctx); err != nil {
		return err
	}
	defer e.watchServers()()
	began := time.Now()
	e.running.Store(true)
	monitor := e.monitor(ctx)
	e.pool.Start()
	err := e.live.Run(ctx)
	monitor()
	e.wall.Store(int64(time.Since(began)))
	e.running.Store(false)
	e.closePlaces()
	why := "finished"
	switch first := e.firstFailure(); {
	case first != nil:
		err, why = first, "error"
	case ctx.Err() != nil && !e.allEnded():
		err, why = context.Cause(ctx), "stopped"
	}
	final := e.commit(context.WithoutCancel(ctx), sessions.Key{}, sessions.KindRunEnded, sessions.RunEnded{Why: why})
	if final == nil {
		final = e.measure(context.WithoutCancel(ctx), time.Now())
	}
	e.saveGauge(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	return final
}

func (e *Engine) begin(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name of this machine: %w", err)
	}
	d := e.opt.Config.Dispatcher
	resumed := false
	for _, t := range e.all() {
		resumed = resumed || t.skip || t.ran || t.turns != nil || t.attempt > 1
	}
	now := time.Now()
	events := []sessions.Event{
		sessions.NewEvent(now, sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{PID: os.Getpid(), Host: host, Resumed: resumed, Policy: d.Type}),
		sessions.NewEvent(now, sessions.Key{}, sessions.KindLimits, e.limitsFact("config", "", d.Limits(), d.Tuning())),
	}
	for _, t := range e.all() {
		if t.settled != "" {
			events = append(events, sessions.NewEvent(now, t.key, sessions.KindState, sessions.StateChange{State: t.settled}))
		}
	}
	return e.store.Commit(ctx, sessions.Write{Events: events})
}

// Wall is how long Run took, 0 before it has returned.
func (e *Engine) Wall() time.Duration { return time.Duration(e.wall.Load()) }

// Stop ends the run where it is; it can be resumed.
func (e *Engine) Stop() { e.stop(ErrStopped) }

// commit one event.
func (e *Engine) commit(ctx context.Context, key sessions.Key, kind sessions.Kind, payload any) error {
	return e.store.Commit(ctx, sessions.Write{Events: []sessions.Event{sessions.NewEvent(time.Now(), key, kind, payload)}})
}

// fail stops the run: the session itself cannot be written any more.
func (e *Engine) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed == nil {
		e.failed = fmt.Errorf("the session cannot be written, so the run stopped (what was recorded is safe): %w", err)
		e.opt.Log.Error("session", "error", err)
		e.stop(e.failed)
	}
}

func (e *Engine) firstFailure() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failed
}

func (e *Engine) allEnded() bool { return e.live.Snapshot().Left == 0 && e.pace.ended() >= e.toEnd() }

// toEnd is how many trajectories this part of the run has to bring to their end.
func (e *Engine) toEnd() int {
	n := 0
	for _, t := range e.all() {
		if !t.skip {
			n++
		}
	}
	return n
}

// at is the trajectory of an item.
func (e *Engine) at(it dispatch.Item) *trajectory {
	e.roster.RLock()
	defer e.roster.RUnlock()
	return e.items[it]
}

// all trajectories, forks too. The list is not changed afterwards.
func (e *Engine) all() []*trajectory {
	e.roster.RLock()
	defer e.roster.RUnlock()
	return e.items[:len(e.items):len(e.items)]
}

// itemOf a trajectory, which there is.
func (e *Engine) itemOf(key sessions.Key) dispatch.Item {
	e.roster.RLock()
	defer e.roster.RUnlock()
	return e.index[key]
}
