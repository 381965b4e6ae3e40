package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Usage is what the files below a folder occupy, in bytes. It stops once it has
// counted more than enough. The tree may be hostile and change meanwhile: no link
// is followed and no other file system entered. Folders in one another without end
// would take this process's memory: beyond maxDepth it is ErrExhausted. What this
// process may not read, nor make readable, is not counted.
func Usage(ctx context.Context, dir string, enough int64) (int64, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	u := usage{ctx: ctx, enough: enough}
	if err := u.below(fd, ".", 0); err != nil && !errors.Is(err, errEnough) {
		return 0, fmt.Errorf("disk use of %s: %w", dir, err)
	}
	return u.sum, nil
}

// Free is how many bytes the file system of a folder has left.
func Free(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(st.Bfree) * st.Bsize, nil
}

var errEnough = errors.New("enough")

// usage counts. Folders are opened by their path from a base, so that only few are
// open at a time; a path that gets too long for the kernel makes the next base.
type usage struct {
	ctx    context.Context
	enough int64
	sum    int64
}

const (
	longPath = 3000 // of the kernel's 4096; a name has up to 255
	// maxDepth is more folders in one another than any path can name at once.
	maxDepth = 2500
)

func (u *usage) below(base int, path string, depth int) error {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	if depth > maxDepth {
		return fmt.Errorf("%w: more than %d folders in one another", ErrExhausted, maxDepth)
	}
	fd, err := unix.Openat2(base, path, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV})
	if errors.Is(err, unix.EACCES) {
		var lock func()
		if fd, lock, err = unlock(base, path); err == nil {
			defer lock()
		}
	}
	switch {
	case errors.Is(err, unix.ENOSYS):
		return err
	case err != nil: // it is gone or another thing by now, or may not be read
		return nil
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	dirs, err := u.count(f)
	if err != nil {
		return err
	}
	if len(path) > longPath {
		base, path = fd, "."
	} else if err := f.Close(); err != nil {
		return err
	}
	for _, name := range dirs {
		if err := u.below(base, path+"/"+name, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// unlock opens a folder that its owner, who is this process's user, has closed to
// all: it can be full all the same. lock gives it its mode back.
func unlock(base int, path string) (fd int, lock func(), err error) {
	at, err := unix.Openat2(base, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV})
	if err != nil {
		return -1, nil, err
	}
	var st unix.Stat_t
	link := "/proc/self/fd/" + strconv.Itoa(at)
	if err = unix.Fstat(at, &st); err == nil {
		err = unix.Chmod(link, st.Mode&0o7777|0o500)
	}
	if err == nil {
		fd, err = unix.Open(link, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		unix.Close(at)
		return -1, nil, err
	}
	return fd, func() {
		unix.Chmod(link, st.Mode&0o7777) // fails only where the folder is gone
		unix.Close(at)
	}, nil
}

// count what stands in a folder, and name the folders there.
func (u *usage) count(f *os.File) (dirs []string, err error) {
	for {
		names, err := f.Readdirnames(1024)
		if errors.Is(err, io.EOF) || errors.Is(err, unix.ENOENT) { // it was removed meanwhile
			return dirs, nil
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			var st unix.Stat_t
			if unix.Fstatat(int(f.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue // it is gone
			}
			if st.Mode&unix.S_IFMT == unix.S_IFDIR {
				dirs = append(dirs, name)
				st.Nlink = 1
			}
			// The blocks of a file count once, over all of its names.
			u.sum += st.Blocks * 512 / int64(max(st.Nlink, 1))
		}
		if u.sum > u.enough {
			return nil, errEnough
		}
	}
}
