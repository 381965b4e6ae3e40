package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Sweep kills whatever commands left running.
func (b *folder) Sweep(ctx context.Context) error {
	if _, _, err := b.ask(ctx, request{Op: opSweep}); err != nil {
		return fmt.Errorf("end what commands left running: %w", err)
	}
	return nil
}

// sweep kills all that the init started and what came of it. In a pid namespace
// that is everything else in it, and one system call that no fork can outrun.
func (a *agent) sweep() error {
	if a.cfg.Level == None {
		return killAll()
	}
	if os.Getpid() != 1 {
		return errors.New("the init is not pid 1: all that could be killed is not the sandbox's")
	}
	end := time.Now().Add(killLimit)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := syscall.Kill(-1, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return nil // nobody is left, nor waits to be reaped
		}
		if err != nil {
			return os.NewSyscallError("kill", err)
		}
		if time.Now().After(end) {
			return errors.New("some processes do not die")
		}
		time.Sleep(pause)
	}
}
