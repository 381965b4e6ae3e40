package ui

import (
	"context"
	"time"

	"rollbench/engine"
	"rollbench/sessions"
)

// Commands are the verbs of a running engine. Each returns nil when the verb
// is accepted; its effect comes back as an event. The error is one line for
// the person: why the verb does not apply now.
type Commands interface {
	Status() *engine.Status
	// Pause holds the trajectory at its next gate; the zero key means all.
	Pause(key sessions.Key) error
	// Continue lets a held trajectory go on; the zero key means all.
	Continue(key sessions.Key) error
	// Step lets a held trajectory go on to the next gate (how "into"), to the
	// end of this turn ("over") or of the run stage ("out").
	Step(key sessions.Key, how string) error
	// Cancel ends the trajectory; the zero key ends all.
	Cancel(key sessions.Key) error
	// CancelCall cancels the call that the trajectory runs, which goes on. began is
	// when its start was recorded: once another runs it is refused.
	CancelCall(key sessions.Key, began time.Time) error
	// Inject adds a user message before the next model call.
	Inject(key sessions.Key, text string) error
	// EditCall replaces the pending call number index (held at after-reply).
	EditCall(key sessions.Key, index int, name, arguments string) error
	// Reject answers the pending calls with the reason instead of running them.
	Reject(key sessions.Key, reason string) error
	// Resample makes n more replies to the prompt of the reply that is held.
	Resample(key sessions.Key, n int) error
	// Pick the reply with that version among those to the same prompt.
	Pick(key sessions.Key, version int) error
	// EditObservation replaces what a tool returned (held at after-tool).
	EditObservation(key sessions.Key, index int, text string) error
	// RaiseLimit gives a trajectory more turns or tokens; 0: as many as before.
	RaiseLimit(key sessions.Key, turns, tokens int) error
	// Mark replaces a person's marks of a trajectory.
	Mark(key sessions.Key, m sessions.Marks) error
	// RunByHand runs a command in the sandbox of a held trajectory; look: in a copy.
	RunByHand(key sessions.Key, script string, look bool) error
	// InjectAs adds a message before the next model call, as a user's or as a tool's.
	InjectAs(key sessions.Key, as, text string) error
	// Write a turn instead of the model (held at before-model), or one in the place
	// of the reply that waits (held at after-reply).
	Write(key sessions.Key, text string, calls []sessions.Call) error
	// Human has a person write all turns, or gives the model its turns back.
	Human(key sessions.Key, on bool) error
	// StopNow gives up the model call under way; the zero key means all.
	StopNow(key sessions.Key) error
	// OpenShell opens a shell in the sandbox of a trajectory; look: in a copy.
	OpenShell(ctx context.Context, key sessions.Key, look bool, term engine.Terminal) (engine.Shell, error)
	// Finish ends the run stage now; the trajectory is still evaluated (force_finished).
	Finish(key sessions.Key) error
	// SetBreakpoint adds a breakpoint (id 0) or changes the one with that id.
	SetBreakpoint(id int, text string) error
	// EnableBreakpoint looks at a breakpoint again, or no more.
	EnableBreakpoint(id int, on bool) error
	RemoveBreakpoint(id int) error
	// Fork makes children of a trajectory that go on from before the turn.
	Fork(key sessions.Key, turn int, o engine.ForkOptions) error
	// SetLimits changes the limits of the dispatcher; why is kept with the change.
	SetLimits(l engine.Limits, why string) error
	// Tune changes what else of the dispatcher can change, with the limits.
	Tune(l engine.Limits, t engine.Tuning, why string) error
}

// Exporter writes the run's transitions to a file and returns its path and a
// one-line summary.
type Exporter func(ctx context.Context, includeIntervened bool) (path, summary string, err error)

// Simulator says what other settings would have made of the run so far.
type Simulator func(ctx context.Context) (engine.Advice, error)
