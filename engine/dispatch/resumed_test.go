package dispatch

import "testing"

// A resumed item that enters at eval has no place of its own. With the pool
// lowered, those behind it hold the places that it waits for.
func TestLoweredPoolDoesNotBlockEval(t *testing.T) {
	c := NewCore(AsyncBatchBounded, Limits{Run: 3, Eval: 1}, 5, nil)
	c.SkipToEval(0)
	c.SkipToEval(1)
	starts := map[Item]Stage{}
	note := func(actions []Action) {
		for _, a := range actions {
			if a.Do == Start {
				starts[a.Item] = a.Stage
			}
		}
	}
	note(c.Begin()) // 0 is evaluated, 2 and 3 have the other places
	for _, it := range []Item{2, 3} {
		note(c.InitDone(it, true))
		note(c.RunDone(it, true))
	}
	note(c.SetLimits(Limits{Run: 2, Eval: 1}))
	note(c.EvalDone(0))
	if s := c.Snapshot(); s.Busy == [3]int{} {
		t.Fatalf("nothing works and %d are left: waiting %v, live %d of %d", s.Left, s.Waiting, s.Live, s.MaxLive)
	}
}
