package task

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"rollbench/sandbox"
)

// Verify finds the reward of a patch in a fresh, opened sandbox: it prepares
// the repository, applies the patch, restores the task's tests and runs its
// verifier. The reward is nil when the verifier could not run or timed out. A
// patch that does not apply earns 0: that is the policy's failure, as in the
// SWE-bench harness. The error is for a lost sandbox and an ended ctx only.
func (in *Instance) Verify(ctx context.Context, sb sandbox.Sandbox, patch []byte) (Verdict, error) {
	start := time.Now()
	verdict, err := in.verify(ctx, sb, patch)
	return in.settle(ctx, start, verdict, err)
}

// settle tells a verifier that could not run from a lost sandbox and an ended ctx.
func (in *Instance) settle(ctx context.Context, start time.Time, verdict Verdict, err error) (Verdict, error) {
	verdict.Wall = time.Since(start)
	verdict.Log = bound(verdict.Log)
	if err == nil {
		return verdict, nil
	}
	if ctx.Err() != nil {
		return verdict, fmt.Errorf("verify %s: %w", in.ID, cancelled(ctx))
	}
	if errors.Is(err, sandbox.ErrLost) {
		return verdict, fmt.Errorf("verify %s: %w", in.ID, err)
	}
	verdict.Reward, verdict.Broken, verdict.Note = nil, true, "verifier could not run: "+firstLine(err.Error())
	return verdict, nil
}

func (in *Instance) verify(ctx context.Context, sb sandbox.Sandbox, patch []byte) (Verdict, error) {
	if err := in.prepare(ctx, sb, false); err != nil {
		return Verdict{}, err
	}
	err := apply(ctx, sb, patch)
	if errors.Is(err, errNoApply) {
		return Verdict{Reward: new(float64), Note: firstLine(err.Error()), NoApply: true}, nil
	}
	if err != nil {
		return Verdict{}, fmt.Errorf("apply the patch: %w", err)
	}
	return in.kind.verify(ctx, in, sb)
}

// Solve applies the reference solution to a prepared sandbox.
func (in *Instance) Solve(ctx context.Context, sb sandbox.Sandbox) error {
	ref := in.Reference
	err := errors.New("the task has no reference solution")
	if len(ref.Patch) > 0 {
		err = apply(ctx, sb, ref.Patch)
	}
	if len(ref.Script) > 0 && (len(ref.Patch) == 0 || errors.Is(err, errNoApply)) {
		err = in.kind.solve(ctx, in, sb)
	}
	if err != nil {
		return fmt.Errorf("solve %s: %w", in.ID, err)
	}
	return nil
}

// verify of a Harbor task: tests/ becomes /tests, test.sh runs in the workdir
// and leaves the reward below /logs/verifier.
func (h *harbor) verify(ctx context.Context, in *Instance, sb sandbox.Sandbox) (Verdict, error) {
	tests, logs := sb.Path("/tests"), sb.Path("/logs")
	// Leftovers would pass for results.
	err := clean(ctx, sb, tests, logs+"/verifier", logs+"/agent", logs+"/artifacts")
	if err != nil {
		return Verdict{}, err
	}
	if err := h.copyIn(ctx, sb, "tests", tests); err != nil {
		return Verdict{}, err
	}
	env := map[string]string{"TESTS_DIR": tests, "LOGS_DIR": logs}
	maps.Copy(env, h.verifierEnv)
	res, err := sb.Exec(ctx, sandbox.Command{Argv: []string{"bash", tests + "/test.sh"}, Env: env, Timeout: in.VerifyLimit})
	if err != nil {
		return Verdict{}, err
	}
	verdict := Verdict{Log: res.Output}
	switch res.End {
	case sandbox.Cancelled:
		return verdict, cancelled(ctx)
	case sandbox.TimedOut, sandbox.IdledOut:
		verdict.Note, verdict.TimedOut = fmt.Sprintf("verifier timed out after %s", in.VerifyLimit), in.VerifyLimit
		return verdict, nil
	}
	err = readReward(ctx, sb, logs+"/verifier", &verdict)
	if err == nil && verdict.Reward == nil {
		verdict.Note += fmt.Sprintf(" (test.sh ended with exit code %d)", res.ExitCode)
	}
	return verdict, err
}

// solve runs solution/solve.sh as Harbor's oracle does.
func (h *harbor) solve(ctx context.Context, in *Instance, sb sandbox.Sandbox) error {
	dir := sb.Path("/solution")
	if err := clean(ctx, sb, dir); err != nil {
		return err
	}
	if err := h.copyIn(ctx, sb, "solution", dir); err != nil {
		return err
	}
	env := map[string]string{"SOLUTION_DIR": dir}
	maps.Copy(env, h.solutionEnv)
	res, err := sb.Exec(ctx, sandbox.Command{Argv: []string{"bash", dir + "/solve.sh"}, Env: env, Timeout: in.VerifyLimit})
	if err := in.solved(ctx, "solve.sh", res, err); err != nil {
		return err
	}
	return clean(ctx, sb, dir)
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

// readLog decides by the whole log of tests.
func (in *Instance) readLog(ctx context.Context, sb sandbox.Sandbox, run sandbox.Command, read func(log string, verdict *Verdict)) (Verdict, error) {
	return in.decide(ctx, sb, run, func(res sandbox.Result, verdict *Verdict) {
		if res.Dropped > 0 {
			verdict.Note = fmt.Sprintf("verifier could not run: its output is longer than %d bytes", maxEvalLog)
			return
		}
		read(string(res.Output), verdict)
	})
}

// clean empties folders, which may be mount points, and makes those that are absent.
func clean(ctx context.Context, sb sandbox.Sandbox, dirs ...string) error {
	argv := append([]string{"sh", "-c", `mkdir -p -- "$@" && find "$@" -mindepth 1 -delete`, "sh"}, dirs...)
	res, err := sb.Exec(ctx, sandbox.Command{Argv: argv, Timeout: patchLimit})
	if err == nil && res.End == sandbox.Cancelled {
		err = cancelled(ctx)
	}
	if err == nil && (res.End != sandbox.Exited || res.ExitCode != 0) {
		err = fmt.Errorf("make %s: %s", dirs[0], scriptMessage(string(res.Output), res.ExitCode))
	}
	return err
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
