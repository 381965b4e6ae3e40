package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"rollbench/sandbox"
)

// Reap removes the containers, volumes and snapshots of owners that are dead.
func (p *Provider) Reap(ctx context.Context) ([]string, error) {
	pending := p.awaitPending(ctx)
	removed, err := p.reapContainers(ctx)
	volumes, verr := p.reapVolumes(ctx)
	snapshots, serr := p.reapSnapshots(ctx)
	return slices.Concat(removed, volumes, snapshots), errors.Join(pending, err, verr, serr)
}

// reapContainers leaves alone a container whose owner cannot be judged from here
// (another machine, boot or pid namespace, or a label that cannot be read), and one
// whose name does not end in its key: somebody has made or named it who took our
// labels over, as `docker commit` and `docker run` do.
func (p *Provider) reapContainers(ctx context.Context) ([]string, error) {
	list, err := p.engine.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", labelOurs+"=1"), filters.Arg("label", labelOwner)),
	})
	if err != nil {
		return nil, p.explain(fmt.Errorf("list containers: %w", err))
	}
	var removed []string
	var errs []error
	for _, c := range list {
		owner, err := sandbox.ParseOwner(c.Labels[labelOwner])
		if err != nil || !keyed(c) || owner.Alive() {
			continue
		}
		if err := errors.Join(p.remove(ctx, c.ID), p.gone(ctx, c.ID)); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, fmt.Sprintf("container %s of process %d", strings.TrimPrefix(c.Names[0], "/"), owner.Pid))
	}
	return removed, errors.Join(errs...)
}

// keyed says whether the name of a container ends in its key.
func keyed(c container.Summary) bool {
	key := c.Labels[labelKey]
	return key != "" && len(c.Names) > 0 && strings.HasPrefix(c.Names[0], "/rollbench-") && strings.HasSuffix(c.Names[0], "-"+key)
}
