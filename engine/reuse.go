package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"rollbench/engine/dispatch"
	"rollbench/sandbox"
)

// pool keeps the environments of async_batch_bounded between trajectories. An
// environment that is given back is made like new at once, so that nothing of
// its trajectory goes on working in it; one that cannot be is closed.
type pool struct {
	on   bool
	room func() int // environments there may be now, 0: no limit
	log  *slog.Logger
	mu   sync.Mutex // guards all below
	n    int        // environments opened
	idle []*environment
	used map[sandbox.Sandbox]*environment
}

// environment is a sandbox of the pool. It has a name of its own: it outlives
// the trajectories that use it.
type environment struct {
	sb   sandbox.Sandbox
	spec sandbox.Spec
	fits string // what a spec must have in common with it
}

func newPool(policy string, room func() int, log *slog.Logger) *pool {
	return &pool{on: dispatch.Policy(policy) == dispatch.AsyncBatchBounded, room: room, log: log, used: map[sandbox.Sandbox]*environment{}}
}

func fits(k sandbox.Kind, s sandbox.Spec) string {
	return fmt.Sprintf("%s %q %q %v %v %v %d %d %d", k, s.Image, s.Workdir, s.Env, s.Network, s.CPUs, s.MemoryMB, s.Pids, s.DiskMB)
}

// open a sandbox for the spec, by an idle environment where one fits. Where
// none does, one of the others is closed: its place is wanted.
func (p *pool) open(ctx context.Context, from sandbox.Provider, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if !p.on {
		return from.Open(ctx, spec)
	}
	want := fits(from.Kind(), spec)
	found, n, surplus := p.pick(want)
	if err := closeAll(surplus); err != nil {
		return nil, err
	}
	if found != nil && found.fits == want {
		p.lend(found)
		return found.sb, nil
	}
	if found != nil {
		if err := closeAll([]*environment{found}); err != nil {
			return nil, err
		}
	}
	spec.Name = fmt.Sprintf("environment.%d", n)
	spec.Labels = map[string]string{"run": spec.Labels["run"]}
	sb, err := from.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	p.lend(&environment{sb, spec, want})
	return sb, nil
}

// pick an idle environment that fits, else any; n numbers a new one. surplus
// are those above a lowered limit.
func (p *pool) pick(want string) (found *environment, n int, surplus []*environment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	if len(p.idle) > 0 {
		i := max(slices.IndexFunc(p.idle, func(x *environment) bool { return x.fits == want }), 0)
		found = p.idle[i]
		p.idle = slices.Delete(p.idle, i, i+1)
	}
	return found, p.n, p.above(1)
}

// above the limit are idle environments when so many more are about to be used.
// mu is held.
func (p *pool) above(more int) []*environment {
	room := p.room()
	if room <= 0 {
		return nil
	}
	over := min(max(len(p.used)+more+len(p.idle)-room, 0), len(p.idle))
	surplus := slices.Clone(p.idle[:over])
	p.idle = slices.Delete(p.idle, 0, over)
	return surplus
}

// lowered closes what a lowered limit leaves no room for.
func (p *pool) lowered() error {
	p.mu.Lock()
	surplus := p.above(0)
	p.mu.Unlock()
	return closeAll(surplus)
}

func closeAll(all []*environment) error {
	var errs []error
	for _, x := range all {
		if err := x.sb.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close idle %s: %w", x.spec.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (p *pool) lend(x *environment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used[x.sb] = x
}

// give a sandbox back. worked: it is worth keeping.
func (p *pool) give(ctx context.Context, sb sandbox.Sandbox, worked bool) error {
	p.mu.Lock()
	x := p.used[sb]
	delete(p.used, sb)
	others := len(p.used) + len(p.idle)
	p.mu.Unlock()
	r, can := sb.(sandbox.Resetter)
	if room := p.room(); room > 0 && others >= room { // the limit was lowered
		worked = false
	}
	if x == nil || !worked || !can || ctx.Err() != nil {
		return sb.Close()
	}
	if err := r.Reset(ctx, x.spec); err != nil {
		p.log.Warn("environment is replaced", "error", err)
		return sb.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, x)
	return nil
}

// close what is idle.
func (p *pool) close() error {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	return closeAll(idle)
}
