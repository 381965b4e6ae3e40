package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"rollbench/sessions"
	"rollbench/sessions/stats"
)

func (a *app) difficultyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "difficulty [RUN…]",
		Short: "How hard the instances were: how many of their tries solved them",
		Long: `Say of each instance how many of its tries solved it (reward 1 or more), and what
that makes it: impossible (none), hard (at most a third), medium (at most two
thirds), easy (more), perfect (all). Several runs add up; default: the newest.

A trajectory without a reward is no try, and neither is a fork, one that a person
changed or dropped, or one that has not ended. An instance without a try is
untried.`,
		Example: `  rollbench difficulty
  rollbench difficulty r-1129-1842 r-1130-0901
  rollbench difficulty latest --json | jq -r '.instances[] | select(.level == "hard") | .instance_id'`,
		ValidArgsFunction: completeMoreRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := rateRuns(cmd.Context(), args)
			if err != nil {
				return bad(err)
			}
			if a.flags.json {
				return json.NewEncoder(a.out).Encode(r.asJSON())
			}
			_, err = io.WriteString(plain{a.out}, r.String())
			return err
		},
	}
	c.Flags().BoolVar(&a.flags.json, "json", false, "print one JSON object")
	return c
}

// ratedRuns are runs whose tries were added up.
type ratedRuns struct {
	runs   []string
	models []string
	rated  []stats.Rated
}

func rateRuns(ctx context.Context, ids []string) (r ratedRuns, err error) {
	if len(ids) == 0 {
		ids = []string{"latest"}
	}
	for _, id := range ids {
		if err := r.add(ctx, id); err != nil {
			return r, err
		}
	}
	slices.SortFunc(r.rated, func(a, b stats.Rated) int { return strings.Compare(a.Instance, b.Instance) })
	return r, nil
}

func (r *ratedRuns) add(ctx context.Context, id string) (err error) {
	dir, err := home()
	if err != nil {
		return err
	}
	reader, err := sessions.OpenReader(ctx, dir, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	run := reader.Run()
	if slices.Contains(r.runs, run.ID) {
		return fmt.Errorf("run %s is named twice: its tries would count double", run.ID)
	}
	rows, _, err := reader.Trajectories(ctx)
	if err != nil {
		return fmt.Errorf("run %s: %w", run.ID, err)
	}
	r.runs = append(r.runs, run.ID)
	if !slices.Contains(r.models, run.Model) {
		r.models = append(r.models, run.Model)
	}
	r.rated = stats.Rate(r.rated, rows, run.N)
	return nil
}

// title says whose tries they are: of several models they are no one's difficulty.
func (r ratedRuns) title() string {
	return fmt.Sprintf("%s %s of %s", map[bool]string{true: "run", false: "runs"}[len(r.runs) == 1], strings.Join(r.runs, ", "), strings.Join(r.models, ", "))
}

func (r ratedRuns) String() string {
	var b strings.Builder
	by := stats.ByLevel(r.rated)
	fmt.Fprintf(&b, "%s, %s\n\n", r.title(), count(len(r.rated), "instance"))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LEVEL\tSOLVED\tINSTANCES\tSHARE")
	tried := len(r.rated) - len(by[stats.Untried])
	for _, l := range stats.Levels() {
		share := "–"
		if tried > 0 {
			share = fmt.Sprintf("%.0f %%", 100*float64(len(by[l]))/float64(tried))
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", l, cuts[l], len(by[l]), share)
	}
	if n := len(by[stats.Untried]); n > 0 {
		fmt.Fprintf(w, "%s\t%s\t%d\t\n", stats.Untried, "no try", n)
	}
	w.Flush()
	fmt.Fprintln(w, "\nINSTANCE\tSOLVED\tTRIES\tLEVEL")
	for _, x := range r.rated {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", x.Instance, x.Solved, x.N, x.Level())
	}
	w.Flush()
	return b.String()
}

// cuts in words.
var cuts = map[stats.Level]string{
	stats.Impossible: "none", stats.Hard: "≤ 1/3", stats.Medium: "≤ 2/3", stats.Easy: "< all", stats.Perfect: "all",
}

type difficultyJSON struct {
	Runs      []string            `json:"runs"`
	Models    []string            `json:"models"`
	Levels    map[stats.Level]int `json:"levels"`
	Instances []ratedJSON         `json:"instances"`
}

type ratedJSON struct {
	Instance string      `json:"instance_id"`
	Tries    int         `json:"tries"`
	Solved   int         `json:"solved"`
	Level    stats.Level `json:"level"`
}

func (r ratedRuns) asJSON() difficultyJSON {
	d := difficultyJSON{Runs: r.runs, Models: r.models, Levels: map[stats.Level]int{stats.Untried: 0}, Instances: []ratedJSON{}}
	for _, l := range stats.Levels() {
		d.Levels[l] = 0
	}
	for _, x := range r.rated {
		d.Levels[x.Level()]++
		d.Instances = append(d.Instances, ratedJSON{x.Instance, x.N, x.Solved, x.Level()})
	}
	return d
}
