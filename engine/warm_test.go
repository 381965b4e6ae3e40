package engine

import (
	"strings"
	"sync"
	"testing"

	"rollbench/engine/dispatch"
	"rollbench/engine/infer/simulated"
	"rollbench/sandbox"
)

// Sandboxes are opened ahead for what waits, never used twice, and never more
// than max_live_sandboxes; at the end none is left. Under every policy.
func TestWarmSandboxes(t *testing.T) {
	for _, policy := range dispatch.Policies() {
		t.Run(string(policy), func(t *testing.T) {
			r := newRig(t, func(c *Config, _ *simulated.Options) {
				c.Dispatcher.Type, c.Dispatcher.MaxRun, c.Dispatcher.MaxInit, c.Dispatcher.MaxEval, c.Dispatcher.MaxLive = string(policy), 1, 1, 1, 3
				c.Sandbox.Warm = 2
			}, "pager-last-page").engine()
			var mu sync.Mutex
			var ahead, direct int
			r.local.onOpen = func(spec sandbox.Spec, sb sandbox.Sandbox) (sandbox.Sandbox, error) {
				mu.Lock()
				defer mu.Unlock()
				if strings.HasPrefix(spec.Name, "warm") {
					ahead++
				} else {
					direct++
				}
				return sb, nil
			}
			if err := r.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for key, row := range r.rows() {
				if row.Reward == nil {
					t.Errorf("%s has no reward: %s %v", key, row.Finish, row.Causes)
				}
			}
			if ahead == 0 || ahead+direct < 4 { // two trajectories, run and eval, each in a fresh one
				t.Errorf("%d opened ahead, %d directly", ahead, direct)
			}
			if r.local.most > 3 {
				t.Errorf("%d at once, the limit is 3", r.local.most)
			}
			if n := r.Status().Warm; n != 0 {
				t.Errorf("%d are still warm", n)
			}
			r.nothingOpen()
		})
	}
}
