package sandboxtest

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path"
	"strings"
	"testing"

	"rollbench/sandbox"
)

// testEscapes points each file call at what is outside by each kind of link, also
// one that is swapped meanwhile, and unpacks what may not be.
func testEscapes(t *testing.T, sb sandbox.Sandbox) {
	ctx, dir := t.Context(), t.TempDir()
	secret := path.Join(dir, "secret")
	const words = "known to this machine only"
	if err := os.WriteFile(secret, []byte(words), 0o666); err != nil {
		t.Fatal(err)
	}
	untouched := func(t *testing.T) {
		t.Helper()
		if got, err := os.ReadFile(secret); err != nil || string(got) != words {
			t.Errorf("the secret is %q, %v", got, err)
		}
		if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
			t.Errorf("its folder holds %v, %v", all, err)
		}
	}
	up := strings.Repeat("../", 40)
	t.Run("links", func(t *testing.T) {
		says(t, sb, "mkdir links; cd links; ln -s "+dir+" abs; ln -s "+up+dir[1:]+" rel; ln -s /proc/1/root"+dir+" proc; ln -s /proc/self/root"+dir+" self; ln -s /proc/1/cwd/"+up+dir[1:]+" cwd")
		for _, l := range []string{"abs", "rel", "proc", "self", "cwd"} {
			folder := "/testbed/links/" + l
			for _, p := range []string{folder + "/secret", folder} {
				if st, err := sb.Stat(ctx, p); err == nil && st.Size() == int64(len(words)) {
					t.Errorf("stat %s: %d bytes", p, st.Size())
				}
				if data, err := sb.ReadFile(ctx, p); err == nil && string(data) == words {
					t.Errorf("read %s", p)
				}
				if data, err := outOf(t, sb, p); err == nil && bytes.Contains(data, []byte(words)) {
					t.Errorf("copied %s out", p)
				}
				// These may fail or make something inside.
				if err := sb.WriteFile(ctx, p, []byte("changed"), 0); err != nil {
					t.Logf("write %s: %v", p, err)
				}
				if err := sb.CopyIn(ctx, p, archive(t, entry{name: "in", data: "x"})); err != nil {
					t.Logf("copy into %s: %v", p, err)
				}
			}
			if all, err := sb.ReadDir(ctx, folder); err == nil {
				for _, i := range all {
					if i.Name() == "secret" && i.Size() == int64(len(words)) {
						t.Errorf("list %s: %s", folder, i.Name())
					}
				}
			}
			untouched(t)
		}
	})
	t.Run("a link that changes", func(t *testing.T) {
		says(t, sb, `mkdir -p race/real; cd race; echo inside > real/secret; cp -r real at
(while :; do rm -rf at; ln -s `+dir+` at; rm -f at; mkdir at; echo inside > at/secret; done) >/dev/null 2>&1 &`)
		for range 15 {
			if data, err := sb.ReadFile(ctx, "/testbed/race/at/secret"); err == nil && string(data) == words {
				t.Fatal("read through it")
			}
			_ = sb.WriteFile(ctx, "/testbed/race/at/secret", []byte("changed"), 0)
			_ = sb.CopyIn(ctx, "/testbed/race/at", archive(t, entry{name: "in", data: "x"}))
			if data, err := outOf(t, sb, "/testbed/race/at"); err == nil && bytes.Contains(data, []byte(words)) {
				t.Fatal("copied out through it")
			}
		}
		untouched(t)
	})
	t.Run("archives", func(t *testing.T) { testArchives(t, sb, dir, untouched) })
}

// testArchives unpacks entries that lead out or are no files.
func testArchives(t *testing.T, sb sandbox.Sandbox, dir string, untouched func(*testing.T)) {
	up := strings.Repeat("../", 40)
	for name, h := range map[string]tar.Header{
		"up":                {Name: up + dir[1:] + "/new"},
		"absolute":          {Name: dir + "/new"},
		"hard link up":      {Name: "h", Typeflag: tar.TypeLink, Linkname: up + dir[1:] + "/secret"},
		"hard link":         {Name: "h", Typeflag: tar.TypeLink, Linkname: dir + "/secret"},
		"hard link to /etc": {Name: "h", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"},
		"block device":      {Name: "d", Typeflag: tar.TypeBlock, Devmajor: 8},
		"character device":  {Name: "d", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 1},
		"named pipe":        {Name: "p", Typeflag: tar.TypeFifo},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		h.Mode = 0o666
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := sb.CopyIn(t.Context(), "/testbed/unpacked", &b); err == nil {
			t.Errorf("%s: unpacked", name)
		}
		if got := says(t, sb, "find unpacked ! -type d 2>/dev/null | wc -l"); strings.TrimSpace(got) != "0" {
			t.Errorf("%s: left %s files", name, got)
		}
	}
	untouched(t)
}

func outOf(t *testing.T, sb sandbox.Sandbox, p string) ([]byte, error) {
	t.Helper()
	r, err := sb.CopyOut(t.Context(), p)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err = b.ReadFrom(r)
	return b.Bytes(), errors.Join(err, r.Close())
}
