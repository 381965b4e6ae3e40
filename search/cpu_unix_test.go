//go:build unix

package search

import (
	"syscall"
	"time"
)

// cpuTime is what this process has used on all processors: unlike the clock it does not
// depend on what else the machine does.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
