//go:build !linux && !darwin

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// where knows no boot and no namespaces here; the host's name must do.
func where() (Owner, error) {
	host, err := os.Hostname()
	if err != nil {
		return Owner{}, err
	}
	return Owner{Machine: host, Boot: "none", PidNS: "none"}, nil
}

// StartTime tells only whether a process exists: a reused pid counts as alive,
// so that too little is reaped rather than too much.
func StartTime(pid int) (uint64, error) {
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Signal(syscall.Signal(0))
	}
	if errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
		return 0, fmt.Errorf("process %d has ended: %w", pid, os.ErrNotExist)
	}
	return 1, nil
}
