package sessions

import (
	"context"
	"encoding/json"
	"errors"
)

// ErrLocked says that another living process writes the run.
var ErrLocked = errors.New("run is being written by another process")

// ErrDiskFull says that nothing more can be written; what was is safe.
var ErrDiskFull = errors.New("disk is full")

// ErrExists says that a run of that id is there already.
var ErrExists = errors.New("the run exists already")

// ErrNoRun says that there is no such run.
var ErrNoRun = errors.New("no such run")

// Write is what is committed together: all of it is visible afterwards, or none.
type Write struct {
	Events []Event
	Turn   *Turn // inserted or replaced
	// Supersede marks this version of Turn.Key/Attempt/Index as superseded: Turn,
	// which may have been superseded itself, takes its place.
	Supersede int
	Patch     []byte // of Key, replaces an earlier one of the attempt (nil: none; empty: an empty patch)
	EvalLog   []byte // raw output of the verifier
	Chunk     *Chunk // of what a call printed
	Key       Key    // of Patch and EvalLog
	Attempt   int
}

// Reader is a run as anyone may read it, live or finished.
type Reader interface {
	Run() Run
	// Since returns up to limit events with Seq > seq, in order.
	Since(ctx context.Context, seq int64, limit int) ([]Event, error)
	// Trajectories in queue order, as of the last commit, and the Seq they reflect.
	Trajectories(ctx context.Context) ([]Trajectory, int64, error)
	// Turns of the trajectory's attempt (0: the latest) with from ≤ Index ≤ to
	// (to 0: all), ordered by Index, Version. PromptIDs are whole. Superseded
	// versions are included. withIDs false leaves the token arrays empty and is cheaper.
	Turns(ctx context.Context, key Key, attempt, from, to int, withIDs bool) ([]Turn, error)
	Patch(ctx context.Context, key Key) ([]byte, error)   // ErrNotExist-like: nil when none
	EvalLog(ctx context.Context, key Key) ([]byte, error) // nil when none
	// Output is up to n bytes from offset from of what a call printed, as it came;
	// nothing where the observation has no Output.
	Output(ctx context.Context, at CallPlace, from int64, n int) ([]byte, error)
	// Spell gives the texts of those ids that are known: of tokens that were sampled
	// and came with their text.
	Spell(ctx context.Context, ids []int32) (map[int32]string, error)
	// Wake is a capacity-one channel that receives after commits (also those of
	// another process). Each call subscribes anew; cancel ends it.
	Wake() (wake <-chan struct{}, cancel func())
	// Gauge is the latest persisted engine snapshot (engine.Status as JSON), nil when none.
	Gauge(ctx context.Context) (json.RawMessage, error)
	// Series are the points of the run's time series (engine.Point as JSON), oldest first.
	Series(ctx context.Context) ([]json.RawMessage, error)
	Close() error
}
