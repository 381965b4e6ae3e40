package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"rollbench/engine/dispatch"
	"rollbench/sessions"
)

// stageTimes are the recorded stage times of a run's trajectories, in queue
// order. The time of run stands still while a trajectory is held; of several
// attempts the last counts. A trajectory that has not ended is left out.
func stageTimes(ctx context.Context, r sessions.Reader) ([]dispatch.Job, error) {
	rows, _, err := r.Trajectories(ctx)
	if err != nil {
		return nil, err
	}
	clocks := map[sessions.Key]*stageClock{}
	for seq := int64(0); ; {
		events, err := r.Since(ctx, seq, 1000)
		if err != nil {
			return nil, err
		}
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			seq = e.Seq
			if e.Kind != sessions.KindState {
				continue
			}
			if clocks[e.Key] == nil {
				clocks[e.Key] = &stageClock{}
			}
			if err := clocks[e.Key].see(e); err != nil {
				return nil, fmt.Errorf("read event %d: %w", e.Seq, err)
			}
		}
	}
	var jobs []dispatch.Job
	for _, row := range rows {
		if c := clocks[row.Key]; c != nil && row.State.Ended() {
			jobs = append(jobs, dispatch.Job{Group: row.Instance, Seconds: c.seconds})
		}
	}
	return jobs, nil
}

// stageClock adds up the time a trajectory spent working in each stage.
type stageClock struct {
	seconds [3]float64
	in      sessions.State
	since   time.Time
}

var stageOf = map[sessions.State]dispatch.Stage{sessions.Init: dispatch.Init, sessions.Running: dispatch.Run, sessions.Evaluating: dispatch.Eval}

func (c *stageClock) see(e sessions.Event) error {
	var s sessions.StateChange
	if err := json.Unmarshal(e.Data, &s); err != nil {
		return err
	}
	if st, ok := stageOf[c.in]; ok {
		c.seconds[st] += e.Time.Sub(c.since).Seconds()
	}
	if s.State == sessions.Init {
		c.seconds = [3]float64{} // a new attempt
	}
	c.in, c.since = s.State, e.Time
	return nil
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
	return meanTimes(all), nil
}

func readStageTimes(ctx context.Context, home, id string) (jobs []dispatch.Job, err error) {
	r, err := sessions.OpenReader(ctx, home, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return stageTimes(ctx, r)
}

// meanTimes of a trajectory of each group, all stages together.
func meanTimes(jobs []dispatch.Job) map[string]float64 {
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
