package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"rollbench/engine"
	"rollbench/sessions"
	"rollbench/sessions/export"
	"rollbench/ui"
)

func (a *app) runCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "run",
		Short: "Roll out tasks: in a terminal as a workbench, else with progress lines",
		Long:  "Roll out tasks: in a terminal as a workbench, else with progress lines.\n\n" + presetHelp(),
		Example: `  rollbench run                                  # the bundled tasks
  rollbench run --tasks ./my-task                # a Harbor task or a folder of them
  rollbench run --tasks rows.jsonl --sandbox docker
  rollbench run --tasks ./SWE-bench_Verified --split test --shuffle 1 --limit 50
  rollbench run --endpoint http://localhost:8000 --model qwen3-32b --set generator.num_trajectories=8
  rollbench run --config my.toml                 # own tools and MCP servers: docs/tools.md
  rollbench run --human                          # no model: you write the turns
  rollbench run --headless --json --limit 3`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.start(cmd.Context()) },
	}
	a.runFlags(c)
	return c
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		hint := ""
		if cmd.Flags().Lookup("tasks") != nil {
			hint = "a dataset is named by --tasks PATH; "
		}
		return bad(fmt.Errorf("%s takes no argument, got %q; %ssee %s --help", cmd.Name(), args[0], hint, cmd.CommandPath()))
	}
	return nil
}

// start a new run and work it to its end.
func (a *app) start(ctx context.Context) error {
	if a.flags.json && !a.flags.headless {
		a.flags.headless = true
	}
	w, err := a.begin(ctx)
	if err != nil {
		return beforeStart(ctx, err)
	}
	return a.work(ctx, w)
}

// beforeStart tells an interruption from what is wrong with the input.
func beforeStart(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &exit{1, errors.New("interrupted before the run started")}
	}
	return err
}

// work drives the engine behind a screen or progress lines.
func (a *app) work(ctx context.Context, w *work) (err error) {
	defer func() {
		if failed := w.close.Close(); err == nil && failed != nil {
			err = &exit{1, failed}
		}
	}()
	if a.flags.headless || !a.canDraw() {
		err = a.headless(ctx, w)
	} else {
		err = a.screen(ctx, w)
	}
	if errors.Is(err, engine.ErrStopped) || ctx.Err() != nil && (errors.Is(err, context.Cause(ctx)) || errors.Is(err, context.Canceled)) {
		id := w.store.Run().ID
		if a.flags.json {
			if err := a.printSummary(context.WithoutCancel(ctx), w); err != nil {
				return &exit{1, err}
			}
		}
		why := ""
		var u *unread
		if errors.As(err, &u) {
			why = u.Error() + ", so "
		}
		var p *forPerson
		if errors.As(err, &p) {
			why = p.Error() + ", so "
		}
		return &exit{1, fmt.Errorf("%srun %s is stopped, nothing is lost; `%s resume %s` goes on", why, id, self(), id)}
	}
	if errors.Is(err, sessions.ErrDiskFull) {
		return bad(err)
	}
	if err != nil {
		return &exit{1, err}
	}
	return nil
}

// canDraw reports whether there is a screen to draw on: a dumb terminal (an editor's
// shell, say) cannot move its cursor.
func (a *app) canDraw() bool { return a.onTerminal() && os.Getenv("TERM") != "dumb" }

func (a *app) onTerminal() bool {
	out, ok := a.out.(*os.File)
	return ok && term.IsTerminal(int(out.Fd())) && term.IsTerminal(int(a.in.Fd()))
}

// screen shows the workbench while the engine works. Leaving it stops the run,
// which can be resumed.
func (a *app) screen(ctx context.Context, w *work) error {
	others, err := os.ReadDir(filepath.Dir(w.store.Dir()))
	if err != nil {
		return err
	}
	tools, err := w.engine.Tools()
	if err != nil {
		return err // the configuration was checked: it cannot be
	}
	done := make(chan struct{})
	var failed error
	go func() { // joined below: done is closed when the engine has returned
		defer close(done)
		failed = w.engine.Run(ctx)
	}()
	spell := spellingOf(w.store.Run())
	if spell == nil && !w.ep.none() {
		spell = newSpeller(w.ep.all[0].Client).spell
	}
	opt := ui.Options{Reader: w.store, Commands: w.engine, Export: exporter(w.store), WhatIf: whatIfOf(w.store), Spell: spell, Runs: recordedRuns{}, Look: w.engine.LookPatch, Task: w.engine.Task, Tools: tools, Done: done, Notices: w.notices,
		NoColor: os.Getenv("NO_COLOR") != "", Theme: w.config.UI.Theme, Mouse: w.config.UI.Mouse, Welcome: len(others) == 1}
	if w.config.Tools.Search {
		opt.Search = w.engine.SearchSource
	}
	shown := ui.Run(ctx, opt)
	w.engine.Stop()
	<-done
	if shown != nil && !errors.Is(shown, ui.ErrLeftRunning) && ctx.Err() == nil {
		return errors.Join(shown, failed)
	}
	if failed == nil {
		return a.conclude(context.WithoutCancel(ctx), w)
	}
	return failed
}

// exporter writes the transitions of a run into the current folder.
func exporter(r sessions.Reader) ui.Exporter {
	return func(ctx context.Context, includeIntervened bool) (string, string, error) {
		base := r.Run().ID + ".transitions"
		path := base + ".jsonl"
		for n := 2; ; n++ {
			if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
				break
			}
			path = fmt.Sprintf("%s.%d.jsonl", base, n)
		}
		if whole, err := filepath.Abs(path); err == nil {
			path = whole // where it is, wherever the person looks from
		}
		sum, err := export.File(ctx, path, "transitions", r, export.Options{IncludeIntervened: includeIntervened})
		return path, sum.String(), err
	}
}

// whatIfOf a run that may still go on.
func whatIfOf(r sessions.Reader) ui.Simulator {
	return func(ctx context.Context) (engine.Advice, error) { return engine.WhatIf(ctx, r) }
}
