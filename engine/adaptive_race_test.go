//go:build race

package engine

// Under the race detector all of TestAdaptiveLimit takes minutes, and one
// workload shows the same races.
func init() { workloads = workloads[2:] }
