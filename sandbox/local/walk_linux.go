package local

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// walk writes the regular files below path as find's
// -printf '%y %s %T@ %C@ %i %P\0' does.
func (a *agent) walk(path string, skip []string, files []*os.File) error {
	w, err := passed(files)
	if err != nil {
		return err
	}
	p, err := a.place(path)
	if err != nil {
		return err
	}
	defer p.close()
	var tree fs.FS
	if p.root == nil {
		tree = os.DirFS(p.path)
	} else {
		root, err := p.root.OpenRoot(p.path)
		if err != nil {
			return err
		}
		defer root.Close()
		tree = root.FS()
	}
	out := bufio.NewWriterSize(w, 64<<10)
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil: // removed in the meantime, or not ours to read
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() && name != "." && slices.Contains(skip, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		st, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return writeEntry(out, name, st)
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

func writeEntry(out *bufio.Writer, name string, st fs.FileInfo) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: no inode", name)
	}
	_, err := fmt.Fprintf(out, "f %d %d.%09d %d.%09d %d %s\x00", st.Size(), sys.Mtim.Sec, sys.Mtim.Nsec, sys.Ctim.Sec, sys.Ctim.Nsec, sys.Ino, name)
	return err
}
