// Package tools are the tools a policy may call. One tool is NAME.go, NAME.md
// (the text the model reads) and NAME_test.go.
//
// In: a call (name, JSON arguments) and the sandbox. Out: a Result whose text
// the model sees. Errors fall into two classes: recoverable ones are a Result
// with a corrective text; terminal ones (the sandbox is lost, the caller's
// context ended) are a Go error.
package tools

import (
	"context"
	"encoding/json"
	"time"

	"rollbench/sandbox"
	"rollbench/tools/follow"
)

// Spec is what the model is told of a tool.
type Spec struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema
	// Outside: calls act outside of the sandbox. A sandbox that is rebuilt from
	// recorded calls must not run them again; their recorded results stand.
	Outside bool `json:",omitempty"`
}

// Tool is one tool. A Tool value belongs to one trajectory: it may keep state
// (the shell, the undo history).
type Tool interface {
	Spec() Spec
	// Run with arguments already validated and coerced by the registry.
	Run(ctx context.Context, args map[string]any) (Result, error)
	Close() error
}

// Status of a result.
type Status string

// The statuses. Invalid calls never ran.
const (
	OK       Status = "ok"
	Failed   Status = "error"   // the command or the edit failed
	TimedOut Status = "timeout" // a limit struck; the tool stays usable
	Invalid  Status = "invalid" // unknown tool, bad JSON, wrong arguments
	// Denied calls never ran: a rule of the configuration forbids them.
	Denied Status = "denied"
	// Cancelled calls were ended by a person while they ran.
	Cancelled Status = "cancelled"
	// Rejected is given by a person instead of running the call.
	Rejected Status = "rejected"
)

// Result of a call.
type Result struct {
	Text string // for the model: bounded, escape sequences removed unless asked for
	// Full is what the tool itself holds of the output, as it came, where Text is
	// not all of it; nil: Text is all. Output is what the registry makes of it:
	// everything that was printed, 16 MiB of it at most. Whoever gets a Result
	// closes its Output.
	Full    []byte
	Output  *Output
	Status  Status
	Exit    *int
	Dropped int64
	Finish  bool // the trajectory is finished by this call
	// Limit is the configuration key of the limit that struck (TimedOut), Bound
	// its value.
	Limit string
	Bound time.Duration

	gap  int64 // bytes that Full lacks behind the first head ones
	head int64
}

// Limits of one trajectory's tools. Zero values take the defaults in brackets.
type Limits struct {
	Command     time.Duration // hard limit of a command [300 s]
	Idle        time.Duration // limit without output [30 s]
	Observation int           // characters of an observation [30000]
	File        int           // characters of a view [10000]
	// PerTool replaces the two limits in characters, by a tool's name.
	PerTool map[string]int
	// KeepEscapes shows the model what programs print without removing escape
	// sequences and control characters.
	KeepEscapes bool
}

// Env is what tools work on.
type Env struct {
	Sandbox  sandbox.Sandbox
	Limits   Limits
	OnOutput func([]byte) // live output, must not block
	// Bases are the indexes that trajectories share for search; Repository names the
	// one of this sandbox by its image and the content of its repository.
	Bases      *follow.Bases
	Repository string
	// Folder takes what calls print while they run and memory is not to hold; ""
	// is the system's folder for temporary files.
	Folder string
}

// of is what the tool of that name works on.
func (e Env) of(tool string) Env {
	if n, ok := e.Limits.PerTool[tool]; ok {
		e.Limits.Observation, e.Limits.File = n, n
	}
	return e
}
