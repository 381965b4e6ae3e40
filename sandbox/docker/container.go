package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"rollbench/sandbox"
)

// createLimit bounds the creation of a container. It goes on when the caller's
// ctx ends: the engine might make a container whose id nobody has learnt.
const createLimit = 60 * time.Second

// openLimit bounds the opening of a container whose image is there.
const openLimit = 3 * time.Minute

// removeLimit bounds the removal of a container, which goes on after the
// caller's ctx ended.
const removeLimit = 60 * time.Second

// commitLimit bounds the making of a snapshot.
const commitLimit = 10 * time.Minute

// Container is one open sandbox.
type Container struct {
	p       *Provider
	id      string
	key     string
	from    string         // the snapshot that it was opened from
	parent  *Container     // of a companion: the sandbox that it is beside
	beside  []*companion   // in the order in which they started; guarded by Provider.mu
	volumes *sharedVolumes // of the sandbox and its companions; nil without
	serves  bool           // something of the task's own was started in it
	workdir string
	pids    int64
	diskMB  int
	upper   string    // folder of the writable layer; the disk watch's own
	started time.Time // a moment after the main process began
	// imageUser is the image's own word for whom commands run as; runUser is that, or
	// what the spec says instead; user is runUser as uid:gid, or "" for root.
	imageUser, runUser, user string
	marks                    sandbox.Marks

	files   lazyShell
	running processes
	killing chan struct{} // holds one while a tree is killed

	watch  context.CancelFunc // ends the goroutine that waits for the container's death
	joined sync.WaitGroup

	lost chan struct{} // closed once gone is set
	once sync.Once
	gone error

	closing sync.Once
	closed  error
}

// Open starts a container for spec, after its image was built or pulled where
// it is absent, and its companions.
func (p *Provider) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := p.EnsureImage(ctx, spec); err != nil {
		return nil, err
	}
	c, image, err := p.openAlone(ctx, spec)
	if err != nil {
		return nil, err
	}
	if spec.Beside != nil {
		if err := c.accompany(ctx, spec, image); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// mayStart waits for leave to start a container, which the function that it returns
// gives back.
func (p *Provider) mayStart(ctx context.Context) (func(), error) {
	select {
	case p.starts <- struct{}{}:
		return func() { <-p.starts }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// openAlone starts the sandbox's own container. image is what its image says.
func (p *Provider) openAlone(ctx context.Context, spec sandbox.Spec) (c *Container, image container.Config, err error) {
	release, err := p.mayStart(ctx)
	if err != nil {
		return nil, image, err
	}
	defer release()
	if spec.From != "" {
		spec.Image = spec.From
	}
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	info, err := p.engine.ImageInspect(ctx, spec.Image)
	if err != nil {
		return nil, image, p.explain(fmt.Errorf("inspect image %s: %w", spec.Image, err))
	}
	if err := p.mayShow(&spec); err != nil {
		return nil, image, err
	}
	var user string
	if info.Config != nil {
		user, image.Entrypoint = info.Config.User, info.Config.Entrypoint
		if spec.Workdir == "" {
			spec.Workdir = info.Config.WorkingDir
		}
	}
	spec.Workdir = path.Join("/", spec.Workdir)
	host, key := p.limits(ctx, &spec), newKey()
	var volumes *sharedVolumes
	if spec.Beside != nil {
		if volumes, err = p.dressMain(ctx, host, spec); err != nil {
			return nil, image, err
		}
		user = cmp.Or(spec.Beside.User, user)
	}
	id, err := p.make(ctx, p.config(spec, key), host, containerName(spec.Name, key))
	if id == "" {
		return nil, image, errors.Join(err, volumes.remove())
	}
	c = &Container{p: p, id: id, key: key, from: spec.From, workdir: spec.Workdir, pids: int64(spec.Pids), diskMB: spec.DiskMB, imageUser: user, runUser: cmp.Or(spec.User, user),
		volumes: volumes, killing: make(chan struct{}, 1), lost: make(chan struct{}), watch: func() {}}
	if err := errors.Join(err, c.start(ctx)); err != nil {
		return nil, image, errors.Join(fmt.Errorf("start a container of %s: %w", spec.Image, err), c.Close())
	}
	return c, image, nil
}

// dressMain makes the volumes, and gives the sandbox's own container what it has of
// them and the names of all services: companions, which are in its network, see its
// list of hosts.
func (p *Provider) dressMain(ctx context.Context, host *container.HostConfig, spec sandbox.Spec) (*sharedVolumes, error) {
	volumes, err := p.makeVolumes(ctx, spec)
	if err != nil {
		return nil, err
	}
	b := spec.Beside
	volumes.dress(host, b.Mounts, b.Tmpfs, b.SharedMB)
	names := slices.Clone(b.Names)
	for _, c := range b.Companions {
		if !c.Alone {
			names = append(names, c.Names...)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		host.ExtraHosts = append(host.ExtraHosts, name+":127.0.0.1")
	}
	host.ExtraHosts = append(host.ExtraHosts, b.Hosts...)
	return volumes, nil
}

// make a container, whose name is noted down before. An id with an error is of one
// that exists.
func (p *Provider) make(ctx context.Context, config *container.Config, host *container.HostConfig, name string) (id string, err error) {
	forget, err := p.expect(name + pendingEnd)
	if err != nil {
		return "", err
	}
	made, err := p.create(ctx, config, host, name)
	forgot := forget(err)
	if err != nil {
		return "", p.explain(fmt.Errorf("create a container of %s: %w", config.Image, err))
	}
	return made.ID, forgot
}

func (p *Provider) create(ctx context.Context, config *container.Config, host *container.HostConfig, name string) (container.CreateResponse, error) {
	if err := ctx.Err(); err != nil {
		return container.CreateResponse{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createLimit)
	defer cancel()
	return p.engine.ContainerCreate(ctx, config, host, nil, nil, name)
}

func (c *Container) start(ctx context.Context) error {
	if !c.p.adopt(c) {
		return errors.New("docker is closed")
	}
	if err := c.p.engine.ContainerStart(ctx, c.id, container.StartOptions{}); err != nil {
		return c.p.explain(err)
	}
	c.started = time.Now()
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.watch = cancel
	c.joined.Go(func() { c.await(life) })
	return c.settle(ctx)
}

// await learns of the container's death the moment it happens.
func (c *Container) await(ctx context.Context) {
	done, failed := c.p.engine.ContainerWait(ctx, c.id, container.WaitConditionNotRunning)
	select {
	case <-ctx.Done():
	case <-done:
		c.lose(c.cause())
	case err := <-failed:
		if ctx.Err() == nil {
			c.lose(fmt.Errorf("the engine went away: %w", err))
		}
	}
}

// Kind is sandbox.Docker.
func (c *Container) Kind() sandbox.Kind { return sandbox.Docker }

// ID is the container's.
func (c *Container) ID() string { return c.id }

// Claim says whether a container that nobody has used still lives, and gives it the
// name of its user. Labels cannot be changed: it keeps its run's and "warm", and
// the session tells which container a trajectory has.
func (c *Container) Claim(ctx context.Context, name string) error {
	if err := c.alive(); err != nil {
		return err
	}
	ctx, cancel := questioning(ctx)
	defer cancel()
	if err := c.p.engine.ContainerRename(ctx, c.id, containerName(name, c.key)); err != nil {
		return fmt.Errorf("name container %.12s: %w", c.id, c.check(err))
	}
	for _, m := range c.companions() {
		if err := m.Claim(ctx, name+"."+m.of.Name); err != nil {
			return err
		}
	}
	return nil
}

// Workdir is where commands start.
func (c *Container) Workdir() string { return c.workdir }

// Path is the identity: a container has its own root.
func (c *Container) Path(p string) string { return p }

func (c *Container) abs(p string) string {
	if !path.IsAbs(p) {
		p = path.Join(c.workdir, p)
	}
	return path.Clean(p)
}

// Close kills everything in the container and its companions, and removes them with
// their volumes.
func (c *Container) Close() error {
	c.closing.Do(func() {
		c.lose(errors.New("it was closed"))
		c.watch()
		ctx, cancel := context.WithTimeout(context.Background(), removeLimit)
		defer cancel()
		err := c.closeBeside()
		err = errors.Join(err, c.p.remove(ctx, c.id))
		c.closed = errors.Join(err, c.volumes.remove(), c.files.close())
		c.joined.Wait()
		c.p.release(c)
		if c.from != "" {
			c.closed = errors.Join(c.closed, c.p.dropSnapshots(false))
		}
	})
	return c.closed
}

// remove is `docker rm -f -v`. A container that is gone, or that someone else
// is removing, needs no removal.
func (p *Provider) remove(ctx context.Context, id string) error {
	err := p.engine.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err == nil || cerrdefs.IsNotFound(err) || cerrdefs.IsConflict(err) && strings.Contains(err.Error(), "already in progress") {
		return nil
	}
	return p.explain(fmt.Errorf("remove container %.12s: %w", id, err))
}
