package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"rollbench/sandbox"
)

// hostWait is how long the output of a program that has ended may be held open
// by what it started.
const hostWait = time.Second

// maxComplaint bounds what is kept of a program's standard error.
const maxComplaint = 64 << 10

// runOnHost runs a program of this machine as its user, with the environment
// and in the folder rollbench was started in. At a limit the program and the
// children in its process group are killed.
func runOnHost(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	limited, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	out, complaint := sandbox.NewCollector(c.MaxOutput, c.OnOutput), sandbox.NewCollector(maxComplaint, nil)
	cmd := exec.CommandContext(limited, c.Argv[0], c.Argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = bytes.NewReader(c.Stdin), out, complaint, hostWait
	inGroup(cmd)
	began := time.Now()
	run := sandbox.Result{End: sandbox.Exited, ExitCode: -1}
	if err := cmd.Start(); err != nil {
		if ctx.Err() == nil {
			return run, fmt.Errorf("the program could not be started: %w", err)
		}
		run.End = sandbox.Cancelled
		return run, nil
	}
	err := cmd.Wait()
	run.Wall = time.Since(began)
	_, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay) || exited && limited.Err() == nil:
		run.ExitCode = exitCode(cmd.ProcessState)
	case ctx.Err() != nil:
		run.End = sandbox.Cancelled
	case limited.Err() != nil:
		run.End = sandbox.TimedOut
	default:
		return run, err
	}
	if run.End == sandbox.Exited && run.ExitCode != 0 {
		var said sandbox.Result
		complaint.Fill(&said)
		out.Write(said.Output)
	}
	out.Fill(&run)
	return run, nil
}
