package cli

import (
	"context"
	"errors"

	"rollbench/engine"
	"rollbench/engine/dispatch"
	"rollbench/sessions"
	"rollbench/sessions/stats"
)

// stageTimes are the recorded stage times of a run's trajectories, in queue
// order. A trajectory that has not ended is left out.
func stageTimes(ctx context.Context, r sessions.Reader) ([]dispatch.Job, error) {
	run, err := stats.Read(ctx, r)
	if err != nil {
		return nil, err
	}
	var jobs []dispatch.Job
	for _, t := range run.Times() {
		if t.Ended {
			jobs = append(jobs, dispatch.Job{Group: t.Key.Instance, Seconds: t.Seconds})
		}
	}
	return jobs, nil
}

// pastTimes is how long a trajectory of each instance took in the other runs
// of this home, in seconds: the mean of those that were done.
func pastTimes(ctx context.Context, home, except string) (map[string]float64, error) {
	runs, err := sessions.List(ctx, home)
	if err != nil {
		return nil, err
	}
	var all []dispatch.Job
	for _, run := range runs {
		if run.Problem != "" || run.ID == except {
			continue
		}
		jobs, err := readStageTimes(ctx, home, run.ID)
		if err != nil {
			return nil, err
		}
		all = append(all, jobs...)
	}
	return engine.MeanTimes(all), nil
}

func readStageTimes(ctx context.Context, home, id string) (jobs []dispatch.Job, err error) {
	r, err := sessions.OpenReader(ctx, home, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return stageTimes(ctx, r)
}
