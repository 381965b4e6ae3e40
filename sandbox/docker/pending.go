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

// An engine goes on making a container, or a snapshot, whose client has died, so that
// it may appear after the next start has looked for what is left. So its name is
// written down before it is asked for, and the next start waits for it.

// The ends of the names of such files; the rest is the container's name, or the
// snapshot's key after snapshotNote.
const (
	pendingEnd  = ".creating"
	snapshotEnd = ".committing"
)

const snapshotNote = "rollbench-snapshot-"

// pendingLimit is how long after the asking a container may still appear.
const pendingLimit = 15 * time.Second

// expect notes what is about to be asked for, by the name of the note. The function
// that comes back gets the answer and takes the note away, unless there was none.
func (p *Provider) expect(note string) (func(answer error) error, error) {
	if p.opt.Pending == "" {
		return func(error) error { return nil }, nil
	}
	file := filepath.Join(p.opt.Pending, note)
	err := os.MkdirAll(p.opt.Pending, 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(p.opt.Owner.String()+"\n"), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("note what the engine is to make: %w", err)
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

// awaitPending waits for what dead owners had asked for, each until it is there or
// cannot come any more.
func (p *Provider) awaitPending(ctx context.Context) error {
	if p.opt.Pending == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(p.opt.Pending, "rollbench-*"))
	if err != nil {
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
		if err := p.awaitOne(ctx, filepath.Base(file), file); err != nil {
			errs = append(errs, err)
			continue
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (p *Provider) awaitOne(ctx context.Context, note, file string) error {
	st, err := os.Stat(file)
	if err != nil {
		return nil // another start was faster
	}
	end := time.Now().Add(pendingLeft(st.ModTime(), time.Now()))
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		err := p.look(ctx, note)
		switch {
		case err == nil:
			return nil
		case !cerrdefs.IsNotFound(err):
			return p.explain(fmt.Errorf("look for %s: %w", note, err))
		case !time.Now().Before(end):
			return nil // it would be there
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done(): // nothing is known: the note stays
			return fmt.Errorf("wait for %s: %w", note, ctx.Err())
		}
	}
}

// look for what a note names.
func (p *Provider) look(ctx context.Context, note string) error {
	ctx, cancel := questioning(ctx)
	defer cancel()
	if key, ok := strings.CutSuffix(note, snapshotEnd); ok {
		_, err := p.engine.ImageInspect(ctx, snapshotName+strings.TrimPrefix(key, snapshotNote))
		return err
	}
	if name, ok := strings.CutSuffix(note, volumeEnd); ok {
		_, err := p.engine.VolumeInspect(ctx, name)
		return err
	}
	_, err := p.engine.ContainerInspect(ctx, strings.TrimSuffix(note, pendingEnd))
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
