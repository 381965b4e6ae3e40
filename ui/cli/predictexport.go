package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"rollbench/sessions"
)

// picking says which trajectory of an instance is its prediction.
type picking struct {
	pick       string
	intervened bool
	model      string
}

func (a *app) predictionsExportCommand() *cobra.Command {
	p := picking{}
	var file string
	var all, overwrite bool
	c := &cobra.Command{
		Use:   "export [RUN]",
		Short: "Write the patches of a run as predictions",
		Long: `Write the patches of a run (default: the newest) as the SWE-bench harness reads
them: a line {instance_id, model_name_or_path, model_patch} for each instance.
--pick says which of its trajectories: first (the default), best (the highest
reward, of equal ones the first: it has seen the verifier, so it is no pass@1) or
an ID. --all writes a file for each ID, FILE.0.jsonl, FILE.1.jsonl, …

A trajectory that ended without a patch has an empty one. Left out, and counted,
are forks, what a person dropped, what a person changed (unless
--include-intervened), and what has not ended.`,
		Example: `  rollbench predictions export latest -o predictions.jsonl --model qwen3-32b
  rollbench predictions export r-1129-1842 --all -o predictions.jsonl
  rollbench predictions export | head -1`,
		Args:              atMostOne,
		ValidArgsFunction: completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.check(all, cmd.Flags().Changed("pick"), file); err != nil {
				return bad(err)
			}
			return a.exportPredictions(cmd.Context(), runArg(args), p, file, all, overwrite)
		},
	}
	f := c.Flags()
	f.StringVarP(&file, "output", "o", "-", "`FILE` to write, - for standard output")
	f.StringVar(&p.pick, "pick", "first", "the trajectory of each instance: first, best or an `ID`")
	f.StringVar(&p.model, "model", "", "`NAME` for model_name_or_path (default: the run's model)")
	f.BoolVar(&all, "all", false, "a file for each trajectory ID")
	f.BoolVar(&p.intervened, "include-intervened", false, "also take trajectories that a person changed")
	f.BoolVar(&overwrite, "overwrite", false, "replace FILE if it exists")
	offer(c, "pick", "first", "best")
	return c
}

func (p picking) check(all, picked bool, file string) error {
	switch {
	case all && picked:
		return errors.New("--all takes every trajectory: it has nothing to --pick")
	case all && file == "-":
		return errors.New("--all writes several files: name them with -o FILE")
	case p.pick == "first" || p.pick == "best":
		return nil
	}
	if n, err := strconv.Atoi(p.pick); err != nil || n < 0 {
		return fmt.Errorf("--pick is %q: use first, best or the number of a trajectory, from 0", p.pick)
	}
	return nil
}

func (a *app) exportPredictions(ctx context.Context, id string, p picking, file string, all, overwrite bool) (err error) {
	dir, err := home()
	if err != nil {
		return bad(err)
	}
	r, err := sessions.OpenReader(ctx, dir, id)
	if err != nil {
		return bad(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	p.model = cmp.Or(p.model, r.Run().Model)
	rows, _, err := r.Trajectories(ctx)
	if err != nil {
		return err
	}
	left := map[string]int{}
	rows = p.eligible(rows, left)
	if !all {
		picked, err := patchesOf(ctx, r, p.model, p.choose(rows), left)
		if err != nil {
			return err
		}
		return a.savePredictions(file, picked, leftOut(r.Run(), picked, left), overwrite)
	}
	wrote := false
	for n := range r.Run().N {
		p.pick = strconv.Itoa(n)
		picked, err := patchesOf(ctx, r, p.model, p.choose(rows), left)
		if err != nil {
			return err
		}
		if len(picked) == 0 {
			continue
		}
		wrote = true
		if err := a.savePredictions(fmt.Sprintf("%s.%d.jsonl", strings.TrimSuffix(file, ".jsonl"), n), picked, leftOut(r.Run(), picked, left), overwrite); err != nil {
			return err
		}
	}
	if !wrote {
		return bad(fmt.Errorf("run %s has no trajectory to export%s", r.Run().ID, leftOut(r.Run(), nil, left)))
	}
	return nil
}

// eligible are those that may be predictions; the others are counted.
func (p picking) eligible(rows []sessions.Trajectory, left map[string]int) (out []sessions.Trajectory) {
	for _, t := range rows {
		switch {
		case t.Fork != nil:
			left["forks"]++
		case t.Dropped:
			left["dropped"]++
		case t.Intervened && !p.intervened:
			left["changed by a person"]++
		case !t.State.Ended():
			left["not ended"]++
		case t.State == sessions.Cancelled:
			left["cancelled"]++
		default:
			out = append(out, t)
		}
	}
	return out
}

// choose one trajectory of each instance, in the order of the run.
func (p picking) choose(rows []sessions.Trajectory) (out []sessions.Trajectory) {
	at := map[string]int{}
	for _, t := range rows {
		if n, err := strconv.Atoi(p.pick); err == nil && t.ID != n {
			continue
		}
		i, there := at[t.Instance]
		if !there {
			at[t.Instance] = len(out)
			out = append(out, t)
			continue
		}
		if p.before(t, out[i]) {
			out[i] = t
		}
	}
	return out
}

// before reports whether t is to be taken instead of u.
func (p picking) before(t, u sessions.Trajectory) bool {
	if p.pick == "best" {
		switch {
		case t.Reward != nil && (u.Reward == nil || *t.Reward > *u.Reward):
			return true
		case u.Reward != nil && (t.Reward == nil || *t.Reward < *u.Reward):
			return false
		}
	}
	return t.ID < u.ID
}

func patchesOf(ctx context.Context, r sessions.Reader, model string, rows []sessions.Trajectory, left map[string]int) (out []prediction, err error) {
	delete(left, notText)
	for _, t := range rows {
		patch, err := r.Patch(ctx, t.Key)
		if err != nil {
			return nil, fmt.Errorf("read the patch of %s: %w", t.Key, err)
		}
		if !utf8.Valid(patch) { // it would come out as another patch
			left[notText]++
			continue
		}
		out = append(out, prediction{Instance: t.Instance, Model: model, Patch: string(patch)})
	}
	return out, nil
}

const notText = "with bytes that are not UTF-8, which JSON cannot hold"

// leftOut says what is not in the file.
func leftOut(run sessions.Run, picked []prediction, left map[string]int) string {
	text, there := "", map[string]bool{}
	for _, p := range picked {
		there[p.Instance] = true
	}
	missing := map[string]bool{}
	for _, k := range run.Members {
		if !there[k.Instance] {
			missing[k.Instance] = true
		}
	}
	if n := len(missing); n > 0 {
		text += fmt.Sprintf("; %s without a prediction", count(n, "instance"))
	}
	for _, what := range []string{"forks", "dropped", "changed by a person", "not ended", "cancelled", notText} {
		if left[what] > 0 {
			text += fmt.Sprintf("; left out %d %s", left[what], what)
		}
	}
	return text
}

func (a *app) savePredictions(file string, all []prediction, left string, overwrite bool) (err error) {
	if len(all) == 0 {
		return bad(errors.New("there is no prediction to write" + left))
	}
	empty := 0
	for _, p := range all {
		if p.Patch == "" {
			empty++
		}
	}
	sum := fmt.Sprintf("%s, %d without a patch%s", count(len(all), "prediction"), empty, left)
	if file == "-" {
		if err := writePredictions(a.out, all); err != nil {
			return err
		}
		a.progress(sum)
		return nil
	}
	l, err := newListing("-o", file, overwrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	l.n = len(all)
	if err := writePredictions(l.file, all); err != nil {
		return &exit{1, err}
	}
	_, err = fmt.Fprintf(a.out, "%s: %s\n", file, sum)
	return err
}
