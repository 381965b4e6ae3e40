package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"rollbench/sandbox/docker"
	"rollbench/sessions"
)

func (a *app) rmCommand() *cobra.Command {
	var yes, dry bool
	c := &cobra.Command{
		Use:   "rm RUN…",
		Short: "Remove recorded runs for good",
		Long: `Remove recorded runs for good: everything that was sampled in them, with what a
person noted. They are listed with their outcome and size first, and nothing is
removed without a yes. A run that a process works on is never removed. What was
exported stays.`,
		Example: `  rollbench rm r-1129-1842
  rollbench rm r-1129-1842 r-1130-0910 --yes`,
		ValidArgsFunction: completeMoreRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return bad(errors.New("name the runs to remove; `rollbench ls` lists them"))
			}
			dir, err := home()
			if err != nil {
				return bad(err)
			}
			return a.remove(cmd.Context(), dir, args, yes, dry)
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&dry, "dry-run", false, "only show them")
	return c
}

func (a *app) remove(ctx context.Context, home string, ids []string, yes, dry bool) error {
	runs, err := removable(ctx, home, ids)
	if err != nil {
		return bad(err)
	}
	var sum int64
	for _, r := range runs {
		sum += r.Size
		what := fmt.Sprintf("%s  %s  %s  %d/%d done", r.Created.Local().Format("2006-01-02 15:04"), word(r.Title), r.State, r.Done, r.Members)
		if r.Problem != "" {
			what = "unreadable: " + word(r.Problem)
		}
		fmt.Fprintf(a.out, "%9s  %s  %s\n", docker.Size(r.Size), r.ID, what)
	}
	what := fmt.Sprintf("%s, %s", count(len(runs), "run"), docker.Size(sum))
	switch {
	case dry:
		fmt.Fprintf(a.out, "would remove %s\n", what)
		return nil
	case !yes:
		if agreed, err := a.agree(fmt.Sprintf("remove %s for good?", what)); err != nil || !agreed {
			return err
		}
	}
	var errs []error
	for _, r := range runs {
		if err := sessions.Remove(ctx, home, r.ID); err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintln(a.out, "removed "+r.ID)
	}
	if err := errors.Join(errs...); err != nil {
		return &exit{1, err}
	}
	return nil
}

// removable are the runs of those names, each once. One that runs is an error before
// any is touched.
func removable(ctx context.Context, home string, ids []string) ([]sessions.Summary, error) {
	all, err := sessions.List(ctx, home)
	if err != nil {
		return nil, err
	}
	var runs []sessions.Summary
	for _, id := range ids {
		dir, err := sessions.Find(ctx, home, id)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all, func(r sessions.Summary) bool { return r.ID == filepath.Base(dir) })
		if i < 0 {
			return nil, fmt.Errorf("run %s went away", id)
		}
		r := all[i]
		pid, err := sessions.WriterOf(dir)
		if err != nil {
			return nil, err
		}
		if pid != 0 {
			return nil, fmt.Errorf("run %s is being worked on by process %d; stop it first", r.ID, pid)
		}
		if !slices.ContainsFunc(runs, func(o sessions.Summary) bool { return o.ID == r.ID }) {
			runs = append(runs, r)
		}
	}
	return runs, nil
}
