package local

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"rollbench/sandbox"
)

// Sandbox is an open local sandbox: a folder, which Reset exchanges for another.
type Sandbox struct {
	p   *Provider
	now atomic.Pointer[folder]

	mu     sync.Mutex // held by Reset and Close
	closed bool
}

// Reset closes the old folder and opens a fresh one: there are never two. Nothing
// is taken over, since commands change more than files and processes: limits and priority
// of the init, which has their user, ports that wait for late packets, shared
// memory, keys. Without containment they may have changed the whole machine, and
// the answer is ErrNoReset.
func (s *Sandbox) Reset(ctx context.Context, spec sandbox.Spec) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.now.Load()
	if s.closed {
		return old.lostError()
	}
	if err := s.resettable(old, spec); err != nil {
		return fmt.Errorf("reset sandbox %s: %w", old.id, err)
	}
	if err := old.Close(); err != nil {
		return fmt.Errorf("reset sandbox %s: %w", old.id, err)
	}
	fresh, err := s.p.openAt(ctx, spec, old.level)
	if err != nil {
		return fmt.Errorf("reset sandbox %s: %w", old.id, err)
	}
	s.now.Store(fresh)
	return nil
}

func (s *Sandbox) resettable(old *folder, spec sandbox.Spec) error {
	if old.level == None {
		return fmt.Errorf("%w: it is not contained", sandbox.ErrNoReset)
	}
	select {
	case <-old.lost:
		return sandbox.ErrLost
	default:
		return checkWorkdir(spec.Workdir)
	}
}

// Close kills everything and removes the folder.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.now.Load().Close()
}

// Kind is sandbox.Local.
func (s *Sandbox) Kind() sandbox.Kind { return sandbox.Local }

// ID is the name of the sandbox's folder.
func (s *Sandbox) ID() string { return s.now.Load().id }

// Workdir is where commands start.
func (s *Sandbox) Workdir() string { return s.now.Load().Workdir() }

// Path is the identity unless the sandbox has no root of its own.
func (s *Sandbox) Path(p string) string { return s.now.Load().Path(p) }

// Isolation says how much this sandbox contains.
func (s *Sandbox) Isolation() string { return s.now.Load().Isolation() }

// Exec runs one command.
func (s *Sandbox) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	return s.now.Load().Exec(ctx, c)
}

// Shell starts a long-lived shell, which a Reset ends.
func (s *Sandbox) Shell(ctx context.Context) (sandbox.Shell, error) { return s.now.Load().Shell(ctx) }

// ReadFile reads a whole regular file.
func (s *Sandbox) ReadFile(ctx context.Context, path string) ([]byte, error) {
	return s.now.Load().ReadFile(ctx, path)
}

// WriteFile replaces a file.
func (s *Sandbox) WriteFile(ctx context.Context, path string, data []byte, mode fs.FileMode) error {
	return s.now.Load().WriteFile(ctx, path, data, mode)
}

// Stat follows links inside the sandbox.
func (s *Sandbox) Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	return s.now.Load().Stat(ctx, path)
}

// ReadDir lists a folder; links are not followed.
func (s *Sandbox) ReadDir(ctx context.Context, path string) ([]fs.FileInfo, error) {
	return s.now.Load().ReadDir(ctx, path)
}

// Walk lists the regular files of a folder.
func (s *Sandbox) Walk(ctx context.Context, dir string, skip []string) ([]sandbox.Entry, error) {
	return s.now.Load().Walk(ctx, dir, skip)
}

// CopyIn has the init unpack the stream.
func (s *Sandbox) CopyIn(ctx context.Context, dst string, tar io.Reader) error {
	return s.now.Load().CopyIn(ctx, dst, tar)
}

// CopyOut has the init pack the path; an error in the middle ends the stream.
func (s *Sandbox) CopyOut(ctx context.Context, path string) (io.ReadCloser, error) {
	return s.now.Load().CopyOut(ctx, path)
}
