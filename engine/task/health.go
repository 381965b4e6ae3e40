package task

import (
	"context"
	"fmt"
	"strings"
	"time"

	"rollbench/sandbox"
)

// healthTable is [environment.healthcheck]: a command that must succeed before the
// policy begins. Seconds, and their defaults, are Harbor's.
type healthTable struct {
	Command       string   `toml:"command"`
	Interval      *float64 `toml:"interval_sec"`       // 5
	Timeout       *float64 `toml:"timeout_sec"`        // 30, of one try
	StartPeriod   *float64 `toml:"start_period_sec"`   // 0: failures within it do not count
	StartInterval *float64 `toml:"start_interval_sec"` // 5, within it
	Retries       *int     `toml:"retries"`            // 3 failures in a row are its end
}

func (h *healthTable) check(table string) error {
	if strings.TrimSpace(h.Command) == "" {
		return fmt.Errorf("task.toml: %s.healthcheck has no command", table)
	}
	for _, one := range []struct {
		key   string
		value *float64
	}{{"interval_sec", h.Interval}, {"timeout_sec", h.Timeout}, {"start_period_sec", h.StartPeriod}, {"start_interval_sec", h.StartInterval}} {
		if one.value != nil && (!(*one.value >= 0) || *one.value > 1e6) { // NaN fails the first
			return fmt.Errorf("task.toml: %s.healthcheck.%s is %v; it must be from 0 to 1000000", table, one.key, *one.value)
		}
	}
	return nil
}

// wait runs the command until it succeeds; a healthTable that is not there is well.
func (h *healthTable) wait(ctx context.Context, sb sandbox.Sandbox) error {
	if h == nil {
		return nil
	}
	retries := 3
	if h.Retries != nil {
		retries = *h.Retries
	}
	began, failed := time.Now(), 0
	for {
		res, err := sb.Exec(ctx, sandbox.Command{Script: h.Command, Timeout: max(seconds(h.Timeout, 30*time.Second), time.Second)})
		switch {
		case err != nil:
			return err
		case res.End == sandbox.Cancelled:
			return cancelled(ctx)
		case res.End == sandbox.Exited && res.ExitCode == 0:
			return nil
		}
		pause := seconds(h.StartInterval, 5*time.Second)
		if time.Since(began) >= seconds(h.StartPeriod, 0) {
			if failed++; failed >= retries {
				return fmt.Errorf("the task's health check failed %d times: %s", failed, healthProblem(res))
			}
			pause = seconds(h.Interval, 5*time.Second)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return cancelled(ctx)
		}
	}
}

func healthProblem(res sandbox.Result) string {
	if res.End != sandbox.Exited {
		return fmt.Sprintf("not done after %s", res.Wall.Round(time.Second))
	}
	return scriptMessage(string(res.Output), res.ExitCode)
}
