package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// copier copies the tree of a sandbox, which may be hostile and change meanwhile,
// with descriptors only: no link is followed, no mount entered. Files, folders,
// links (also hard ones), pipes, modes, times and holes come over; sockets do not.
type copier struct {
	ctx   context.Context
	mount uint64
	to    int              // descriptor of the new tree
	left  int64            // bytes that may still be copied
	first map[inode]string // where the first name of a file with several was copied to
	buf   []byte
}

type inode struct{ dev, ino uint64 }

// maxCopyDepth bounds the descriptors that are open at a time.
const maxCopyDepth = 1000

// copyTree copies what is in one folder into another, at most limit bytes.
func copyTree(ctx context.Context, from, to string, limit int64) error {
	src, err := unix.Open(from, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: from, Err: err}
	}
	dst, err := unix.Open(to, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		unix.Close(src)
		return &os.PathError{Op: "open", Path: to, Err: err}
	}
	defer unix.Close(dst)
	mount, err := mountID(src)
	if err != nil {
		unix.Close(src)
		return err
	}
	c := &copier{ctx: ctx, mount: mount, to: dst, left: limit, first: map[inode]string{}, buf: make([]byte, 256<<10)}
	return c.folder(os.NewFile(uintptr(src), from), dst, ".", 0)
}

// folder copies the entries of src and closes it.
func (c *copier) folder(src *os.File, dst int, path string, depth int) error {
	defer src.Close()
	if depth > maxCopyDepth {
		return fmt.Errorf("%.200s…: more than %d folders deep", path, maxCopyDepth)
	}
	for {
		names, err := src.Readdirnames(1024)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			err := c.entry(int(src.Fd()), dst, name, path+"/"+name, depth)
			if err != nil && !errors.Is(err, unix.ENOENT) { // removed meanwhile
				return err
			}
		}
	}
}

func (c *copier) entry(src, dst int, name, path string, depth int) error {
	fail := func(op string, err error) error {
		if err == nil {
			return nil
		}
		return &os.PathError{Op: op, Path: path[1:], Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstatat(src, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fail("stat", err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if err := c.subfolder(src, dst, name, path, depth); err != nil {
			return err
		}
	case unix.S_IFREG:
		if st.Nlink > 1 {
			if first, ok := c.first[inode{st.Dev, st.Ino}]; ok {
				return fail("link", unix.Linkat(c.to, first, dst, name, 0))
			}
			c.first[inode{st.Dev, st.Ino}] = path
		}
		if err := c.file(src, dst, name, path); err != nil {
			return err
		}
	case unix.S_IFLNK:
		buf := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(src, name, buf)
		if err == nil {
			err = unix.Symlinkat(string(buf[:n]), dst, name)
		}
		if err != nil {
			return fail("copy", err)
		}
	case unix.S_IFIFO:
		if err := unix.Mknodat(dst, name, unix.S_IFIFO|0o600, 0); err != nil {
			return fail("copy", err)
		}
	default:
		return nil
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		if err := unix.Fchmodat(dst, name, st.Mode&0o7777, 0); err != nil {
			return fail("chmod", err)
		}
	}
	return fail("set times of", unix.UtimesNanoAt(dst, name, []unix.Timespec{st.Atim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW))
}

func (c *copier) subfolder(src, dst int, name, path string, depth int) error {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	in, err := unix.Openat(src, name, flags, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path[1:], Err: err}
	}
	from := os.NewFile(uintptr(in), path)
	mount, err := mountID(in)
	if err == nil && mount != c.mount {
		err = fmt.Errorf("%s is a mount of its own", path[1:])
	}
	if err == nil {
		err = unix.Mkdirat(dst, name, 0o700)
	}
	out := -1
	if err == nil {
		out, err = unix.Openat(dst, name, flags, 0)
	}
	if err != nil {
		return errors.Join(&os.PathError{Op: "copy", Path: path[1:], Err: err}, from.Close())
	}
	defer unix.Close(out)
	return c.folder(from, out, path, depth+1)
}

// file copies the data of a file, and leaves its holes. The kernel shares the
// blocks where the file system can.
func (c *copier) file(src, dst int, name, path string) error {
	in, err := unix.Openat(src, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path[1:], Err: err}
	}
	from := os.NewFile(uintptr(in), path[1:])
	defer from.Close()
	out, err := unix.Openat(dst, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &os.PathError{Op: "create", Path: path[1:], Err: err}
	}
	to := os.NewFile(uintptr(out), path[1:])
	err = c.data(from, to)
	if cerr := to.Close(); err == nil {
		err = cerr
	}
	return err
}

func (c *copier) data(from, to *os.File) error {
	st, err := from.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return nil // another thing by now
	}
	for at := int64(0); at < st.Size(); {
		start, err := unix.Seek(int(from.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // only a hole is left
		}
		if err != nil {
			return &os.PathError{Op: "seek", Path: from.Name(), Err: err}
		}
		end, err := unix.Seek(int(from.Fd()), start, unix.SEEK_HOLE)
		if err != nil {
			return &os.PathError{Op: "seek", Path: from.Name(), Err: err}
		}
		if c.left -= end - start; c.left < 0 {
			return errors.New("its files take more than its disk limit")
		}
		if _, err := from.Seek(start, io.SeekStart); err != nil {
			return err
		}
		if _, err := to.Seek(start, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.CopyBuffer(to, io.LimitReader(from, end-start), c.buf); err != nil {
			return err
		}
		at = end
	}
	return to.Truncate(st.Size())
}
