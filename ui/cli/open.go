package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"rollbench/sessions"
	"rollbench/ui"
)

func (a *app) openCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "open [RUN]",
		Short: "Look at a run, finished or still running (read only)",
		Long: `Look at a run in the workbench (default: the newest, which is told): a finished one,
one that was stopped or killed, or one that another process works on, which is
followed live. Nothing is changed. A run in a folder that cannot be written to is
read as it is there.`,
		Example:           "  rollbench open\n  rollbench open r-1129-1842",
		Args:              atMostOne,
		ValidArgsFunction: completeRuns,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if !a.canDraw() {
				return bad(errors.New("open needs a terminal that can draw; use `rollbench ls` or `rollbench export` without one"))
			}
			c, err := a.load()
			if err != nil {
				return err
			}
			dir, err := home()
			if err != nil {
				return bad(err)
			}
			folder, err := sessions.Find(cmd.Context(), dir, runArg(args))
			if err != nil {
				return bad(err)
			}
			written := func() (bool, error) {
				pid, err := sessions.WriterOf(folder)
				return pid != 0, err
			}
			r, err := sessions.OpenReader(cmd.Context(), dir, runArg(args))
			if err != nil {
				return bad(err)
			}
			defer func() { err = errors.Join(err, r.Close()) }()
			var notices []string
			if len(args) == 0 {
				notices = append(notices, fmt.Sprintf("this is the newest run, %s; rollbench ls lists the others", r.Run().ID))
			}
			if err := ui.Run(cmd.Context(), ui.Options{Reader: r, Notices: notices, Written: written, Export: exporter(r), WhatIf: whatIfOf(r), Spell: spellingOf(r.Run()), Runs: recordedRuns{}, NoColor: os.Getenv("NO_COLOR") != "", Theme: c.UI.Theme, Mouse: c.UI.Mouse}); err != nil {
				return &exit{1, fmt.Errorf("open run %s: %w", r.Run().ID, err)}
			}
			return nil
		},
	}
}
