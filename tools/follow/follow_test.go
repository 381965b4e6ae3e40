package follow

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rollbench/sandbox"
	"rollbench/sandbox/docker"
	"rollbench/sandbox/local"
	"rollbench/search"
)

// counted counts what is read out of a sandbox.
type counted struct {
	sandbox.Sandbox
	files, archives atomic.Int32
}

func (c *counted) ReadFile(ctx context.Context, p string) ([]byte, error) {
	c.files.Add(1)
	return c.Sandbox.ReadFile(ctx, p)
}

func (c *counted) CopyOut(ctx context.Context, p string) (io.ReadCloser, error) {
	c.archives.Add(1)
	return c.Sandbox.CopyOut(ctx, p)
}

// laid opens a sandbox with the repository: 100 modules in pkg, one at the top, and
// what no index wants.
func laid(t *testing.T, p sandbox.Provider, spec sandbox.Spec) *counted {
	t.Helper()
	spec.Workdir = "/testbed"
	sb, err := p.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(); err != nil {
			t.Error(err)
		}
	})
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	put := func(name, content string) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg, ModTime: time.Unix(1700000000, 0)}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		put(fmt.Sprintf("pkg/m%02d.py", i), fmt.Sprintf("def function_%02d(a):\n    return a\n", i))
	}
	put("top.py", "def at_top():\n    pass\n")
	put(".git/objects/aa.py", "def hidden():\n    pass\n")
	put("pkg/data.bin", "\x00\x01")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := sb.CopyIn(t.Context(), "/testbed", &buf); err != nil {
		t.Fatal(err)
	}
	return &counted{Sandbox: sb}
}

// finds are the ids of what the exact name is.
func finds(t *testing.T, f *Follower, name string) []string {
	t.Helper()
	view, err := f.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	hits, err := view.Hits(search.Query{Terms: []string{name}, Kind: "function"})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits {
		if h.Name == name {
			ids = append(ids, fmt.Sprintf("%s:%d-%d", h.Path, h.Start, h.End))
		}
	}
	return ids
}

func want(t *testing.T, f *Follower, name string, ids ...string) {
	t.Helper()
	if got := finds(t, f, name); !slices.Equal(got, ids) {
		t.Errorf("%s is at %q, want %q", name, got, ids)
	}
}

// testVast puts a file of 4 GB, all of it hole, beside more files than are read
// one by one.
func testVast(t *testing.T, f *Follower, sb sandbox.Sandbox) {
	t.Helper()
	r, err := sb.Exec(t.Context(), sandbox.Command{Script: `mkdir vast && cd vast && truncate -s 4G hole && i=0 &&
while [ $i -lt 70 ]; do echo "def in_vast_$i(): pass" > v$i.py; i=$((i+1)); done`})
	if err != nil || r.ExitCode != 0 {
		t.Fatal(r, err)
	}
	want(t, f, "in_vast_69", "vast/v69.py:1-1")
}

func TestFollow(t *testing.T) {
	for _, kind := range []sandbox.Kind{sandbox.Local, sandbox.Docker} {
		t.Run(string(kind), func(t *testing.T) {
			p, spec := provider(t, kind)
			dir := t.TempDir()
			bases := newBases(t, dir)
			one := laid(t, p, spec)
			f, err := Start(t.Context(), one, bases, "instance")
			if err != nil {
				t.Fatal(err)
			}
			if one.files.Load() != 1 || one.archives.Load() != 1 { // top.py, and pkg as an archive
				t.Errorf("the first index took %d files and %d archives", one.files.Load(), one.archives.Load())
			}
			want(t, f, "function_07", "pkg/m07.py:1-2")
			want(t, f, "at_top", "top.py:1-2")
			want(t, f, "hidden")
			testEdits(t, f, one)
			testVast(t, f, one)

			// A second trajectory of the instance reads nothing, and sees no edit of the first.
			two := laid(t, p, spec)
			g, err := Start(t.Context(), two, bases, "instance")
			if err != nil {
				t.Fatal(err)
			}
			want(t, g, "function_07", "pkg/m07.py:1-2")
			if n := two.files.Load() + two.archives.Load(); n != 0 {
				t.Errorf("the second trajectory read %d times", n)
			}
			// So does one of a later process, which finds the index in the folder.
			three := laid(t, p, spec)
			h, err := Start(t.Context(), three, newBases(t, dir), "instance")
			if err != nil {
				t.Fatal(err)
			}
			want(t, h, "function_07", "pkg/m07.py:1-2")
			if n := three.files.Load() + three.archives.Load(); n != 0 {
				t.Errorf("the later process read %d times", n)
			}
			if err := one.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := f.View(t.Context()); err == nil {
				t.Error("the view of a closed sandbox")
			}
		})
	}
}

func testEdits(t *testing.T, f *Follower, sb *counted) {
	change := func(script string) {
		t.Helper()
		r, err := sb.Exec(t.Context(), sandbox.Command{Script: script})
		if err != nil || r.ExitCode != 0 {
			t.Fatalf("%s: %v %s", script, err, r.Output)
		}
	}
	change(`printf '\n\ndef function_07(b):\n    return b\n' > pkg/m07.py`)
	want(t, f, "function_07", "pkg/m07.py:3-4")
	if err := sb.WriteFile(t.Context(), "/testbed/new.py", []byte("def made():\n    pass\n"), 0); err != nil {
		t.Fatal(err)
	}
	want(t, f, "made", "new.py:1-2")
	// The same size and the time of the old one.
	change(`touch -r pkg/m08.py stamp; printf 'def functiox_08(a):\n    return a\n' > pkg/m08.py; touch -r stamp pkg/m08.py`)
	want(t, f, "function_08")
	want(t, f, "functiox_08", "pkg/m08.py:1-2")
	change(`mv pkg/m09.py pkg/moved.py; rm new.py`)
	want(t, f, "function_09", "pkg/moved.py:1-2")
	want(t, f, "made")
	change(`printf 'def function_10(a):\n    return a\n' > pkg/m10.py`) // as it was
	want(t, f, "function_10", "pkg/m10.py:1-2")
	before := sb.files.Load()
	want(t, f, "function_11", "pkg/m11.py:1-2")
	if n := sb.files.Load() - before; n != 0 {
		t.Errorf("a query without an edit before it read %d files", n)
	}
	change(`for f in pkg/m*.py; do echo '# end' >> $f; done`)
	archives := sb.archives.Load()
	want(t, f, "function_12", "pkg/m12.py:1-2")
	if n := sb.archives.Load() - archives; n != 1 {
		t.Errorf("an edit of all files took %d archives", n)
	}
	change(`rm -rf pkg; mkdir pkg`)
	want(t, f, "function_12")
	change(`printf 'def function_12():\n    pass\n' > pkg/m12.py; git init -q . 2>/dev/null; ln -sf / root; mkfifo pipe.py`)
	want(t, f, "function_12", "pkg/m12.py:1-2")
}

func newBases(t *testing.T, dir string) *Bases {
	t.Helper()
	b, err := NewBases(dir, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What nobody has asked for in 30 days goes, and nothing else in the folder.
func TestUnusedIndexesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-31 * 24 * time.Hour)
	for _, name := range []string{"a.index", "a.files", "new.index", "note.txt"} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if name != "new.index" {
			if err := os.Chtimes(file, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	newBases(t, dir)
	left, err := filepath.Glob(dir + "/*")
	if want := []string{filepath.Join(dir, "new.index"), filepath.Join(dir, "note.txt")}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left: %q, %v", left, err)
	}
}

func provider(t *testing.T, kind sandbox.Kind) (sandbox.Provider, sandbox.Spec) {
	t.Helper()
	if kind == sandbox.Local {
		p, err := local.New(local.Options{Home: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if r := p.Check(t.Context()); !r.OK {
			t.Skip(r.Detail)
		}
		t.Cleanup(func() { p.Close() })
		return p, sandbox.Spec{Name: "follow"}
	}
	image := os.Getenv("ROLLBENCH_TEST_IMAGE")
	if image == "" {
		image = "rollbench-test/base:1"
	}
	p, err := docker.New(t.Context(), docker.Options{})
	if err == nil {
		t.Cleanup(func() { p.Close() })
		var have bool
		if have, err = p.HasImage(t.Context(), image); err == nil && !have {
			err = fmt.Errorf("no image %s", image)
		}
	}
	if err != nil && os.Getenv("ROLLBENCH_REQUIRE_DOCKER") == "1" {
		t.Fatalf("docker is required: %v", err)
	}
	if err != nil {
		t.Skipf("no docker: %v", err)
	}
	return p, sandbox.Spec{Name: "follow", Image: image, Labels: map[string]string{"run": "follow-test"}}
}

// A folder that cannot be written to is an error at the start, with what to do.
func TestAFolderThatCannotBeWrittenTo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/proc/self/fd", filepath.Join(file, "index")} {
		if _, err := NewBases(dir, 1<<20); err == nil || !strings.Contains(err.Error(), "search indexes") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
