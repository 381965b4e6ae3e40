package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"rollbench/sandbox"
)

// labelService is the name of a companion in its task.
const labelService = "rollbench.service"

// companionCapabilities are what services need that begin as root and go on as
// another user; of more use to a program that breaks out they are not.
var companionCapabilities = []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "NET_BIND_SERVICE", "SYS_CHROOT", "AUDIT_WRITE"}

// companion is one of the containers beside a sandbox.
type companion struct {
	*Container
	of      sandbox.Companion
	user    string // whom its health check runs as
	health  *container.HealthConfig
	shell   []string // of its health check
	healthy bool
}

// openCompanion makes and starts one beside its sandbox.
func (c *Container) openCompanion(ctx context.Context, spec sandbox.Spec, of sandbox.Companion) (*companion, error) {
	release, err := c.p.mayStart(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	asking, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	info, err := c.p.engine.ImageInspect(asking, of.Image)
	if err != nil {
		return nil, c.p.explain(fmt.Errorf("inspect image %s: %w", of.Image, err))
	}
	own := sandbox.Spec{Name: spec.Name + "." + of.Name, Labels: spec.Labels, CPUs: of.CPUs, MemoryMB: of.MemoryMB, Pids: of.Pids, DiskMB: spec.DiskMB}
	host, key := c.p.limits(asking, &own), newKey()
	c.dressCompanion(host, of)
	config := c.p.companionConfig(own, of, key)
	id, err := c.p.make(asking, config, host, containerName(own.Name, key))
	if id == "" {
		return nil, err
	}
	m := &companion{of: of, Container: &Container{p: c.p, id: id, key: key, parent: c, workdir: path.Join("/", config.WorkingDir), pids: int64(own.Pids),
		diskMB: own.DiskMB, killing: make(chan struct{}, 1), lost: make(chan struct{}), watch: func() {}}}
	if err == nil && !c.p.adopt(m.Container) {
		err = errors.New("docker is closed")
	}
	if err == nil {
		m.probing(info)
		err = m.copyFiles(asking)
	}
	if err == nil {
		err = c.p.explain(c.p.engine.ContainerStart(asking, id, container.StartOptions{}))
	}
	if err != nil {
		return nil, errors.Join(m.wrap(ctx, err), m.Close())
	}
	return m, nil
}

// dressCompanion gives it the sandbox's network, and what its task asks for.
func (c *Container) dressCompanion(host *container.HostConfig, of sandbox.Companion) {
	host.NetworkMode = container.NetworkMode("container:" + c.id)
	if of.Alone {
		host.NetworkMode = "none"
	}
	host.Init, host.CapAdd, host.ReadonlyRootfs = nil, companionCapabilities, of.ReadOnly
	host.LogConfig = container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "1m", "max-file": "1"}}
	policy, count, _ := strings.Cut(of.Restart, ":")
	if policy != "" && policy != "no" {
		tries, _ := strconv.Atoi(count) // the reader of the task has checked it
		host.RestartPolicy = container.RestartPolicy{Name: container.RestartPolicyMode(policy), MaximumRetryCount: tries}
	}
	c.volumes.dress(host, of.Mounts, of.Tmpfs, of.SharedMB)
}

// companionConfig: its health is asked for by us, and only until it is well. An
// engine asks as long as it lives, in each of hundreds of containers.
func (p *Provider) companionConfig(spec sandbox.Spec, of sandbox.Companion, key string) *container.Config {
	labels := p.labels(spec, key)
	labels[labelService] = of.Name
	return &container.Config{
		Image: of.Image, User: of.User, Entrypoint: of.Entrypoint, Cmd: of.Command, Env: envOf(of.Env), WorkingDir: of.Workdir, Labels: labels,
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
}

// probing learns how to tell its health: what the task leaves open is the image's.
func (m *companion) probing(info image.InspectResponse) {
	h := container.HealthConfig{}
	m.user, m.shell = m.of.User, []string{"/bin/sh", "-c"}
	if info.Config != nil {
		if info.Config.Healthcheck != nil {
			h = container.HealthConfig(*info.Config.Healthcheck)
		}
		if len(info.Config.Shell) > 0 {
			m.shell = info.Config.Shell
		}
		if m.user == "" {
			m.user = info.Config.User
		}
		if m.of.Workdir == "" {
			m.workdir = path.Join("/", info.Config.WorkingDir)
		}
	}
	m.health = healthOf(m.of.Health, h)
}

// copyFiles puts its files where they belong before it starts. They are its user's
// where that is a number, else root's.
func (m *companion) copyFiles(ctx context.Context) error {
	uid, gid := numeric(m.user)
	for _, f := range m.of.Files {
		if err := m.copyFile(ctx, f, uid, gid); err != nil {
			return fmt.Errorf("copy to %s: %w", f.Target, err)
		}
	}
	return nil
}

func (m *companion) copyFile(ctx context.Context, f sandbox.File, uid, gid int) error {
	ctx, cancel := context.WithTimeout(ctx, copyLimit)
	defer cancel()
	return placed(f, uid, gid, func(r io.Reader) error {
		return m.p.engine.CopyToContainer(ctx, m.id, "/", r, container.CopyToContainerOptions{})
	})
}

// placed sends a file's stream with its entries named for unpacking at the root.
func placed(f sandbox.File, uid, gid int, send func(io.Reader) error) error {
	stream, err := f.Tar()
	if err != nil {
		return err
	}
	err = piped(func(w io.Writer) error { return below(w, stream, f, uid, gid) }, send)
	return errors.Join(err, stream.Close())
}

// below names the entries of a stream for unpacking at the root. Folders above
// them that exist stay as they are: only files have entries, unless there are none.
func below(w io.Writer, stream io.Reader, f sandbox.File, uid, gid int) error {
	in, out := tar.NewReader(stream), tar.NewWriter(w)
	target := strings.TrimPrefix(path.Clean(f.Target), "/")
	for n := 0; ; n++ {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			if n == 0 {
				err = out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: target + "/", Mode: 0o755, Uid: uid, Gid: gid})
				return errors.Join(err, out.Close())
			}
			return out.Close()
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || leaves(h.Name, nil) {
			return fmt.Errorf("entry %q: %w", h.Name, errEntry)
		}
		if h.Name = path.Join(target, h.Name); f.One {
			h.Name = target
		}
		h.Uid, h.Gid, h.Uname, h.Gname = uid, gid, "", ""
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(out, in); err != nil {
			return err
		}
	}
}

// numeric ids of "UID" or "UID:GID"; root's of anything else.
func numeric(user string) (uid, gid int) {
	u, g, _ := strings.Cut(user, ":")
	uid, err := strconv.Atoi(u)
	if err != nil || uid < 0 {
		return 0, 0
	}
	if gid, err = strconv.Atoi(g); err != nil || gid < 0 {
		gid = uid
	}
	return uid, gid
}
