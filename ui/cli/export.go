package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rollbench/engine"
	"rollbench/sessions"
	"rollbench/sessions/export"
)

func (a *app) exportCommand() *cobra.Command {
	var opt export.Options
	var format, file, check string
	c := &cobra.Command{
		Use:   "export [RUN]",
		Short: "Write what a run sampled as training data",
		Long: `Write what a run sampled as training data (default: the newest run). RUN may be
"latest" or the start of an id. FILE.meta.json beside FILE holds what the rows
have no key for: counts, what was left out and why, the run's fingerprint.
--check reads a written FILE and says on which lines it does not keep what its
format promises: exit code 1 when there is such a line.
docs/exports.md explains every field; docs/exports has loaders for Python.`,
		Example: `  rollbench export latest -o transitions.jsonl
  rollbench export latest --format skyrl --rows step -o steps.jsonl
  rollbench export latest --format verl-parquet -o verl.parquet
  rollbench export latest --format chat --reward '>=1' --exclude-masked -o sft.jsonl
  rollbench export r-1129-1842 -o t.jsonl --include-intervened --prompt delta
  rollbench export latest -o - | head -1
  rollbench export --check steps.jsonl`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if check != "" {
				if len(args) > 0 || file != "" {
					return bad(errors.New("--check FILE reads a written file: it takes no run and no -o"))
				}
				if !cmd.Flags().Changed("format") {
					format = ""
				}
				return a.checkExport(cmd.Context(), check, format)
			}
			if file == "" {
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
			for _, glob := range opt.Instances {
				if err := matchesSome(glob, r.Run().Members); err != nil {
					return bad(err)
				}
			}
			if format == "chat" {
				if opt.Tools, err = toldTools(r.Run()); err != nil {
					return err
				}
			}
			return a.writeExport(cmd.Context(), r, file, format, opt)
		},
	}
	f := c.Flags()
	f.StringVar(&format, "format", "transitions", strings.Join(export.Formats(), ", "))
	f.StringVarP(&file, "output", "o", "", "`FILE` to write, - for standard output")
	f.BoolVar(&opt.IncludeIntervened, "include-intervened", false, "also write trajectories a person changed, with their masks")
	f.StringSliceVar(&opt.Instances, "instance", nil, "only instances that match one of the `globs`")
	f.StringSliceVar(&opt.Finish, "finish-reason", nil, "only trajectories that ended by one of the `reasons`")
	f.StringSliceVar(&opt.Reward, "reward", nil, "only trajectories whose reward compares so, as in '>0' or '<=0.5'")
	f.BoolVar(&opt.ExcludeMasked, "exclude-masked", false, "leave out trajectories of which no token trains")
	f.StringVar(&opt.Advantage, "advantage", "loo", "loo (leave one out), mean, grpo or grpo-no-std")
	f.StringVar(&opt.Rows, "rows", "trajectory", "of skyrl: one a trajectory, or step: one a reply")
	f.StringVar(&opt.Logprobs, "logprobs", "require", "of skyrl and verl: require them of a reply, or omit them all")
	f.StringVar(&opt.Prompt, "prompt", "full", "of transitions: full, or delta: only a prompt's new ids")
	f.StringVar(&opt.OnMissing, "on-missing", "drop", "a trajectory without reward: drop it, drop its group, or error")
	f.StringVar(&opt.Tampered, "tampered", "keep", "a trajectory with signs of tampering: keep it, mask it, or drop it as if a person had")
	f.BoolVar(&opt.Overwrite, "overwrite", false, "replace FILE if it exists")
	f.StringVar(&check, "check", "", "check `FILE` and its meta instead of writing one")
	c.ValidArgsFunction = completeRuns
	offer(c, "format", export.Formats()...)
	complete(c, "instance", completeInstancesOf)
	var reasons []string
	for _, r := range sessions.FinishReasons() {
		reasons = append(reasons, string(r))
	}
	offerList(c, "finish-reason", reasons...)
	offer(c, "advantage", "loo", "mean", "grpo", "grpo-no-std")
	offer(c, "rows", "trajectory", "step")
	offer(c, "logprobs", "require", "omit")
	offer(c, "prompt", "full", "delta")
	offer(c, "on-missing", "drop", "group", "error")
	offer(c, "tampered", "keep", "mask", "drop")
	return c
}

// matchesSome: a glob that matches no instance is a mistake, not an empty file.
func matchesSome(glob string, members []sessions.Key) error {
	for _, k := range members {
		ok, err := path.Match(glob, k.Instance)
		if err != nil {
			return fmt.Errorf("--instance %s is no glob: %w", glob, err)
		}
		if ok {
			return nil
		}
	}
	return fmt.Errorf("--instance %s matches no instance of the run", glob)
}

func (a *app) writeExport(ctx context.Context, r sessions.Reader, file, format string, opt export.Options) error {
	if file == "-" {
		sum, err := export.Write(ctx, a.out, format, r, opt)
		if err != nil {
			return bad(err)
		}
		_, err = fmt.Fprintln(a.err, sum)
		return err
	}
	sum, err := export.File(ctx, file, format, r, opt)
	if err != nil {
		return bad(err)
	}
	_, err = fmt.Fprintf(a.out, "%s: %s\n%s", file, sum, figures(sum))
	return err
}

// folded joins the parts to lines of at most 100 characters.
func folded(parts []string) string {
	text, line := "", ""
	for _, p := range parts {
		if line != "" && len(line)+2+len(p) > 100 {
			text += line + "\n"
			line = ""
		}
		if line != "" {
			line += ", "
		}
		line += p
	}
	if line != "" {
		text += line + "\n"
	}
	return text
}

// figures of the run: pass@k for k of 1, 2, 4, … and the largest,
// and the metrics with the paper's names.
func figures(sum export.Summary) string {
	var pass, metrics []string
	for i, p := range sum.PassAt {
		if p.K&(p.K-1) == 0 || i == len(sum.PassAt)-1 {
			pass = append(pass, fmt.Sprintf("pass@%d %.3g", p.K, p.Value))
		}
	}
	for name, v := range sum.Metrics {
		metrics = append(metrics, fmt.Sprintf("%s %.4g", strings.TrimPrefix(name, "rollout_metrics/"), v))
	}
	slices.Sort(metrics)
	return folded(pass) + folded(metrics)
}

// toldTools are the tools that the policy was told of, as in a chat request.
// They are made again from the run's configuration; where the fingerprint says
// that the texts were other ones then, they are not known (nil).
func toldTools(run sessions.Run) (json.RawMessage, error) {
	var c engine.Config
	if run.Config == nil || run.Print == nil {
		return nil, nil
	}
	if err := json.Unmarshal(run.Config, &c); err != nil {
		return nil, fmt.Errorf("read the configuration of run %s: %w", run.ID, err)
	}
	texts, servers, err := toldBy(run)
	if err != nil {
		return nil, err
	}
	_, specs, err := engine.Scaffold(c, c.Recorded(servers))
	if err != nil {
		return nil, err
	}
	if now, err := digest(specs); err != nil || now != texts {
		return nil, err
	}
	tools := []any{}
	for _, s := range specs {
		tools = append(tools, map[string]any{"type": "function",
			"function": map[string]any{"name": s.Name, "description": s.Description, "parameters": s.Parameters}})
	}
	return json.Marshal(tools)
}

// checkExport prints what is wrong with a file, a line each, as compilers do.
func (a *app) checkExport(ctx context.Context, path, format string) error {
	report, err := export.Check(ctx, path, format)
	if err != nil {
		return bad(err)
	}
	for _, v := range report.Violations {
		place := path
		if v.Line > 0 {
			place += fmt.Sprintf(":%d", v.Line)
		}
		if _, err := fmt.Fprintf(a.out, "%s: %s\n", place, v.Text); err != nil {
			return err
		}
	}
	if report.Total > 0 {
		return &exit{1, fmt.Errorf("%s: %d violations in %d rows", path, report.Total, report.Rows)}
	}
	_, err = fmt.Fprintf(a.out, "%s: %s, %s of %s: nothing wrong\n", path, report.Format, count(report.Rows, "row"), count(report.Trajectories, "trajectory"))
	return err
}
