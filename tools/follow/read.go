package follow

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"rollbench/sandbox"
	"rollbench/search"
)

// few is how many files are read one by one; more come in archives, one for each
// folder at the top.
const few = 64

// read hands each of the files below dir to each, in no order; one that is gone is
// not there. Only what was asked for is handed over.
func read(ctx context.Context, sb sandbox.Sandbox, dir string, files []string, each func(file string, content []byte, there bool) error) error {
	alone, folders := files, map[string]map[string]bool{}
	if len(files) > few {
		alone, folders = byFolder(files)
	}
	if len(alone) > mostRest { // at the top: all of it is one archive
		wanted := map[string]bool{}
		for _, p := range files {
			wanted[p] = true
		}
		return unpackOrRead(ctx, sb, dir, "", wanted, each)
	}
	if err := readAlone(ctx, sb, dir, alone, each); err != nil {
		return err
	}
	for top, wanted := range folders {
		if err := unpackOrRead(ctx, sb, dir, top, wanted, each); err != nil {
			return err
		}
	}
	return nil
}

// unpackOrRead reads one by one what is wanted of a folder that holds too much more.
func unpackOrRead(ctx context.Context, sb sandbox.Sandbox, dir, top string, wanted map[string]bool, each func(string, []byte, bool) error) error {
	err := unpack(ctx, sb, dir, top, wanted, each)
	if errors.Is(err, sandbox.ErrTooLarge) {
		return readAlone(ctx, sb, dir, slices.Sorted(maps.Keys(wanted)), each)
	}
	return err
}

// readAlone reads files one by one.
func readAlone(ctx context.Context, sb sandbox.Sandbox, dir string, files []string, each func(string, []byte, bool) error) error {
	for _, p := range files {
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

// unpack reads files from an archive of the folder top, "" for all of dir.
func unpack(ctx context.Context, sb sandbox.Sandbox, dir, top string, wanted map[string]bool, each func(string, []byte, bool) error) (err error) {
	r, err := sb.CopyOut(ctx, path.Join(dir, top))
	if err != nil {
		return fmt.Errorf("read the folder %s: %w", top, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	in := tar.NewReader(r)
	had := map[string][]byte{}           // what came, for further names of the same files
	inside := func(name string) string { // the path below dir
		name = strings.TrimPrefix(path.Clean("/"+name), "/")
		if top == "" {
			_, name, _ = strings.Cut(name, "/") // the name of dir itself
		}
		return name
	}
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the folder %s: %w", top, err)
		}
		p := inside(h.Name)
		if !wanted[p] || h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeLink || !search.Wanted(p, h.Size) { // it may have grown since it was listed
			continue
		}
		content, known := had[inside(h.Linkname)]
		if h.Typeflag == tar.TypeReg {
			if content, err = io.ReadAll(in); err != nil {
				return fmt.Errorf("read %s: %w", p, err)
			}
		} else if !known {
			continue
		}
		had[p] = content
		delete(wanted, p)
		if err := each(p, content, true); err != nil {
			return err
		}
	}
	return rest(ctx, sb, dir, top, wanted, each)
}

// mostRest is how many files are read by themselves that no archive held.
const mostRest = 256

// rest reads what an archive did not hold by itself, such as a second name of a file
// that has not changed.
func rest(ctx context.Context, sb sandbox.Sandbox, dir, top string, wanted map[string]bool, each func(string, []byte, bool) error) error {
	if len(wanted) > mostRest {
		return fmt.Errorf("read the folder %s: %d of its files are in no archive of it", top, len(wanted))
	}
	return readAlone(ctx, sb, dir, slices.Sorted(maps.Keys(wanted)), each)
}
