package task

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

// host is a sandbox for these tests: a temporary folder and plain processes of
// this machine. It contains nothing and is given only our own tasks.
type host struct {
	root, work string
	env        map[string]string
	lost       bool
}

func openHost(t testing.TB, in *Instance) *host {
	t.Helper()
	spec := in.Spec(sandbox.Local)
	h := &host{root: t.TempDir(), env: spec.Env}
	h.work = h.Path(spec.Workdir)
	for _, dir := range []string{h.work, h.Path("/tmp"), h.Path("/var/tmp"), h.Path("/home")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h *host) Kind() sandbox.Kind   { return sandbox.Local }
func (h *host) ID() string           { return filepath.Base(h.root) }
func (h *host) Workdir() string      { return h.work }
func (h *host) Path(p string) string { return filepath.Join(h.root, p) }
func (h *host) Close() error         { return nil }

func (h *host) file(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(h.work, p)
}

func (h *host) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if h.lost {
		return sandbox.Result{}, sandbox.ErrLost
	}
	argv := c.Argv
	if len(argv) == 0 {
		argv = []string{"bash", "-c", c.Script}
	}
	run, stop := ctx, func() {}
	if c.Timeout > 0 {
		run, stop = context.WithTimeout(ctx, c.Timeout)
	}
	defer stop()
	cmd := exec.CommandContext(run, argv[0], argv[1:]...)
	cmd.Dir, cmd.WaitDelay, cmd.Stdin = cmp.Or(c.Dir, h.work), time.Second, bytes.NewReader(c.Stdin)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.Path("/home"), "LANG=C.UTF-8"}
	for _, env := range []map[string]string{h.env, c.Env} {
		for k, v := range env {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
	}
	cmd.Env = append(cmd.Env, "GOCACHE="+goCache)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	res := sandbox.Result{Output: out, End: sandbox.Exited, Wall: time.Since(start)}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		res.End, res.ExitCode = sandbox.Cancelled, -1
	case run.Err() != nil:
		res.End, res.ExitCode = sandbox.TimedOut, -1
	case errors.As(err, &exit):
		res.ExitCode = exit.ExitCode()
	case err != nil:
		return res, err
	}
	return res, nil
}

// goCache is shared by the Go tasks' verifiers, or each would build the standard library.
var goCache = filepath.Join(os.TempDir(), "rollbench-task-test-gocache")

func (h *host) Shell(context.Context) (sandbox.Shell, error) { return nil, errors.ErrUnsupported }

func (h *host) ReadFile(_ context.Context, p string) ([]byte, error) { return os.ReadFile(h.file(p)) }

func (h *host) WriteFile(_ context.Context, p string, data []byte, mode fs.FileMode) error {
	if mode == 0 {
		mode = 0o644
	}
	if err := os.MkdirAll(filepath.Dir(h.file(p)), 0o755); err != nil {
		return err
	}
	return os.WriteFile(h.file(p), data, mode)
}

func (h *host) Stat(_ context.Context, p string) (fs.FileInfo, error) { return os.Stat(h.file(p)) }

func (h *host) Walk(context.Context, string, []string) ([]sandbox.Entry, error) {
	return nil, errors.New("nobody lists a repository in these tests")
}

func (h *host) ReadDir(context.Context, string) ([]fs.FileInfo, error) {
	return nil, errors.ErrUnsupported
}

func (h *host) CopyIn(_ context.Context, dst string, stream io.Reader) error {
	tr := tar.NewReader(stream)
	for {
		head, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		to := filepath.Join(h.file(dst), head.Name)
		if head.Typeflag == tar.TypeDir {
			err = os.MkdirAll(to, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
			var data []byte
			if data, err = io.ReadAll(tr); err == nil {
				err = os.WriteFile(to, data, head.FileInfo().Mode().Perm())
			}
		}
		if err != nil {
			return err
		}
	}
}

func (h *host) CopyOut(ctx context.Context, p string) (io.ReadCloser, error) {
	file := h.file(p)
	if _, err := os.Lstat(file); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "tar", "-C", filepath.Dir(file), "-cf", "-", filepath.Base(file)).Output()
	return io.NopCloser(bytes.NewReader(out)), err
}

// sh runs a script in the workdir and fails the test when it fails.
func (h *host) sh(t testing.TB, script string) string {
	t.Helper()
	res, err := h.Exec(t.Context(), sandbox.Command{Script: "set -e\n" + script})
	if err != nil {
		t.Fatal(err)
	}
	if res.ExitCode != 0 {
		t.Fatalf("%s\nexit code %d\n%s", script, res.ExitCode, res.Output)
	}
	return strings.TrimRight(string(res.Output), "\n")
}
