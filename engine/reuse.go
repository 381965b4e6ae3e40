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

// resetter is a sandbox that can be made as if it had just been opened, for
// the spec given. After an error it must be closed.
type resetter interface {
	Reset(ctx context.Context, spec sandbox.Spec) error
}

// pool keeps the environments of async_batch_bounded between trajectories: a
// sandbox that is given back is reset at once, so that nothing of its
// trajectory goes on working in it, and again for the next.
type pool struct {
	on   bool
	mu   sync.Mutex // guards idle
	idle []pooled
}

type pooled struct {
	sb   sandbox.Sandbox
	fits string // what the next spec must equal
}

func newPool(policy string) *pool {
	return &pool{on: dispatch.Policy(policy) == dispatch.AsyncBatchBounded}
}

// fits is what a sandbox cannot change by a reset.
func fits(k sandbox.Kind, s sandbox.Spec) string {
	return fmt.Sprintf("%s %q %q %v %v %v %d %d %d", k, s.Image, s.Workdir, s.Env, s.Network, s.CPUs, s.MemoryMB, s.Pids, s.DiskMB)
}

// take an idle sandbox for the spec, nil when there is none that fits and can
// be reset. Then one of the others is closed: its place is wanted. The error,
// of a sandbox that could not be closed, does not keep a fresh one from opening.
func (p *pool) take(ctx context.Context, k sandbox.Kind, spec sandbox.Spec) (sandbox.Sandbox, error) {
	found := p.pick(fits(k, spec))
	switch {
	case found == nil:
		return nil, nil
	case found.fits == fits(k, spec) && found.sb.(resetter).Reset(ctx, spec) == nil:
		return found.sb, nil
	}
	return nil, found.sb.Close()
}

// pick one that fits, else any.
func (p *pool) pick(want string) *pooled {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	i := max(slices.IndexFunc(p.idle, func(x pooled) bool { return x.fits == want }), 0)
	found := p.idle[i]
	p.idle = slices.Delete(p.idle, i, i+1)
	return &found
}

// give a sandbox back that did its work. It is closed where it cannot be reset.
func (p *pool) give(ctx context.Context, k sandbox.Kind, spec sandbox.Spec, sb sandbox.Sandbox) error {
	r, can := sb.(resetter)
	if !p.on || !can || ctx.Err() != nil || r.Reset(ctx, spec) != nil {
		return sb.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, pooled{sb, fits(k, spec)})
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
