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
	// Rejected is given by a person instead of running the call.
	Rejected Status = "rejected"
)

// Result of a call.
type Result struct {
	Text    string // for the model: bounded, escape sequences removed
	Full    []byte // whole output when Text is cut, bounded at 16 MiB
	Status  Status
	Exit    *int
	Dropped int64
	Finish  bool // the trajectory is finished by this call
	// Limit is the configuration key of the limit that struck (TimedOut), Bound
	// its value.
	Limit string
	Bound time.Duration
}

// Limits of one trajectory's tools. Zero values take the defaults in brackets.
type Limits struct {
	Command     time.Duration // hard limit of a command [300 s]
	Idle        time.Duration // limit without output [30 s]
	Observation int           // characters of an observation [30000]
	File        int           // characters of a view [10000]
}

// Env is what tools work on.
type Env struct {
	Sandbox  sandbox.Sandbox
	Limits   Limits
	OnOutput func([]byte) // live output, must not block
	// Bases are the indexes that trajectories share for search; Repository names the
	// one of this sandbox's image and base commit.
	Bases      *follow.Bases
	Repository string
}
