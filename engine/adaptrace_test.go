package engine

import (
	"testing"
	"time"

	"rollbench/engine/dispatch"
)

// A person who sets the limit that the controller is about to set does not end
// the run: the monitor stops it when adapt returns an error.
func TestAdaptBesideAPerson(t *testing.T) {
	r := newRig(t, nil, "pager-last-page").engine()
	opened, let := r.gateOpens()
	done := make(chan error)
	go func() { done <- r.Run(t.Context()) }()
	<-opened
	over := make(chan struct{})
	go func() {
		defer close(over)
		for n := range 600 { // refused where it is that already
			_ = r.SetLimits(Limits{Init: 2, Run: 2 + n%2, Eval: 1, Live: 4}, "")
		}
	}()
	c := &dispatch.Adaptive{Min: 1, Max: 2}
	for working := true; working; {
		select {
		case <-over:
			working = false
		default:
		}
		if err := r.adapt(t.Context(), c, time.Now()); err != nil {
			t.Errorf("adapt() = %v", err)
			break
		}
	}
	<-over
	close(let)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
