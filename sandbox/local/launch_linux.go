package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"rollbench/sandbox"
)

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
	// Before it is told anything: without its configuration it ends with us.
	if err := b.noteStage(); err != nil {
		return err
	}
	if err := b.groups.admit(b.cmd.Process.Pid); err != nil {
		return err
	}
	if err := b.configure(ctx, cfg, frames); err != nil {
		return fmt.Errorf("%w%s", err, b.lastWords())
	}
	b.wg.Go(b.receive)
	b.wg.Go(func() { b.watchDisk(int64(cfg.FileMB) << 20) })
	return nil
}

// noteStage writes down the first process, which may be bubblewrap by the time that
// someone looks for what we left.
func (b *folder) noteStage() error {
	pid := b.cmd.Process.Pid
	start, err := sandbox.StartTime(pid)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it has ended; why is told by what follows
	}
	if err != nil {
		return fmt.Errorf("find init: %w", err)
	}
	return appendLine(b.ownerFile(), fmt.Sprintf("%d/%d %s\n", pid, start, starting))
}

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
