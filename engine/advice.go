package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rollbench/engine/dispatch"
	"rollbench/sessions"
	"rollbench/sessions/stats"
)

// WhatIf simulates a run, live or finished, with other settings: its own
// dispatcher on the stage times that the session recorded, from its start, as if
// they did not depend on the load. Trajectories whose times are not known yet
// count as their siblings, else as others of the run.
func WhatIf(ctx context.Context, r sessions.Reader) (Advice, error) {
	run, err := stats.Read(ctx, r)
	if err != nil {
		return Advice{}, err
	}
	return Advise(r.Run(), run)
}

// Advise is WhatIf of what has been read of a run.
func Advise(of sessions.Run, run *stats.Run) (Advice, error) {
	var c Config
	if err := json.Unmarshal(of.Config, &c); err != nil {
		return Advice{}, fmt.Errorf("read the configuration of run %s: %w", of.ID, err)
	}
	if l := run.Limits(); l != nil { // as they were changed last
		c.Dispatcher.SetLimits(*l)
	}
	limits := c.Dispatcher.Limits()
	times := run.Times()
	jobs, known := predicted(times)
	advice := Advice{Known: known, All: len(times)}
	if known == 0 {
		return advice, nil
	}
	now := dispatch.Setting{Policy: dispatch.Policy(c.Dispatcher.Type), Order: dispatch.Order(c.Dispatcher.Order), Limits: limits}
	var history map[string]float64
	if now.Order == dispatch.LongestFirst { // the order it has; earlier runs are not at hand
		history = MeanTimes(jobs)
	}
	all := dispatch.Advise(now, jobs, history)
	if c.Dispatcher.Adaptive != "" { // it follows the endpoint, of which stage times say nothing
		all = slices.DeleteFunc(all, func(v dispatch.Variant) bool { return strings.HasPrefix(v.Change, "max_parallel_agents ") })
	}
	for _, v := range all {
		advice.Outlooks = append(advice.Outlooks, Outlook{Change: v.Change, Policy: string(v.Policy), Order: string(v.Order), Limits: v.Limits,
			Makespan: v.Result.Makespan, Saves: v.Saves, MostLive: v.Result.MostLive, RunUse: v.Result.RunUse})
	}
	advice.Bound = all[0].Result.Bound
	advice.Text = dispatch.Recommend(all)
	return advice, nil
}

// predicted stage times of all trajectories, and how many of them are recorded.
func predicted(times []stats.Times) (jobs []dispatch.Job, known int) {
	sum, n, kept := map[string][3]float64{}, map[string]float64{}, map[string]bool{}
	var recorded []dispatch.Job
	for _, t := range times {
		if !t.Ended {
			continue
		}
		recorded = append(recorded, dispatch.Job{Group: t.Key.Instance, Seconds: t.Seconds, Kept: t.Kept})
		if !t.Whole {
			continue
		}
		s := sum[t.Key.Instance]
		for st, took := range t.Seconds {
			s[st] += took
		}
		sum[t.Key.Instance] = s
		n[t.Key.Instance]++
		kept[t.Key.Instance] = t.Kept
	}
	if len(recorded) == 0 {
		return nil, 0
	}
	for i, t := range times {
		j := dispatch.Job{Group: t.Key.Instance, Seconds: t.Seconds, Kept: t.Kept}
		switch siblings := n[t.Key.Instance]; {
		case t.Ended:
		case siblings > 0:
			for st, s := range sum[t.Key.Instance] {
				j.Seconds[st] = s / siblings
			}
			j.Kept = kept[t.Key.Instance]
		default:
			like := recorded[i%len(recorded)]
			j.Seconds, j.Kept = like.Seconds, like.Kept
		}
		jobs = append(jobs, j)
	}
	return jobs, len(recorded)
}

// MeanTimes of a trajectory of each group, all stages together, in seconds:
// the history for dispatch.LongestFirst.
func MeanTimes(jobs []dispatch.Job) map[string]float64 {
	sum, n := map[string]float64{}, map[string]float64{}
	for _, j := range jobs {
		sum[j.Group] += j.Seconds[0] + j.Seconds[1] + j.Seconds[2]
		n[j.Group]++
	}
	for g := range sum {
		sum[g] /= n[g]
	}
	return sum
}
