package task

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"path"
	"slices"

	"rollbench/sandbox"
)

// restore puts packed artifacts to their paths, as Harbor does: a folder's place is
// emptied first, a file's folder is made, and both may be written by whoever runs the
// tests. All belongs to the image's user.
func restore(ctx context.Context, sb sandbox.Sandbox, packed io.ReadSeeker) error {
	folders, parents, err := packedPlaces(packed)
	if err != nil {
		return err
	}
	if err := asRoot(ctx, sb, `for d; do mkdir -p -- "$d" && chmod 777 -- "$d" && find "$d/" -mindepth 1 -delete || exit; done`, folders...); err != nil {
		return err
	}
	if err := asRoot(ctx, sb, `mkdir -p -- "$@" && chmod 777 -- "$@"`, parents...); err != nil {
		return err
	}
	if _, err := packed.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return sb.CopyIn(ctx, sb.Path("/"), packed)
}

// packedPlaces are the roots of what was packed: folders, and the folders that files are
// to lie in.
func packedPlaces(packed io.ReadSeeker) (folders, parents []string, err error) {
	if _, err := packed.Seek(0, io.SeekStart); err != nil {
		return nil, nil, err
	}
	for in := tar.NewReader(packed); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return folders, parents, nil
		}
		if err != nil {
			return nil, nil, err
		}
		name := path.Join("/", head.Name)
		switch {
		case sandbox.Within(name, folders...):
		case head.Typeflag == tar.TypeDir:
			folders = append(folders, name)
		case !slices.Contains(parents, path.Dir(name)):
			parents = append(parents, path.Dir(name))
		}
	}
}
