//go:build race

package export

// Under the race detector writing that much takes a minute, and its memory is
// another: .ci/run runs the test without it.
func init() { slowed = true }
