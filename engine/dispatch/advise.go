package dispatch

import (
	"cmp"
	"fmt"
	"slices"
)

// Setting is what a person can choose.
type Setting struct {
	Policy Policy
	Order  Order
	Limits Limits
}

// Variant is a setting with what it makes of the jobs.
type Variant struct {
	Setting
	// Change is its difference to the setting as it is, in words.
	Change string
	Result Result
	// Saves is the share of the makespan as it is that it saves; below 0 it costs.
	Saves float64

	stage string // whose limit it raises
	more  int    // by how much
}

// Limit of a Limits by its configuration key.
type limitKey struct {
	key   string
	stage string // that it limits, in words
	of    func(*Limits) *int
}

var limitKeys = []limitKey{
	{"max_parallel_init", "init", func(l *Limits) *int { return &l.Init }},
	{"max_parallel_agents", "run", func(l *Limits) *int { return &l.Run }},
	{"max_eval_parallel_agents", "eval", func(l *Limits) *int { return &l.Eval }},
	{"max_live_sandboxes", "the number of sandboxes", func(l *Limits) *int { return &l.Live }},
	{"max_ready", "the room for ready trajectories", func(l *Limits) *int { return &l.Ready }},
}

// Advise simulates the jobs under the setting as it is, which comes first, and
// under each single change that might help, the best first: a limit raised by a
// half or doubled, another policy, another order. history is for
// LongestFirst: how long a trajectory of a group took before, in seconds; without
// one that order is not tried, since the jobs' own times are hindsight.
func Advise(now Setting, jobs []Job, history map[string]float64) []Variant {
	groups := make([]string, len(jobs))
	for i, j := range jobs {
		groups[i] = j.Group
	}
	as := func(s Setting) Result {
		return Simulate(s.Policy, s.Limits, jobs, Arrange(s.Order, groups, history))
	}
	base := Variant{Setting: now, Change: "as it is", Result: as(now)}
	var all []Variant
	for _, v := range changes(now, len(jobs), history != nil) {
		v.Result = as(v.Setting)
		if base.Result.Makespan > 0 {
			v.Saves = 1 - v.Result.Makespan/base.Result.Makespan
		}
		all = append(all, v)
	}
	slices.SortStableFunc(all, func(a, b Variant) int { return cmp.Compare(a.Result.Makespan, b.Result.Makespan) })
	return append([]Variant{base}, all...)
}

func changes(now Setting, n int, history bool) []Variant {
	var out []Variant
	for _, k := range limitKeys {
		old := *k.of(&now.Limits)
		if old <= 0 || old >= n {
			continue
		}
		last := old
		for _, raised := range []int{(3*old + 1) / 2, 2 * old} {
			if raised = min(raised, n); raised == last {
				continue
			}
			v := Variant{Setting: now, Change: fmt.Sprintf("%s %d → %d", k.key, old, raised), stage: k.stage, more: raised - old}
			*k.of(&v.Limits) = raised
			out = append(out, v)
			last = raised
		}
	}
	for _, p := range Policies() {
		if p != now.Policy {
			v := Variant{Setting: now, Change: "policy " + string(p)}
			v.Policy = p
			out = append(out, v)
		}
	}
	for _, o := range Orders() {
		if o != now.Order && (o != LongestFirst || history) {
			v := Variant{Setting: now, Change: "order " + string(o)}
			v.Order = o
			out = append(out, v)
		}
	}
	return out
}

// worth is the least saving that is worth a recommendation.
const worth = 0.03

// Recommend in a line what to change, "" when nothing helps. AsyncBatch, which
// keeps no stage's limit, is not recommended. Of two raises of one limit the smaller is taken when it brings most of it.
func Recommend(all []Variant) string {
	var best *Variant
	for i := range all {
		v := &all[i]
		if i == 0 || v.Saves < worth || v.Policy == AsyncBatch && all[0].Policy != AsyncBatch {
			continue
		}
		if best == nil || v.stage != "" && v.stage == best.stage && v.more < best.more && v.Saves >= 0.8*best.Saves {
			best = v
		}
	}
	switch {
	case best == nil:
		return ""
	case best.stage != "":
		return fmt.Sprintf("%s limits you: %s saves %.0f %%", best.stage, best.Change, 100*best.Saves)
	}
	return fmt.Sprintf("%s saves %.0f %%", best.Change, 100*best.Saves)
}
