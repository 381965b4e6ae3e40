package docker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"rollbench/sandbox"
)

// The labels of our containers.
const (
	labelOurs       = "rollbench"       // "1"
	labelOwner      = "rollbench.owner" // sandbox.Owner
	labelRun        = "rollbench.run"
	labelTrajectory = "rollbench.trajectory"
)

// capabilities are what package managers and tests need when they run as root:
// changing owners and modes, acting on other users' files, becoming another
// user, and stopping that user's processes. SYS_PTRACE lets the killing of a
// tree read the marks of other users' processes. All others are dropped.
var capabilities = []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SYS_PTRACE"}

// lineEnd closes each line that the main process may run: the rest of one that
// was cut off has none.
const lineEnd = " #end"

// idle keeps a container alive with nothing but sh. Its standard input is open,
// and the lines that come there (see KillTree) are run in it. Its mark says that it
// is no orphan of a command; a "pkill sh" inside does not end it.
var idle = []string{"/bin/sh", "-c", "trap '' HUP INT QUIT TERM USR1 USR2; export " + sandbox.MarkVar +
	`=main: && exec /bin/sh -c 'while IFS= read -r line; do case $line in *"` + lineEnd + `") eval "$line" ;; esac; done'`}

// createLimit bounds the creation of a container. It goes on when the caller's
// ctx ends: the engine might make a container whose id nobody has learnt.
const createLimit = 60 * time.Second

// removeLimit bounds the removal of a container, which goes on after the
// caller's ctx ended.
const removeLimit = 60 * time.Second

// Container is one open sandbox.
type Container struct {
	p       *Provider
	id      string
	workdir string
	pids    int64
	started time.Time // a moment after the main process began
	// imageUser is the image's own word for whom commands run as; user is that
	// as uid:gid, or "" for root.
	imageUser, user string
	marks           sandbox.Marks

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
// it is absent.
func (p *Provider) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := p.EnsureImage(ctx, spec); err != nil {
		return nil, err
	}
	select {
	case p.starts <- struct{}{}:
		defer func() { <-p.starts }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	info, err := p.engine.ImageInspect(ctx, spec.Image)
	if err != nil {
		return nil, p.explain(fmt.Errorf("inspect image %s: %w", spec.Image, err))
	}
	var user string
	if info.Config != nil {
		user = info.Config.User
		if spec.Workdir == "" {
			spec.Workdir = info.Config.WorkingDir
		}
	}
	spec.Workdir = path.Join("/", spec.Workdir)
	host, name := p.limits(ctx, &spec), containerName(spec.Name)
	forget, err := p.expect(name)
	if err != nil {
		return nil, err
	}
	made, err := p.create(ctx, p.config(spec), host, name)
	forgot := forget(err)
	if err != nil {
		return nil, p.explain(fmt.Errorf("create a container of %s: %w", spec.Image, err))
	}
	c := &Container{p: p, id: made.ID, workdir: spec.Workdir, pids: int64(spec.Pids), imageUser: user,
		killing: make(chan struct{}, 1), lost: make(chan struct{}), watch: func() {}}
	if err := errors.Join(forgot, c.start(ctx)); err != nil {
		return nil, errors.Join(fmt.Errorf("start a container of %s: %w", spec.Image, err), c.Close())
	}
	return c, nil
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
			c.lose(fmt.Sprintf("the engine went away: %v", err))
		}
	}
}

// config is what runs. The image's own entrypoint and health check are not
// wanted: they would start the service that the image is made for. The container
// is root's, since an engine gives root no capabilities in a container that is
// another user's; commands run as the image's user by exec.
func (p *Provider) config(spec sandbox.Spec) *container.Config {
	labels := map[string]string{}
	for k, v := range spec.Labels {
		switch k {
		case "run", "trajectory":
			k = labelOurs + "." + k
		}
		labels[k] = v
	}
	labels[labelOurs] = "1"
	labels[labelOwner] = p.opt.Owner.String()
	env := make([]string, 0, len(spec.Env))
	for _, k := range slices.Sorted(maps.Keys(spec.Env)) {
		env = append(env, k+"="+spec.Env[k])
	}
	return &container.Config{
		Image: spec.Image, User: "0:0", Entrypoint: idle, Cmd: []string{}, OpenStdin: true,
		Env: env, WorkingDir: spec.Workdir, Labels: labels,
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
}

// limits fills in the spec's zero values. More CPUs than the engine has are no
// limit at all, and are refused by it: they become all it has.
func (p *Provider) limits(ctx context.Context, spec *sandbox.Spec) *container.HostConfig {
	if spec.CPUs <= 0 {
		spec.CPUs = p.opt.CPUs
	}
	if spec.MemoryMB <= 0 {
		spec.MemoryMB = p.opt.MemoryMB
	}
	if spec.Pids <= 0 {
		spec.Pids = p.opt.Pids
	}
	if info, err := p.engine.Info(ctx); err == nil && info.NCPU > 0 && spec.CPUs > float64(info.NCPU) {
		if spec.Progress != nil {
			spec.Progress(fmt.Sprintf("the engine has %d CPUs, %g were asked for", info.NCPU, spec.CPUs))
		}
		spec.CPUs = float64(info.NCPU)
	}
	network := container.NetworkMode("none")
	if spec.Network {
		network = "bridge" // the default one: a network for each sandbox would use up the address pool
	}
	memory, pids, reap := int64(spec.MemoryMB)<<20, int64(spec.Pids), true
	return &container.HostConfig{
		NetworkMode: network,
		Init:        &reap, // reaps orphans: they must not eat up the pids limit as zombies
		CapDrop:     []string{"ALL"},
		CapAdd:      capabilities,
		SecurityOpt: []string{"no-new-privileges"},
		LogConfig:   container.LogConfig{Type: "none"},
		Resources: container.Resources{
			NanoCPUs: int64(spec.CPUs * 1e9),
			Memory:   memory, MemorySwap: memory, // equal: no swap
			PidsLimit: &pids,
		},
	}
}

// containerName keeps what the engine allows and adds what makes it unique.
func containerName(name string) string {
	keep := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}
	name = strings.Map(keep, name)
	if name != "" {
		name = "-" + name[:min(len(name), 80)]
	}
	var unique [4]byte
	rand.Read(unique[:])
	return "rollbench" + name + "-" + hex.EncodeToString(unique[:])
}

// Kind is sandbox.Docker.
func (c *Container) Kind() sandbox.Kind { return sandbox.Docker }

// ID is the container's.
func (c *Container) ID() string { return c.id }

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

// Close kills everything in the container and removes it with its volumes.
func (c *Container) Close() error {
	c.closing.Do(func() {
		c.lose("it was closed")
		c.watch()
		ctx, cancel := context.WithTimeout(context.Background(), removeLimit)
		defer cancel()
		err := c.p.remove(ctx, c.id)
		c.closed = errors.Join(err, c.files.close())
		c.joined.Wait()
		c.p.release(c)
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
