package engine

import (
	"time"

	"rollbench/engine/infer"
	"rollbench/sessions"
)

// Status is one immutable snapshot of a running engine: gauges, not facts.
// The latest wins; what must not be lost is in the session.
type Status struct {
	At      time.Time `json:"at"`
	Started time.Time `json:"started"` // of this process's part of the run
	Running bool      `json:"running"` // work is going on
	Paused  bool      `json:"paused"`  // everything is paused
	Policy  string    `json:"policy"`

	Init  Queue `json:"init"`
	Ready Queue `json:"ready"` // Waiting only: initialised, no run slot yet
	Run   Queue `json:"run"`
	Eval  Queue `json:"eval"`
	Held  int   `json:"held"`

	Live      int    `json:"live_sandboxes"`
	MaxLive   int    `json:"max_live_sandboxes"` // 0: no limit
	LimitedBy string `json:"limited_by"`         // init, run, eval, sandboxes or ""
	// Isolation says in a word what contains the sandboxes of this run: docker,
	// bubblewrap, namespaces, none; several are joined by +.
	Isolation string `json:"isolation"`

	Endpoint Endpoint `json:"endpoint"`
	GPUs     []GPU    `json:"gpus"` // empty: none seen

	PerMinute float64        `json:"trajectories_per_minute"` // over the last minutes
	ETA       *time.Duration `json:"eta_ns"`

	// Streams is what live trajectories are doing right now.
	Streams map[string]Stream `json:"-"`     // by Key.String()
	Notes   []string          `json:"notes"` // progress of image builds and the like, newest last
}

// Queue of one stage. Limit 0 means none.
type Queue struct {
	Waiting int `json:"waiting"`
	Busy    int `json:"busy"`
	Limit   int `json:"limit"`
}

// Endpoint as last seen.
type Endpoint struct {
	URL          string             `json:"url"`
	Model        string             `json:"model"`
	Healthy      bool               `json:"healthy"`
	Problem      string             `json:"problem,omitempty"`
	Capabilities infer.Capabilities `json:"capabilities"`
	Gauges       *infer.Gauges      `json:"gauges"`
}

// GPU as nvidia-smi reports it. nil is N/A.
type GPU struct {
	Index   int      `json:"index"`
	Name    string   `json:"name"`
	Util    *float64 `json:"util"` // 0..1
	UsedMB  *float64 `json:"used_mb"`
	TotalMB *float64 `json:"total_mb"`
	Watts   *float64 `json:"watts"`
}

// Stream is the live, not yet recorded part of a trajectory: a reply as it is
// sampled or the output of a running tool (its tail).
type Stream struct {
	Key   sessions.Key
	Turn  int
	What  string // "model" or the tool's name
	Text  string // tail, bounded
	Since time.Time
}
