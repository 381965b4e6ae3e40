package local

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// unpackTar unpacks below root. Names that lead out, by themselves or through a
// symbolic link, are errors, and so is what is neither file, folder nor link.
func unpackTar(root *os.Root, r io.Reader) error {
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read archive: %w", err)
		}
		name, err := entryName(h.Name)
		if err != nil {
			return err
		}
		if err := unpackEntry(root, name, h, tr); err != nil {
			return fmt.Errorf("unpack %q: %w", h.Name, err)
		}
	}
}

func entryName(name string) (string, error) {
	clean := path.Clean(name)
	if path.IsAbs(name) || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", fmt.Errorf("archive entry %q leads out of the folder: refused", name)
	}
	return clean, nil
}

func unpackEntry(root *os.Root, name string, h *tar.Header, r io.Reader) error {
	perm := fs.FileMode(h.Mode).Perm()
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil
	case tar.TypeDir:
		if name == "." {
			return nil
		}
		if err := root.MkdirAll(name, 0o755); err != nil {
			return err
		}
		return root.Chmod(name, perm|0o700) // or its entries could not be unpacked
	case tar.TypeReg:
		// A few bytes of a sparse file may stand for exabytes of zeros.
		for key := range h.PAXRecords {
			if strings.HasPrefix(key, "GNU.sparse.") {
				return errors.New("sparse files are not unpacked")
			}
		}
		return unpackFile(root, name, h, perm, r)
	case tar.TypeSymlink:
		if err := makeRoom(root, name); err != nil {
			return err
		}
		return root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		target, err := entryName(h.Linkname)
		if err != nil {
			return err
		}
		if err := makeRoom(root, name); err != nil {
			return err
		}
		return root.Link(target, name)
	}
	return fmt.Errorf("entries of type %q are not unpacked", h.Typeflag)
}

func unpackFile(root *os.Root, name string, h *tar.Header, perm fs.FileMode, r io.Reader) error {
	if err := makeRoom(root, name); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err == nil {
		err = f.Chmod(perm)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil && !h.ModTime.IsZero() && h.ModTime.Unix() != 0 {
		err = root.Chtimes(name, h.ModTime, h.ModTime)
	}
	return err
}

// makeRoom makes room for a file or link; a folder in its place is an error.
func makeRoom(root *os.Root, name string) error {
	st, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.IsDir() {
		return errors.New("a folder is in its place")
	}
	return root.Remove(name)
}

// packTar packs name, a file or folder of root; entries begin with name. Links
// are packed as links, except name itself. Sockets, pipes and devices are left
// out.
func packTar(root *os.Root, name string, w io.Writer) error {
	tw := tar.NewWriter(w)
	if err := packEntry(root, name, name, true, tw); err != nil {
		return err
	}
	return tw.Close()
}

func packEntry(root *os.Root, name, as string, follow bool, tw *tar.Writer) error {
	stat := root.Lstat
	if follow {
		stat = root.Stat
	}
	st, err := stat(name)
	if err != nil {
		return err
	}
	link := ""
	if st.Mode()&fs.ModeSymlink != 0 {
		if link, err = root.Readlink(name); err != nil {
			return err
		}
	} else if !st.Mode().IsRegular() && !st.IsDir() {
		return nil
	}
	h, err := tar.FileInfoHeader(st, link)
	if err != nil {
		return err
	}
	h.Name, h.Uname, h.Gname, h.Format = as, "", "", tar.FormatPAX
	if st.IsDir() {
		h.Name += "/"
	}
	if st.IsDir() || link != "" {
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
	}
	switch {
	case st.IsDir():
		return packFolder(root, name, as, tw)
	case link != "":
		return nil
	}
	return packFile(root, name, h, tw)
}

func packFolder(root *os.Root, name, as string, tw *tar.Writer) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	entries, err := d.ReadDir(-1)
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		err := packEntry(root, path.Join(name, e.Name()), path.Join(as, e.Name()), false, tw)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // removed in the meantime
			return err
		}
	}
	return nil
}

// packFile packs exactly as many bytes as the header promises, though the file
// may change under it.
func packFile(root *os.Root, name string, h *tar.Header, tw *tar.Writer) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return nil
	}
	h.Size = st.Size()
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(tw, io.LimitReader(f, h.Size))
	if err == nil && n < h.Size {
		err = fmt.Errorf("%s shrank while it was read", name)
	}
	return err
}
