package docker

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"

	"rollbench/sandbox"
)

// labelSnapshot holds the key that a snapshot's name ends in. Images that others
// make from a snapshot inherit the label, but not the name, and are not ours.
const labelSnapshot = "rollbench.snapshot"

// snapshots are named so.
const snapshotName = "rollbench/snapshot:"

// snapshot is an image committed from a container.
type snapshot struct {
	p    *Provider
	name string
}

// Snapshot commits the container, which stands still meanwhile, to an image. Its
// labels name the owner, so that a later Reap removes it if this process dies.
func (c *Container) Snapshot(ctx context.Context) (sandbox.Snapshot, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	if names := c.besideNames(); names != "" {
		return nil, fmt.Errorf("%w: the sandbox has companions (%s), whose state no image holds", sandbox.ErrNoSnapshot, names)
	}
	if c.serves {
		return nil, fmt.Errorf("%w: the task's own service runs in the sandbox, and no image holds it", sandbox.ErrNoSnapshot)
	}
	asking, cancel := questioning(ctx)
	defer cancel()
	info, err := c.p.engine.ContainerInspect(asking, c.id)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", c.check(err))
	}
	for _, m := range info.Mounts {
		if m.Type == "volume" {
			return nil, fmt.Errorf("%w: the image keeps %s in a volume, which no image holds", sandbox.ErrNoSnapshot, m.Destination)
		}
	}
	user := c.imageUser
	if user == "" {
		user = "0:0"
	}
	key := newKey()
	s := &snapshot{p: c.p, name: snapshotName + key}
	forget, err := c.p.expect(snapshotNote + key + snapshotEnd)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	// It is known before it exists: whoever stops waiting leaves nothing behind.
	if !c.p.keep(s) {
		return nil, errors.Join(errors.New("snapshot: docker is closed"), forget(nil))
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), commitLimit)
	defer done()
	_, err = c.p.engine.ContainerCommit(ctx, c.id, container.CommitOptions{Reference: s.name, Pause: true, Changes: []string{
		"USER " + strconv.Quote(user), "LABEL " + labelSnapshot + "=" + key,
		"LABEL " + labelOwner + "=" + strconv.Quote(c.p.opt.Owner.String()),
	}})
	forgot := forget(err)
	if err != nil {
		err = fmt.Errorf("snapshot: %w", c.check(err))
	}
	if err = errors.Join(err, forgot); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// ID is the image's name.
func (s *snapshot) ID() string { return s.name }

// Close removes the image, or leaves that to the closing of the last container
// that runs from it.
func (s *snapshot) Close() error {
	s.p.mu.Lock()
	_, kept := s.p.kept[s]
	if kept {
		s.p.kept[s] = true
	}
	s.p.mu.Unlock()
	if !kept {
		return nil
	}
	return s.drop()
}

func (s *snapshot) drop() error {
	ctx, cancel := context.WithTimeout(context.Background(), removeLimit)
	defer cancel()
	used, err := s.p.removeImage(ctx, s.name)
	if err == nil && !used {
		s.p.mu.Lock()
		delete(s.p.kept, s)
		s.p.mu.Unlock()
	}
	return err
}

// keep notes a snapshot, and answers false when the provider is closed.
func (p *Provider) keep(s *snapshot) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.kept[s] = false
	return true
}

// dropSnapshots removes those that are closed, or all, which containers used
// until now.
func (p *Provider) dropSnapshots(all bool) error {
	p.mu.Lock()
	var due []*snapshot
	for s, closed := range p.kept {
		if closed || all {
			due = append(due, s)
		}
	}
	p.mu.Unlock()
	var errs []error
	for _, s := range due {
		errs = append(errs, s.drop())
	}
	return errors.Join(errs...)
}

// removeImage takes a name away, and the image with it where it has no other.
// used: a container runs from it, so that it stays. Nothing is forced.
func (p *Provider) removeImage(ctx context.Context, name string) (used bool, err error) {
	_, err = p.engine.ImageRemove(ctx, name, image.RemoveOptions{PruneChildren: true})
	switch {
	case err == nil || cerrdefs.IsNotFound(err):
		return false, nil
	case cerrdefs.IsConflict(err):
		return true, nil
	}
	return false, p.explain(fmt.Errorf("remove image %s: %w", name, err))
}

// reapSnapshots removes those of dead owners.
func (p *Provider) reapSnapshots(ctx context.Context) ([]string, error) {
	list, err := p.engine.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(
		filters.Arg("label", labelSnapshot), filters.Arg("label", labelOwner))})
	if err != nil {
		return nil, p.explain(fmt.Errorf("list snapshots: %w", err))
	}
	var removed []string
	var errs []error
	for _, i := range list {
		name := snapshotOf(i)
		owner, err := sandbox.ParseOwner(i.Labels[labelOwner])
		if name == "" || err != nil || owner.Alive() {
			continue
		}
		used, err := p.removeImage(ctx, name)
		if err != nil {
			errs = append(errs, err)
		} else if !used {
			removed = append(removed, fmt.Sprintf("snapshot %s of process %d", name, owner.Pid))
		}
	}
	return removed, errors.Join(errs...)
}

// snapshotOf is the name of the image as one of our snapshots, or "".
func snapshotOf(i image.Summary) string {
	for _, name := range i.RepoTags {
		if key := i.Labels[labelSnapshot]; key != "" && name == snapshotName+key {
			return name
		}
	}
	return ""
}
