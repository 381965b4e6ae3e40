// Package docker opens sandboxes that are containers of a Docker engine.
//
// In: a sandbox.Spec with an image (present, buildable or pullable). Out: a
// running container without network, capabilities and new privileges unless
// asked, labelled with its owner, removed at Close or by a later Reap. Commands
// run by exec; what commands share with other kinds of sandbox (limits, the
// persistent shell, killing a tree) is in package sandbox.
package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/docker/docker/client"

	"rollbench/sandbox"
)

// Options of a provider. Zero values take the defaults in brackets.
type Options struct {
	Owner sandbox.Owner // who answers for the containers [this process]
	// Defaults for a Spec that sets none.
	CPUs     float64 // [1]
	MemoryMB int     // [1024]
	Pids     int     // [256]
	DiskMB   int     // [10240], of what a container writes
	// DiskEvery is how long the disk watch rests between two rounds. [5s]
	DiskEvery time.Duration
	// Mirror, when set, is the registry that images of docker.io are pulled from.
	Mirror string
	// Home, when set, is the folder in which pulled images are noted down.
	Home string
	// ParallelStarts bounds the containers that start at the same moment: an
	// engine gets slower, not faster, with more. [4]
	ParallelStarts int
	// Pending is the folder for notes of containers that are being made, which the
	// next start would miss if this process died meanwhile; "": none are written.
	Pending string
}

func (o Options) withDefaults() Options {
	if o.CPUs <= 0 {
		o.CPUs = 1
	}
	if o.MemoryMB <= 0 {
		o.MemoryMB = 1024
	}
	if o.Pids <= 0 {
		o.Pids = 256
	}
	if o.DiskMB <= 0 {
		o.DiskMB = 10240
	}
	if o.DiskEvery <= 0 {
		o.DiskEvery = 5 * time.Second
	}
	if o.ParallelStarts <= 0 {
		o.ParallelStarts = 4
	}
	return o
}

// Provider opens containers on one engine.
type Provider struct {
	opt    Options
	engine *client.Client
	auth   credentials
	starts chan struct{} // a token for each container that may start now
	images flights
	builds turns

	ctx    context.Context // ends at Close: stops builds and pulls
	cancel context.CancelFunc

	watch sync.Once // starts the disk watch
	// engineSizes has the engine say what containers have written; for tests.
	engineSizes bool
	joined      sync.WaitGroup

	mu     sync.Mutex // guards what follows
	open   map[*Container]bool
	kept   map[*snapshot]bool // true once it is closed
	closed bool
}

// New connects to the engine that DOCKER_HOST or the current docker context
// names. It does not fail when no engine answers: Check and Open say so.
func New(ctx context.Context, opt Options) (*Provider, error) {
	opt = opt.withDefaults()
	if opt.Owner == (sandbox.Owner{}) {
		owner, err := sandbox.ThisOwner()
		if err != nil {
			return nil, err
		}
		opt.Owner = owner
	}
	config, err := readConfig()
	if err != nil {
		return nil, err
	}
	options, err := endpoint(config)
	if err != nil {
		return nil, err
	}
	engine, err := client.NewClientWithOpts(options...)
	if err != nil {
		return nil, fmt.Errorf("docker client: %w", err)
	}
	p := &Provider{
		opt:    opt,
		engine: engine,
		auth:   credentials{config: config, run: runHelper},
		starts: make(chan struct{}, opt.ParallelStarts),
		open:   map[*Container]bool{},
		kept:   map[*snapshot]bool{},
	}
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return p, nil
}

// Kind is sandbox.Docker.
func (p *Provider) Kind() sandbox.Kind { return sandbox.Docker }

// Close removes the containers that are still open and waits for builds and
// pulls to stop.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.closed = true
	left := make([]*Container, 0, len(p.open))
	for c := range p.open {
		left = append(left, c)
	}
	p.mu.Unlock()
	p.cancel()
	p.joined.Wait()
	p.images.wait()
	errs := make([]error, len(left)+2)
	var wg sync.WaitGroup
	for i, c := range left {
		wg.Go(func() { errs[i] = c.Close() })
	}
	wg.Wait()
	errs[len(left)] = p.dropSnapshots(true)
	errs[len(left)+1] = p.engine.Close()
	return errors.Join(errs...)
}

// adopt notes an open container, and answers false when the provider is closed.
func (p *Provider) adopt(c *Container) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.open[c] = true
	p.watch.Do(func() { p.joined.Go(p.watchDisk) })
	return true
}

func (p *Provider) release(c *Container) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}
