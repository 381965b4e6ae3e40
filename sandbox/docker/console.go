package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/docker/api/types/container"

	"rollbench/sandbox"
)

// Console starts a person's shell in the container.
func (c *Container) Console(ctx context.Context, s sandbox.ConsoleSpec) (sandbox.Console, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	return sandbox.NewConsole(ctx, consoles{c}, c.marks.Next("e"), c.workdir, s)
}

// consoles starts processes whose end is asked for: the engine's stream of a
// terminal ends only once nothing holds the terminal any more, and a shell may leave
// programs on it.
type consoles struct{ *Container }

func (c consoles) Start(ctx context.Context, p sandbox.Proc) (sandbox.Process, error) {
	x, err := c.launch(ctx, p, as{user: c.runUser})
	if err != nil {
		return nil, err
	}
	return &asked{x}, nil
}

type asked struct{ *process }

// askPause is how long a person waits for the workbench after leaving a shell.
const askPause = 150 * time.Millisecond

func (x *asked) Wait() (int, error) {
	for {
		select {
		case <-x.killed:
			return 128 + 9, nil
		case <-x.ended:
			return x.process.Wait()
		case <-x.c.lost:
			return -1, x.c.gone
		case <-time.After(askPause):
		}
		ctx, cancel := questioning(context.Background())
		info, err := x.c.p.engine.ContainerExecInspect(ctx, x.exec)
		cancel()
		if err != nil {
			return -1, x.c.check(fmt.Errorf("inspect a shell: %w", err))
		}
		if !info.Running {
			return info.ExitCode, nil
		}
	}
}

// A command that was just started may have no terminal yet.
const (
	resizeTries = 8
	resizePause = 10 * time.Millisecond // before the second, doubled each time
)

// Resize the terminal that the command runs on. One that has ended has none: what it
// showed last is still to be read.
func (x *process) Resize(rows, cols int) error {
	ctx, cancel := questioning(context.Background())
	defer cancel()
	var err error
	for n, pause := 0, resizePause; n < resizeTries; n, pause = n+1, 2*pause {
		err = x.c.p.engine.ContainerExecResize(ctx, x.exec, container.ResizeOptions{Height: uint(max(rows, 1)), Width: uint(max(cols, 1))})
		if err == nil {
			return nil
		}
		select {
		case <-x.ended:
			return nil
		case <-time.After(pause):
		case <-ctx.Done():
			return x.c.check(errors.Join(err, ctx.Err()))
		}
	}
	return x.c.check(fmt.Errorf("resize a terminal: %w", err))
}
