package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"rollbench/sandbox"
)

// Reap removes the containers of owners that are dead. A container whose owner
// cannot be judged from here (another machine, boot or pid namespace, or a
// label that cannot be read) is left alone.
func (p *Provider) Reap(ctx context.Context) ([]string, error) {
	if err := p.awaitPending(ctx); err != nil {
		return nil, err
	}
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
		if err != nil || owner.Alive() {
			continue
		}
		if err := errors.Join(p.remove(ctx, c.ID), p.gone(ctx, c.ID)); err != nil {
			errs = append(errs, err)
			continue
		}
		name := c.ID[:min(12, len(c.ID))]
		if len(c.Names) > 0 {
			name = strings.TrimPrefix(c.Names[0], "/")
		}
		removed = append(removed, fmt.Sprintf("container %s of process %d", name, owner.Pid))
	}
	return removed, errors.Join(errs...)
}
