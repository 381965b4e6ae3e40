package engine

import (
	"runtime"
	"testing"

	"rollbench/engine/infer/simulated"
)

// BenchmarkHundredThousand makes a run of 100,000 trajectories and reports the
// memory that it holds before anything starts: B/trajectory, with the rows that
// the session keeps for readers.
func BenchmarkHundredThousand(b *testing.B) {
	const many = 100_000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		r := newRig(b, func(c *Config, _ *simulated.Options) { c.Generator.NumTrajectories = many }, "pager-last-page").engine()
		if err := r.measure(b.Context(), r.started); err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/many, "heap-B/trajectory")
		runtime.KeepAlive(r)
	}
}
