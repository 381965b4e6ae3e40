// Package local opens sandboxes that are contained folders of this machine.
//
// In: a sandbox.Spec and Options. Out: a Sandbox whose commands run under a
// small init process of ours (this binary, started again) as pid 1 of its own
// pid namespace, with the folder as its root, this machine's programs
// read-only and no network. bubblewrap makes that world where it is present,
// the init itself otherwise. Every request, also for files, is carried out by
// the init inside that world, so that no path can lead out of it; when the
// owner dies, its socket ends, the init exits, and everything dies with it.
package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"rollbench/sandbox"
)

// Level is how much a sandbox is contained.
type Level string

// The levels, best first.
const (
	Bubblewrap Level = "bubblewrap"
	Namespaces Level = "namespaces"
	None       Level = "none"
)

// Options of a provider. Zero limits take the defaults in brackets.
type Options struct {
	// Home is the folder under which every sandbox has its own folder; nothing
	// is ever removed outside of it.
	Home string
	// AllowUncontained opens sandboxes that contain nothing where neither
	// bubblewrap nor namespaces work.
	AllowUncontained bool
	// Level, when set, is the only level tried.
	Level Level
	// ReadOnly are further folders of this machine to show at the same path,
	// such as a toolchain in a home folder.
	ReadOnly []string
	MemoryMB int     // [1024]
	Pids     int     // [256]
	CPUs     float64 // [1]
	DiskMB   int     // of all files together, and so of the largest [10240]
}

// Provider opens local sandboxes.
type Provider struct {
	opt   Options
	owner sandbox.Owner

	mu    sync.Mutex
	open  map[*folder]bool
	kept  map[*snapshot]bool
	level Level // found by the first probe, "" before
	done  bool
}

// New makes a provider. It starts nothing.
func New(opt Options) (*Provider, error) {
	if opt.Home == "" {
		return nil, errors.New("local sandboxes need a home folder")
	}
	home, err := filepath.Abs(opt.Home)
	if err != nil {
		return nil, fmt.Errorf("local sandboxes: %w", err)
	}
	if home == "/" {
		return nil, errors.New("local sandboxes: / cannot be their home folder")
	}
	for _, dir := range opt.ReadOnly {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("local sandboxes: read-only folder %q is not an absolute path", dir)
		}
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("folder for sessions and sandboxes: %w; set ROLLBENCH_HOME to a folder that can be written", err)
	}
	// Mounts need the real path.
	if opt.Home, err = filepath.EvalSymlinks(home); err != nil {
		return nil, fmt.Errorf("local sandboxes: %w", err)
	}
	if opt.MemoryMB == 0 {
		opt.MemoryMB = 1024
	}
	if opt.Pids == 0 {
		opt.Pids = 256
	}
	if opt.CPUs == 0 {
		opt.CPUs = 1
	}
	if opt.DiskMB == 0 {
		opt.DiskMB = 10240
	}
	p := &Provider{opt: opt, open: map[*folder]bool{}}
	if !supported {
		return p, nil
	}
	if p.owner, err = sandbox.ThisOwner(); err != nil {
		return nil, err
	}
	return p, nil
}

// Kind is sandbox.Local.
func (p *Provider) Kind() sandbox.Kind { return sandbox.Local }

// HasImage is always false: there are no images here.
func (p *Provider) HasImage(context.Context, string) (bool, error) { return false, nil }

// EnsureImage does nothing: a local sandbox runs on this machine's programs.
func (p *Provider) EnsureImage(context.Context, sandbox.Spec) error { return nil }

// Close closes every sandbox that is still open.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.done = true
	var open []*folder
	for b := range p.open {
		open = append(open, b)
	}
	var kept []*snapshot
	for s := range p.kept {
		kept = append(kept, s)
	}
	p.mu.Unlock()
	var errs []error
	for _, b := range open {
		errs = append(errs, b.Close())
	}
	for _, s := range kept {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
