package sandbox

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// where: the id of the boot session tells machines apart, too; names of hosts
// change with the network there. Processes have no namespaces.
func where() (Owner, error) {
	boot, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return Owner{}, fmt.Errorf("kern.bootsessionuuid: %w", err)
	}
	return Owner{Machine: "none", Boot: boot, PidNS: "none"}, nil
}

// zombie is SZOMB of sys/proc.h.
const zombie = 5

// StartTime is when a process was started, in microseconds since 1970. A zombie
// has ended: it does not exist.
func StartTime(pid int) (uint64, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	switch {
	case err != nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH):
		return 0, fmt.Errorf("process %d has ended: %w", pid, os.ErrNotExist)
	case err != nil:
		return 0, fmt.Errorf("kern.proc.pid of %d: %w", pid, err)
	case info.Proc.P_stat == zombie:
		return 0, fmt.Errorf("process %d has ended: %w", pid, os.ErrNotExist)
	}
	started := info.Proc.P_starttime
	return uint64(started.Sec)*1e6 + uint64(started.Usec), nil
}
