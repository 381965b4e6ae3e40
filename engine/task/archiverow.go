package task

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"rollbench/engine/task/rows"
)

// maxUnpacked bounds a task that is an archive in a row, in bytes.
const maxUnpacked = 512 << 20

// unpack a tar, plain or with gzip, into memory. A zip of the standard library
// is a file system, so the files are kept as one.
func unpack(data []byte) (fs.FS, error) {
	var in io.Reader = bytes.NewReader(data)
	if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("broken gzip: %w", err)
		}
		in = z
	}
	var kept bytes.Buffer
	out := zip.NewWriter(&kept)
	from, left := tar.NewReader(in), int64(maxUnpacked)
	seen := map[string]bool{}
	for {
		head, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("broken tar: %w", err)
		}
		name := path.Clean(strings.TrimPrefix(head.Name, "./"))
		if !fs.ValidPath(name) {
			return nil, fmt.Errorf("the archive holds %q, which leads out of it", head.Name)
		}
		switch head.Typeflag {
		case tar.TypeReg:
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		default:
			return nil, fmt.Errorf("the archive holds %q, which is neither a file nor a folder", head.Name)
		}
		if left -= head.Size; left < 0 || seen[name] {
			return nil, fmt.Errorf("the archive holds %q twice, or more than %d bytes", head.Name, maxUnpacked)
		}
		seen[name] = true
		entry := &zip.FileHeader{Name: name, Method: zip.Store}
		entry.SetMode(fs.FileMode(head.Mode & 0o777))
		w, err := out.CreateHeader(entry)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(w, from); err != nil {
			return nil, fmt.Errorf("broken tar: %s: %w", name, err)
		}
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	tree, err := zip.NewReader(bytes.NewReader(kept.Bytes()), int64(kept.Len()))
	if err != nil {
		return nil, err
	}
	return within(tree, seen)
}

// within leaves a single folder out that all files of an archive are in.
func within(tree fs.FS, files map[string]bool) (fs.FS, error) {
	top := ""
	for name := range files {
		folder, _, deep := strings.Cut(name, "/")
		if !deep || top != "" && folder != top {
			return tree, nil
		}
		top = folder
	}
	if top == "" || top == "tests" || top == "environment" {
		return tree, nil
	}
	return fs.Sub(tree, top)
}

// archiveOf a row's column.
func archiveOf(r rows.Row, name string) (fs.FS, error) {
	data, err := r.Bytes(name)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, r.Wrong(name, "is empty; it is the task's archive")
	}
	tree, err := unpack(data)
	if err != nil {
		return nil, r.Wrong(name, "%w", err)
	}
	return tree, nil
}

// harborRow is a Harbor task as a row: its path and its folder as a tar.
func harborRow(r rows.Row, o *Options) (Instance, error) {
	name, err := r.Need("path", "it names the task")
	if err != nil {
		return Instance{}, err
	}
	folder, err := archiveOf(r, "task_binary")
	if err != nil {
		return Instance{}, err
	}
	return loadHarbor(folder, path.Base(path.Clean(name)), r.Origin, *o)
}
