package local

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"rollbench/sandbox"
)

// Console starts a person's shell through the init.
func (b *folder) Console(ctx context.Context, c sandbox.ConsoleSpec) (sandbox.Console, error) {
	return sandbox.NewConsole(ctx, b, b.marks.Next("e"), b.Workdir(), c)
}

// Resize the terminal that the command runs on: this side of it is here.
func (p *process) Resize(rows, cols int) error {
	raw, err := p.in.SyscallConn()
	if err != nil {
		return fmt.Errorf("resize a terminal: %w", err)
	}
	var failed error
	size := unix.Winsize{Row: uint16(max(rows, 1)), Col: uint16(max(cols, 1))}
	err = raw.Control(func(fd uintptr) { failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &size) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("resize a terminal: %w", err)
	}
	return nil
}
