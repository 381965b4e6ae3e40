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
	"syscall"
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
	b.groups = newCgroups(b.id, or(spec.MemoryMB, o.MemoryMB), or(spec.Pids, o.Pids), or(spec.CPUs, o.CPUs))
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

// launch starts the init and waits for its hello.
func (b *folder) launch(ctx context.Context, cfg config) error {
	stage, frames := stageServe, 1
	attr := &syscall.SysProcAttr{Setsid: true}
	switch b.level {
	case Bubblewrap:
		bwrap, err := exec.LookPath("bwrap")
		if err != nil {
			return errors.New("bwrap is not installed")
		}
		stage, frames = stageJoin, 2
		if cfg.Exec, err = b.world.bwrapArgs(bwrap, cfg.Network); err != nil {
			return err
		}
	case Namespaces:
		stage, frames = stageMount, 2
		attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
		if !cfg.Network {
			attr.Cloneflags |= unix.CLONE_NEWNET
		}
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if err := b.exec(stage, attr); err != nil {
		return err
	}
	if err := b.groups.admit(b.cmd.Process.Pid); err != nil {
		return err
	}
	if err := b.configure(ctx, cfg, frames); err != nil {
		return fmt.Errorf("%w%s", err, b.lastWords())
	}
	b.wg.Go(b.receive)
	b.wg.Go(b.watchDisk)
	return nil
}

// engineSockets would let a sandbox open any other.
var engineSockets = []string{"/var/run/docker.sock", "/run/containerd/containerd.sock"}

// exec starts this binary again as a stage.
func (b *folder) exec(stage string, attr *syscall.SysProcAttr) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "init"), os.NewFile(uintptr(pair[1]), "owner")
	defer closeAll([]*os.File{ours, theirs})
	// Credentials tell the init's pid as seen from here.
	if err := unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	c, err := net.FileConn(ours)
	if err != nil {
		return err
	}
	b.conn = c.(*net.UnixConn)
	binary, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer binary.Close()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{"rollbench", initName, stage}, Env: []string{"PATH=" + searchPath},
		Dir: "/", ExtraFiles: []*os.File{theirs, binary}, Stderr: &b.stderr, SysProcAttr: attr, WaitDelay: 2 * time.Second}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start init: %w", err)
	}
	b.cmd = cmd
	b.wg.Go(func() {
		defer close(b.ended)
		// How it ended shows on the socket; only what it said is of interest.
		cmd.Wait()
	})
	return nil
}

// configure sends the configuration once for each stage and awaits the hello.
func (b *folder) configure(ctx context.Context, cfg config, frames int) error {
	frame, err := encode(cfg)
	if err != nil {
		return err
	}
	if frames == 2 {
		if err := send(b.conn, frame, nil); err != nil {
			return fmt.Errorf("configure init: %w", err)
		}
	}
	fds := make([]int, len(b.groups.tasks))
	for i, f := range b.groups.tasks {
		fds[i] = int(f.Fd())
	}
	if err := send(b.conn, frame, fds); err != nil {
		return fmt.Errorf("configure init: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { b.conn.SetReadDeadline(time.Now()) })
	defer stop()
	if err := b.conn.SetReadDeadline(time.Now().Add(startTimeout)); err != nil {
		return err
	}
	var hello response
	_, pid, err := receive(b.conn, &hello)
	if err != nil {
		return fmt.Errorf("init did not start: %w", err)
	}
	b.init, b.ns = pid, hello.NS
	start, err := sandbox.StartTime(pid)
	if err != nil {
		return fmt.Errorf("find init: %w", err)
	}
	if b.level != None {
		if b.nsFile, err = os.Open(pidNamespace(pid)); err != nil {
			return fmt.Errorf("find init: %w", err)
		}
	}
	if err := appendLine(b.ownerFile(), fmt.Sprintf("%d/%d %s\n", pid, start, b.level)); err != nil {
		return err
	}
	if !stop() {
		return ctx.Err()
	}
	return b.conn.SetReadDeadline(time.Time{})
}

// lastWords ends a failed init and tells what it wrote.
func (b *folder) lastWords() string {
	b.conn.Close()
	select {
	case <-b.ended:
	case <-time.After(2 * time.Second):
		b.cmd.Process.Kill()
		<-b.ended
	}
	if s := strings.TrimSpace(b.stderr.String()); s != "" {
		return " (" + strings.ReplaceAll(s[:min(len(s), 500)], "\n", "; ") + ")"
	}
	return ""
}
