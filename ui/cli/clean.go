package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"rollbench/sandbox"
)

func (a *app) cleanCommand() *cobra.Command {
	var images, yes, dry bool
	c := &cobra.Command{
		Use:   "clean",
		Short: "Remove sandboxes that a dead rollbench left behind (every start does it too)",
		Long: `Remove containers, processes and folders of sandboxes whose rollbench on this
machine no longer lives. Nothing else is touched: not the sandboxes of a living
process, not other containers, not sessions.

With --images also the images that rollbench itself built, pulled or
snapshotted on this engine, after it has shown them with their sizes and asked.
Images that a container uses, and all others, stay.`,
		Example: `  rollbench clean
  rollbench clean --images --dry-run`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if (yes || dry) && !images {
				return bad(errors.New("--yes and --dry-run go with --images: left-over sandboxes are removed without asking"))
			}
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
			if r := ps[sandbox.Docker].Check(cmd.Context()); !r.OK {
				fmt.Fprintf(a.err, "containers were not looked at: %s\n", r.Detail)
			}
			if images {
				return a.cleanImages(cmd.Context(), ps, yes, dry)
			}
			if n == 0 {
				fmt.Fprintln(a.out, "nothing was left behind")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&images, "images", false, "show the images of rollbench's own and remove them")
	c.Flags().BoolVar(&yes, "yes", false, "with --images: do not ask")
	c.Flags().BoolVar(&dry, "dry-run", false, "with --images: only show them")
	return c
}
