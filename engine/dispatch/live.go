package dispatch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// ErrCancelled is the cause of the context of a cancelled item's stage.
var ErrCancelled = errors.New("cancelled")

// Stages is the work of the stages, done by the caller. Each method runs on
// its own goroutine and returns when the stage is over, whatever happened; a
// panic is reported to Panicked and counts as the end of the item.
type Stages interface {
	Init(ctx context.Context, it Item) (goOn bool)
	Run(ctx context.Context, it Item) (eval bool)
	Eval(ctx context.Context, it Item)
	Panicked(it Item, s Stage, err error)
}

// Live drives a Core with goroutines. A waiting item costs no goroutine.
type Live struct {
	stages Stages
	ctx    context.Context

	mu   sync.Mutex // guards everything below
	core *Core
	busy map[Item]*flight
	back map[Item]chan struct{} // closed when a held item has its slot again
	gone map[Item]bool          // cancelled
	over bool                   // Run has ended
	done chan struct{}
	wg   sync.WaitGroup
}

// flight is a stage that runs.
type flight struct{ cancel context.CancelCauseFunc }

// NewLive drives the core with the stages. Nothing starts before Run.
func NewLive(core *Core, stages Stages) *Live {
	return &Live{stages: stages, core: core, busy: map[Item]*flight{}, back: map[Item]chan struct{}{},
		gone: map[Item]bool{}, done: make(chan struct{})}
}

// Run works until every item has ended (nil) or ctx ends (its cause, after
// the stages that were busy have returned).
func (d *Live) Run(ctx context.Context) error {
	d.mu.Lock()
	d.ctx = ctx
	d.apply(d.core.Begin())
	d.mu.Unlock()
	select {
	case <-d.done:
	case <-ctx.Done():
		d.mu.Lock()
		d.core.Stop()
		d.mu.Unlock()
	}
	d.wg.Wait()
	d.mu.Lock()
	d.over = true
	d.mu.Unlock()
	if d.Snapshot().Left > 0 {
		return context.Cause(ctx)
	}
	return nil
}

// Hold gives the item's run slot back; call it from the run stage only.
func (d *Live) Hold(it Item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.apply(d.core.Hold(it))
}

// Want waits until the held item has a run slot again; waits is called once when
// none is free.
func (d *Live) Want(ctx context.Context, it Item, waits func()) error {
	d.mu.Lock()
	ready := make(chan struct{})
	d.back[it] = ready
	d.apply(d.core.Want(it))
	d.mu.Unlock()
	select {
	case <-ready:
		return nil
	default:
		waits()
	}
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Cancel interrupts the item wherever it is. Stages that it has not been
// through see a context that is already cancelled.
func (d *Live) Cancel(it Item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx == nil || d.ctx.Err() != nil { // not started, or stopped: nothing starts any more
		return
	}
	d.gone[it] = true
	if f := d.busy[it]; f != nil {
		f.cancel(ErrCancelled)
	}
	d.apply(d.core.Cancel(it))
}

// Next lists up to n items that will want a place to work in, see Core.
func (d *Live) Next(n int) []Item {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.core.Next(n)
}

// Snapshot of the queues.
func (d *Live) Snapshot() Snapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.core.Snapshot()
}

// apply carries actions out; mu is held.
func (d *Live) apply(actions []Action) {
	for _, a := range actions {
		switch a.Do {
		case Start:
			d.launch(a)
		case Resume:
			if c := d.back[a.Item]; c != nil {
				delete(d.back, a.Item)
				close(c)
			}
		case End:
			delete(d.gone, a.Item)
		}
	}
	if d.core.Left() == 0 {
		select {
		case <-d.done:
		default:
			close(d.done)
		}
	}
}

func (d *Live) launch(a Action) {
	ctx, cancel := context.WithCancelCause(d.ctx)
	if d.gone[a.Item] {
		cancel(ErrCancelled)
	}
	d.busy[a.Item] = &flight{cancel: cancel}
	d.wg.Go(func() {
		next := d.work(ctx, a)
		cancel(nil)
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.busy, a.Item)
		delete(d.back, a.Item)
		if d.ctx.Err() != nil { // this stage may have ended before Run saw it
			d.core.Stop()
		}
		switch a.Stage {
		case Init:
			d.apply(d.core.InitDone(a.Item, next))
		case Run:
			d.apply(d.core.RunDone(a.Item, next))
		default:
			d.apply(d.core.EvalDone(a.Item))
		}
	})
}

// work runs one stage; a panic in it is the item's error, and its last.
func (d *Live) work(ctx context.Context, a Action) (next bool) {
	defer func() {
		if p := recover(); p != nil {
			next = false
			d.stages.Panicked(a.Item, a.Stage, fmt.Errorf("panic in %s: %v\n%s", a.Stage, p, debug.Stack()))
		}
	}()
	switch a.Stage {
	case Init:
		return d.stages.Init(ctx, a.Item)
	case Run:
		return d.stages.Run(ctx, a.Item)
	default:
		d.stages.Eval(ctx, a.Item)
		return false
	}
}
