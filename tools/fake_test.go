package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

// fakeSandbox keeps files in memory and answers shell commands from a function.
type fakeSandbox struct {
	files    map[string][]byte
	modes    map[string]fs.FileMode
	lost     bool
	stuck    bool // Walk ends with its context only
	unlisted bool // Walk fails
	shells   int
	shell    func(sandbox.Command) (sandbox.Result, error)
	step     func(sandbox.Step) (sandbox.Result, error)                     // of a command that was left running
	ended    bool                                                           // it has ended by itself
	exec     func(context.Context, sandbox.Command) (sandbox.Result, error) // nil: rm only
}

func newFake() *fakeSandbox {
	return &fakeSandbox{files: map[string][]byte{}, modes: map[string]fs.FileMode{}}
}

type fakeInfo struct {
	name string
	dir  bool
	size int64
}

func (i fakeInfo) Name() string       { return i.name }
func (i fakeInfo) Size() int64        { return i.size }
func (i fakeInfo) ModTime() time.Time { return time.Time{} }
func (i fakeInfo) IsDir() bool        { return i.dir }
func (i fakeInfo) Sys() any           { return nil }
func (i fakeInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}

func (f *fakeSandbox) Kind() sandbox.Kind   { return sandbox.Local }
func (f *fakeSandbox) ID() string           { return "fake" }
func (f *fakeSandbox) Workdir() string      { return "/work" }
func (f *fakeSandbox) Path(p string) string { return p }
func (f *fakeSandbox) Close() error         { return nil }

func (f *fakeSandbox) gone() error {
	if f.lost {
		return fmt.Errorf("container abc: %w", sandbox.ErrLost)
	}
	return nil
}

func (f *fakeSandbox) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if f.exec != nil {
		if err := f.gone(); err != nil {
			return sandbox.Result{}, err
		}
		return f.exec(ctx, c)
	}
	if len(c.Argv) != 5 || c.Argv[2] != removal {
		return sandbox.Result{}, fmt.Errorf("unexpected command %q", c.Argv)
	}
	delete(f.files, c.Argv[4])
	return sandbox.Result{End: sandbox.Exited}, f.gone()
}

func (f *fakeSandbox) Shell(context.Context) (sandbox.Shell, error) {
	f.shells++
	return &fakeShell{f}, f.gone()
}

func (f *fakeSandbox) ReadFile(_ context.Context, p string) ([]byte, error) {
	data, ok := f.files[p]
	if err := f.gone(); err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("read %s: %w", p, sandbox.ErrNotExist)
	}
	return append([]byte(nil), data...), nil
}

func (f *fakeSandbox) WriteFile(_ context.Context, p string, data []byte, mode fs.FileMode) error {
	if mode != 0 {
		f.modes[p] = mode
	}
	f.files[p] = append([]byte(nil), data...)
	return f.gone()
}

func (f *fakeSandbox) Stat(_ context.Context, p string) (fs.FileInfo, error) {
	if err := f.gone(); err != nil {
		return nil, err
	}
	if data, ok := f.files[p]; ok {
		return fakeInfo{path.Base(p), false, int64(len(data))}, f.gone()
	}
	for name := range f.files {
		if strings.HasPrefix(name, strings.TrimSuffix(p, "/")+"/") {
			return fakeInfo{path.Base(p), true, 0}, f.gone()
		}
	}
	return nil, fmt.Errorf("stat %s: %w", p, sandbox.ErrNotExist)
}

func (f *fakeSandbox) Walk(ctx context.Context, dir string, skip []string) ([]sandbox.Entry, error) {
	if err := f.gone(); err != nil {
		return nil, err
	}
	if f.stuck {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if f.unlisted {
		return nil, errors.New("find: no room for another process")
	}
	var list []sandbox.Entry
	for p, data := range f.files {
		if rel, ok := strings.CutPrefix(p, dir+"/"); ok {
			list = append(list, sandbox.Entry{Path: rel, Size: int64(len(data))})
		}
	}
	return list, nil
}

func (f *fakeSandbox) ReadDir(_ context.Context, p string) ([]fs.FileInfo, error) {
	if err := f.gone(); err != nil {
		return nil, err
	}
	seen := map[string]fakeInfo{}
	for name := range f.files {
		rest, below := strings.CutPrefix(name, strings.TrimSuffix(p, "/")+"/")
		if !below {
			continue
		}
		first, _, deeper := strings.Cut(rest, "/")
		seen[first] = fakeInfo{first, deeper, 0}
	}
	if len(seen) == 0 {
		return nil, fmt.Errorf("read directory %s: %w", p, sandbox.ErrNotExist)
	}
	var list []fs.FileInfo
	for _, i := range seen {
		list = append(list, i)
	}
	return list, nil
}

func (f *fakeSandbox) CopyIn(context.Context, string, io.Reader) error { return f.gone() }
func (f *fakeSandbox) CopyOut(context.Context, string) (io.ReadCloser, error) {
	return nil, fs.ErrInvalid
}

type fakeShell struct{ f *fakeSandbox }

func (s *fakeShell) Run(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
	return s.f.shell(c)
}
func (s *fakeShell) Continue(_ context.Context, c sandbox.Step) (sandbox.Result, error) {
	return s.f.step(c)
}
func (s *fakeShell) Running() bool { return !s.f.ended }
func (s *fakeShell) Dir() string   { return "/work" }
func (s *fakeShell) Close() error  { return nil }

// newTools makes all tools on f.
func newTools(t testing.TB, f *fakeSandbox, l Limits) *Registry {
	t.Helper()
	r, err := New(Env{Sandbox: f, Limits: l}, Enabled{Bash: true, Editor: true, Finish: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func call(t testing.TB, r *Registry, name, arguments string) Result {
	t.Helper()
	result, err := r.Run(t.Context(), name, arguments)
	if err != nil {
		t.Fatalf("%s %s: %v", name, arguments, err)
	}
	return result
}
