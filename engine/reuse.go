package engine

import (
	"context"
	"errors"
	"fmt"
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

func newPool(policy string, room func() int) *pool {
	return &pool{on: dispatch.Policy(policy) == dispatch.AsyncBatchBounded, room: room, used: map[sandbox.Sandbox]*environment{}}
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
	found, n := p.pick(want)
	if found != nil && found.fits == want {
		p.lend(found)
		return found.sb, nil
	}
	if found != nil {
		if err := found.sb.Close(); err != nil {
			return nil, fmt.Errorf("close an idle environment: %w", err)
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

// pick an idle environment that fits, else any; n numbers a new one.
func (p *pool) pick(want string) (found *environment, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	if len(p.idle) == 0 {
		return nil, p.n
	}
	i := max(slices.IndexFunc(p.idle, func(x *environment) bool { return x.fits == want }), 0)
	found = p.idle[i]
	p.idle = slices.Delete(p.idle, i, i+1)
	return found, p.n
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
	if x == nil || !worked || !can || ctx.Err() != nil || r.Reset(ctx, x.spec) != nil {
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
	defer p.mu.Unlock()
	var errs []error
	for _, x := range p.idle {
		errs = append(errs, x.sb.Close())
	}
	p.idle = nil
	return errors.Join(errs...)
}
