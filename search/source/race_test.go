//go:build race

package source

// Comparing a whole library is slow with the race detector and one goroutine
// scans at a time: it is done without.
func init() { underRace = true }
