package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"rollbench/sandbox"
)

// folder is an open local sandbox.
type folder struct {
	p       *Provider
	id      string
	level   Level
	world   world
	groups  cgroups
	network bool
	diskMB  int

	cmd    *exec.Cmd // bubblewrap or the init; the parent of all else
	stderr bytes.Buffer
	conn   *net.UnixConn
	init   int      // pid of the init, as seen here
	ns     uint64   // inode of its pid namespace
	nsFile *os.File // keeps that number from being given to another

	sendMu sync.Mutex
	mu     sync.Mutex // guards the three below
	gone   error      // why it is lost, where that is known
	nextID uint64
	calls  map[uint64]*call

	lost   chan struct{} // closed when the init no longer answers
	ended  chan struct{} // closed when cmd has been waited for
	wg     sync.WaitGroup
	close1 sync.Once
	closed error

	marks sandbox.Marks
}

// errSpec is what cannot be done at any level.
var errSpec = errors.New("cannot have")

// startTimeout bounds the way from exec to the init's hello.
const startTimeout = 30 * time.Second

// Open makes a sandbox at the best level that works here.
func (p *Provider) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := checkWorkdir(spec.Workdir); err != nil {
		return nil, fmt.Errorf("open local sandbox %s: %w", spec.Name, err)
	}
	if spec.Beside != nil {
		return nil, fmt.Errorf("open local sandbox %s: it %w companions: a task of several containers needs --sandbox docker", spec.Name, errSpec)
	}
	mounts, err := sandbox.CheckMounts(spec.Mounts, engineSockets...)
	if err != nil {
		return nil, fmt.Errorf("open local sandbox %s: %w", spec.Name, err)
	}
	spec.Mounts = mounts
	p.mu.Lock()
	level, done := p.level, p.done
	p.mu.Unlock()
	if done {
		return nil, errors.New("open local sandbox: the provider is closed")
	}
	levels := p.levels()
	if level != "" {
		levels = []Level{level}
	}
	var why []string
	for _, l := range levels {
		b, err := p.openAt(ctx, spec, l)
		if err == nil {
			p.mu.Lock()
			p.level = l
			p.mu.Unlock()
			return b, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("open local sandbox %s: %w", spec.Name, ctx.Err())
		}
		if errors.Is(err, errSpec) { // no level can do it
			return nil, fmt.Errorf("open local sandbox %s: %w", spec.Name, err)
		}
		why = append(why, fmt.Sprintf("%s: %v", l, err))
	}
	return nil, fmt.Errorf("open local sandbox %s: this machine cannot contain it (%s); %s", spec.Name, strings.Join(why, "; "), containFix)
}

const containFix = "install bubblewrap, use docker, or accept no containment with --allow-uncontained"

// levels are those to try, best first.
func (p *Provider) levels() []Level {
	if p.opt.Level != "" {
		return []Level{p.opt.Level}
	}
	levels := []Level{Bubblewrap, Namespaces}
	if p.opt.AllowUncontained {
		levels = append(levels, None)
	}
	return levels
}

func (p *Provider) openAt(ctx context.Context, spec sandbox.Spec, level Level) (*folder, error) {
	if level == None && !p.opt.AllowUncontained {
		return nil, errors.New("not allowed")
	}
	b := &folder{p: p, id: newID(spec.Name), level: level, network: spec.Network, calls: map[uint64]*call{},
		lost: make(chan struct{}), ended: make(chan struct{})}
	if level == None {
		b.marks.Prefix = b.id + "/"
	}
	// The owner file comes first and goes last, so that no folder is ever
	// without one.
	if err := createWhole(b.ownerFile(), p.owner.String()+"\n"); err != nil {
		return nil, err
	}
	err := b.start(ctx, spec)
	if err == nil {
		p.mu.Lock()
		if p.done {
			err = errors.New("the provider is closed")
		} else {
			p.open[b] = true
		}
		p.mu.Unlock()
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func newID(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, name)
	var random [5]byte
	rand.Read(random[:]) // never fails: it ends the program instead
	return "rollbench-" + clean[:min(len(clean), 40)] + "-" + hex.EncodeToString(random[:])
}

func (b *folder) dir() string       { return filepath.Join(b.p.opt.Home, b.id) }
func (b *folder) ownerFile() string { return b.dir() + ".owner" }

// createWhole makes a file that is never seen without its content: whoever dies
// between two calls would leave an owner file that names nobody.
func createWhole(name, text string) error {
	fd, err := unix.Open(filepath.Dir(name), unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil { // not on every file system
		return os.WriteFile(name, []byte(text), 0o600)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &os.PathError{Op: "create", Path: name, Err: err}
	}
	return nil
}

func appendLine(name, line string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

func (b *folder) start(ctx context.Context, spec sandbox.Spec) error {
	root := filepath.Join(b.dir(), "root")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	b.diskMB = or(spec.DiskMB, b.p.opt.DiskMB)
	if spec.From != "" {
		if err := b.fill(ctx, spec.From, root, int64(b.diskMB)<<20); err != nil {
			return err
		}
	}
	var err error
	if b.world, err = newWorld(root, spec.Workdir, spec.Network, spec.From != "", b.p.opt.ReadOnly); err != nil {
		return err
	}
	if b.level == None && len(spec.Mounts) > 0 {
		return fmt.Errorf("%w sandbox.mounts without containment: nothing would keep them read-only", errSpec)
	}
	for _, m := range spec.Mounts {
		if err := b.world.mount(m); err != nil {
			return err
		}
	}
	o := b.p.opt
	h, err := groups("/proc/self")
	if err != nil {
		h = hierarchy{} // told as limits that are not in force
	}
	// They are written down before they exist.
	if places := h.places(b.id); len(places) > 0 {
		if err := appendLine(b.ownerFile(), groupLine+strings.Join(places, "\n"+groupLine)+"\n"); err != nil {
			return err
		}
	}
	b.groups = newCgroups(h, b.id, or(spec.MemoryMB, o.MemoryMB), or(spec.Pids, o.Pids), or(spec.CPUs, o.CPUs))
	cfg := config{Level: b.level, Root: root, Workdir: b.Workdir(), Binds: b.world.binds, Network: spec.Network,
		FileMB: b.diskMB}
	if slices.Contains(b.groups.short, "pids") && b.level != None && countsByNamespace() {
		n := or(spec.Pids, o.Pids)
		cfg.Procs = n + initThreads
		b.groups.short = slices.DeleteFunc(b.groups.short, func(s string) bool { return s == "pids" })
		b.groups.said = append([]string{fmt.Sprintf("pids %d", n)}, b.groups.said...)
	}
	prefix := ""
	if b.level == None {
		prefix = root
	}
	cfg.Env = baseEnv(prefix, spec.Env)
	return b.launch(ctx, cfg)
}

func or[T int | float64](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// engineSockets would let a sandbox open any other.
var engineSockets = []string{"/var/run/docker.sock", "/run/containerd/containerd.sock"}

// Kind is sandbox.Local.
func (b *folder) Kind() sandbox.Kind { return sandbox.Local }

// ID is the name of the sandbox's folder.
func (b *folder) ID() string { return b.id }

// Claim says whether it still lives. A folder keeps the name it was opened with.
func (b *folder) Claim(context.Context, string) error {
	select {
	case <-b.lost:
		return b.lostError()
	default:
		return nil
	}
}

// Workdir is where commands start.
func (b *folder) Workdir() string { return b.Path(b.world.workdir) }

// Path is the identity unless the sandbox has no root of its own.
func (b *folder) Path(p string) string {
	if b.level != None || !filepath.IsAbs(p) || p == b.world.root || strings.HasPrefix(p, b.world.root+"/") {
		return p
	}
	return filepath.Join(b.world.root, p)
}

// Exec runs one command.
func (b *folder) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	c.Dir = b.dirOf(c.Dir)
	return sandbox.Run(ctx, b, b.marks.Next("e"), c)
}

func (b *folder) dirOf(dir string) string {
	if dir == "" {
		return b.Workdir()
	}
	if !filepath.IsAbs(dir) {
		return filepath.Join(b.Workdir(), dir)
	}
	return b.Path(dir)
}

// Shell starts a long-lived shell.
func (b *folder) Shell(ctx context.Context) (sandbox.Shell, error) {
	return sandbox.NewShell(ctx, b, sandbox.ShellOptions{Dir: b.Workdir(), Group: b.marks.Next("s")})
}
