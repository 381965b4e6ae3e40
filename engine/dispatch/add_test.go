package dispatch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Added items are the next to start, in their order, and the limits that the
// number of items had cut are those that were given.
func TestAddedComeFirst(t *testing.T) {
	c := NewCore(AsyncPipeline, Limits{Init: 1, Run: 1, Eval: 1, Live: 9}, 3, nil)
	expect(t, c.Begin(), "start init 0")
	if first, actions := c.Add(2); first != 3 || len(actions) != 0 {
		t.Fatalf("first %d, %v", first, actions)
	}
	expect(t, c.InitDone(0, true), "start run 0", "start init 3")
	expect(t, c.InitDone(3, false), "end 3", "start init 4")
	expect(t, c.InitDone(4, false), "end 4", "start init 1")
	if s := c.Snapshot(); s.MaxLive != 5 || s.Left != 3 {
		t.Errorf("%+v", s)
	}
}

// A run of one that is held: what is added finds the places that one did not need.
func TestAddedToARunOfOne(t *testing.T) {
	c := NewCore(AsyncPipeline, Limits{Init: 4, Run: 2, Eval: 1, Live: 3}, 1, nil)
	expect(t, c.Begin(), "start init 0")
	expect(t, c.InitDone(0, true), "start run 0")
	expect(t, c.Hold(0))
	_, actions := c.Add(2)
	expect(t, actions, "start init 1", "start init 2")
}

// Before the run begins, as where a run that had ended goes on for them alone.
func TestAddedBeforeBegin(t *testing.T) {
	c := NewCore(AsyncPipeline, Limits{Init: 1, Run: 1, Eval: 1}, 1, nil)
	c.Skip(0)
	if first, actions := c.Add(1); first != 1 || len(actions) != 0 {
		t.Fatalf("first %d, %v", first, actions)
	}
	expect(t, c.Begin(), "start init 1")
	expect(t, c.InitDone(1, false), "end 1")
	if c.Left() != 0 {
		t.Errorf("%d left", c.Left())
	}
}

// Items are added while the last of the others is evaluated, and go all the way;
// once all have ended, or the run was stopped, or prepare fails, none is added.
func TestLiveAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &work{}
		d := start(1, Limits{Init: 1, Run: 1, Eval: 1}, w)
		fails := errors.New("no room in the session")
		added := make(chan error, 2)
		w.eval = func(ctx context.Context, it Item) {
			if it == 0 {
				added <- d.Add(1, func(Item) error { return fails })
				added <- d.Add(2, func(first Item) error {
					if first != 1 {
						t.Errorf("first %d", first)
					}
					return nil
				})
			}
			_ = wait(ctx, time.Second)
		}
		if err := d.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a, b := <-added, <-added; a != fails || b != nil {
			t.Errorf("%v, %v", a, b)
		}
		slices.Sort(w.log)
		if got := strings.Join(w.log, ", "); got != "eval 0, eval 1, eval 2, init 0, init 1, init 2, run 0, run 1, run 2" {
			t.Errorf("log %q", got)
		}
		never := func(Item) error { t.Error("prepared"); return nil }
		if err := d.Add(1, never); err != ErrOver {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestLiveAddAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &work{}
		d := start(3, Limits{Init: 1, Run: 1, Eval: 1}, w)
		ctx, stop := context.WithCancel(t.Context())
		w.run = func(ctx context.Context, it Item) bool {
			stop()
			if err := d.Add(1, func(Item) error { t.Error("prepared"); return nil }); err != ErrOver {
				t.Errorf("stopped: %v", err)
			}
			return false
		}
		if err := d.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}
