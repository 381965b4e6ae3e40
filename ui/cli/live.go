package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"rollbench/engine"
	"rollbench/engine/dispatch"
	"rollbench/sessions"
	"rollbench/sessions/stats"
)

// liveSettings stand for a machine whose images and verifiers take their time
// and whose endpoint works six requests at once: init and eval take about as
// long as run. --set changes them.
var liveSettings = []string{
	"simulated.init_time=4s", "simulated.eval_time=3s",
	"simulated.step_time=1ms", "simulated.step_time_per_sequence=200us", "simulated.concurrency=6",
	"dispatcher.max_parallel_init=6", "dispatcher.max_parallel_agents=6", "dispatcher.max_eval_parallel_agents=6", "dispatcher.max_live_sandboxes=18",
}

// spread of the modelled times: the standard deviation of their logarithm.
const modelledSpread = 0.5

// modelled times of init and eval: log-normal around their medians, equal for
// equal seeds, whatever the policy. Nil when none is set.
func (s simulatedConfig) modelled() func(sessions.Key, dispatch.Stage) time.Duration {
	if s.InitTime == 0 && s.EvalTime == 0 {
		return nil
	}
	return func(k sessions.Key, st dispatch.Stage) time.Duration {
		median := map[dispatch.Stage]engine.Duration{dispatch.Init: s.InitTime, dispatch.Eval: s.EvalTime}[st]
		h := fnv.New64a()
		fmt.Fprintf(h, "%d %s %s", s.Seed, k, st)
		rng := rand.New(rand.NewPCG(h.Sum64(), 0))
		return time.Duration(float64(median) * math.Exp(modelledSpread*rng.NormFloat64()))
	}
}

// liveRow is what one policy made of the tasks.
type liveRow struct {
	Policy   string               `json:"policy"`
	Run      string               `json:"run"`
	Makespan float64              `json:"makespan_s"`
	MostLive int                  `json:"max_live_sandboxes"`
	Busy     float64              `json:"endpoint_use"` // running requests ÷ simulated.concurrency, in the mean
	Tokens   float64              `json:"tokens_per_second"`
	Stages   byStage[stats.Stage] `json:"stages"`
	Series   []engine.Point       `json:"series"`
}

// compareLive rolls the tasks out under each policy, one after the other, and
// compares them over time.
func (a *app) compareLive(ctx context.Context, f whatIf) error {
	if f.trace != "" || f.run != "" || f.history != "" || f.oneSandbox || f.orders != nil {
		return bad(errors.New("--live takes --policy, --set and the flags of tasks, no trace, run, history or order"))
	}
	policies := f.policies
	if policies == nil {
		policies = []string{string(dispatch.AsyncBatchBounded), string(dispatch.AsyncPipeline)}
	}
	asked := a.flags.set
	defer func() { a.flags.set = asked }()
	var rows []liveRow
	for _, p := range policies {
		a.flags.set = slices.Concat(liveSettings, asked, []string{"dispatcher.type=" + p})
		row, err := a.liveRun(ctx, p)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if f.json {
		return json.NewEncoder(a.out).Encode(rows)
	}
	c, err := a.load()
	if err != nil {
		return err
	}
	return a.printLive(c, rows)
}

// liveRun is one run without a screen; it is an ordinary session.
func (a *app) liveRun(ctx context.Context, policy string) (row liveRow, err error) {
	a.titled = " " + policy // the runs differ in nothing else
	defer func() { a.titled = "" }()
	w, err := a.begin(ctx)
	if err != nil {
		return row, beforeStart(ctx, err)
	}
	defer func() { err = errors.Join(err, w.close.Close()) }()
	id := w.store.Run().ID
	fmt.Fprintf(a.err, "run %s: %s, %s, %s\n", id, w.title, count(len(w.store.Run().Members), "trajectory"), policy)
	done := make(chan error, 1)
	go func() { done <- w.engine.Run(ctx) }()
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for working := true; working; {
		select {
		case err = <-done:
			working = false
		case <-tick.C:
			s := w.engine.Status()
			fmt.Fprintf(a.err, "  %s: %d ended, init %s, run %s, eval %s\n", policy, s.Ended, queue(s.Init), queue(s.Run), queue(s.Eval))
		}
	}
	if ctx.Err() != nil {
		return row, &exit{1, fmt.Errorf("interrupted; run %s is stopped, and `%s resume %s` goes on with it", id, self(), id)}
	}
	if err != nil {
		return row, &exit{1, err}
	}
	row = liveRow{Policy: policy, Run: id, Makespan: w.engine.Wall().Seconds()}
	st := w.engine.Status()
	row.Stages = byStage[stats.Stage]{*st.Init.Times, *st.Run.Times, *st.Eval.Times}
	series, err := w.store.Series(ctx)
	if err != nil {
		return row, err
	}
	if row.Series, err = engine.Points(series); err != nil {
		return row, err
	}
	row.measure(w.config.Simulated.Concurrency)
	return row, nil
}

// measure the means over the time series.
func (r *liveRow) measure(seats int) {
	requests, tokens, n, m := 0.0, 0.0, 0.0, 0.0
	for _, p := range r.Series {
		r.MostLive = max(r.MostLive, p.Live)
		if p.Requests != nil {
			requests, n = requests+*p.Requests, n+1
		}
		if p.Tokens != nil {
			tokens, m = tokens+*p.Tokens, m+1
		}
	}
	if n > 0 {
		r.Busy = requests / n / float64(seats)
	}
	if m > 0 {
		r.Tokens = tokens / m
	}
}

// claimed is the speed-up of async_pipeline that SkyRL-Agent reports (arXiv
// 2511.16108, abstract).
const claimed = 1.55

func (a *app) printLive(c *config, rows []liveRow) error {
	var b strings.Builder
	longest := 0.0
	for _, r := range rows {
		longest = max(longest, r.Makespan)
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "POLICY\tMAKESPAN\tSANDBOXES\tENDPOINT USE\tTOKENS/S\tMEAN init\trun\teval\tENDPOINT OVER TIME (all to one scale)")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%.1f s\t%d\t%.0f %%\t%.0f\t%s\t%s\t%s\t%s\n", r.Policy, r.Makespan, r.MostLive, 100*r.Busy, r.Tokens, took(r.Stages.Init.Service.Mean),
			took(r.Stages.Run.Service.Mean), took(r.Stages.Eval.Service.Mean), r.drawn(longest, float64(c.Simulated.Concurrency)))
	}
	w.Flush()
	if len(rows) == 2 && rows[1].Makespan > 0 {
		printSpeedUp(&b, rows[0], rows[1])
	}
	_, err := io.WriteString(a.out, b.String())
	return err
}

func printSpeedUp(b *strings.Builder, base, other liveRow) {
	init, run, eval := other.Stages.Init.Service.Mean, other.Stages.Run.Service.Mean, other.Stages.Eval.Service.Mean
	fmt.Fprintf(b, "\n%s is %.2f× as fast as %s", other.Policy, base.Makespan/other.Makespan, base.Policy)
	if base.Policy == string(dispatch.AsyncBatchBounded) && other.Policy == string(dispatch.AsyncPipeline) {
		fmt.Fprintf(b, "; SkyRL-Agent reports %.2f×.\nIt depends on what an environment does while the endpoint waits for it: with (init + run + eval) / run = %.2f here, no more than that can be gained,\n"+
			"and nothing where init and eval take no time. Less is gained where the endpoint is slower with more requests, where init or eval have too few slots,\n"+
			"and in a short run, whose start and end fill no queue. The pipeline holds more sandboxes (%d against %d)",
			claimed, (init+run+eval).Seconds()/run.Seconds(), other.MostLive, base.MostLive)
	}
	b.WriteString(".\n")
}

// drawn is the endpoint's use over time, the longest run as 40 bars.
func (r *liveRow) drawn(longest, most float64) string {
	n := int(math.Round(40 * r.Makespan / longest))
	means := make([]float64, n)
	for i := range n {
		sum, count := 0.0, 0.0
		for _, p := range r.Series[i*len(r.Series)/n : max((i+1)*len(r.Series)/n, i*len(r.Series)/n)] {
			if p.Requests != nil {
				sum, count = sum+*p.Requests, count+1
			}
		}
		means[i] = sum / count
	}
	return barsOf(means, most)
}
