package engine

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"rollbench/sandbox"
)

// patched is a sandbox that knows whether its shells are closed when the patch
// is taken.
type patched struct {
	sandbox.Sandbox
	open        atomic.Int64
	taken, late atomic.Int64
}

func (p *patched) Shell(ctx context.Context) (sandbox.Shell, error) {
	sh, err := p.Sandbox.Shell(ctx)
	p.open.Add(1)
	return &countedShell{sh, p}, err
}

func (p *patched) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if strings.Contains(c.Script, "rollbench-left-out") {
		p.taken.Add(1)
		p.late.Add(p.open.Load())
	}
	return p.Sandbox.Exec(ctx, c)
}

type countedShell struct {
	sandbox.Shell
	p *patched
}

func (s *countedShell) Close() error {
	s.p.open.Add(-1)
	return s.Shell.Close()
}

// A command that was left running must not change files while the patch is taken:
// with the shell it ends before.
func TestToolsEndBeforePatch(t *testing.T) {
	p := setup(t, 1, nil)
	var run *patched
	p.local.onOpen = func(s sandbox.Spec, sb sandbox.Sandbox) (sandbox.Sandbox, error) {
		if run != nil {
			return sb, nil
		}
		run = &patched{Sandbox: sb}
		return run, nil
	}
	if err := p.engine().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if run.taken.Load() != 1 || run.late.Load() != 0 {
		t.Errorf("patch taken %d times, with %d shells open", run.taken.Load(), run.late.Load())
	}
}
