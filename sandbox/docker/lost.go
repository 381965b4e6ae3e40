package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"rollbench/sandbox"
)

// askLimit bounds the question whether a container still runs.
const askLimit = 10 * time.Second

// lose marks the sandbox as gone. The first reason stays.
func (c *Container) lose(why error) {
	c.once.Do(func() {
		c.gone = fmt.Errorf("container %.12s: %w: %w", c.id, sandbox.ErrLost, why)
		close(c.lost)
	})
}

// alive is nil, or the error that every call answers once the sandbox is gone.
func (c *Container) alive() error {
	select {
	case <-c.lost:
		return c.gone
	default:
		return nil
	}
}

// check looks, after a call failed, whether the reason is that the container
// is gone; if not, err is the call's own.
func (c *Container) check(err error) error {
	if err == nil || errors.Is(err, sandbox.ErrLost) {
		return err
	}
	if gone := c.alive(); gone != nil {
		return gone
	}
	if why := c.cause(); why != nil {
		c.lose(why)
		return c.gone
	}
	return err
}

// deathLimit is how much later than its processes' end a container's own is told.
const deathLimit = 5 * time.Second

// probe finds out, after a command was killed by nobody here, whether the
// container died with it. The engine may still call it running, so a command
// is tried; one that cannot be run while the engine tells of no death (no
// process may be started, say) proves nothing.
func (c *Container) probe() error {
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	if _, err := c.helper(ctx, []string{"/bin/sh", "-c", ":"}, as{}); err == nil {
		return nil
	}
	wait := time.NewTimer(deathLimit)
	defer wait.Stop()
	select {
	case <-c.lost:
		return c.gone
	case <-wait.C:
		return nil
	}
}

// cause says why the container does not run, or nil when it does.
func (c *Container) cause() error {
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	info, err := c.p.engine.ContainerInspect(ctx, c.id)
	switch {
	case cerrdefs.IsNotFound(err):
		return errors.New("it was removed")
	case err != nil:
		return fmt.Errorf("the engine does not answer: %w", err)
	case info.State == nil || info.State.Running && !info.State.Paused:
		return nil
	case info.State.Paused:
		return nil // it goes on when it is unpaused
	case info.State.OOMKilled:
		return fmt.Errorf("%w: it was killed, out of memory (exit code %d)", sandbox.ErrExhausted, info.State.ExitCode)
	}
	return fmt.Errorf("it ended with exit code %d", info.State.ExitCode)
}

// explain adds the fix to an error that says that no engine is there.
func (p *Provider) explain(err error) error {
	if client.IsErrConnectionFailed(err) {
		return fmt.Errorf("%w; start the engine, name another in DOCKER_HOST, or use --sandbox local for tasks that allow it", err)
	}
	return err
}
