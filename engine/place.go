package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rollbench/engine/agent"
	"rollbench/engine/dispatch"
	"rollbench/sandbox"
	"rollbench/sessions"
	"rollbench/tools"
)

// place is an open run sandbox with its tools.
type place struct {
	sb    sandbox.Sandbox
	tools *tools.Registry
}

// prepare opens the run sandbox, lays the repository, starts the tools (within
// limits.init, tried again when the sandbox fails) and brings an interrupted
// attempt back to where it was.
func (e *Engine) prepare(ctx context.Context, t *trajectory) error {
	if t.shelled {
		if err := e.startAgain(ctx, t, "a person worked in its sandbox at a shell, and what was done there cannot be repeated"); err != nil {
			return err
		}
	}
	err := e.entered(ctx, t)
	if err != nil && t.fork.snapshot() != nil && ctx.Err() == nil {
		e.closePlace(t)
		t.fork.why = "its snapshot could not be opened: " + line(err)
		t.fork.opened()
		err = e.entered(ctx, t)
	}
	if err != nil {
		return err
	}
	if t.fork != nil {
		return e.rebuild(ctx, t)
	}
	if len(t.turns) == 0 && len(t.runs) == 0 {
		return nil
	}
	err = e.bringBack(ctx, t)
	if err == nil || ctx.Err() != nil {
		return err
	}
	e.closePlace(t)
	if err := e.startAgain(ctx, t, "the sandbox could not be brought back: "+line(err)); err != nil {
		return err
	}
	return e.entered(ctx, t)
}

func (e *Engine) entered(ctx context.Context, t *trajectory) error {
	limit := time.Duration(e.opt.Config.Limits.Init)
	limited, cancel := withLimit(ctx, limit)
	defer cancel()
	err := e.retry(limited, t, dispatch.Init, func() error { return e.enter(limited, t) })
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		e.struck(t, dispatch.Init, "limits.init", limit)
		return fmt.Errorf("init took longer than limits.init = %v: %w", limit, err)
	}
	e.streams.of(t.key).at("")
	return err
}

// struck records that a limit ended what the stage was at.
func (e *Engine) struck(t *trajectory, stage dispatch.Stage, limit string, bound time.Duration) {
	what, since := e.streams.of(t.key).waits()
	e.tellLimit(t, sessions.LimitStruck{Stage: stage.String(), Limit: limit, Bound: bound, For: what, Waited: time.Since(since)})
}

func (e *Engine) tellLimit(t *trajectory, l sessions.LimitStruck) {
	if err := e.commit(context.WithoutCancel(e.ctx), t.key, sessions.KindLimit, l); err != nil {
		e.fail(err)
	}
}

// bringBack replays the recorded calls.
func (e *Engine) bringBack(ctx context.Context, t *trajectory) error {
	return e.replay(ctx, t, func(ctx context.Context, l *agent.Loop) error { return l.Replay(ctx, t.turns, t.runs) })
}

// replay may take twice the time that the calls took when they were recorded, and a
// minute.
func (e *Engine) replay(ctx context.Context, t *trajectory, do func(context.Context, *agent.Loop) error) error {
	limit := time.Minute
	for i := range t.turns {
		for _, o := range t.turns[i].Observations {
			limit += 2 * o.Wall
		}
	}
	for _, r := range t.runs {
		limit += 2 * r.Wall
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := do(limited, e.loop(t, e.itemOf(t.key)))
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("the recorded calls took longer than %v: %w", limit, err)
	}
	return err
}

// enter opens a sandbox for the run stage.
func (e *Engine) enter(ctx context.Context, t *trajectory) error {
	if err := e.pretend(ctx, t, dispatch.Init); err != nil {
		return err
	}
	sb, err := e.open(ctx, t, "run")
	if err != nil {
		return err
	}
	t.place = &place{sb: sb}
	snap := t.fork.snapshot()
	if snap == nil { // else it is as the parent has it
		e.streams.of(t.key).at("the repository to be prepared")
		if err := t.in.Prepare(ctx, sb); err != nil {
			return fmt.Errorf("prepare the repository: %w", err)
		}
	}
	c := e.opt.Config.Tools
	env := tools.Env{Sandbox: sb, Limits: c.limits(), OnOutput: e.streams.of(t.key).output, Folder: e.store.Dir(), Bases: e.opt.Bases}
	if c.Search {
		e.streams.of(t.key).at("the index of the repository")
		if env.Repository, err = t.in.Repository(ctx, sb); err != nil {
			return err
		}
		if snap != nil { // the index begins with other files
			env.Repository += " " + snap.id
		}
	}
	if t.place.tools, err = tools.New(env, c.enabled(e.opt.Servers)); err != nil {
		return err
	}
	if err := t.place.tools.Start(ctx); err != nil {
		return err
	}
	if snap != nil {
		if err := t.place.tools.Adopt(ctx, snap.carry); err != nil {
			return fmt.Errorf("go on where the parent's tools were: %w", err)
		}
	}
	e.sources.open(t.key, sb, t.place.tools.Source())
	e.desks.open(t.key, sb)
	if e.opt.Meet != nil {
		e.opt.Meet(e.session(t), fmt.Sprintf("%s/%d", t.key, t.attempt), t.in, sb.Workdir())
	}
	return nil
}

// open a sandbox of the trajectory for a purpose.
func (e *Engine) open(ctx context.Context, t *trajectory, purpose string) (sandbox.Sandbox, error) {
	spec := e.spec(t, purpose)
	if snap := t.fork.snapshot(); snap != nil && purpose == "run" {
		spec.From = snap.id
	}
	return e.openSpec(ctx, t, purpose, spec)
}

func (e *Engine) openSpec(ctx context.Context, t *trajectory, purpose string, spec sandbox.Spec) (sandbox.Sandbox, error) {
	e.streams.of(t.key).at(fmt.Sprintf("a %s sandbox to open", t.kind))
	sb, err := e.pool.Open(ctx, e.opt.Providers[t.kind], spec)
	e.streams.of(t.key).Doing(0, "")
	e.notes.over(t.in.ID)
	if err != nil {
		return nil, fmt.Errorf("open a %s sandbox: %w", t.kind, err)
	}
	if err := e.commit(ctx, t.key, sessions.KindSandbox, sessions.SandboxChange{Purpose: purpose, Open: true, Kind: string(t.kind), ID: sb.ID(),
		Image: spec.Image, Isolation: *e.isolation.Load()}); err != nil {
		return nil, errors.Join(err, e.pool.Give(sb))
	}
	return sb, nil
}

// closePlace closes the run sandbox.
func (e *Engine) closePlace(t *trajectory) {
	if t.place == nil {
		return
	}
	e.closeTools(t)
	p := t.place
	t.place = nil
	e.closeSandbox(t, "run", p.sb)
}

func (e *Engine) closeTools(t *trajectory) {
	e.closeLooks(t)
	if t.place.tools == nil {
		return
	}
	if err := t.place.tools.Close(); err != nil && !errors.Is(err, sandbox.ErrLost) {
		e.opt.Log.Warn("close tools", "trajectory", t.key.String(), "error", err)
	}
	t.place.tools = nil
}

// closeLooks lets nobody look, or work, in the run sandbox any more.
func (e *Engine) closeLooks(t *trajectory) {
	e.sources.close(t.key)
	e.desks.close(t.key)
}

// closeSandbox removes a sandbox. One that cannot be removed is said so in the
// session; the next start reaps it.
func (e *Engine) closeSandbox(t *trajectory, purpose string, sb sandbox.Sandbox) {
	ctx := context.WithoutCancel(e.ctx)
	events, id := []sessions.Event{}, sb.ID()
	if err := e.pool.Give(sb); err != nil {
		events = append(events, sessions.NewEvent(time.Now(), t.key, sessions.KindWarning,
			sessions.Warning{Text: fmt.Sprintf("sandbox %s could not be removed: %v", id, err)}))
	}
	events = append(events, sessions.NewEvent(time.Now(), t.key, sessions.KindSandbox, sessions.SandboxChange{Purpose: purpose, Kind: string(t.kind), ID: id}))
	if err := e.store.Commit(ctx, sessions.Write{Events: events}); err != nil {
		e.fail(err)
	}
}

// closePlaces closes what trajectories that waited between stages held.
func (e *Engine) closePlaces() {
	for _, t := range e.all() {
		e.closePlace(t)
		t.fork.opened() // or never to be
	}
	e.pool.Close()
}
