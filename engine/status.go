package engine

import (
	"time"

	"rollbench/engine/breaks"
	"rollbench/engine/dispatch"
	"rollbench/engine/infer"
	"rollbench/sessions"
	"rollbench/sessions/stats"
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
	Ended int   `json:"ended"`

	Live    int    `json:"live_sandboxes"`
	MaxLive int    `json:"max_live_sandboxes"` // 0: no limit
	Warm    int    `json:"warm_sandboxes"`     // open, and used by nobody yet
	Limits  Limits `json:"limits"`             // as configured or last changed
	Tuning  Tuning `json:"tuning"`             // the same, empty in sessions before it could change
	// Adaptive is dispatcher.adaptive, "" when the limits stay as they are set.
	Adaptive  string `json:"adaptive,omitempty"`
	LimitedBy string `json:"limited_by"` // init, run, eval, sandboxes or ""
	// Stall is there while nothing has moved for a while.
	Stall *Stall       `json:"stall,omitempty"`
	Tools []stats.Tool `json:"tools"` // by name
	// Isolation says in a word what contains the sandboxes of this run: docker,
	// bubblewrap, namespaces, none; several are joined by +.
	Isolation string `json:"isolation"`

	// Human are the trajectories whose turns a person writes, by Key.String().
	Human map[string]bool `json:"human,omitempty"`

	Breakpoints []Breakpoint `json:"breakpoints,omitempty"` // by ID

	Endpoints []Endpoint `json:"endpoints"` // in the order of the configuration
	GPUs      []GPU      `json:"gpus"`      // empty: none seen

	PerMinute float64 `json:"trajectories_per_minute"` // over the last minutes
	// Forecast is of the trajectories that nobody holds; nil while nothing is known.
	Forecast *Forecast `json:"forecast"`

	// Streams is what live trajectories are doing right now.
	Streams map[string]Stream `json:"-"`     // by Key.String()
	Notes   []string          `json:"notes"` // progress of images that are built or pulled now, newest last
}

// Breakpoint of the run, with how often it was met.
type Breakpoint = breaks.Breakpoint

// Sampling are the settings that a trajectory is sampled with.
type Sampling = infer.Sampling

// Limits of the dispatcher, as configured: 0 is none (Ready: the default).
type Limits = dispatch.Limits

// Queue of one stage. Limit 0 means none.
type Queue struct {
	Waiting int `json:"waiting"`
	Busy    int `json:"busy"`
	Limit   int `json:"limit"`
	// Blocked says what a stage with work to come and a free slot waits for:
	// init, run or eval (that stage is behind), sandboxes (none is free), held
	// (a person holds what it would work on); "" when it is not idle.
	Blocked string `json:"blocked,omitempty"`
	// BlockedFor is how long it has been so in this run, by what.
	BlockedFor map[string]time.Duration `json:"blocked_for_ns,omitempty"`
	Times      *stats.Stage             `json:"times,omitempty"` // of init, run and eval
}

// Stall says what everyone waits for while nothing moves.
type Stall struct {
	For   time.Duration `json:"for_ns"` // since the last event of any trajectory
	Waits []Wait        `json:"waits"`  // most trajectories first
}

// Wait is one thing that trajectories wait for.
type Wait struct {
	What    string        `json:"what"` // "a reply", "execute_bash", "a person", "to open a docker sandbox"
	N       int           `json:"n"`
	Longest time.Duration `json:"longest_ns"`
	Key     sessions.Key  `json:"key"` // that waits longest
}

// Point is one moment of a run. The session keeps them as a time series.
type Point struct {
	At      time.Time `json:"at"`
	Waiting [3]int    `json:"w"` // for init, run, eval
	Busy    [3]int    `json:"b"`
	Limit   [3]int    `json:"l"` // 0: none
	Ready   int       `json:"ready"`
	Held    int       `json:"held"`
	Live    int       `json:"live"`
	Ended   int       `json:"ended"`
	// Blocked is what init, run and eval wait for with a free slot, see Queue.
	Blocked [3]string `json:"x"`
	// Of the endpoints and the GPUs; absent when not known.
	Requests *float64 `json:"req,omitempty"`   // running
	Queued   *float64 `json:"queue,omitempty"` // waiting
	KVUse    *float64 `json:"kv,omitempty"`    // 0..1, of the fullest endpoint
	Tokens   *float64 `json:"tok_s,omitempty"` // generated per second
	GPU      *float64 `json:"gpu,omitempty"`   // mean utilisation, 0..1
}

// Advice is what simulating the run with other settings says.
type Advice struct {
	Known    int       `json:"known"` // trajectories whose stage times are known
	All      int       `json:"all"`
	Bound    float64   `json:"lower_bound_s"`
	Outlooks []Outlook `json:"outlooks"` // the settings as they are first, then the best first
	// Text is the recommendation in a line, "" when nothing helps:
	// "eval limits you: max_eval_parallel_agents 16 → 24 saves 11 %".
	Text string `json:"text"`
}

// Outlook is what one choice of settings would have made of the run.
type Outlook struct {
	Change   string  `json:"change"` // "as it is", "max_eval_parallel_agents 16 → 24", "order longest_first"
	Policy   string  `json:"policy"`
	Order    string  `json:"order"`
	Limits   Limits  `json:"limits"`
	Makespan float64 `json:"makespan_s"`
	Saves    float64 `json:"saves"` // share of the makespan as it is; negative: costs
	MostLive int     `json:"max_live_sandboxes"`
	RunUse   float64 `json:"run_slot_use"` // 0..1
}

// Endpoint as last seen.
type Endpoint struct {
	URL          string             `json:"url"`
	Model        string             `json:"model"`
	Weight       float64            `json:"weight"`
	Trajectories int                `json:"trajectories"` // that have called it and go on
	Policy       string             `json:"policy_version,omitempty"`
	Healthy      bool               `json:"healthy"`
	Problem      string             `json:"problem,omitempty"`
	Capabilities infer.Capabilities `json:"capabilities"`
	Gauges       *infer.Gauges      `json:"gauges"`
	Errors       int64              `json:"errors"` // attempts that failed in this part of the run
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
