package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) cleanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Remove sandboxes that a dead rollbench left behind (every start does it too)",
		Long: `Remove containers, processes and folders of sandboxes whose rollbench on this
machine no longer lives. Nothing else is touched: not the sandboxes of a living
process, not other containers, not sessions.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			c, err := a.load()
			if err != nil {
				return err
			}
			dir, err := home()
			if err != nil {
				return bad(err)
			}
			var close closers
			defer func() { err = errors.Join(err, close.Close()) }()
			ps, err := a.providers(cmd.Context(), c, dir, nil, &close)
			if err != nil {
				return bad(err)
			}
			n := 0
			err = a.reap(cmd.Context(), ps, func(line string) { n++; fmt.Fprintln(a.out, line) })
			if err != nil {
				return &exit{1, err}
			}
			if n == 0 {
				fmt.Fprintln(a.out, "nothing was left behind")
			}
			return nil
		},
	}
}
