// Package pool opens sandboxes ahead of their use.
//
// In: providers, and what will be wanted next (Options.Wanted). Out: sandboxes
// that nobody has used: a warm one where its spec fits, else one opened on the
// spot. Nothing that was used is handed out again: what is given back is closed,
// and a fresh one takes its place. That is the only reuse that can be shown to
// be clean, since commands change more than files.
package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"rollbench/sandbox"
)

// Wanted is a sandbox that somebody will ask for.
type Wanted struct {
	From sandbox.Provider
	Spec sandbox.Spec
}

// Options of a pool.
type Options struct {
	Warm int // sandboxes kept open ahead, at most
	// Room is how many sandboxes there may be at once, used and warm; 0: no limit.
	Room func() int
	// Wanted lists what will be asked for next, first to come first. A warm
	// sandbox that nothing in it wants is closed.
	Wanted func() []Wanted
	Log    *slog.Logger
}

// claimer is a sandbox that can be asked whether it still lives, and that takes
// the name of its user where names can be changed.
type claimer interface {
	Claim(ctx context.Context, name string) error
}

// shape is what specs of exchangeable sandboxes have in common.
type shape string

func shapeOf(k sandbox.Kind, s sandbox.Spec) shape {
	return shape(fmt.Sprintf("%s %q %q %q %q %q %v %v %d %d %d %q %v", k, s.Image, s.From, s.Workdir, s.User, s.Env, s.Network, s.CPUs, s.MemoryMB, s.Pids, s.DiskMB, s.Mounts, s.Beside))
}

// warm is a sandbox that nobody has used.
type warm struct {
	sb    sandbox.Sandbox
	shape shape
}

// opening is a sandbox that is being warmed.
type opening struct {
	shape   shape
	ctx     context.Context
	cancel  context.CancelFunc
	awaited bool // somebody waits for it; guarded by Pool.mu
}

// Pool opens and closes the sandboxes of a run.
type Pool struct {
	opt    Options
	ctx    context.Context // ends at Close
	cancel context.CancelFunc
	wake   chan struct{} // capacity one: something may be to do
	wg     sync.WaitGroup

	mu      sync.Mutex // guards what follows
	warm    []warm
	warming *opening // one at a time: real opens come first
	used    int      // handed out, or about to be
	asking  int      // users that wait for one: nothing is warmed meanwhile
	closing int      // warm ones on their way out
	bad     map[shape]bool
	changed chan struct{} // closed and replaced when any of these changes
}

// New pool. Nothing is opened before Start.
func New(opt Options) *Pool {
	p := &Pool{opt: opt, wake: make(chan struct{}, 1), bad: map[shape]bool{}, changed: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Start opening ahead.
func (p *Pool) Start() {
	if p.opt.Warm > 0 {
		p.wg.Go(p.keepWarm)
	}
}

// Look tells that what is wanted may have changed.
func (p *Pool) Look() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Warm is how many sandboxes are open and used by nobody.
func (p *Pool) Warm() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.warm)
}

// idle counts what takes a place and is not used, also on its way in or out; mu is
// held.
func (p *Pool) idle() int {
	n := len(p.warm) + p.closing
	if p.warming != nil {
		n++
	}
	return n
}

// tell that something changed; mu is held.
func (p *Pool) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
	p.Look()
}

// Open a sandbox that nobody has used. The caller gives it back with Give.
func (p *Pool) Open(ctx context.Context, from sandbox.Provider, spec sandbox.Spec) (sandbox.Sandbox, error) {
	want := shapeOf(from.Kind(), spec)
	p.ask(1)
	defer p.ask(-1)
	for {
		x, err := p.take(ctx, want)
		if err != nil {
			return nil, err
		}
		if x == nil {
			break
		}
		if err := claim(ctx, x.sb, spec.Name); err == nil {
			return x.sb, nil
		} else if ctx.Err() != nil || !errors.Is(err, sandbox.ErrLost) {
			return nil, errors.Join(fmt.Errorf("take a warm sandbox: %w", err), p.Give(x.sb))
		}
		// It died while it waited: the next one, or a fresh one.
		if err := p.Give(x.sb); err != nil {
			p.opt.Log.Warn("close a warm sandbox", "error", err)
		}
	}
	sb, err := from.Open(ctx, spec)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.used--
	} else {
		delete(p.bad, want)
	}
	return sb, err
}

func (p *Pool) ask(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking += n
	p.tell()
}

func claim(ctx context.Context, sb sandbox.Sandbox, name string) error {
	if c, ok := sb.(claimer); ok {
		return c.Claim(ctx, name)
	}
	return nil
}

// take a warm sandbox of the shape, or nil with a place to open one in. One that
// is just being warmed is waited for: it is ahead of any that is begun now. Where
// there is no room, what is warm makes some.
func (p *Pool) take(ctx context.Context, want shape) (*warm, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.ctx.Err() != nil {
			return nil, errors.New("the run's sandboxes are closed")
		}
		if i := slices.IndexFunc(p.warm, func(x warm) bool { return x.shape == want }); i >= 0 {
			x := p.warm[i]
			p.warm = slices.Delete(p.warm, i, i+1)
			p.used++
			p.tell()
			return &x, nil
		}
		switch room := p.opt.Room(); {
		case p.warming != nil && p.warming.shape == want && !p.warming.awaited:
			p.warming.awaited = true
		case room <= 0 || p.used+p.idle() < room || p.idle() == 0:
			p.used++
			return nil, nil
		case len(p.warm) > 0:
			p.retire(len(p.warm) - 1)
			continue
		case p.warming != nil:
			p.warming.cancel()
		}
		if err := p.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// wait for a change; mu is held before and after.
func (p *Pool) wait(ctx context.Context) error {
	changed := p.changed
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// retire closes a warm sandbox; mu is held before and after, not meanwhile.
func (p *Pool) retire(i int) {
	x := p.warm[i]
	p.warm = slices.Delete(p.warm, i, i+1)
	p.closing++
	p.mu.Unlock()
	if err := x.sb.Close(); err != nil {
		p.opt.Log.Warn("close a warm sandbox", "error", err) // the next start reaps it
	}
	p.mu.Lock()
	p.closing--
	p.tell()
}

// Give a sandbox back: it is closed.
func (p *Pool) Give(sb sandbox.Sandbox) error {
	err := sb.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used--
	p.tell()
	return err
}

// Trim closes what a lowered limit leaves no room for.
func (p *Pool) Trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for room := p.opt.Room(); room > 0 && len(p.warm) > 0 && p.used+len(p.warm) > room; {
		p.retire(len(p.warm) - 1)
	}
}

// Close what is warm. What is used is its users'.
func (p *Pool) Close() {
	p.cancel()
	p.wg.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.warm) > 0 {
		p.retire(0)
	}
}
