package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"rollbench/sandbox"
)

// watchDisk looks, one after another, at what the containers with a limit have
// written, and stops those that are over it. Engines limit the size themselves
// only on file systems that most machines lack, and a command inside might never
// get to run. Between two looks it rests nine times as long as the first took: an
// engine that counts by comparing whole images needs seconds for it. While the file
// system fills up it does not rest, or many containers, and one with many files,
// would hide for long what another writes.
func (p *Provider) watchDisk() {
	for {
		all := p.limited()
		r := room{all: all}
		for _, c := range all {
			if r.dir = c.upper; r.dir != "" {
				break
			}
		}
		r.free, _ = sandbox.Free(r.dir)
		for _, c := range all {
			began := time.Now()
			used, err := c.diskUse(p.ctx)
			// Whether the container still lives is found out elsewhere.
			switch {
			case err == nil && used > int64(c.diskMB)<<20:
				c.full(fmt.Errorf("%w: disk limit %d MB reached (%d MB used)", sandbox.ErrExhausted, c.diskMB, used>>20))
			case errors.Is(err, sandbox.ErrExhausted):
				c.full(err)
			}
			if !p.rest(9*time.Since(began), &r) {
				return
			}
		}
		if !p.rest(p.opt.DiskEvery, &r) {
			return
		}
	}
}

// room is what the containers' file system had left when a round of looks began.
type room struct {
	dir  string // on it; "" where none is known
	free int64
	all  []*Container // of the round
}

// shrinks says whether somebody has taken half of what one of the containers may.
func (r *room) shrinks() bool {
	free, err := sandbox.Free(r.dir)
	if err != nil {
		return false
	}
	for _, c := range r.all {
		if r.free-free > int64(c.diskMB)<<19 && c.alive() == nil {
			return true
		}
	}
	return false
}

// rest ends early when the room shrinks, and is false when the provider is closed.
func (p *Provider) rest(d time.Duration, r *room) bool {
	end := time.Now().Add(d)
	for {
		left := time.Until(end)
		if left <= 0 || r.shrinks() {
			return p.ctx.Err() == nil
		}
		select {
		case <-time.After(min(left, time.Second)):
		case <-p.ctx.Done():
			return false
		}
	}
}

func (p *Provider) limited() []*Container {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*Container
	for c := range p.open {
		if c.alive() == nil {
			all = append(all, c)
		}
	}
	return all
}

// full ends a container that has used up its disk space.
func (c *Container) full(why error) {
	c.lose(why)
	if c.parent != nil {
		c.parent.full(fmt.Errorf("one of its companions (container %.12s): %w", c.id, why))
	}
	ctx, cancel := context.WithTimeout(c.p.ctx, askLimit)
	defer cancel()
	// Close removes it in any case; this only stops the writing sooner.
	_ = c.p.engine.ContainerKill(ctx, c.id, "KILL")
}

// diskUse is the size of the container's writable layer: counted here where its
// folder is on this machine and may be read, else by the engine.
func (c *Container) diskUse(ctx context.Context) (int64, error) {
	if !c.p.remote() && !c.p.engineSizes {
		if c.upper == "" {
			var err error
			if c.upper, err = c.findUpper(ctx); err != nil {
				return 0, err
			}
		}
		limit := int64(c.diskMB) << 20
		used, err := sandbox.Usage(ctx, c.upper, limit)
		if err == nil && used <= limit {
			nameless, err := c.nameless()
			if err != nil {
				return 0, err
			}
			shared, err := c.volumes.use(ctx, limit)
			return used + nameless + shared, err
		}
		if !unreadable(err) {
			return used, err
		}
	}
	info, _, err := c.p.engine.ContainerInspectWithRaw(ctx, c.id, true)
	if err != nil {
		return 0, err
	}
	if info.SizeRw == nil {
		return 0, errors.New("the engine does not tell sizes")
	}
	return *info.SizeRw, nil
}

// unreadable says that a folder cannot be counted from here.
func unreadable(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) || errors.Is(err, errors.ErrUnsupported)
}

// nameless is what files take that have no name any more: they are not in the layer's
// folder, and a command can go on writing to them.
func (c *Container) nameless() (int64, error) {
	all, err := sandbox.Pids()
	if err != nil {
		return 0, err
	}
	var ours []int
	for _, pid := range all {
		// The names of a container's control groups hold its id.
		if groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid)); err == nil && bytes.Contains(groups, []byte(c.id)) {
			ours = append(ours, pid)
		}
	}
	for _, pid := range ours {
		used, err := sandbox.Nameless(slices.Values(ours), fmt.Sprintf("/proc/%d/root", pid))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			continue // this one has ended, or is not ours to look at
		}
		return used, err
	}
	return 0, nil // it has ended, or its processes are not seen from here
}

// findUpper learns the folder of the writable layer, which not every storage
// driver has.
func (c *Container) findUpper(ctx context.Context) (string, error) {
	info, err := c.p.engine.ContainerInspect(ctx, c.id)
	if err != nil {
		return "", err
	}
	if info.GraphDriver.Data == nil || info.GraphDriver.Data["UpperDir"] == "" {
		return "/nowhere", nil
	}
	return info.GraphDriver.Data["UpperDir"], nil
}

// remote says that the engine's paths are another machine's.
func (p *Provider) remote() bool { return !strings.HasPrefix(p.engine.DaemonHost(), "unix://") }
