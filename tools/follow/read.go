package follow

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"rollbench/sandbox"
)

// few is how many files are read one by one; more come in archives, one for each
// folder at the top.
const few = 64

// largest bounds a file that grew since it was listed: 8 MiB.
const largest = 8 << 20

// read hands each of the files below dir to each, in no order; one that is gone is
// not there. Only what was asked for is handed over.
func read(ctx context.Context, sb sandbox.Sandbox, dir string, files []string, each func(file string, content []byte, there bool) error) error {
	alone, folders := files, map[string]map[string]bool{}
	if len(files) > few {
		alone, folders = byFolder(files)
	}
	for _, p := range alone {
		content, err := sb.ReadFile(ctx, path.Join(dir, p))
		switch {
		case err == nil:
			err = each(p, content, true)
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case !errors.Is(err, sandbox.ErrLost): // gone, or a folder by now, or not readable: nothing to index
			err = each(p, nil, false)
		}
		if err != nil {
			return err
		}
	}
	for top, wanted := range folders {
		err := unpack(ctx, sb, dir, top, wanted, each)
		if errors.Is(err, sandbox.ErrTooLarge) { // it holds more than what is wanted
			err = rest(ctx, sb, dir, wanted, each)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// byFolder parts files into those at the top and the rest by their first folder.
func byFolder(files []string) (alone []string, folders map[string]map[string]bool) {
	folders = map[string]map[string]bool{}
	for _, p := range files {
		top, _, in := strings.Cut(p, "/")
		if !in {
			alone = append(alone, p)
			continue
		}
		if folders[top] == nil {
			folders[top] = map[string]bool{}
		}
		folders[top][p] = true
	}
	for top, wanted := range folders {
		if len(wanted) <= 4 { // an archive costs more
			for p := range wanted {
				alone = append(alone, p)
			}
			delete(folders, top)
		}
	}
	slices.Sort(alone)
	return alone, folders
}

func unpack(ctx context.Context, sb sandbox.Sandbox, dir, top string, wanted map[string]bool, each func(string, []byte, bool) error) (err error) {
	r, err := sb.CopyOut(ctx, path.Join(dir, top))
	if err != nil {
		return fmt.Errorf("read the folder %s: %w", top, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the folder %s: %w", top, err)
		}
		p := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeLink || !wanted[p] {
			continue
		}
		if h.Typeflag == tar.TypeLink { // its content stands at another name
			continue
		}
		if h.Size > largest {
			continue
		}
		content, err := io.ReadAll(in)
		if err != nil {
			return fmt.Errorf("read %s: %w", p, err)
		}
		delete(wanted, p)
		if err := each(p, content, true); err != nil {
			return err
		}
	}
	return rest(ctx, sb, dir, wanted, each)
}

// rest reads what an archive did not hold by itself, such as a second name of a file.
func rest(ctx context.Context, sb sandbox.Sandbox, dir string, wanted map[string]bool, each func(string, []byte, bool) error) error {
	for p := range wanted {
		if err := read(ctx, sb, dir, []string{p}, each); err != nil {
			return err
		}
	}
	return nil
}
