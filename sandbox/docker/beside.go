package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/docker/docker/api/types/container"

	"rollbench/sandbox"
)

// accompany starts the companions, each once those it depends on have come far
// enough, then what the sandbox itself starts, and waits until all are well.
func (c *Container) accompany(ctx context.Context, spec sandbox.Spec, image container.Config) error {
	b := spec.Beside
	files := b.Files
	if spec.From != "" { // they are there, as somebody may have changed them
		files = nil
	}
	for _, f := range files {
		if err := c.copyFile(ctx, f); err != nil {
			return fmt.Errorf("copy to %s: %w", f.Target, err)
		}
	}
	own := &companion{Container: c, user: c.imageUser, shell: []string{"/bin/sh", "-c"}, health: healthOf(b.Health, container.HealthConfig{})}
	main := &mainService{own: own, b: b, image: image}
	for _, of := range b.Companions {
		if err := c.awaitStages(ctx, main, of.After); err != nil {
			return fmt.Errorf("companion %s: %w", of.Name, err)
		}
		m, err := c.openCompanion(ctx, spec, of)
		if err != nil {
			return err
		}
		c.join(m)
	}
	if err := c.begin(ctx, main); err != nil {
		return err
	}
	for _, m := range append(c.companions(), own) {
		if err := m.well(ctx); err != nil {
			return err
		}
	}
	return c.goesOn(ctx, main.exec)
}

// mainService is what the task runs in the sandbox's own container.
type mainService struct {
	own   *companion
	b     *sandbox.Beside
	image container.Config
	begun bool
	exec  string // the engine's id of what was started, "" for nothing
}

// awaitStages of what a service depends on; "" is the sandbox itself.
func (c *Container) awaitStages(ctx context.Context, main *mainService, all []sandbox.Dependency) error {
	for _, d := range all {
		m, own := main.own, true
		for _, x := range c.companions() {
			if x.of.Name == d.Service {
				m, own = x, false
			}
		}
		var err error
		if own {
			err = c.begin(ctx, main)
		}
		switch {
		case err != nil:
		case d.Until == sandbox.Healthy && m.health == nil:
			err = fmt.Errorf("service %s is to be healthy, and has no health check: write healthcheck, or depend on service_started", d.Service)
		case d.Until == sandbox.Healthy:
			err = m.well(ctx)
		case d.Until == sandbox.Completed && !own:
			err = m.completed(ctx)
		case d.Until == sandbox.Completed:
			err = errors.New("it waits for the end of the sandbox itself")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyFile into the sandbox itself, whose user gets it.
func (c *Container) copyFile(ctx context.Context, f sandbox.File) error {
	return placed(f, 0, 0, func(r io.Reader) error { return c.CopyIn(ctx, "/", r) })
}

// begin starts what the task runs in the sandbox's own container, beside the main
// process, once what it depends on is there.
func (c *Container) begin(ctx context.Context, main *mainService) error {
	if main.begun {
		return nil
	}
	main.begun = true
	if err := c.awaitStages(ctx, main, main.b.After); err != nil || main.b.Start == nil {
		return err
	}
	start := main.b.Start
	c.serves = true
	argv := slices.Concat(start.Entrypoint, start.Command)
	if len(start.Entrypoint) == 0 {
		argv = slices.Concat(main.image.Entrypoint, start.Command)
	}
	ctx, cancel := questioning(ctx)
	defer cancel()
	made, err := c.p.engine.ContainerExecCreate(ctx, c.id, container.ExecOptions{
		Cmd: argv, User: c.imageUser, WorkingDir: c.workdir, Env: []string{sandbox.MarkVar + "=service:"}}) // no command's orphan
	if err == nil {
		err = c.p.engine.ContainerExecStart(ctx, made.ID, container.ExecStartOptions{Detach: true})
	}
	if err != nil {
		return fmt.Errorf("start %q in the sandbox: %w", argv, c.check(err))
	}
	main.exec = made.ID
	return nil
}

// goesOn says that what begin started has not failed.
func (c *Container) goesOn(ctx context.Context, exec string) error {
	if exec == "" {
		return nil
	}
	ctx, cancel := questioning(ctx)
	defer cancel()
	info, err := c.p.engine.ContainerExecInspect(ctx, exec)
	if err == nil && !info.Running && info.ExitCode != 0 {
		err = fmt.Errorf("the command of the main service ended with exit code %d", info.ExitCode)
	}
	return c.check(err)
}

// join notes a companion that has started.
func (c *Container) join(m *companion) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.beside = append(c.beside, m)
}

// companions that have started.
func (c *Container) companions() []*companion {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	return slices.Clone(c.beside)
}

// closeBeside removes the companions, all at once. Their volumes go after the
// sandbox itself.
func (c *Container) closeBeside() error {
	all := c.companions()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, m := range all {
		wg.Go(func() { errs[i] = m.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (c *Container) besideNames() string {
	var names []string
	for _, m := range c.companions() {
		names = append(names, m.of.Name)
	}
	return strings.Join(names, ", ")
}
