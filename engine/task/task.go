// Package task turns datasets into instances (a problem with its environment
// and verifier) and runs verifiers for the reward.
//
// In: a path (rows of any family in .parquet, .jsonl or .json; folders of tasks)
// or the bundled set. Out: Instance values; what their three stages need: Spec
// to open a sandbox, Prepare to lay the repository, TakePatch after the run,
// Verify in a fresh sandbox for the reward, or VerifyAnswer where what counts is
// what the policy said.
package task

import (
	"context"
	"maps"
	"time"

	"rollbench/sandbox"
)

// Instance is one problem of a dataset. It is immutable after loading.
type Instance struct {
	ID          string
	Format      string // one of Formats, or "" for a bundled task
	Origin      string // file or folder (and line) it came from, for messages
	Instruction string // exact text for the agent
	// System is what a system message of the row says, "" where it has none. Talk
	// are the messages of the row after it, where they are more than the one
	// Instruction is.
	System      string
	Talk        []Message
	Workdir     string // absolute, in the sandbox
	Image       string // the image to run; for a Dockerfile build, the content-hash tag
	Build       *sandbox.Build
	Beside      *sandbox.Beside // services of a compose file; nil without
	LocalOK     bool            // may run in a local sandbox: needs nothing of an image
	Needs       []string        // programs a local sandbox must have: python3, go, git
	User        string          // whom the policy runs as, "" for the image's own
	Network     bool
	CPUs        float64 // 0: the provider's default, as for the next two
	MemoryMB    int
	DiskMB      int
	BuildLimit  time.Duration
	AgentLimit  time.Duration // whole run stage; 0: the run's own limit
	VerifyLimit time.Duration
	Env         map[string]string
	// Reference is the known solution; its zero value means there is none.
	Reference Reference
	// TestCommand is what a person (or the simulated policy) would type to run
	// the visible tests, "" when unknown.
	TestCommand string
	// Repo is the repository's name at its forge, "" when unknown.
	Repo string
	// Label is the field of its row that was asked for, "" without.
	Label string
	// Warnings are things of the dataset that are not honoured, a line each.
	Warnings []string

	kind verifier // how it is prepared and verified
}

// Reference is a known solution: a unified diff against the prepared
// repository, or a script for the sandbox, which is also run when the diff that
// was found in it does not apply.
type Reference struct {
	Patch  []byte
	Script []byte

	// tree reads the repository before the fix, path to content; nil when it
	// is only known inside an image.
	tree func() (map[string][]byte, error)
}

// None reports whether there is no reference solution.
func (r Reference) None() bool { return len(r.Patch) == 0 && len(r.Script) == 0 }

// Verdict is what a verifier found. Reward is nil when the verifier itself
// could not run or timed out; Note says why in one line.
type Verdict struct {
	Reward *float64
	Parts  map[string]float64
	Note   string
	Log    []byte // raw output, bounded
	Wall   time.Duration
	// Broken: the verifier could not be run, through no fault of the patch.
	Broken bool
	// TimedOut is the limit that ended the verifier, 0 when none did.
	TimedOut time.Duration
	// NoApply: the patch fits in none of the ways it was tried.
	NoApply bool
	// Tests by name, of rows that have them; nil without a result.
	Tests *Tests
}

// Tests are the results of a row's tests.
type Tests struct{ FailToPass, PassToPass Named }

// Named are the tests that did as they should, and those that did not.
type Named struct{ Success, Failure []string }

// verifier is what differs between dataset formats.
type verifier interface {
	// lay puts the repository into the workdir where the image does not hold
	// it, and names the commit it must be at ("" when HEAD is right).
	lay(ctx context.Context, in *Instance, sb sandbox.Sandbox) (commit string, err error)
	// verify runs in a fresh, prepared sandbox with the patch already applied.
	verify(ctx context.Context, in *Instance, sb sandbox.Sandbox) (Verdict, error)
	// solve runs the reference script (validate only).
	solve(ctx context.Context, in *Instance, sb sandbox.Sandbox) error
}

// hider is a verifier whose tests are in the image: hide removes what the policy
// must not see, before the base is marked.
type hider interface {
	hide(ctx context.Context, in *Instance, sb sandbox.Sandbox) error
}

// Spec is what to open for the instance. Name, Labels and Progress are the
// caller's to fill in.
func (in *Instance) Spec(kind sandbox.Kind) sandbox.Spec {
	env := map[string]string{"GIT_PAGER": "cat", "PAGER": "cat"}
	maps.Copy(env, in.Env)
	spec := sandbox.Spec{
		Workdir:  in.Workdir,
		User:     in.User,
		Env:      env,
		Network:  in.Network,
		CPUs:     in.CPUs,
		MemoryMB: in.MemoryMB,
		DiskMB:   in.DiskMB,
	}
	if kind != sandbox.Local {
		spec.Image, spec.Build, spec.Beside = in.Image, in.Build, in.Beside
	}
	return spec
}
