package local

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxDepth is how deep removal goes before it moves a subtree up, so that
// neither descriptors nor the stack run out on a hostile tree.
const maxDepth = 100

// remover deletes a tree below home with descriptors only: no path is resolved
// twice, no link followed, no mount entered.
type remover struct {
	top   int    // descriptor of the sandbox's folder, to which subtrees are moved
	mount uint64 // id of the mount that home is on
	moved int
}

// removeTree removes the folder name of home; a missing one is fine.
func removeTree(home, name string) error {
	fd, err := unix.Open(home, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: home, Err: err}
	}
	defer unix.Close(fd)
	mount, err := mountID(fd)
	if err != nil {
		return err
	}
	r := &remover{mount: mount}
	r.top, err = unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(r.top)
	for {
		before := r.moved
		err := r.remove(fd, name, 0)
		// Each pass ends 100 levels deeper than the one before.
		if errors.Is(err, unix.ENOTEMPTY) && r.moved > before {
			continue
		}
		return err
	}
}

func mountID(fd int) (uint64, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st); err != nil {
		return 0, os.NewSyscallError("statx", err)
	}
	return st.Mnt_id, nil
}

func (r *remover) remove(dir int, name string, depth int) error {
	err := unix.Unlinkat(dir, name, 0)
	switch {
	case err == nil || errors.Is(err, unix.ENOENT):
		return nil
	case !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM):
		return &os.PathError{Op: "remove", Path: name, Err: err}
	}
	if depth == maxDepth {
		r.moved++
		up := "deep-" + strconv.Itoa(r.moved)
		if err := unix.Renameat(dir, name, r.top, up); err != nil {
			return &os.PathError{Op: "move", Path: name, Err: err}
		}
		return nil
	}
	if err := r.empty(dir, name, depth); err != nil {
		return err
	}
	if err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "remove", Path: name, Err: err}
	}
	return nil
}

func (r *remover) empty(dir int, name string, depth int) error {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	// A folder without permissions is opened up through a descriptor of itself.
	path, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(path)
	mount, err := mountID(path)
	if err != nil {
		return err
	}
	if mount != r.mount {
		return fmt.Errorf("%s is a mount of its own: not entered", name)
	}
	if err := unix.Fchmodat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(path), 0o700, 0); err != nil {
		return &os.PathError{Op: "chmod", Path: name, Err: err}
	}
	fd, err := unix.Openat(dir, name, flags, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := r.remove(fd, n, depth+1); err != nil {
			return err
		}
	}
	return nil
}
