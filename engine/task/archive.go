package task

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"rollbench/sandbox"
)

// open yields the repository archive as a plain tar stream.
func (h *harbor) open() (io.ReadCloser, error) {
	f, err := h.folder.Open(repoArchive)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", repoArchive, err), f.Close())
	}
	return &unzipped{z, f}, nil
}

// unzipped closes the file along with the decompressor.
type unzipped struct {
	*gzip.Reader
	file io.Closer
}

func (u *unzipped) Close() error { return errors.Join(u.Reader.Close(), u.file.Close()) }

// files is the archive's working tree: regular files outside .git.
func (h *harbor) files() (map[string][]byte, error) {
	f, err := h.open()
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	tr := tar.NewReader(f)
	for {
		head, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out, f.Close()
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", repoArchive, err), f.Close())
		}
		name := path.Clean(head.Name)
		if head.Typeflag != tar.TypeReg || strings.HasPrefix(name, ".git/") {
			continue
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %s: %w", repoArchive, name, err), f.Close())
		}
		out[name] = data
	}
}

// copyIn unpacks one of the task's folders at dst.
func (h *harbor) copyIn(ctx context.Context, sb sandbox.Sandbox, name, dst string) error {
	folder, err := fs.Sub(h.folder, name)
	if err != nil {
		return err
	}
	return copyTree(ctx, sb, folder, dst)
}

// copyTree unpacks a folder at dst.
func copyTree(ctx context.Context, sb sandbox.Sandbox, folder fs.FS, dst string) error {
	stream := tarOf(folder, eachFile)
	err := sb.CopyIn(ctx, dst, stream)
	return errors.Join(err, stream.Close())
}
