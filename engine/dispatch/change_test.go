package dispatch

import "testing"

// What waits is sorted anew; what was added for somebody stays first.
func TestReorder(t *testing.T) {
	c := NewCore(AsyncPipeline, Limits{Init: 1, Run: 1, Eval: 1}, 4, nil)
	expect(t, c.Begin(), "start init 0")
	if _, actions := c.Add(1); len(actions) != 0 {
		t.Fatal(actions)
	}
	c.Reorder([]Item{3, 1, 2, 0})
	expect(t, c.InitDone(0, false), "end 0", "start init 4")
	expect(t, c.InitDone(4, false), "end 4", "start init 3")
	expect(t, c.InitDone(3, false), "end 3", "start init 1")
	expect(t, c.InitDone(1, false), "end 1", "start init 2")
}

// Before anything has begun the whole order is another one.
func TestReorderBefore(t *testing.T) {
	c := NewCore(AsyncPipeline, Limits{Init: 1, Run: 1, Eval: 1}, 3, nil)
	c.Reorder([]Item{2, 0, 1})
	expect(t, c.Begin(), "start init 2")
}

// Two items kept their places under a pool and wait for eval behind one that has
// none, and a lowered limit leaves no place for that one: those with a place go
// first, else nobody would ever.
func TestSetPolicyWithKeptPlaces(t *testing.T) {
	l := Limits{Init: 3, Run: 3, Eval: 1, Live: 3, Ready: 3}
	c := NewCore(AsyncPipeline, l, 4, nil)
	expect(t, c.Begin(), "start init 0", "start init 1", "start init 2")
	expect(t, c.InitDone(0, true), "start run 0")
	expect(t, c.InitDone(1, true), "start run 1")
	expect(t, c.RunDone(0, true), "start eval 0")
	expect(t, c.RunDone(1, true), "start init 3") // 1 waits without a place; 0, 2 and 3 have the three
	expect(t, c.SetPolicy(AsyncBatchBounded))
	expect(t, c.InitDone(2, true), "start run 2")
	expect(t, c.InitDone(3, true), "start run 3")
	expect(t, c.RunDone(2, true))
	expect(t, c.RunDone(3, true))
	expect(t, c.SetPolicy(AsyncPipeline))
	l.Live = 2
	expect(t, c.SetLimits(l))
	expect(t, c.EvalDone(0), "end 0", "start eval 2")
	expect(t, c.EvalDone(2), "end 2", "start eval 1")
	expect(t, c.EvalDone(1), "end 1", "start eval 3")
	expect(t, c.EvalDone(3), "end 3")
}
