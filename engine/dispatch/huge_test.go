package dispatch

import (
	"testing"
	"time"
)

// Times whose sum is no number any more end a simulation as others do.
func TestHugeTimesEnd(t *testing.T) {
	jobs := []Job{{Group: "a", Seconds: [3]float64{1e308, 1e308, 1e308}}, {Group: "b", Seconds: [3]float64{1e308, 1e308, 1e308}}}
	done := make(chan Result, 1)
	go func() { done <- Simulate(AsyncPipeline, Limits{Run: 1}, jobs, nil) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("it does not end")
	}
}
