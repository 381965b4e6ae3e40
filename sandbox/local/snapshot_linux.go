package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"rollbench/sandbox"
)

// snapshot is a copy of a sandbox's folder. Its owner file lets the next start
// remove it if this process dies.
type snapshot struct {
	p  *Provider
	id string
}

// Snapshot copies the sandbox's folder: its workspace, home, /tmp and all else but
// what this machine shows there. What commands write meanwhile may be caught half
// way. An uncontained sandbox has none, since its files hold its own paths.
func (b *folder) Snapshot(ctx context.Context) (sandbox.Snapshot, error) {
	if b.level == None {
		return nil, fmt.Errorf("snapshot of %s: %w: it is not contained", b.id, sandbox.ErrNoSnapshot)
	}
	if err := b.Claim(ctx, ""); err != nil {
		return nil, err
	}
	s := &snapshot{p: b.p, id: newID("snapshot")}
	if err := createWhole(filepath.Join(b.p.opt.Home, s.id+".owner"), b.p.owner.String()+"\n"); err != nil {
		return nil, fmt.Errorf("snapshot of %s: %w", b.id, err)
	}
	err := os.MkdirAll(s.root(), 0o755)
	if err == nil {
		err = copyTree(ctx, b.world.root, s.root(), int64(b.diskMB)<<20)
	}
	if err == nil {
		err = b.p.keep(s)
	}
	if err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", sandbox.ErrNoSnapshot, err)
		}
		return nil, errors.Join(fmt.Errorf("snapshot of %s: %w", b.id, err), s.Close())
	}
	return s, nil
}

func (p *Provider) keep(s *snapshot) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return errors.New("the provider is closed")
	}
	if p.kept == nil {
		p.kept = map[*snapshot]bool{}
	}
	p.kept[s] = true
	return nil
}

func (s *snapshot) root() string { return filepath.Join(s.p.opt.Home, s.id, "root") }

// ID is the name of the snapshot's folder.
func (s *snapshot) ID() string { return s.id }

// Close removes it. Sandboxes that were opened from it have copies.
func (s *snapshot) Close() error {
	s.p.mu.Lock()
	delete(s.p.kept, s)
	s.p.mu.Unlock()
	return removeSandbox(s.p.opt.Home, s.id)
}

// fill lays a snapshot's files into a sandbox's fresh folder.
func (b *folder) fill(ctx context.Context, from, root string, limit int64) error {
	if from != filepath.Base(from) || !strings.HasPrefix(from, "rollbench-snapshot-") {
		return fmt.Errorf("%w snapshot %q: there is none of that name", errSpec, from)
	}
	if b.level == None {
		return fmt.Errorf("%w snapshot %s: it is not contained", errSpec, from)
	}
	if err := copyTree(ctx, filepath.Join(b.p.opt.Home, from, "root"), root, limit); err != nil {
		return fmt.Errorf("%w snapshot %s: %w", errSpec, from, err)
	}
	return nil
}
