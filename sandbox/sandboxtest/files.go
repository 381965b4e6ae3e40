package sandboxtest

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"rollbench/sandbox"
)

func testFiles(t *testing.T, sb sandbox.Sandbox) {
	ctx := t.Context()
	write := func(p string, data string, mode fs.FileMode) {
		t.Helper()
		if err := sb.WriteFile(ctx, p, []byte(data), mode); err != nil {
			t.Fatalf("write %s: %v", p, err)
		}
	}
	mode := func(p string) fs.FileMode {
		t.Helper()
		st, err := sb.Stat(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		return st.Mode().Perm()
	}
	t.Run("bytes", func(t *testing.T) {
		for _, data := range []string{"", "a\r\nb\r\n", "no newline", "\x00\xff\xfe", strings.Repeat("0123456789", 300<<10)} {
			write("/testbed/deep/er/f.bin", data, 0)
			got, err := sb.ReadFile(ctx, "/testbed/deep/er/f.bin")
			if err != nil || string(got) != data {
				t.Fatalf("wrote %d bytes, read %d, %v", len(data), len(got), err)
			}
		}
		write("rel.txt", "relative", 0)
		if got := says(t, sb, "cat "+sb.Path("/testbed/rel.txt")); got != "relative" {
			t.Errorf("a command sees %q", got)
		}
	})
	t.Run("modes", func(t *testing.T) {
		write("/tests/new", "x", 0)
		write("/tests/run.sh", "#!/bin/sh\necho ran", 0o755)
		if m := mode("/tests/new"); m != 0o644 {
			t.Errorf("new file has mode %o", m)
		}
		if got := says(t, sb, sb.Path("/tests/run.sh")); got != "ran\n" {
			t.Errorf("script said %q", got)
		}
		write("/tests/run.sh", "#!/bin/sh\necho again", 0)
		if m := mode("/tests/run.sh"); m != 0o755 {
			t.Errorf("mode became %o", m)
		}
		write("/tests/run.sh", "x", 0o600)
		if m := mode("/tests/run.sh"); m != 0o600 {
			t.Errorf("mode became %o", m)
		}
		write("/tests/ro", "x", 0o444)
		write("/tests/ro", "y", 0)
		if m := mode("/tests/ro"); m != 0o444 {
			t.Errorf("mode became %o", m)
		}
	})
	t.Run("of commands", func(t *testing.T) {
		says(t, sb, `printf 'by command' > made; mkdir -p d/sub; ln -s made link; printf x > 'd/a b'`)
		got, err := sb.ReadFile(ctx, "/testbed/link")
		if err != nil || string(got) != "by command" {
			t.Errorf("%q, %v", got, err)
		}
		infos, err := sb.ReadDir(ctx, "/testbed/d")
		if err != nil || len(infos) != 2 {
			t.Fatalf("%v, %v", infos, err)
		}
		for _, i := range infos {
			if i.IsDir() != (i.Name() == "sub") || i.Name() != "sub" && (i.Name() != "a b" || i.Size() != 1) {
				t.Errorf("%s: dir %v, size %d", i.Name(), i.IsDir(), i.Size())
			}
		}
		if st, err := sb.Stat(ctx, "/testbed/d"); err != nil || !st.IsDir() {
			t.Errorf("%v, %v", st, err)
		}
	})
	t.Run("missing", func(t *testing.T) {
		for name, call := range map[string]func() error{
			"read":         func() error { _, err := sb.ReadFile(ctx, "/testbed/none"); return err },
			"read in none": func() error { _, err := sb.ReadFile(ctx, "/none/none"); return err },
			"stat":         func() error { _, err := sb.Stat(ctx, "/testbed/none"); return err },
			"list":         func() error { _, err := sb.ReadDir(ctx, "/testbed/none"); return err },
			"out":          func() error { return copyOutErr(t, sb, "/testbed/none") },
		} {
			if err := call(); !errors.Is(err, sandbox.ErrNotExist) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("wrong kind", func(t *testing.T) {
		says(t, sb, "mkdir -p dir; mkfifo pipe")
		for _, p := range []string{"/testbed/dir", "/testbed/pipe"} {
			if got, err := sb.ReadFile(ctx, p); err == nil {
				t.Errorf("read %s: %q", p, got)
			}
			if err := sb.WriteFile(ctx, p, []byte("x"), 0); err == nil {
				t.Errorf("wrote %s", p)
			}
		}
	})
	t.Run("links do not lead out", func(t *testing.T) { testLinks(t, sb) })
}

// testLinks has the sandbox point at a secret of this machine.
func testLinks(t *testing.T, sb sandbox.Sandbox) {
	ctx := t.Context()
	dir := t.TempDir()
	secret := path.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	up := strings.Repeat("../", 40)
	says(t, sb, "ln -s "+secret+" abs; ln -s "+up+secret[1:]+" rel; ln -s "+dir+" folder")
	for _, p := range []string{"/testbed/abs", "/testbed/rel", "/testbed/folder/secret", "/testbed/" + up + secret[1:]} {
		if got, err := sb.ReadFile(ctx, p); err == nil {
			t.Errorf("read %s: %q", p, got)
		}
	}
	// A write may fail or make a file inside; it must not reach the secret.
	for _, p := range []string{"/testbed/abs", "/testbed/rel", "/testbed/folder/secret", "/testbed/folder/new"} {
		if err := sb.WriteFile(ctx, p, []byte("changed"), 0); err != nil {
			t.Logf("write %s: %v", p, err)
		}
	}
	if err := sb.CopyIn(ctx, "/testbed", archive(t, entry{name: "folder/new2", data: "x"})); err != nil {
		t.Logf("copy in through a link: %v", err)
	}
	if got, err := os.ReadFile(secret); err != nil || string(got) != "secret" {
		t.Errorf("secret is %q, %v", got, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("folder of this machine holds %v, %v", entries, err)
	}
}

type entry struct {
	name, data, link string
	mode             int64
	dir              bool
}

func archive(t *testing.T, entries ...entry) io.Reader {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.data)), Typeflag: tar.TypeReg}
		if e.mode != 0 {
			h.Mode = e.mode
		}
		if e.link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
		}
		if e.dir {
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &buf
}

func copyOutErr(t *testing.T, sb sandbox.Sandbox, p string) error {
	t.Helper()
	r, err := sb.CopyOut(t.Context(), p)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	return err
}

func testCopy(t *testing.T, sb sandbox.Sandbox) {
	ctx := t.Context()
	big := strings.Repeat("long line of text\n", 200<<10)
	in := []entry{
		{name: "pkg/", dir: true},
		{name: "pkg/a.py", data: "print(1)\r\n"},
		{name: "pkg/run", data: "#!/bin/sh\n", mode: 0o755},
		{name: "pkg/sub/deep/big", data: big},
		{name: "pkg/empty/", dir: true},
		{name: "pkg/ln", link: "a.py"},
	}
	if err := sb.CopyIn(ctx, "/testbed/in/new", archive(t, in...)); err != nil {
		t.Fatal(err)
	}
	if got := says(t, sb, "cat in/new/pkg/ln; test -x in/new/pkg/run; test -d in/new/pkg/empty; wc -c < in/new/pkg/sub/deep/big"); strings.Join(strings.Fields(got), " ") != "print(1) 3686400" {
		t.Errorf("in the sandbox: %q", got)
	}
	t.Run("round trip", func(t *testing.T) {
		r, err := sb.CopyOut(ctx, "/testbed/in/new/pkg")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := sb.CopyIn(ctx, "/testbed/back", r); err != nil {
			t.Fatal(err)
		}
		says(t, sb, "diff -r in/new/pkg back/pkg && test -L back/pkg/ln && test -x back/pkg/run")
	})
	t.Run("a hole", func(t *testing.T) {
		says(t, sb, "mkdir vast && truncate -s 4G vast/hole")
		r, err := sb.CopyOut(ctx, "/testbed/vast")
		if err == nil {
			var n int64
			n, err = io.Copy(io.Discard, r)
			if r.Close(); n > sandbox.MaxCopyOut {
				t.Errorf("%d bytes came out", n)
			}
		}
		if !errors.Is(err, sandbox.ErrTooLarge) {
			t.Error(err)
		}
		says(t, sb, "rm -r vast")
	})
	t.Run("one file", func(t *testing.T) {
		r, err := sb.CopyOut(ctx, "/testbed/in/new/pkg/a.py")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		tr := tar.NewReader(r)
		h, err := tr.Next()
		if err != nil || h.Name != "a.py" || h.Size != 10 {
			t.Fatalf("%+v, %v", h, err)
		}
		if data, err := io.ReadAll(tr); err != nil || string(data) != "print(1)\r\n" {
			t.Errorf("%q, %v", data, err)
		}
		if _, err := tr.Next(); err != io.EOF {
			t.Errorf("more entries: %v", err)
		}
	})
	t.Run("replaces", func(t *testing.T) {
		if err := sb.CopyIn(ctx, "/testbed/in/new", archive(t, entry{name: "pkg/a.py", data: "new"})); err != nil {
			t.Fatal(err)
		}
		if got := says(t, sb, "cat in/new/pkg/a.py"); got != "new" {
			t.Errorf("%q", got)
		}
	})
	t.Run("leads out", func(t *testing.T) {
		for name, entries := range map[string][]entry{
			"up":       {{name: "../out", data: "x"}},
			"up later": {{name: "a/../../out", data: "x"}},
			"absolute": {{name: "/testbed/out", data: "x"}},
			"by link":  {{name: "l", link: "/testbed"}, {name: "l/out", data: "x"}},
			"by up":    {{name: "m", link: ".."}, {name: "m/out", data: "x"}},
		} {
			if err := sb.CopyIn(ctx, "/testbed/tight", archive(t, entries...)); err == nil {
				t.Errorf("%s: unpacked", name)
			}
			if _, err := sb.Stat(ctx, "/testbed/out"); !errors.Is(err, sandbox.ErrNotExist) {
				t.Errorf("%s: left the folder: %v", name, err)
			}
		}
	})
	t.Run("broken", func(t *testing.T) {
		if err := sb.CopyIn(ctx, "/testbed/broken", strings.NewReader(strings.Repeat("not a tar", 200))); err == nil {
			t.Error("unpacked")
		}
		says(t, sb, "true")
	})
}
