package local

import (
	"context"
	"path/filepath"
	"strings"

	"rollbench/sandbox"
)

// Kind is sandbox.Local.
func (b *folder) Kind() sandbox.Kind { return sandbox.Local }

// ID is the name of the sandbox's folder.
func (b *folder) ID() string { return b.id }

// Claim says whether it still lives. A folder keeps the name it was opened with.
func (b *folder) Claim(context.Context, string) error {
	select {
	case <-b.lost:
		return b.lostError()
	default:
		return nil
	}
}

// Workdir is where commands start.
func (b *folder) Workdir() string { return b.Path(b.world.workdir) }

// Path is the identity unless the sandbox has no root of its own.
func (b *folder) Path(p string) string {
	if b.level != None || !filepath.IsAbs(p) || p == b.world.root || strings.HasPrefix(p, b.world.root+"/") {
		return p
	}
	return filepath.Join(b.world.root, p)
}

// Exec runs one command.
func (b *folder) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	c.Dir = b.dirOf(c.Dir)
	return sandbox.Run(ctx, b, b.marks.Next("e"), c)
}

func (b *folder) dirOf(dir string) string {
	if dir == "" {
		return b.Workdir()
	}
	if !filepath.IsAbs(dir) {
		return filepath.Join(b.Workdir(), dir)
	}
	return b.Path(dir)
}

// Shell starts a long-lived shell.
func (b *folder) Shell(ctx context.Context) (sandbox.Shell, error) {
	return sandbox.NewShell(ctx, b, sandbox.ShellOptions{Dir: b.Workdir(), Group: b.marks.Next("s")})
}
