//go:build !linux

package search

import "time"

// threadTime runs do and says how long it took.
func threadTime(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}
