package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"rollbench/engine"
	"rollbench/engine/task"
	"rollbench/sandbox"
)

func (a *app) validateCommand() *cobra.Command {
	parallel := 2
	c := &cobra.Command{
		Use:   "validate",
		Short: "Run the verifiers on the untouched repository (must fail) and on the reference solution (must pass)",
		Long: `Run the verifier of each task twice, without any model: on the untouched
repository, where it must find a failure, and on the reference solution, which
must pass. Exit code 1 when a task is not sound.`,
		Example: "  rollbench validate\n  rollbench validate --tasks ./my-task --sandbox docker",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.validate(cmd.Context(), parallel)
		},
	}
	a.taskFlags(c)
	c.Flags().IntVar(&parallel, "parallel", parallel, "tasks at the same time")
	return c
}

// finding of one task.
type finding struct {
	id                   string
	untouched, reference task.Verdict
	err                  error
}

func (f finding) sound() bool { return f.problem() == "" }

func (f finding) problem() string {
	switch {
	case f.err != nil:
		return oneLine(f.err)
	case f.untouched.Reward == nil:
		return "the verifier could not run on the untouched repository: " + f.untouched.Note
	case *f.untouched.Reward >= 1:
		return "the untouched repository passes"
	case f.reference.Reward == nil:
		return "the verifier could not run on the reference solution: " + f.reference.Note
	case *f.reference.Reward < 1:
		return fmt.Sprintf("the reference solution fails (reward %g): %s", *f.reference.Reward, f.reference.Note)
	}
	return ""
}

func (a *app) validate(ctx context.Context, parallel int) (err error) {
	if parallel < 1 {
		return bad(fmt.Errorf("--parallel is %d: it must be at least 1", parallel))
	}
	c, err := a.load()
	if err != nil {
		return err
	}
	source := a.flags.tasks
	if source == "" {
		source = "bundled"
	}
	instances, _, err := a.loadTasks(c, source)
	if err != nil {
		return err
	}
	dir, err := home()
	if err != nil {
		return bad(err)
	}
	var close closers
	defer func() { err = errors.Join(err, close.Close()) }()
	ps, err := a.providers(ctx, c, dir, instances, &close)
	if err != nil {
		return bad(err)
	}
	if err := engine.CheckSandboxes(ctx, c.Sandbox, ps, instances, a.progress); err != nil {
		return bad(err)
	}
	unsound := 0
	for f := range a.findings(ctx, c, ps, instances, parallel) {
		word := "sound"
		if !f.sound() {
			word, unsound = "UNSOUND", unsound+1
		}
		fmt.Fprintf(a.out, "%-8s %-32s %s\n", word, f.id, f.problem())
	}
	if ctx.Err() != nil {
		return &exit{1, context.Cause(ctx)}
	}
	fmt.Fprintf(a.out, "%d of %d tasks are sound\n", len(instances)-unsound, len(instances))
	if unsound > 0 {
		return &exit{1, fmt.Errorf("%d of %d tasks are not sound", unsound, len(instances))}
	}
	return nil
}

// findings come as they are made.
func (a *app) findings(ctx context.Context, c *config, ps map[sandbox.Kind]sandbox.Provider, instances []*task.Instance, parallel int) <-chan finding {
	out := make(chan finding)
	next := make(chan *task.Instance)
	var wg sync.WaitGroup
	for range parallel {
		wg.Go(func() {
			for in := range next {
				out <- inspect(ctx, c, ps, in)
			}
		})
	}
	go func() {
		for _, in := range instances {
			next <- in
		}
		close(next)
		wg.Wait()
		close(out)
	}()
	return out
}

// inspect one task: untouched, then with its reference solution.
func inspect(ctx context.Context, c *config, ps map[sandbox.Kind]sandbox.Provider, in *task.Instance) finding {
	f := finding{id: in.ID}
	if in.Reference.None() {
		f.err = errors.New("it has no reference solution")
		return f
	}
	kind, err := engine.ChooseSandbox(ctx, c.Sandbox, ps, in)
	if err != nil {
		f.err = err
		return f
	}
	within := func(purpose string, do func(sandbox.Sandbox) error) error {
		spec := in.Spec(kind)
		spec.Name = strings.Join([]string{"validate", in.ID, purpose}, ".")
		spec.Labels = map[string]string{"run": "validate", "trajectory": in.ID}
		sb, err := ps[kind].Open(ctx, spec)
		if err != nil {
			return err
		}
		return errors.Join(do(sb), sb.Close())
	}
	f.err = within("untouched", func(sb sandbox.Sandbox) (err error) {
		f.untouched, err = in.Verify(ctx, sb, nil)
		return err
	})
	if f.err != nil {
		return f
	}
	var patch []byte
	f.err = within("solve", func(sb sandbox.Sandbox) (err error) {
		if err := in.Prepare(ctx, sb); err != nil {
			return err
		}
		if err := in.Solve(ctx, sb); err != nil {
			return err
		}
		patch, err = in.TakePatch(ctx, sb)
		return err
	})
	if f.err != nil {
		return f
	}
	f.err = within("reference", func(sb sandbox.Sandbox) (err error) {
		f.reference, err = in.Verify(ctx, sb, patch)
		return err
	})
	return f
}
