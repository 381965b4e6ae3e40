package cli

import (
	"context"
	"errors"
	"fmt"

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
			jobs = append(jobs, dispatch.Job{Group: t.Key.Instance, Seconds: t.Seconds})
		}
	}
	return jobs, nil
}

// pastTimes is how long a trajectory of each instance took in the other runs
// of this home, in seconds: the mean of those that were done. A run that cannot
// be read is left out and named.
func pastTimes(ctx context.Context, home, except string) (history map[string]float64, unread []string, err error) {
	runs, err := sessions.List(ctx, home)
	if err != nil {
		return nil, nil, err
	}
	var all []dispatch.Job
	for _, run := range runs {
		if run.Problem != "" || run.ID == except {
			continue
		}
		jobs, err := readStageTimes(ctx, home, run.ID, true)
		if ctx.Err() != nil {
			return nil, nil, err
		}
		if err != nil {
			unread = append(unread, fmt.Sprintf("run %s is left out of the history: %s", run.ID, oneLine(err)))
			continue
		}
		all = append(all, jobs...)
	}
	return engine.MeanTimes(all), unread, nil
}

func readStageTimes(ctx context.Context, home, id string, whole bool) (jobs []dispatch.Job, err error) {
	r, err := sessions.OpenReader(ctx, home, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return stageTimes(ctx, r, whole)
}
