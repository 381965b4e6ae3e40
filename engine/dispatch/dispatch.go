// Package dispatch moves items through the stages init → run → eval under
// limits (the dispatcher of SkyRL-Agent, arXiv 2511.16108 §3, bounded).
//
// In: the policy, the limits, the number of items and their order; then what
// happens (a stage ended, an item is held or wants to go on, a limit changed,
// items were added).
// Out: what to start. Core is a pure state machine without goroutines or
// clock; Live drives it with goroutines, tests and simulations with a heap of
// events. An item is a number: the package knows nothing of trajectories.
//
// Invariants, held by every method and tested over random schedules:
//   - an item starts each stage at most once and in order, and ends once;
//   - busy(stage) ≤ its limit at every start (a lowered limit drains);
//   - live places ≤ Live at every start of init or eval;
//   - items initialised and waiting ≤ Ready, unless Ready was lowered;
//   - a slot and a place are given back on every path.
package dispatch

import (
	"fmt"
	"math"
)

// Item is an index 0…n−1.
type Item int

// Stage of an item.
type Stage uint8

// The stages, in order.
const (
	Init Stage = iota
	Run
	Eval
	numStages
)

func (s Stage) String() string {
	switch s {
	case Init:
		return "init"
	case Run:
		return "run"
	case Eval:
		return "eval"
	}
	return fmt.Sprintf("stage %d", uint8(s))
}

// Policy decides which limits apply.
type Policy string

// The policies, with SkyRL-Agent's names.
const (
	// AsyncBatch lets every item go through its stages on its own; only Live bounds it.
	AsyncBatch Policy = "async_batch"
	// AsyncBatchBounded has a fixed pool of Run places; an item keeps its place
	// from the start of init to the end of eval.
	AsyncBatchBounded Policy = "async_batch_bounded"
	// AsyncPipeline overlaps the stages, each with its own limit.
	AsyncPipeline Policy = "async_pipeline"
)

// Policies in the order of the documentation.
func Policies() []Policy { return []Policy{AsyncBatch, AsyncBatchBounded, AsyncPipeline} }

// Limits as configured. 0 means the default for Ready (Live − Run) and none
// for the others.
type Limits struct {
	Init  int `json:"max_parallel_init"`
	Run   int `json:"max_parallel_agents"`
	Eval  int `json:"max_eval_parallel_agents"`
	Live  int `json:"max_live_sandboxes"`
	Ready int `json:"max_ready"`
	// OnePlace: an item is evaluated in the place it ran in, under every
	// policy. The engine evaluates in fresh sandboxes and leaves it false.
	OnePlace bool `json:"one_sandbox"`
}

const none = math.MaxInt

// bounds are the limits in force: what Limits mean under a policy.
type bounds struct {
	busy  [numStages]int
	live  int
	ready int
	// keep: an item's place is kept from init to the end of eval.
	keep bool
}

func orNone(n int) int {
	if n <= 0 {
		return none
	}
	return n
}

// resolve the limits for n items. None is above n, as in SkyRL-Agent: what the
// screen shows is then what can be reached.
func resolve(p Policy, l Limits, n int) bounds {
	b := meant(p, l)
	for i, limit := range b.busy {
		if limit != none {
			b.busy[i] = min(limit, max(n, 1))
		}
	}
	if b.live != none {
		b.live = min(b.live, max(n, 1))
	}
	return b
}

func meant(p Policy, l Limits) bounds {
	b := bounds{live: orNone(l.Live), ready: none, keep: l.OnePlace}
	switch p {
	case AsyncBatch:
		b.busy = [numStages]int{none, none, none}
	case AsyncBatchBounded:
		b.busy = [numStages]int{orNone(l.Init), orNone(l.Run), orNone(l.Eval)}
		b.live = min(b.live, orNone(l.Run))
		b.keep = true
	default:
		b.busy = [numStages]int{orNone(l.Init), orNone(l.Run), orNone(l.Eval)}
		switch {
		case l.Ready > 0:
			b.ready = l.Ready
		case b.live != none && b.busy[Run] != none:
			b.ready = max(b.live-b.busy[Run], 0)
		}
	}
	return b
}

// Check says what is wrong with a policy and its limits.
func Check(p Policy, l Limits) error {
	known := false
	for _, k := range Policies() {
		known = known || k == p
	}
	if !known {
		return fmt.Errorf("dispatcher.type %q is unknown: use one of %v", p, Policies())
	}
	for _, f := range []struct {
		name string
		n    int
	}{{"max_parallel_init", l.Init}, {"max_parallel_agents", l.Run}, {"max_eval_parallel_agents", l.Eval},
		{"max_live_sandboxes", l.Live}, {"max_ready", l.Ready}} {
		if f.n < 0 {
			return fmt.Errorf("dispatcher.%s is %d: use 0 (no limit) or more", f.name, f.n)
		}
	}
	return nil
}
