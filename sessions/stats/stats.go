// Package stats adds up what happened in a run: how long each stage took and
// was waited for, what the tools took, how often limits struck. It is a
// reduction over the events of a session, so a running, a finished and a
// resumed run give the same numbers.
package stats

import (
	"time"

	"rollbench/sessions"
)

// Spread is how a quantity of time is distributed. Quantiles are within 2 % of
// the exact ones; N, Mean and Max are exact.
type Spread struct {
	N    int           `json:"n"`
	Mean time.Duration `json:"mean_ns"`
	P50  time.Duration `json:"p50_ns"`
	P90  time.Duration `json:"p90_ns"`
	P99  time.Duration `json:"p99_ns"`
	Max  time.Duration `json:"max_ns"`
}

// Stage is what a stage (init, run, eval) took so far.
type Stage struct {
	Service Spread `json:"service"` // working time of those that left it; a held trajectory's stands still
	Wait    Spread `json:"wait"`    // of those that entered it: how long they queued for it
	Struck  int    `json:"struck"`  // how often a time limit of it struck
}

// Tool is what the calls of one tool took so far, beside the rewards of the
// trajectories that met its time limit.
type Tool struct {
	Name     string `json:"name"`
	Calls    int    `json:"calls"`
	Errors   int    `json:"errors"`   // calls that failed in other ways than by time
	Timeouts int    `json:"timeouts"` // calls that a time limit ended
	Wall     Spread `json:"wall"`
	// Met counts the trajectories with a reward that met a timeout of the tool,
	// Free those that called it and met none. The mean rewards are absent where
	// there is no such trajectory.
	Met        int      `json:"met"`
	MetReward  *float64 `json:"met_reward"`
	Free       int      `json:"free"`
	FreeReward *float64 `json:"free_reward"`
}

// TimeoutWarning is the share of a tool's calls above which its timeouts are a
// warning: the policy then learns from the machine's load.
const TimeoutWarning = 0.05

// Warn reports whether the tool's timeouts are too many.
func (t Tool) Warn() bool {
	return t.Calls > 0 && float64(t.Timeouts) > TimeoutWarning*float64(t.Calls)
}

// Times of one trajectory in its latest attempt.
type Times struct {
	Key     sessions.Key `json:"key"`
	Seconds [3]float64   `json:"seconds"` // working time in init, run, eval
	Ended   bool         `json:"ended"`
	// Whole: it went its whole way and was done.
	Whole bool `json:"whole"`
	// Kept: its verifier worked in the sandbox of its run stage.
	Kept bool `json:"kept"`
}
