package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"

	"rollbench/sandbox"
)

// An engine goes on making a container whose client has died, so that it may appear
// after the next start has looked for what is left. So the name of a container is
// written down before it is asked for, and the next start waits for it.

// pendingEnd is the end of the name of such a file; the rest is the container's.
const pendingEnd = ".creating"

// pendingLimit is how long after the asking a container may still appear.
const pendingLimit = 15 * time.Second

// expect notes a container that is about to be asked for. The function that comes
// back gets the answer and takes the note away, unless there was none.
func (p *Provider) expect(name string) (func(answer error) error, error) {
	if p.opt.Pending == "" {
		return func(error) error { return nil }, nil
	}
	file := filepath.Join(p.opt.Pending, name+pendingEnd)
	err := os.MkdirAll(p.opt.Pending, 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(p.opt.Owner.String()+"\n"), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("note a container that is to be made: %w", err)
	}
	return func(answer error) error {
		if errors.Is(answer, context.DeadlineExceeded) {
			return nil
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}, nil
}

// awaitPending waits for the containers that dead owners had asked for, each until
// it is there or cannot come any more.
func (p *Provider) awaitPending(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(p.opt.Pending, "rollbench-*"+pendingEnd))
	if err != nil || p.opt.Pending == "" {
		return err
	}
	var errs []error
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // its owner lives, or another start was faster
		}
		owner, err := sandbox.ParseOwner(string(b))
		if err == nil && owner.Alive() {
			continue
		}
		// A file without content is one whose owner died while writing it.
		if err := p.awaitOne(ctx, strings.TrimSuffix(filepath.Base(file), pendingEnd), file); err != nil {
			errs = append(errs, err)
			continue
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (p *Provider) awaitOne(ctx context.Context, name, file string) error {
	st, err := os.Stat(file)
	if err != nil {
		return nil // another start was faster
	}
	end := time.Now().Add(pendingLeft(st.ModTime(), time.Now()))
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		err := p.look(ctx, name)
		switch {
		case err == nil:
			return nil
		case !cerrdefs.IsNotFound(err):
			return p.explain(fmt.Errorf("look for container %s: %w", name, err))
		case !time.Now().Before(end):
			return nil // it would be there
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done(): // nothing is known: the note stays
			return fmt.Errorf("wait for container %s: %w", name, ctx.Err())
		}
	}
}

func (p *Provider) look(ctx context.Context, name string) error {
	ctx, cancel := questioning(ctx)
	defer cancel()
	_, err := p.engine.ContainerInspect(ctx, name)
	return err
}

// pendingLeft is how long to wait for a container that was asked for at a time of
// the wall clock. That may have been set since: the wait is never longer than the
// limit, and a look is taken in any case.
func pendingLeft(asked, now time.Time) time.Duration {
	return min(pendingLimit-now.Sub(asked), pendingLimit)
}

// gone waits until a container that is being removed is not listed any more.
func (p *Provider) gone(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, removeLimit)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		if _, err := p.engine.ContainerInspect(ctx, id); cerrdefs.IsNotFound(err) {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("container %.12s is being removed and does not go away", id)
		}
	}
}
