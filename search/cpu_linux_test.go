package search

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// threadTime runs do and says what its thread used: the clock also counts other programs.
func threadTime(do func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadClock()
	do()
	return threadClock() - start
}

func threadClock() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
