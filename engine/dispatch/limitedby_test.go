package dispatch

import "testing"

// What waits to be evaluated for want of a place is limited by the sandboxes.
func TestEvalLimitedBySandboxes(t *testing.T) {
	c := NewCore(AsyncPipeline, Limits{Init: 3, Run: 3, Eval: 3, Live: 3}, 3, nil)
	c.Begin()
	for it := range Item(3) {
		c.InitDone(it, true)
	}
	c.SetLimits(Limits{Init: 3, Run: 3, Eval: 3, Live: 1})
	c.RunDone(0, true) // 1 and 2 run, in more places than there are
	if s := c.Snapshot(); s.LimitedBy != "sandboxes" || s.Waiting[Eval] != 1 {
		t.Errorf("limited by %q, waiting %v", s.LimitedBy, s.Waiting)
	}
}
