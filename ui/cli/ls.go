package cli

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"rollbench/sessions"
)

func (a *app) lsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "ls",
		Short: "List runs with their outcome",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := home()
			if err != nil {
				return bad(err)
			}
			runs, err := sessions.List(cmd.Context(), dir)
			if err != nil {
				return &exit{1, err}
			}
			if a.flags.json {
				return a.listJSON(runs)
			}
			return a.listText(runs)
		},
	}
	c.Flags().BoolVar(&a.flags.json, "json", false, "one JSON line a run")
	return c
}

func (a *app) listText(runs []sessions.Summary) error {
	if len(runs) == 0 {
		_, err := fmt.Fprintln(a.out, "no runs yet; `rollbench` starts one")
		return err
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTARTED\tTASKS\tMODEL\tSTATE\tDONE\tFAILED\tCANCELLED\tSOLVED\tMASKED\tMEAN REWARD")
	for _, r := range runs {
		if r.Problem != "" {
			fmt.Fprintf(w, "%s\t\t\t\tunreadable: %s\n", r.ID, r.Problem)
			continue
		}
		mean := "–"
		if r.MeanReward != nil {
			mean = fmt.Sprintf("%.3f", *r.MeanReward)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s%s\t%s\t%d/%d\t%d\t%d\t%d\t%d\t%s\n", r.ID, r.Created.Local().Format("2006-01-02 15:04"), r.Title, r.Model,
			simulatedMark(r.Simulated), r.State, r.Done, r.Members, r.Failed, r.Cancelled, r.Solved, r.Masked, mean)
	}
	return w.Flush()
}

func (a *app) listJSON(runs []sessions.Summary) error {
	enc := json.NewEncoder(a.out)
	for _, r := range runs {
		err := enc.Encode(map[string]any{"run": r.ID, "created": r.Created, "title": r.Title, "model": r.Model, "simulated": r.Simulated,
			"state": r.State, "trajectories": r.Members, "done": r.Done, "failed": r.Failed, "cancelled": r.Cancelled, "solved": r.Solved,
			"masked": r.Masked, "mean_reward": r.MeanReward, "forks": r.Forks, "problem": r.Problem})
		if err != nil {
			return err
		}
	}
	return nil
}
