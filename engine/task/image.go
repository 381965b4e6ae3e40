package task

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// environmentTag names the image built from a folder: its name and the first
// 12 hex digits of a hash over what is sent to the build and its arguments: paths,
// modes, contents and targets of links, so that a change of them is another image.
func environmentTag(name string, env fs.FS, args map[string]string) (string, error) {
	sum := sha256.New()
	err := eachOfBuild(env, func(file string, mode fs.FileMode, open func() (io.ReadCloser, error)) error {
		data, err := open()
		if err != nil {
			return err
		}
		one := sha256.New()
		_, err = io.Copy(one, data)
		if closeErr := data.Close(); err == nil {
			err = closeErr
		}
		fmt.Fprintf(sum, "%q %o %x\n", file, mode, one.Sum(nil))
		return err
	})
	if err != nil {
		return "", err
	}
	for _, key := range slices.Sorted(maps.Keys(args)) {
		fmt.Fprintf(sum, "%q=%q\n", key, args[key])
	}
	return "rollbench/env-" + imageName(name) + ":" + hex.EncodeToString(sum.Sum(nil))[:12], nil
}

// imageName makes a repository name component: lower case letters and digits,
// single separators between them.
func imageName(id string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(id) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	if name := strings.Trim(b.String(), "-"); name != "" {
		return name
	}
	return "task"
}

// visitor gets a file's path, mode and content, which of a link is its target.
type visitor = func(file string, mode fs.FileMode, open func() (io.ReadCloser, error)) error

// eachOfBuild walks what a build of the folder gets: not what its .dockerignore names.
func eachOfBuild(root fs.FS, visit visitor) error {
	ignored, err := readIgnore(root)
	if err != nil {
		return err
	}
	return eachFile(root, func(file string, mode fs.FileMode, open func() (io.ReadCloser, error)) error {
		if file != "Dockerfile" && file != ignoreFile && ignored.drops(file) {
			return nil
		}
		return visit(file, mode, open)
	})
}

// eachFile walks files and links in lexical order. Modes are reduced to 0755 and
// 0644: embedded files have no others worth keeping.
func eachFile(root fs.FS, visit visitor) error {
	return fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := fs.ReadLink(root, file)
			if err != nil {
				return err
			}
			return visit(file, fs.ModeSymlink|0o777, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(target)), nil })
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a file, a link nor a folder; remove it", file)
		}
		return visit(file, modeOf(file, info), func() (io.ReadCloser, error) { return root.Open(file) })
	})
}

func modeOf(file string, info fs.FileInfo) fs.FileMode {
	if info.Mode()&0o111 != 0 || path.Ext(file) == ".sh" {
		return 0o755
	}
	return 0o644
}

// tarFolder streams what a build of the folder gets.
func tarFolder(root fs.FS) io.ReadCloser { return tarOf(root, eachOfBuild) }

// tarOf streams a folder as a tar with fixed times and owners.
func tarOf(root fs.FS, each func(fs.FS, visitor) error) io.ReadCloser {
	r, w := io.Pipe()
	go func() { // ends when the tar is written or the reader closes its end
		tw := tar.NewWriter(w)
		err := each(root, func(file string, mode fs.FileMode, open func() (io.ReadCloser, error)) error {
			return tarFile(tw, file, mode, open)
		})
		if err == nil {
			err = tw.Close()
		}
		w.CloseWithError(err)
	}()
	return r
}

// tarFile reads the whole file first: an fs.FS may not know its size before.
func tarFile(tw *tar.Writer, file string, mode fs.FileMode, open func() (io.ReadCloser, error)) error {
	f, err := open()
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	head := &tar.Header{Typeflag: tar.TypeReg, Name: file, Mode: int64(mode.Perm()), Size: int64(len(data)), ModTime: time.Unix(0, 0)}
	if mode&fs.ModeSymlink != 0 {
		head.Typeflag, head.Linkname, head.Size, data = tar.TypeSymlink, string(data), 0, nil
	}
	if err := tw.WriteHeader(head); err != nil {
		return err
	}
	_, err = tw.Write(data)
	return err
}
