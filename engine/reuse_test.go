package engine

import (
	"context"
	"errors"
	"testing"

	"rollbench/engine/infer/simulated"
	"rollbench/sandbox"
)

// clean is a sandbox that can be reset: in this test by taking another one.
type clean struct {
	sandbox.Sandbox
	local  *faulty
	resets *int
	fail   func(spec sandbox.Spec) error
}

func (c *clean) Reset(ctx context.Context, spec sandbox.Spec) error {
	*c.resets++
	if err := c.fail(spec); err != nil {
		return err
	}
	fresh, err := c.local.Provider.Open(ctx, spec)
	if err != nil {
		return err
	}
	old := c.Sandbox.(*counted).Sandbox
	c.Sandbox.(*counted).Sandbox = fresh
	return old.Close()
}

// async_batch_bounded works all trajectories, run and eval, in its pool of two
// environments; one that cannot be reset is replaced.
func TestEnvironmentsAreReused(t *testing.T) {
	for _, fails := range []bool{false, true} {
		r := newRig(t, func(c *Config, _ *simulated.Options) {
			c.Dispatcher.Type, c.Dispatcher.MaxRun, c.Dispatcher.MaxInit, c.Dispatcher.MaxEval = "async_batch_bounded", 1, 1, 1
		}, "pager-last-page").engine()
		opened, resets, refused := 0, 0, 0
		r.local.onOpen = func(_ sandbox.Spec, sb sandbox.Sandbox) (sandbox.Sandbox, error) {
			opened++
			return &clean{sb, r.local, &resets, func(sandbox.Spec) error {
				if fails {
					refused++
					return errors.New("something is left")
				}
				return nil
			}}, nil
		}
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for key, row := range r.rows() {
			if row.Reward == nil {
				t.Errorf("%s has no reward: %s %v", key, row.Finish, row.Causes)
			}
		}
		// Two trajectories, run and eval: four uses of one place.
		if !fails && (opened != 1 || resets != 4) { // after each use
			t.Errorf("%d opened, %d resets", opened, resets)
		}
		if fails && (opened != 4 || refused != 4) {
			t.Errorf("%d opened, %d resets refused", opened, refused)
		}
		if r.local.most > 1 {
			t.Errorf("%d at once", r.local.most)
		}
		r.nothingOpen()
	}
}

// Other policies give nothing back for reuse.
func TestOnlyBoundedReuses(t *testing.T) {
	r := newRig(t, nil, "pager-last-page").engine()
	resets := 0
	r.local.onOpen = func(_ sandbox.Spec, sb sandbox.Sandbox) (sandbox.Sandbox, error) {
		return &clean{sb, r.local, &resets, func(sandbox.Spec) error { return nil }}, nil
	}
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if resets != 0 {
		t.Errorf("%d resets", resets)
	}
}
