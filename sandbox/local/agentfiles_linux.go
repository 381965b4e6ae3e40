package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Files are opened by the init, whose root is the sandbox's: any path, through
// any symbolic link, ends inside. Without a root of its own (level None) paths
// are resolved below the folder by os.Root, which refuses links that lead out.

// place is a path and the folder it is resolved in.
type place struct {
	root *os.Root // nil: the process's own root
	path string
}

func (a *agent) place(path string) (place, error) {
	if a.cfg.Level != None {
		if !filepath.IsAbs(path) {
			path = filepath.Join(a.cfg.Workdir, path)
		}
		return place{path: filepath.Clean(path)}, nil
	}
	// Commands see whole paths of this machine; the specification's are taken
	// from the folder.
	switch rel, inside := strings.CutPrefix(filepath.Clean(path), a.cfg.Root+"/"); {
	case inside:
		path = "/" + rel
	case filepath.Clean(path) == a.cfg.Root:
		path = "/"
	case !filepath.IsAbs(path):
		path = strings.TrimPrefix(filepath.Join(a.cfg.Workdir, path), a.cfg.Root)
	}
	root, err := os.OpenRoot(a.cfg.Root)
	if err != nil {
		return place{}, err
	}
	path = strings.TrimPrefix(filepath.Clean("/"+path), "/")
	if path == "" {
		path = "."
	}
	return place{root: root, path: path}, nil
}

func (p place) close() {
	if p.root != nil {
		p.root.Close()
	}
}

func (p place) open(flag int, mode fs.FileMode) (*os.File, error) {
	if p.root != nil {
		return p.root.OpenFile(p.path, flag, mode)
	}
	return os.OpenFile(p.path, flag, mode)
}

func (p place) stat() (fs.FileInfo, error) {
	if p.root != nil {
		return p.root.Stat(p.path)
	}
	return os.Stat(p.path)
}

// chmod follows no link of the kernel's own (/proc/self/fd/4, /proc/self/exe): this
// process has files of the machine open, and its descriptors lead to them.
func (p place) chmod(mode fs.FileMode) error {
	if p.root != nil {
		return p.root.Chmod(p.path, mode)
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, p.path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return &os.PathError{Op: "chmod", Path: p.path, Err: err}
	}
	defer unix.Close(fd)
	return os.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode)
}

func (p place) mkdirAll(path string) error {
	if p.root != nil {
		return p.root.MkdirAll(path, 0o755)
	}
	return os.MkdirAll(path, 0o755)
}

// openRead opens a regular file. O_NONBLOCK keeps a named pipe from blocking.
func (a *agent) openRead(path string) (*os.File, error) {
	p, err := a.place(path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	f, err := p.open(os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return regular(f)
}

func regular(f *os.File) (*os.File, error) {
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file but %s", f.Name(), st.Mode())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// openWrite opens a regular file empty, for the owner to fill.
func (a *agent) openWrite(path string, mode fs.FileMode) (*os.File, error) {
	p, err := a.place(path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.mkdirAll(filepath.Dir(p.path)); err != nil {
		return nil, err
	}
	old, err := p.stat()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if old != nil && !old.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file but %s", path, old.Mode())
	}
	final := mode.Perm()
	if mode == 0 {
		final = 0o644
		if old != nil {
			final = old.Mode().Perm()
		}
	}
	// A read-only file is opened up first: the owner's write is not the command's.
	if old != nil && old.Mode().Perm()&0o200 == 0 {
		if err := p.chmod(old.Mode().Perm() | 0o200); err != nil {
			return nil, err
		}
	}
	f, err := p.open(os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if f, err = regular(f); err != nil {
		return nil, err
	}
	if err := f.Chmod(final); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (a *agent) stat(path string) ([]info, error) {
	p, err := a.place(path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	st, err := p.stat()
	if err != nil {
		return nil, err
	}
	return []info{infoOf(st)}, nil
}

func (a *agent) list(path string) ([]info, error) {
	p, err := a.place(path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	d, err := p.open(os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	infos := make([]info, 0, len(entries))
	for _, e := range entries {
		st, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed in the meantime
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, infoOf(st))
	}
	slices.SortFunc(infos, func(a, b info) int { return strings.Compare(a.N, b.N) })
	return infos, nil
}

// rootAt opens a folder as the bounds of an archive.
func (p place) rootAt(path string) (*os.Root, error) {
	if p.root != nil {
		return p.root.OpenRoot(path)
	}
	return os.OpenRoot(path)
}

func (a *agent) unpackInto(dst string, r io.Reader) error {
	p, err := a.place(dst)
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.mkdirAll(p.path); err != nil {
		return err
	}
	root, err := p.rootAt(p.path)
	if err != nil {
		return err
	}
	defer root.Close()
	return unpackTar(root, r)
}

func (a *agent) pack(path string, files []*os.File) error {
	w, err := passed(files)
	if err != nil {
		return err
	}
	p, err := a.place(path)
	if err != nil {
		return err
	}
	defer p.close()
	if _, err := p.stat(); err != nil {
		return err
	}
	root, err := p.rootAt(filepath.Dir(p.path))
	if err != nil {
		return err
	}
	defer root.Close()
	return packTar(root, filepath.Base(p.path), w)
}
