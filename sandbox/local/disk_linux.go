package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The files of a sandbox are on a file system of this machine, and quotas need one
// that most machines lack. So its use is measured, and a sandbox that takes more
// than its limit is stopped.

const (
	// diskTick is how often growth of the file system is looked at: one system call.
	diskTick = 250 * time.Millisecond
	// diskEvery is the longest time between two measurements, which walk all files.
	diskEvery = 10 * time.Second
	// diskShare bounds what measuring takes: a fiftieth of one CPU, unless the file
	// system fills up.
	diskShare = 50
	// diskTries in a row may fail: a tree that changes is hard to walk.
	diskTries = 20
)

// watchDisk stops the sandbox when its files take more than limit bytes. It
// measures when the file system has lost half of the room that the sandbox had
// left, whoever took it, and now and then.
func (b *folder) watchDisk(limit int64) {
	tick := time.NewTicker(diskTick)
	defer tick.Stop()
	free, err := freeBytes(b.dir())
	used, last, cost, failed := int64(0), time.Now(), time.Duration(0), 0
	for {
		select {
		case <-b.lost:
			return
		case <-tick.C:
		}
		var left int64
		if left, err = freeBytes(b.dir()); err == nil {
			if free-left <= (limit-used)/2 && time.Since(last) < max(diskEvery, diskShare*cost) {
				continue
			}
			last = time.Now()
			used, err = b.diskUse()
			free, cost = left, time.Since(last)
		}
		if failed++; err == nil {
			failed = 0
		}
		switch {
		case used > limit:
			b.stop(fmt.Sprintf("it was stopped: its files take %d MB, more than its disk limit of %d MB", used>>20, limit>>20))
		case failed == diskTries:
			b.stop(fmt.Sprintf("it was stopped: what its files take cannot be measured: %v", err))
		}
	}
}

func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(st.Bfree) * st.Bsize, nil
}

// stop ends everything in the sandbox; why is part of each later error.
func (b *folder) stop(why string) {
	b.why.CompareAndSwap(nil, &why)
	b.conn.Close() // the init exits at the end of its socket
}

// diskUse is what the files below the sandbox's root take, and those without a name
// that its processes hold open.
func (b *folder) diskUse() (int64, error) {
	n, err := treeUse(filepath.Join(b.dir(), "root"), b.lost)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), diskEvery)
	defer cancel()
	r, _, err := b.ask(ctx, request{Op: opNameless})
	return n + r.Bytes, err
}

var errStopped = errors.New("stopped")

// treeUse is what the files below dir take on disk: no link is followed, no mount
// entered, and a file with several names counts once.
func treeUse(dir string, stop <-chan struct{}) (int64, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	u := use{dev: st.Dev, seen: map[uint64]bool{}, stop: stop}
	err = u.add(f, 0)
	return u.bytes, err
}

type use struct {
	bytes int64
	dev   uint64
	seen  map[uint64]bool // files with several names, by inode
	stop  <-chan struct{}
}

// maxUseDepth bounds the descriptors that are open at once. A path as long as the
// kernel takes is less deep.
const maxUseDepth = 2100

// add counts what is in a folder. What vanishes meanwhile does not count.
func (u *use) add(dir *os.File, depth int) error {
	for {
		select {
		case <-u.stop:
			return errStopped
		default:
		}
		names, err := dir.Readdirnames(1000)
		if len(names) == 0 {
			return nil // the end, or the folder was removed
		}
		for _, name := range names {
			if err := u.entry(int(dir.Fd()), name, depth); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

func (u *use) entry(dir int, name string, depth int) error {
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Dev != u.dev {
		return nil
	}
	folder := st.Mode&unix.S_IFMT == unix.S_IFDIR
	if !folder && st.Nlink > 1 {
		if u.seen[st.Ino] {
			return nil
		}
		u.seen[st.Ino] = true
	}
	u.bytes += st.Blocks * 512
	if !folder {
		return nil
	}
	if depth == maxUseDepth {
		return fmt.Errorf("folders are nested more than %d deep", maxUseDepth)
	}
	sub, err := openFolder(dir, name)
	switch {
	case errors.Is(err, unix.EACCES):
		// A folder that nobody may read can be full all the same.
		return u.locked(dir, name, st.Mode, depth)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil // it is another thing by now
	case err != nil:
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer sub.Close()
	return u.add(sub, depth+1)
}

const folderFlags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

func openFolder(dir int, name string) (*os.File, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|folderFlags, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// locked counts what is in a folder whose mode has to be changed for it.
func (u *use) locked(dir int, name string, mode uint32, depth int) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|folderFlags, 0)
	if err != nil {
		return nil // it is another thing by now
	}
	defer unix.Close(fd)
	link := "/proc/self/fd/" + strconv.Itoa(fd)
	if err := unix.Chmod(link, mode&0o7777|0o500); err != nil {
		return &os.PathError{Op: "chmod", Path: name, Err: err}
	}
	defer unix.Chmod(link, mode&0o7777) // fails only where the folder is gone
	sub, err := os.Open(link)
	if err != nil {
		return err
	}
	defer sub.Close()
	return u.add(sub, depth+1)
}

// nameless is what files take that have no name any more and that processes of this
// pid namespace hold open.
func nameless() (int64, error) {
	var root unix.Stat_t
	if err := unix.Stat("/", &root); err != nil {
		return 0, &os.PathError{Op: "stat", Path: "/", Err: err}
	}
	all, err := processes()
	if err != nil {
		return 0, err
	}
	seen := map[uint64]bool{} // by inode
	total := int64(0)
	for pid := range all {
		folder := "/proc/" + strconv.Itoa(pid) + "/fd"
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // it has ended, or hides
		}
		for _, e := range entries {
			name := folder + "/" + e.Name()
			// Most descriptors are pipes and files with a name.
			if to, err := os.Readlink(name); err != nil || !strings.HasSuffix(to, " (deleted)") {
				continue
			}
			var st unix.Stat_t
			if unix.Stat(name, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Dev != root.Dev || seen[st.Ino] {
				continue
			}
			seen[st.Ino] = true
			total += st.Blocks * 512
		}
	}
	return total, nil
}
