package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"rollbench/engine"
	"rollbench/engine/dispatch"
)

// whatIf are the flags of simulate.
type whatIf struct {
	trace, run, history string
	policies, orders    []string
	oneSandbox, json    bool
	live                bool
}

func (a *app) simulateCommand() *cobra.Command {
	var f whatIf
	c := &cobra.Command{
		Use:   "simulate",
		Short: "What if: run the real dispatcher on recorded stage times under a virtual clock",
		Long: `Run the real dispatcher on recorded stage times under a virtual clock, for each
policy and order asked, and compare with the lower bound that no schedule can
beat. The limits are those of the run, for a trace those of the configuration;
--set dispatcher.… changes them.

A trace is a JSON array of {"instance", "trajectory", "init_s", "run_s", "eval_s"}.
A run is one of this machine's sessions. --history is the earlier run or trace
that longest_first orders by.

--live rolls tasks out for real instead, once under each policy, on the simulated
endpoint with a modelled batch and with modelled times of init and eval, and draws
the endpoint's use over time. The runs are ordinary sessions.`,
		Example: `  rollbench simulate --run latest --set dispatcher.max_live_sandboxes=24
  rollbench simulate --trace epoch2.json --history epoch1.json --order fifo,longest_first --one-sandbox \
      --set dispatcher.max_parallel_agents=96 --set dispatcher.max_live_sandboxes=192
  rollbench simulate --live                      # async_batch_bounded against async_pipeline`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.live {
				return a.compareLive(cmd.Context(), f)
			}
			for _, name := range []string{"tasks", "instances", "limit", "sandbox", "allow-uncontained"} {
				if cmd.Flags().Changed(name) {
					return bad(fmt.Errorf("--%s is for --live: a recorded run has its tasks", name))
				}
			}
			return a.simulate(cmd.Context(), f)
		},
	}
	c.Flags().StringVar(&f.trace, "trace", "", "stage times from a trace `FILE`")
	c.Flags().StringVar(&f.run, "run", "", "stage times of a `RUN` (default: latest)")
	c.Flags().StringVar(&f.history, "history", "", "earlier times for longest_first, a trace file or a `RUN`")
	c.Flags().StringSliceVar(&f.policies, "policy", nil, "policies to try (default: all)")
	c.Flags().StringSliceVar(&f.orders, "order", nil, "orders to try (default: all; longest_first only with --history)")
	c.Flags().BoolVar(&f.oneSandbox, "one-sandbox", false, "evaluate in the sandbox of the run stage instead of a fresh one")
	c.Flags().BoolVar(&f.json, "json", false, "print a JSON array")
	c.Flags().BoolVar(&f.live, "live", false, "compare policies on real runs of bundled tasks")
	a.taskFlags(c)
	offer(c, "policy", texts(dispatch.Policies())...)
	offer(c, "order", texts(dispatch.Orders())...)
	return c
}

// texts of named values.
func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// simulated is one row of the answer.
type simulatedRow struct {
	Policy    dispatch.Policy `json:"policy"`
	Order     dispatch.Order  `json:"order"`
	Makespan  float64         `json:"makespan_s"`
	MostLive  int             `json:"max_live_sandboxes"`
	RunUse    float64         `json:"run_slot_use"`
	GroupDone float64         `json:"mean_group_completion_s"`
	Bound     float64         `json:"lower_bound_s"`
	// Waited is how long a trajectory waited for each stage in the mean, Blocked
	// how long each stage had a free slot and waited for another.
	Waited  byStage[float64]            `json:"mean_wait_s"`
	Blocked byStage[map[string]float64] `json:"blocked_s"`
	RunBusy [60]float64                 `json:"run_slots_busy"` // in 60 equal parts of the makespan
}

type byStage[T any] struct {
	Init T `json:"init"`
	Run  T `json:"run"`
	Eval T `json:"eval"`
}

func (a *app) simulate(ctx context.Context, f whatIf) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	jobs, history, err := f.read(ctx)
	if err != nil {
		return bad(err)
	}
	if f.trace == "" {
		if err := a.asRun(ctx, f.run, c); err != nil {
			return bad(err)
		}
	}
	policies, orders, err := f.choices()
	if err != nil {
		return bad(err)
	}
	groups := make([]string, len(jobs))
	for i, j := range jobs {
		groups[i] = j.Group
	}
	limits := c.Dispatcher.Limits()
	limits.OnePlace = f.oneSandbox
	var rows []simulatedRow
	for _, p := range policies {
		for _, o := range orders {
			r := dispatch.Simulate(p, limits, jobs, dispatch.Arrange(o, groups, history))
			rows = append(rows, simulatedRow{Policy: p, Order: o, Makespan: r.Makespan, MostLive: r.MostLive, RunUse: r.RunUse, GroupDone: r.GroupDone,
				Bound: r.Bound, Waited: byStage[float64]{r.Waited[0], r.Waited[1], r.Waited[2]},
				Blocked: byStage[map[string]float64]{r.Blocked[0], r.Blocked[1], r.Blocked[2]}, RunBusy: r.RunBusy})
		}
	}
	if f.json {
		return json.NewEncoder(a.out).Encode(rows)
	}
	if err := a.printSimulation(c.Dispatcher, jobs, rows); err != nil {
		return err
	}
	now := dispatch.Setting{Policy: dispatch.Policy(c.Dispatcher.Type), Order: dispatch.Order(c.Dispatcher.Order), Limits: limits}
	if text := dispatch.Recommend(dispatch.Advise(now, jobs, history)); text != "" {
		fmt.Fprintf(a.out, "with %s, %s: %s\n", now.Policy, now.Order, text)
	}
	return nil
}

// asRun takes the dispatcher's settings of a run; --set comes after them.
func (a *app) asRun(ctx context.Context, id string, c *config) error {
	dir, err := home()
	if err != nil {
		return err
	}
	run, limits, err := readLimits(ctx, dir, cmp.Or(id, "latest"))
	if err != nil {
		return err
	}
	var as struct {
		Dispatcher *engine.Dispatcher `json:"dispatcher"`
	}
	as.Dispatcher = &c.Dispatcher
	if err := json.Unmarshal(run.Config, &as); err != nil {
		return fmt.Errorf("read the configuration of run %s: %w", run.ID, err)
	}
	if limits != nil {
		c.Dispatcher.SetLimits(*limits)
	}
	for _, s := range a.overrides() {
		if err := c.set(s); err != nil {
			return err
		}
	}
	return c.check()
}

// choices are the policies and orders to try.
func (f whatIf) choices() ([]dispatch.Policy, []dispatch.Order, error) {
	var policies []dispatch.Policy
	for _, p := range f.policies {
		if err := dispatch.Check(dispatch.Policy(p), dispatch.Limits{}); err != nil {
			return nil, nil, fmt.Errorf("--policy %s is unknown: use %v", p, dispatch.Policies())
		}
		policies = append(policies, dispatch.Policy(p))
	}
	if policies == nil {
		policies = dispatch.Policies()
	}
	var orders []dispatch.Order
	for _, o := range f.orders {
		switch {
		case !slices.Contains(dispatch.Orders(), dispatch.Order(o)):
			return nil, nil, fmt.Errorf("--order %s is unknown: use %v", o, dispatch.Orders())
		case dispatch.Order(o) == dispatch.LongestFirst && f.history == "":
			return nil, nil, errors.New("--order longest_first needs --history: an earlier RUN or a trace file")
		}
		orders = append(orders, dispatch.Order(o))
	}
	if orders == nil {
		orders = []dispatch.Order{dispatch.FIFO, dispatch.ByGroup}
		if f.history != "" {
			orders = dispatch.Orders()
		}
	}
	return policies, orders, nil
}

// read the jobs and the history.
func (f whatIf) read(ctx context.Context) ([]dispatch.Job, map[string]float64, error) {
	if f.trace != "" && f.run != "" {
		return nil, nil, errors.New("--trace and --run exclude each other")
	}
	dir, err := home()
	if err != nil {
		return nil, nil, err
	}
	source, isFile := f.trace, true
	if source == "" {
		source, isFile = runArg(slices.DeleteFunc([]string{f.run}, func(s string) bool { return s == "" })), false
	}
	jobs, err := readJobs(ctx, dir, source, isFile, false)
	if err != nil {
		return nil, nil, err
	}
	if len(jobs) == 0 {
		return nil, nil, fmt.Errorf("%s has no trajectory that ended", source)
	}
	if f.history == "" {
		return jobs, nil, nil
	}
	_, missing := os.Stat(f.history)
	before, err := readJobs(ctx, dir, f.history, missing == nil, true)
	return jobs, engine.MeanTimes(before), err
}

func readJobs(ctx context.Context, home, source string, isFile, whole bool) ([]dispatch.Job, error) {
	if isFile {
		return readTrace(source)
	}
	return readStageTimes(ctx, home, source, whole)
}

// where a JSON text went wrong, in a few words.
func where(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("; it is no JSON from byte %d on", syntax.Offset)
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("; byte %d has a %s for %s", kind.Offset, kind.Value, kind.Field)
	}
	return ""
}

// longestStage that a trace may have, in seconds: some thirty years.
const longestStage = 1e9

// readTrace reads {instance, trajectory, init_s, run_s, eval_s} rows.
func readTrace(path string) ([]dispatch.Job, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	var rows []struct {
		Instance string   `json:"instance"`
		Init     *float64 `json:"init_s"`
		Run      *float64 `json:"run_s"`
		Eval     *float64 `json:"eval_s"`
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("read trace %s: it must be a JSON array of {\"instance\": text, \"trajectory\": number, \"init_s\": seconds, \"run_s\": seconds, \"eval_s\": seconds}%s", path, where(err))
	}
	jobs := make([]dispatch.Job, len(rows))
	for i, r := range rows {
		for st, v := range []*float64{r.Init, r.Run, r.Eval} {
			if r.Instance == "" || v == nil || !(*v >= 0 && *v <= longestStage) {
				return nil, fmt.Errorf("read trace %s: row %d needs instance, and init_s, run_s, eval_s from 0 to %g", path, i+1, longestStage)
			}
			jobs[i].Seconds[st] = *v
		}
		jobs[i].Group = r.Instance
	}
	return jobs, nil
}

func (a *app) printSimulation(d engine.Dispatcher, jobs []dispatch.Job, rows []simulatedRow) error {
	fmt.Fprintf(a.out, "%d trajectories; limits: init %s, run %s, eval %s, sandboxes %s, ready %s\n", len(jobs), limitWord(d.MaxInit), limitWord(d.MaxRun),
		limitWord(d.MaxEval), limitWord(d.MaxLive), readyWord(d.MaxReady))
	work, longest := dispatch.Bounds(dispatch.AsyncPipeline, d.Limits(), jobs)
	fmt.Fprintf(a.out, "no schedule can beat: work / limit of init %.1f s, of run %.1f s, of eval %.1f s; the longest trajectory %.1f s\n", work[0], work[1], work[2], longest)
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "POLICY\tORDER\tMAKESPAN\tOF BOUND\tSANDBOXES\tRUN USE\tGROUP DONE\tRUN SLOTS OVER TIME\tSTAGES WAITED FOR OTHERS")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%.1f s\t%.2f×\t%d\t%.0f %%\t%.1f s\t%s\t%s\n", r.Policy, r.Order, r.Makespan, ratio(r.Makespan, r.Bound), r.MostLive,
			100*r.RunUse, r.GroupDone, runBars(r.RunBusy[:]), blockedWords(r.Blocked))
	}
	return w.Flush()
}

// blockedWords: "run for init 12 s, eval for run 30 s".
func blockedWords(b byStage[map[string]float64]) string {
	var parts []string
	for i, by := range []map[string]float64{b.Init, b.Run, b.Eval} {
		for _, what := range slices.Sorted(maps.Keys(by)) {
			if by[what] >= 0.05 {
				parts = append(parts, fmt.Sprintf("%s for %s %.1f s", dispatch.Stage(i), what, by[what]))
			}
		}
	}
	if parts == nil {
		return "–"
	}
	return strings.Join(parts, ", ")
}

func limitWord(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

func readyWord(n int) string {
	if n == 0 {
		return "sandboxes − run"
	}
	return fmt.Sprint(n)
}

func ratio(a, b float64) float64 {
	if b <= 0 {
		return 1
	}
	return a / b
}

// runBars draws 60 values as 20 bars.
func runBars(values []float64) string {
	means := make([]float64, 0, len(values)/3)
	for i := 0; i+2 < len(values); i += 3 {
		means = append(means, (values[i]+values[i+1]+values[i+2])/3)
	}
	return barsOf(means, slices.Max(means))
}
