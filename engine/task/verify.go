package task

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"rollbench/sandbox"
)

// Verify finds the reward of a patch in a fresh, opened sandbox: it prepares
// the repository, applies the patch, restores the task's tests and runs its
// verifier. The reward is nil when the verifier could not run or timed out. A
// patch that does not apply earns 0: that is the policy's failure, as in the
// SWE-bench harness. The error is for a lost sandbox and an ended ctx only.
func (in *Instance) Verify(ctx context.Context, sb sandbox.Sandbox, patch []byte) (Verdict, error) {
	return in.judged(ctx, func() (Verdict, error) { return in.verify(ctx, sb, patch) })
}

func (in *Instance) verify(ctx context.Context, sb sandbox.Sandbox, patch []byte) (Verdict, error) {
	if err := in.prepare(ctx, sb, false); err != nil {
		return Verdict{}, err
	}
	err := in.Apply(ctx, sb, patch)
	if verdict, unfit := Unfit(err); unfit {
		return verdict, nil
	}
	if err != nil {
		return Verdict{}, err
	}
	return in.kind.verify(ctx, in, sb)
}

// Apply changes a prepared sandbox by a patch. Unfit tells whose fault an error is.
func (in *Instance) Apply(ctx context.Context, sb sandbox.Sandbox, patch []byte) error {
	if err := in.apply(ctx, sb, patch); err != nil {
		return fmt.Errorf("apply the patch: %w", err)
	}
	return nil
}

// Unfit is the verdict of a patch that does not apply, which is what err says.
func Unfit(err error) (Verdict, bool) {
	if !errors.Is(err, errNoApply) {
		return Verdict{}, false
	}
	text := strings.TrimPrefix(firstLine(err.Error()), "apply the patch: ")
	return Verdict{Reward: new(float64), Note: text, NoApply: true}, true
}

// Solve applies the reference solution to a prepared sandbox. Of a task whose whole
// sandbox counts that is the script, where there is one: it may do more than the patch.
func (in *Instance) Solve(ctx context.Context, sb sandbox.Sandbox) error {
	ref := in.Reference
	err := errors.New("the task has no reference solution")
	byScript := len(ref.Script) > 0 && (len(ref.Patch) == 0 || in.whole())
	if len(ref.Patch) > 0 && !byScript {
		err = in.apply(ctx, sb, ref.Patch)
	}
	if byScript || len(ref.Script) > 0 && errors.Is(err, errNoApply) {
		err = in.kind.solve(ctx, in, sb)
	}
	if err != nil {
		return fmt.Errorf("solve %s: %w", in.ID, err)
	}
	return nil
}

// solved says why a reference script did not do what it is for.
func (in *Instance) solved(ctx context.Context, name string, res sandbox.Result, err error) error {
	switch {
	case err != nil:
		return err
	case res.End == sandbox.Cancelled:
		return cancelled(ctx)
	case res.End != sandbox.Exited:
		return fmt.Errorf("%s timed out after %s", name, in.VerifyLimit)
	case res.ExitCode != 0:
		return fmt.Errorf("%s: %s", name, scriptMessage(string(res.Output), res.ExitCode))
	}
	return nil
}

// decide runs what decides on the reward; read finds the verdict once it has ended.
func (in *Instance) decide(ctx context.Context, sb sandbox.Sandbox, run sandbox.Command, read func(res sandbox.Result, verdict *Verdict)) (Verdict, error) {
	run.Timeout, run.MaxOutput = in.VerifyLimit, maxEvalLog
	res, err := sb.Exec(ctx, run)
	if err != nil {
		return Verdict{}, err
	}
	verdict := Verdict{Log: res.Output}
	switch {
	case res.End == sandbox.Cancelled:
		return verdict, cancelled(ctx)
	case res.End != sandbox.Exited:
		verdict.Note, verdict.TimedOut = fmt.Sprintf("verifier timed out after %s", in.VerifyLimit), in.VerifyLimit
	default:
		read(res, &verdict)
	}
	return verdict, nil
}

// readLog decides by the log of tests. Of one that is longer than maxEvalLog its head and
// tail decide (cut), else the policy's code could have the reward absent by printing.
func (in *Instance) readLog(ctx context.Context, sb sandbox.Sandbox, run sandbox.Command, read func(log string, cut bool, verdict *Verdict)) (Verdict, error) {
	return in.decide(ctx, sb, run, func(res sandbox.Result, verdict *Verdict) {
		log := string(res.Output)
		if res.Dropped > 0 {
			log = log[:res.Head] + "\n" + log[res.Head:]
		}
		read(log, res.Dropped > 0, verdict)
		if res.Dropped > 0 {
			verdict.Note += fmt.Sprintf("; the output is longer than %d bytes, and its middle was not read", maxEvalLog)
		}
	})
}

// maxLog bounds what is kept of a verifier's output, in bytes.
const maxLog = 1 << 20

// bound keeps head and tail of a long log.
func bound(log []byte) []byte {
	if len(log) <= maxLog {
		return log
	}
	half := maxLog / 2
	cut := fmt.Appendf(nil, "\n[… %d bytes cut …]\n", len(log)-2*half)
	return bytes.Join([][]byte{log[:half], log[len(log)-half:]}, cut)
}
