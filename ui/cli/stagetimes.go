package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"rollbench/engine"
	"rollbench/engine/dispatch"
	"rollbench/sessions"
	"rollbench/sessions/stats"
)

// stageTimes are the recorded stage times of a run's trajectories, in queue
// order. Those that have not ended are left out, and with whole those that did
// not go their whole way.
func stageTimes(ctx context.Context, r sessions.Reader, whole bool) ([]dispatch.Job, error) {
	run, err := stats.Read(ctx, r)
	if err != nil {
		return nil, err
	}
	var jobs []dispatch.Job
	for _, t := range run.Times() {
		if t.Whole || t.Ended && !whole {
			jobs = append(jobs, dispatch.Job{Group: t.Key.Instance, Seconds: t.Seconds, Kept: t.Kept})
		}
	}
	return jobs, nil
}

// pastRuns bounds the runs whose events are read for the history.
const pastRuns = 16

// pastTimes is how long a trajectory of each instance of a run took in the newest
// other runs of this home that have some of them, in seconds: the mean of those that
// were done. A run that cannot be read is left out and named.
func pastTimes(ctx context.Context, home string, of sessions.Run) (history map[string]float64, unread []string, err error) {
	runs, err := sessions.List(ctx, home)
	if err != nil {
		return nil, nil, err
	}
	wanted := map[string]bool{}
	for _, k := range of.Members {
		wanted[k.Instance] = true
	}
	var all []dispatch.Job
	read := 0
	for _, run := range runs { // the newest come first
		if run.Problem != "" || run.ID == of.ID {
			continue
		}
		jobs, err := timesOf(ctx, home, run.ID, wanted)
		if ctx.Err() != nil {
			return nil, nil, err
		}
		if err != nil {
			unread = append(unread, fmt.Sprintf("run %s is left out of the history: %s", run.ID, oneLine(err)))
			continue
		}
		all = append(all, jobs...)
		if len(jobs) > 0 {
			read++
		}
		if read == pastRuns {
			break
		}
	}
	return engine.MeanTimes(all), unread, nil
}

// timesOf the wanted instances in a run; one that has none of them is not read.
func timesOf(ctx context.Context, home, id string, wanted map[string]bool) (jobs []dispatch.Job, err error) {
	r, err := sessions.OpenReader(ctx, home, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if !slices.ContainsFunc(r.Run().Members, func(k sessions.Key) bool { return wanted[k.Instance] }) {
		return nil, nil
	}
	jobs, err = stageTimes(ctx, r, true)
	return slices.DeleteFunc(jobs, func(j dispatch.Job) bool { return !wanted[j.Group] }), err
}

func readStageTimes(ctx context.Context, home, id string, whole bool) (jobs []dispatch.Job, err error) {
	r, err := sessions.OpenReader(ctx, home, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return stageTimes(ctx, r, whole)
}
