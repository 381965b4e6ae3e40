package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"

	"rollbench/sandbox"
)

// volumeEnd is of the names of notes about volumes (see expect).
const volumeEnd = ".volume"

// sharedVolumes are those of one sandbox and its companions.
type sharedVolumes struct {
	p     *Provider
	names map[string]string // the engine's, by the spec's
	dirs  []string          // where the engine keeps them, on its machine
}

// makeVolumes makes the volumes that containers share. On an error those that were
// made are removed.
func (p *Provider) makeVolumes(ctx context.Context, spec sandbox.Spec) (*sharedVolumes, error) {
	v := &sharedVolumes{p: p, names: map[string]string{}}
	for _, name := range spec.Beside.Shared {
		key := newKey()
		full := containerName(spec.Name+"."+name, key)
		forget, err := p.expect(full + volumeEnd)
		if err == nil {
			v.names[name] = full // from here on it may exist
			err = v.make(ctx, full, p.labels(spec, key))
			err = errors.Join(err, forget(err))
		}
		if err != nil {
			return nil, errors.Join(p.explain(fmt.Errorf("make volume %s: %w", name, err)), v.remove())
		}
	}
	return v, nil
}

// make goes on when the caller's ctx ends, as create does.
func (v *sharedVolumes) make(ctx context.Context, name string, labels map[string]string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createLimit)
	defer cancel()
	made, err := v.p.engine.VolumeCreate(ctx, volume.CreateOptions{Name: name, Driver: "local", Labels: labels})
	if err == nil && made.Mountpoint != "" {
		v.dirs = append(v.dirs, made.Mountpoint)
	}
	return err
}

// remove them, after the containers that have them.
func (v *sharedVolumes) remove() error {
	if v == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeLimit)
	defer cancel()
	var errs []error
	for _, name := range slices.Sorted(maps.Values(v.names)) {
		errs = append(errs, v.p.removeVolume(ctx, name))
	}
	return errors.Join(errs...)
}

func (p *Provider) removeVolume(ctx context.Context, name string) error {
	err := p.engine.VolumeRemove(ctx, name, true)
	if err == nil || cerrdefs.IsNotFound(err) {
		return nil
	}
	return p.explain(fmt.Errorf("remove volume %s: %w", name, err))
}

// dress a container's settings with its volumes and memory folders.
func (v *sharedVolumes) dress(host *container.HostConfig, mounts []sandbox.Volume, tmpfs []sandbox.Tmpfs, sharedMB int) {
	for _, m := range mounts {
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeVolume, Source: v.names[m.Name], Target: m.Target, ReadOnly: m.ReadOnly})
	}
	for _, t := range tmpfs {
		one := mount.Mount{Type: mount.TypeTmpfs, Target: t.Target, TmpfsOptions: &mount.TmpfsOptions{SizeBytes: int64(t.SizeMB) << 20, Mode: 0o1777}}
		host.Mounts = append(host.Mounts, one)
	}
	host.ShmSize = int64(sharedMB) << 20
}

// use is what the volumes take, counted up to a limit where their folders are on
// this machine and may be read; else 0.
func (v *sharedVolumes) use(ctx context.Context, limit int64) (sum int64, err error) {
	if v == nil || v.p.remote() || v.p.engineSizes {
		return 0, nil
	}
	for _, dir := range v.dirs {
		used, err := sandbox.Usage(ctx, dir, limit-sum)
		if unreadable(err) {
			continue
		}
		if sum += used; err != nil || sum > limit {
			return sum, err
		}
	}
	return sum, nil
}

// reapVolumes removes those of dead owners; containers that had them are gone.
func (p *Provider) reapVolumes(ctx context.Context) ([]string, error) {
	list, err := p.engine.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(
		filters.Arg("label", labelOurs+"=1"), filters.Arg("label", labelOwner))})
	if err != nil {
		return nil, p.explain(fmt.Errorf("list volumes: %w", err))
	}
	var removed []string
	var errs []error
	for _, v := range list.Volumes {
		owner, err := sandbox.ParseOwner(v.Labels[labelOwner])
		key := v.Labels[labelKey]
		if err != nil || owner.Alive() || key == "" || !strings.HasPrefix(v.Name, "rollbench-") || !strings.HasSuffix(v.Name, "-"+key) {
			continue
		}
		if err := p.removeVolume(ctx, v.Name); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, fmt.Sprintf("volume %s of process %d", v.Name, owner.Pid))
	}
	return removed, errors.Join(errs...)
}
