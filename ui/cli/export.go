package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"rollbench/sessions"
	"rollbench/sessions/export"
)

func (a *app) exportCommand() *cobra.Command {
	var opt export.Options
	var format, path string
	c := &cobra.Command{
		Use:   "export [RUN]",
		Short: "Write what a run sampled as training data",
		Long: `Write what a run sampled as training data (default: the newest run). RUN may be
"latest" or the start of an id. FILE.meta.json beside FILE holds what the rows
have no key for: counts, what was left out and why, the run's fingerprint.
docs/exports.md explains every field.`,
		Example: `  rollbench export latest -o transitions.jsonl
  rollbench export r-1129-1842 -o t.jsonl --include-intervened --prompt delta
  rollbench export latest -o - | head -1`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if path == "" {
				return bad(errors.New("where to? name a file with -o FILE (-o - for standard output)"))
			}
			dir, err := home()
			if err != nil {
				return bad(err)
			}
			r, err := sessions.OpenReader(cmd.Context(), dir, runArg(args))
			if err != nil {
				return bad(err)
			}
			defer func() { err = errors.Join(err, r.Close()) }()
			if path == "-" {
				sum, err := export.Write(cmd.Context(), a.out, format, r, opt)
				if err != nil {
					return bad(err)
				}
				_, err = fmt.Fprintln(a.err, sum)
				return err
			}
			sum, err := export.File(cmd.Context(), path, format, r, opt)
			if err != nil {
				return bad(err)
			}
			_, err = fmt.Fprintf(a.out, "%s: %s\n", path, sum)
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&format, "format", "transitions", strings.Join(export.Formats(), ", "))
	f.StringVarP(&path, "output", "o", "", "`FILE` to write, - for standard output")
	f.BoolVar(&opt.IncludeIntervened, "include-intervened", false, "also write trajectories a person changed, with their masks")
	f.StringVar(&opt.Prompt, "prompt", "full", "full, or delta: only a prompt's new ids")
	f.StringVar(&opt.OnMissing, "on-missing", "drop", "a trajectory without reward: drop it, drop its group, or error")
	f.BoolVar(&opt.Overwrite, "overwrite", false, "replace FILE if it exists")
	return c
}
