package local

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func pack(entries ...tar.Header) []byte {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range entries {
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			panic(err)
		}
		if _, err := w.Write(bytes.Repeat([]byte("x"), int(h.Size))); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

// FuzzUnpack holds that whatever an archive says, nothing beside its folder changes.
func FuzzUnpack(f *testing.F) {
	f.Add(pack(tar.Header{Name: "a/b", Size: 3}, tar.Header{Name: "a", Typeflag: tar.TypeReg}))
	f.Add(pack(tar.Header{Name: "../x", Size: 3}))
	f.Add(pack(tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: ".."}, tar.Header{Name: "l/beside", Size: 1}))
	f.Add(pack(tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "../beside"}, tar.Header{Name: "h", Size: 1}))
	f.Add(pack(tar.Header{Name: "d/", Typeflag: tar.TypeDir}, tar.Header{Name: "fifo", Typeflag: tar.TypeFifo}))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		beside := filepath.Join(dir, "beside")
		if err := os.WriteFile(beside, []byte("safe"), 0o600); err != nil {
			t.Fatal(err)
		}
		in := filepath.Join(dir, "in")
		if err := os.Mkdir(in, 0o700); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(in)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := unpackTar(root, bytes.NewReader(data)); err == nil {
			if err := packTar(root, ".", io.Discard); err != nil {
				t.Errorf("unpacked but cannot be packed: %v", err)
			}
		}
		if got, err := os.ReadFile(beside); err != nil || string(got) != "safe" {
			t.Errorf("beside is %q, %v", got, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
			t.Errorf("%v, %v", entries, err)
		}
	})
}
