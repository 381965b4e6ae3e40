package docker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"rollbench/sandbox"
)

// The labels of our containers.
const (
	labelOurs       = "rollbench"       // "1"
	labelOwner      = "rollbench.owner" // sandbox.Owner
	labelRun        = "rollbench.run"
	labelTrajectory = "rollbench.trajectory"
	labelWarm       = "rollbench.warm" // "1": opened before anybody wanted it
	labelKey        = "rollbench.key"  // what the name ends in
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
	`=main: && exec /bin/sh -c '` + mainLoop + `'`}

// mainLoop is what the main process does.
const mainLoop = `while IFS= read -r line; do case $line in *"` + lineEnd + `") eval "$line" ;; esac; done`

// Keeps says that a process is the container's main one.
func (c *Container) Keeps(argv []string) bool { return len(argv) == 3 && argv[2] == mainLoop }

// config is what runs. The image's own entrypoint and health check are not
// wanted: they would start the service that the image is made for. The container
// is root's, since an engine gives root no capabilities in a container that is
// another user's; commands run as the image's user by exec.
func (p *Provider) config(spec sandbox.Spec, key string) *container.Config {
	return &container.Config{
		Image: spec.Image, User: "0:0", Entrypoint: idle, Cmd: []string{}, OpenStdin: true,
		Env: envOf(spec.Env), WorkingDir: spec.Workdir, Labels: p.labels(spec, key),
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		StopSignal:  "SIGKILL", // the main process ends by no other: an engine would wait 10 s for it when it stops
	}
}

// labels of what the spec opens: its own, and the owner's.
func (p *Provider) labels(spec sandbox.Spec, key string) map[string]string {
	labels := map[string]string{}
	for k, v := range spec.Labels {
		switch k {
		case "run", "trajectory", "warm":
			k = labelOurs + "." + k
		}
		labels[k] = v
	}
	labels[labelOurs] = "1"
	labels[labelOwner] = p.opt.Owner.String()
	labels[labelKey] = key
	return labels
}

func envOf(vars map[string]string) []string {
	env := make([]string, 0, len(vars))
	for _, k := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, k+"="+vars[k])
	}
	return env
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
	if spec.DiskMB <= 0 {
		spec.DiskMB = p.opt.DiskMB
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
		Mounts:      mounts(spec.Mounts),
		Resources: container.Resources{
			NanoCPUs: int64(spec.CPUs * 1e9),
			Memory:   memory, MemorySwap: memory, // equal: no swap
			PidsLimit: &pids,
		},
	}
}

// mounts are read-only, and without what is mounted below their sources: an old
// engine would show that writable.
func mounts(all []sandbox.Mount) []mount.Mount {
	out := make([]mount.Mount, len(all))
	for i, m := range all {
		out[i] = mount.Mount{Type: mount.TypeBind, Source: m.Source, Target: m.Target, ReadOnly: true,
			BindOptions: &mount.BindOptions{NonRecursive: true, Propagation: mount.PropagationRPrivate}}
	}
	return out
}

// mayShow checks the spec's mounts. The paths are the engine's: of another
// machine's only the names can be judged.
func (p *Provider) mayShow(spec *sandbox.Spec) error {
	for _, m := range spec.Mounts {
		if err := m.Check(); err != nil {
			return fmt.Errorf("mount %w", err)
		}
		if dir := path.Join("/", spec.Workdir); sandbox.Within(dir, m.Target) {
			return fmt.Errorf("mount %s:%s: the working directory %s would be read-only", m.Source, m.Target, dir)
		}
	}
	if p.remote() || len(spec.Mounts) == 0 {
		return nil
	}
	sockets := []string{strings.TrimPrefix(p.engine.DaemonHost(), "unix://"), "/var/run/docker.sock", "/run/containerd/containerd.sock"}
	real, err := sandbox.CheckMounts(spec.Mounts, sockets...)
	spec.Mounts = real
	return err
}

// newKey is what tells a container, or an image, of ours from those that others
// make of it: the engine hands labels on to them, but not the name, which ends
// in the key.
func newKey() string {
	var unique [6]byte
	rand.Read(unique[:]) // never fails: it ends the program instead
	return hex.EncodeToString(unique[:])
}

// containerName keeps what the engine allows and ends in the key.
func containerName(name, key string) string {
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
	return "rollbench" + name + "-" + key
}
