package engine

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"rollbench/engine/infer"
)

// fleet is the endpoints of a run and which trajectories are on them. It is
// safe for concurrent use.
type fleet struct {
	all  []Upstream
	mu   sync.Mutex // guards all below
	seen []Endpoint // as last looked at, with the trajectories on each
	// preempted are the counters as last reported: one of an endpoint that is
	// away must not look like preemptions when it comes back.
	preempted []float64
	cards     [][]GPU // GPUs that each endpoint's metrics told of last
}

func newFleet(all []Upstream) *fleet {
	f := &fleet{all: all}
	for _, u := range all {
		f.seen = append(f.seen, Endpoint{URL: u.Client.URL(), Model: u.Client.Model(), Weight: u.Weight, Policy: u.Client.PolicyVersion(),
			Healthy: true, Capabilities: u.Capabilities})
		f.preempted = append(f.preempted, math.NaN())
		f.cards = append(f.cards, nil)
	}
	return f
}

// enter puts a trajectory on the healthy endpoint with the fewest for its
// weight; of equals the one with the higher weight, then the first.
func (f *fleet) enter() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, ok := f.least(nil)
	if !ok { // all are down: the call will tell, and wait
		at = 0
		for i := range f.seen {
			if f.lighter(i, at) {
				at = i
			}
		}
	}
	f.seen[at].Trajectories++
	return at
}

func (f *fleet) leave(at int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[at].Trajectories--
}

// move a trajectory from the last of the endpoints that did not answer it to a
// healthy one; false when there is none.
func (f *fleet) move(failed []int, why error) (to int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	from := failed[len(failed)-1]
	f.seen[from].Healthy, f.seen[from].Gauges, f.seen[from].Problem = false, nil, why.Error()
	if to, ok = f.least(failed); ok {
		f.seen[from].Trajectories--
		f.seen[to].Trajectories++
	}
	return to, ok
}

// least loaded healthy endpoint. The caller holds mu.
func (f *fleet) least(without []int) (at int, ok bool) {
	for i := range f.seen {
		if f.seen[i].Healthy && !slices.Contains(without, i) && (!ok || f.lighter(i, at)) {
			at, ok = i, true
		}
	}
	return at, ok
}

// lighter: i has fewer trajectories for its weight than j. The caller holds mu.
func (f *fleet) lighter(i, j int) bool {
	a, b := &f.seen[i], &f.seen[j]
	c := cmp.Compare(float64(a.Trajectories)*b.Weight, float64(b.Trajectories)*a.Weight)
	return c < 0 || c == 0 && a.Weight > b.Weight
}

func (f *fleet) snapshot() []Endpoint {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := slices.Clone(f.seen)
	for i := range seen {
		seen[i].Errors = f.all[i].Client.Errors()
	}
	return seen
}

// gpus that the endpoints' metrics tell of.
func (f *fleet) gpus() []GPU {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Concat(f.cards...)
}

// preemptions of all endpoints so far, NaN when none reports them.
func (f *fleet) preemptions() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	sum := math.NaN()
	for _, n := range f.preempted {
		switch {
		case math.IsNaN(n):
		case math.IsNaN(sum):
			sum = n
		default:
			sum += n
		}
	}
	return sum
}

// lookLimit bounds a look at one endpoint.
const lookLimit = 3 * time.Second

// look at an endpoint. A failed scrape makes it unhealthy and its gauges unknown;
// one without metrics is asked for its health only.
func (f *fleet) look(ctx context.Context, i int) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	u := f.all[i]
	var gauges *infer.Gauges
	var err error
	if u.Capabilities.Metrics {
		var g infer.Gauges
		if g, err = u.Client.Scrape(ctx); err == nil {
			gauges = &g
		}
	} else {
		err = u.Client.Health(ctx)
	}
	if err == nil {
		_ = u.Client.AskPolicyVersion(ctx) // the one seen last stays
	}
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &f.seen[i]
	s.Healthy, s.Gauges, s.Problem, s.Policy = err == nil, gauges, "", u.Client.PolicyVersion()
	if err != nil {
		s.Problem = err.Error()
	}
	f.cards[i] = nil
	if gauges != nil {
		f.cards[i] = withHost(slices.Clone(u.Client.GPUs()), hostIn(s.URL))
	}
	if gauges != nil && gauges.Preemptions != nil {
		f.preempted[i] = *gauges.Preemptions
	}
}
