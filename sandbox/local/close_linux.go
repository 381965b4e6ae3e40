package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"rollbench/sandbox"
)

// Close kills everything and removes the folder.
func (b *folder) Close() error {
	b.close1.Do(func() {
		b.p.mu.Lock()
		delete(b.p.open, b)
		b.p.mu.Unlock()
		b.closed = b.end()
	})
	return b.closed
}

func (b *folder) end() error {
	var errs []error
	if b.conn != nil {
		b.conn.Close() // the init exits at the end of its socket
	}
	if b.cmd != nil {
		errs = append(errs, b.kill())
	}
	b.wg.Wait()
	if b.cmd != nil && b.level != None && b.ns != 0 {
		errs = append(errs, namespaceGone(b.ns))
	}
	closeAll([]*os.File{b.nsFile})
	errs = append(errs, b.groups.remove())
	if err := removeSandbox(b.p.opt.Home, b.id); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close sandbox %s: %w", b.id, err)
	}
	return nil
}

// kill does not rely on the init's exit, except where only the init can find
// what it started.
func (b *folder) kill() error {
	grace := time.Duration(0)
	if b.level == None {
		grace = killLimit + time.Second
	}
	select {
	case <-b.ended:
		return nil
	case <-time.After(grace):
	}
	if b.init > 0 {
		if err := killInit(b.init, b.ns, b.level); err != nil {
			return err
		}
	}
	// bubblewrap ends by itself when its child has.
	select {
	case <-b.ended:
		return nil
	case <-time.After(2 * time.Second):
	}
	if err := b.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// killInit kills the init through a pidfd, and only if that pid still is in the
// sandbox's own namespace.
func killInit(pid int, ns uint64, level Level) error {
	if pid <= 1 {
		return fmt.Errorf("init has pid %d", pid)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	defer unix.Close(fd)
	if level != None && !inNamespace(pid, ns) {
		return nil // gone, and its pid reused
	}
	return endPidfd(fd)
}

func pidNamespace(pid int) string { return "/proc/" + strconv.Itoa(pid) + "/ns/pid" }

func inNamespace(pid int, ns uint64) bool {
	var st unix.Stat_t
	err := unix.Stat(pidNamespace(pid), &st)
	return err == nil && st.Ino == ns
}

// namespaceGone waits until no process of a pid namespace is left. The caller
// holds the namespace open, or its number may soon be that of a new one.
func namespaceGone(ns uint64) error {
	end := time.Now().Add(killLimit)
	for {
		left, err := namespacePids(ns)
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d processes did not die, pid %d among them", len(left), left[0])
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func namespacePids(ns uint64) ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var left []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && inNamespace(pid, ns) {
			left = append(left, pid)
		}
	}
	return left, nil
}

// removeSandbox removes folder and owner file.
func removeSandbox(home, id string) error {
	if err := removeTree(home, id); err != nil {
		return fmt.Errorf("remove %s: %w", filepath.Join(home, id), err)
	}
	err := os.Remove(filepath.Join(home, id+".owner"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Reap removes what dead owners of this machine, boot and pid namespace left.
func (p *Provider) Reap(ctx context.Context) ([]string, error) {
	entries, err := os.ReadDir(p.opt.Home)
	if err != nil {
		return nil, fmt.Errorf("reap local sandboxes: %w", err)
	}
	var removed []string
	var errs []error
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".owner")
		if !ok || !strings.HasPrefix(id, "rollbench-") || !e.Type().IsRegular() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return removed, errors.Join(append(errs, err)...)
		}
		done, err := p.reapOne(id)
		if err != nil {
			errs = append(errs, fmt.Errorf("reap %s: %w", id, err))
		} else if done {
			removed = append(removed, "local sandbox "+id)
		}
	}
	return removed, errors.Join(errs...)
}

func (p *Provider) reapOne(id string) (bool, error) {
	b, err := os.ReadFile(filepath.Join(p.opt.Home, id+".owner"))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil // another process was faster
	}
	if err != nil {
		return false, err
	}
	first, rest, _ := strings.Cut(string(b), "\n")
	owner, err := sandbox.ParseOwner(first)
	if err != nil {
		return false, err
	}
	if owner.Alive() {
		return false, nil
	}
	// The init before what started it: it may have to end more than itself.
	var groups []string
	for _, line := range slices.Backward(strings.Split(rest, "\n")) {
		if dir, ok := strings.CutPrefix(line, groupLine); ok {
			groups = append(groups, dir)
			continue
		}
		if err := killLeft(strings.TrimSpace(line)); err != nil {
			return false, err
		}
	}
	for _, dir := range groups {
		if err := removeLeft(dir, id); err != nil {
			return false, err
		}
	}
	return true, removeSandbox(p.opt.Home, id)
}

// starting stands for the level in the line of the first process of a sandbox.
const starting Level = "starting"

// endWithChildren kills a process that was making a sandbox, and what it had
// started for that, and waits until they are gone. Nothing runs in the sandbox.
func endWithChildren(pid, fd int) error {
	var all []int
	defer func() {
		for _, c := range all {
			unix.Close(c)
		}
	}()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for word := range strings.FieldsSeq(string(b)) {
		child, err := strconv.Atoi(word)
		if err != nil || child <= 1 {
			return fmt.Errorf("bad child %q of process %d", word, pid)
		}
		c, err := unix.PidfdOpen(child, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return os.NewSyscallError("pidfd_open", err)
		}
		// The pidfd holds on to one process: it must still be that one's child.
		if p, ok := readProc(child); !ok || p.Parent != pid {
			unix.Close(c)
			continue
		}
		all = append(all, c)
		if err := endPidfd(c); err != nil {
			return err
		}
	}
	if err := endPidfd(fd); err != nil {
		return err
	}
	for _, c := range append(all[:len(all):len(all)], fd) {
		if ended, err := waitPidfd(c, killLimit); err != nil || !ended {
			return errors.Join(err, fmt.Errorf("process %d, or what it started, does not die", pid))
		}
	}
	return nil
}

// killLeft kills an init, "PID/START LEVEL", whose owner is dead. Normally it has
// ended with its owner.
func killLeft(line string) error {
	if line == "" {
		return nil // the owner died before the init was up
	}
	var pid int
	var start uint64
	var level Level
	if _, err := fmt.Sscanf(line, "%d/%d %s", &pid, &start, &level); err != nil || pid <= 1 {
		return fmt.Errorf("bad init line %q", line)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	defer unix.Close(fd)
	// The pidfd holds on to one process; its start time says which.
	if now, err := sandbox.StartTime(pid); err != nil || now != start {
		return nil
	}
	if level == starting {
		return endWithChildren(pid, fd)
	}
	if level == None {
		// Only this init knows what it started: it is given time to kill that.
		if ended, err := waitPidfd(fd, killLimit+time.Second); ended || err != nil {
			return err
		}
		return endPidfd(fd)
	}
	ns, err := os.Open(pidNamespace(pid))
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer ns.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(ns.Fd()), &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if err := endPidfd(fd); err != nil {
		return err
	}
	return namespaceGone(st.Ino)
}

func endPidfd(fd int) error {
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return os.NewSyscallError("pidfd_send_signal", err)
	}
	return nil
}

// waitPidfd says whether a process has ended within d.
func waitPidfd(fd int, d time.Duration) (bool, error) {
	end := time.Now().Add(d)
	for {
		left := max(time.Until(end), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left/time.Millisecond))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, os.NewSyscallError("poll", err)
		}
		return n > 0, nil
	}
}
