package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"rollbench/sandbox"
)

// CopyIn unpacks a tar stream below dst, which is made when absent. Whatever
// owners the stream names, the files belong to the image's user.
func (c *Container) CopyIn(ctx context.Context, dst string, stream io.Reader) error {
	ctx, cancel := context.WithTimeout(ctx, copyLimit)
	defer cancel()
	p := c.abs(dst)
	if _, err := c.fileCall(ctx, "copy to", p, c.own()+makeDirs+`make "$p"`); err != nil {
		return err
	}
	uid, gid, err := c.ids()
	if err != nil {
		return err
	}
	err = piped(func(w io.Writer) error { return rewrite(w, stream, uid, gid) }, func(r io.Reader) error {
		return c.check(c.p.engine.CopyToContainer(ctx, c.id, p, r, container.CopyToContainerOptions{}))
	})
	if err != nil {
		return fmt.Errorf("copy to %s: %w", p, err)
	}
	return nil
}

// piped sends what is being written. Of two errors it is the sender's, unless an entry
// was refused.
func piped(write func(io.Writer) error, send func(io.Reader) error) error {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := write(w)
		w.CloseWithError(err)
		done <- err
	}()
	err := send(r)
	r.CloseWithError(errors.New("the engine stopped reading"))
	if bad := <-done; bad != nil && (err == nil || errors.Is(bad, errEntry)) {
		return bad
	}
	return err
}

// errEntry is a tar entry that may not be unpacked.
var errEntry = errors.New("refused")

// rewrite copies a tar stream, refusing entries that would leave the folder
// they are unpacked into, and gives each entry the owner.
func rewrite(w io.Writer, r io.Reader, uid, gid int) error {
	in, out := tar.NewReader(r), tar.NewWriter(w)
	links := map[string]bool{} // symbolic links of this stream: nothing is unpacked through one
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out.Close()
		}
		if err != nil {
			return fmt.Errorf("read the tar stream: %w", err)
		}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
			continue // comments, as git archive writes them
		case tar.TypeReg, tar.TypeDir, tar.TypeSymlink:
		case tar.TypeLink:
			if leaves(h.Linkname, links) {
				return fmt.Errorf("entry %q: %w: its link %q leaves the folder", h.Name, errEntry, h.Linkname)
			}
		default:
			return fmt.Errorf("entry %q: %w: it is neither file, folder nor link", h.Name, errEntry)
		}
		if leaves(h.Name, links) {
			return fmt.Errorf("entry %q: %w: it leaves the folder", h.Name, errEntry)
		}
		if h.Typeflag == tar.TypeSymlink {
			links[path.Clean(h.Name)] = true
		} else {
			delete(links, path.Clean(h.Name)) // replaced
		}
		h.Uid, h.Gid, h.Uname, h.Gname = uid, gid, "", ""
		h.Format = tar.FormatUnknown // let the writer choose what fits
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(out, in); err != nil {
			return err
		}
	}
}

func leaves(name string, links map[string]bool) bool {
	if path.IsAbs(name) || slices.Contains(strings.Split(name, "/"), "..") {
		return true
	}
	for dir := path.Dir(path.Clean(name)); dir != "."; dir = path.Dir(dir) {
		if links[dir] {
			return true
		}
	}
	return false
}

func (c *Container) ids() (uid, gid int, err error) {
	if c.user == "" {
		return 0, 0, nil
	}
	u, g, _ := strings.Cut(c.user, ":")
	uid, err1 := strconv.Atoi(u)
	gid, err2 := strconv.Atoi(g)
	return uid, gid, errors.Join(err1, err2)
}

// CopyOut packs path as a tar stream whose names begin with path's last element.
func (c *Container) CopyOut(ctx context.Context, file string) (io.ReadCloser, error) {
	p := c.abs(file)
	if err := c.alive(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, copyLimit)
	defer cancel() // the stream is read to its end here
	stream, _, err := c.p.engine.CopyFromContainer(ctx, c.id, p)
	if err != nil {
		missing := cerrdefs.IsNotFound(err)
		if err = c.check(err); missing && !errors.Is(err, sandbox.ErrLost) {
			err = sandbox.ErrNotExist
		}
		return nil, fmt.Errorf("copy from %s: %w", p, err)
	}
	// An engine locks the container until the stream is read, and whoever reads
	// slowly or calls the sandbox meanwhile would wait for himself.
	f, err := spool(stream)
	if cerr := stream.Close(); err == nil && cerr != nil {
		err = errors.Join(cerr, f.Close())
	}
	if err != nil {
		if !errors.Is(err, sandbox.ErrTooLarge) {
			err = c.check(err)
		}
		return nil, fmt.Errorf("copy from %s: %w", p, err)
	}
	return f, nil
}

// spool holds a stream in a temporary file that has no name any more.
func spool(r io.Reader) (*os.File, error) {
	f, err := os.CreateTemp("", "rollbench-copy-")
	if err != nil {
		return nil, err
	}
	err = os.Remove(f.Name())
	var n int64
	if err == nil {
		n, err = io.Copy(f, io.LimitReader(r, sandbox.MaxCopyOut+1))
	}
	if err == nil && n > sandbox.MaxCopyOut {
		err = fmt.Errorf("%w: more than %d MiB", sandbox.ErrTooLarge, sandbox.MaxCopyOut>>20)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func sortByName(list []fs.FileInfo) {
	slices.SortFunc(list, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
}
