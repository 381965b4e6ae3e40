package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"rollbench/engine"
	"rollbench/sessions"
	"rollbench/sessions/stats"
	"rollbench/tools"
)

func (a *app) statsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "stats [RUN]",
		Short: "Stage times, waits, tool capacity and limits of a run",
		Long: `Say what the stages of a run took and were waited for, what its tools took
beside the rewards of the trajectories that met their time limits, which limits
were changed and which struck, how busy everything was over time, and what other
limits would have made of it (default: the newest run). A running one can be
asked as well.`,
		Example: "  rollbench stats\n  rollbench stats r-1129-1842 --json",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.stats(cmd.Context(), runArg(args))
		},
	}
	c.Flags().BoolVar(&a.flags.json, "json", false, "print one JSON object")
	c.ValidArgsFunction = completeRuns
	return c
}

// runStats is what --json prints.
type runStats struct {
	Run       string                `json:"run"`
	Simulated bool                  `json:"simulated"`
	Members   int                   `json:"trajectories"`
	Ended     int                   `json:"ended"`
	Stages    byStage[stats.Stage]  `json:"stages"`
	Tools     []stats.Tool          `json:"tools"`
	Limits    []at[sessions.Limits] `json:"limits"` // set and changed
	Struck    []struckLimit         `json:"struck"` // time limits, in order
	Tampered  []tampered            `json:"tampered"`
	Series    []engine.Point        `json:"series"`
	Advice    engine.Advice         `json:"what_if"`
}

type at[T any] struct {
	Time time.Time `json:"time"`
	Fact T         `json:"fact"`
}

type struckLimit struct {
	Time time.Time    `json:"time"`
	Key  sessions.Key `json:"trajectory"`
	sessions.LimitStruck
}

func (a *app) stats(ctx context.Context, id string) error {
	s, err := readStats(ctx, id)
	if err != nil {
		return bad(err)
	}
	if a.flags.json {
		return json.NewEncoder(a.out).Encode(s)
	}
	return a.printStats(s)
}

func readStats(ctx context.Context, id string) (s runStats, err error) {
	dir, err := home()
	if err != nil {
		return s, err
	}
	r, err := sessions.OpenReader(ctx, dir, id)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return statsOf(ctx, r)
}

// statsOf a run, its events read once.
func statsOf(ctx context.Context, r sessions.Reader) (runStats, error) {
	s := runStats{Run: r.Run().ID, Simulated: r.Run().Simulate, Members: len(r.Run().Members), Limits: []at[sessions.Limits]{}, Struck: []struckLimit{}}
	run := stats.New(r.Run())
	if err := run.Follow(ctx, r, s.seeLimits); err != nil {
		return s, err
	}
	stages := run.Stages()
	s.Stages, s.Tools = byStage[stats.Stage]{stages[0], stages[1], stages[2]}, run.Tools()
	for _, t := range run.Times() {
		if t.Ended {
			s.Ended++
		}
	}
	var err error
	if s.Tampered, err = readTampered(ctx, r); err != nil {
		return s, err
	}
	series, err := r.Series(ctx)
	if err != nil {
		return s, err
	}
	if s.Series, err = engine.Points(series); err != nil {
		return s, err
	}
	s.Advice, err = engine.Advise(r.Run(), run)
	return s, err
}

// seeLimits takes the limits that were set, and the time limits that struck.
func (s *runStats) seeLimits(e sessions.Event) (err error) {
	switch e.Kind {
	case sessions.KindLimits:
		l := at[sessions.Limits]{Time: e.Time}
		err = json.Unmarshal(e.Data, &l.Fact)
		s.Limits = append(s.Limits, l)
	case sessions.KindLimit:
		l := struckLimit{Time: e.Time, Key: e.Key}
		err = json.Unmarshal(e.Data, &l.LimitStruck)
		s.Struck = append(s.Struck, l)
	}
	if err != nil {
		return fmt.Errorf("read event %d: %w", e.Seq, err)
	}
	return nil
}

// struckShown is how many struck limits the text lists; --json has all.
const struckShown = 10

func (a *app) printStats(s runStats) error {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s%s: %d of %d trajectories ended\n\n", s.Run, simulatedMark(s.Simulated), s.Ended, s.Members)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "STAGE\tLEFT IT\tTOOK p50\tp90\tp99\tMAX\tWAITED FOR p50\tp90\tMAX\tLIMITS STRUCK")
	for i, st := range []stats.Stage{s.Stages.Init, s.Stages.Run, s.Stages.Eval} {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", []string{"init", "run", "eval"}[i], st.Service.N, took(st.Service.P50), took(st.Service.P90),
			took(st.Service.P99), took(st.Service.Max), took(st.Wait.P50), took(st.Wait.P90), took(st.Wait.Max), st.Struck)
	}
	w.Flush()
	for i, by := range engine.BlockedOver(s.Series) {
		for _, what := range slices.Sorted(maps.Keys(by)) {
			fmt.Fprintf(&b, "%s had a free slot and waited for %s: %s\n", []string{"init", "run", "eval"}[i], word(what), took(by[what]))
		}
	}
	printTools(&b, s.Tools)
	printLimits(&b, s)
	printTampered(&b, s.Tampered)
	printSeries(&b, s.Series)
	if s.Advice.Text != "" {
		fmt.Fprintf(&b, "\n%s\n", s.Advice.Text)
	}
	_, err := io.WriteString(a.out, b.String())
	return err
}

// word is a text of a model or a person on one line, without control characters.
func word(text string) string { return strings.Join(strings.Fields(tools.Clean([]byte(text))), " ") }

func printTools(b *strings.Builder, all []stats.Tool) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\n")
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TOOL\tCALLS\tTOOK p50\tp90\tp99\tMAX\tTIMED OUT\tFAILED\tMEAN REWARD WITH A TIMEOUT\tWITHOUT")
	for _, t := range all {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%d (%.0f %%)\t%d\t%s\t%s\n", word(t.Name), t.Calls, took(t.Wall.P50), took(t.Wall.P90), took(t.Wall.P99), took(t.Wall.Max),
			t.Timeouts, 100*float64(t.Timeouts)/float64(max(t.Calls, 1)), t.Errors, rewardOf(t.MetReward, t.Met), rewardOf(t.FreeReward, t.Free))
	}
	w.Flush()
	for _, t := range all {
		if t.Warn() {
			fmt.Fprintf(b, "warning: more than 5 %% of the calls of %s timed out: the policy learns from this machine's load; raise its limit or lower the number of sandboxes\n", word(t.Name))
		}
	}
}

func rewardOf(mean *float64, n int) string {
	if mean == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f of %d", *mean, n)
}

func printLimits(b *strings.Builder, s runStats) {
	for i, l := range s.Limits {
		if i == 0 {
			b.WriteString("\n")
		}
		f := l.Fact
		fmt.Fprintf(b, "limits by %s at %s: init %s, run %s, eval %s, sandboxes %s, ready %s", word(f.Who), l.Time.Local().Format("15:04:05"), limitWord(f.MaxInit),
			limitWord(f.MaxAgents), limitWord(f.MaxEval), limitWord(f.MaxLive), readyWord(f.MaxReady))
		if f.Order != "" {
			fmt.Fprintf(b, ", %s, order %s, stall_after %v", word(f.Policy), word(f.Order), f.StallAfter)
		}
		if f.Adaptive != "" {
			fmt.Fprintf(b, ", adaptive %s (%d to %s)", word(f.Adaptive), f.AdaptiveMin, limitWord(f.AdaptiveMax))
		}
		if f.Why != "" {
			fmt.Fprintf(b, " (%s)", word(f.Why))
		}
		b.WriteString("\n")
	}
	for i, l := range s.Struck {
		if i == struckShown {
			fmt.Fprintf(b, "… and %d more limits that struck: --json lists them\n", len(s.Struck)-i)
			break
		}
		fmt.Fprintf(b, "%s: %s = %v struck in %s after waiting %s for %s\n", word(l.Key.String()), word(l.Limit), l.Bound, word(l.Stage), took(l.Waited), word(l.For))
	}
}

// printSeries draws the quantities that the points have.
func printSeries(b *strings.Builder, points []engine.Point) {
	if len(points) < 2 {
		return
	}
	fmt.Fprintf(b, "\nover %s:\n", points[len(points)-1].At.Sub(points[0].At).Round(time.Second))
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, q := range quantities {
		values := make([]float64, len(points))
		for i, p := range points {
			values[i] = q.of(p)
		}
		bars, most := overTime(values)
		if math.IsNaN(most) {
			continue
		}
		fmt.Fprintf(w, "%s\t%s\tmost %s\n", q.name, bars, fmt.Sprintf(q.format, most*q.scale))
	}
	w.Flush()
}

// quantities of the time series, in the order they are drawn.
var quantities = []struct {
	name   string
	of     func(engine.Point) float64
	format string
	scale  float64
}{
	{"init busy", func(p engine.Point) float64 { return float64(p.Busy[0]) }, "%.0f", 1},
	{"ready", func(p engine.Point) float64 { return float64(p.Ready) }, "%.0f", 1},
	{"run busy", func(p engine.Point) float64 { return float64(p.Busy[1]) }, "%.0f", 1},
	{"eval busy", func(p engine.Point) float64 { return float64(p.Busy[2]) }, "%.0f", 1},
	{"sandboxes", func(p engine.Point) float64 { return float64(p.Live) }, "%.0f", 1},
	{"endpoint running", func(p engine.Point) float64 { return engine.Known(p.Requests) }, "%.0f", 1},
	{"endpoint waiting", func(p engine.Point) float64 { return engine.Known(p.Queued) }, "%.0f", 1},
	{"KV cache", func(p engine.Point) float64 { return engine.Known(p.KVUse) }, "%.0f %%", 100},
	{"tokens/s", func(p engine.Point) float64 { return engine.Known(p.Tokens) }, "%.0f", 1},
	{"GPU", func(p engine.Point) float64 { return engine.Known(p.GPU) }, "%.0f %%", 100},
}

// overTime draws values as at most 60 bars, each the mean of its share, and
// names the most. NaN is a gap; the most of nothing is NaN.
func overTime(values []float64) (bars string, most float64) {
	const columns = 60
	n := min(len(values), columns)
	means := make([]float64, n)
	most = math.NaN()
	for i := range n {
		sum, count := 0.0, 0.0
		for _, v := range values[i*len(values)/n : (i+1)*len(values)/n] {
			if !math.IsNaN(v) {
				sum, count = sum+v, count+1
				if !(v <= most) {
					most = v
				}
			}
		}
		means[i] = sum / count // NaN for 0/0
	}
	return barsOf(means, most), most
}

// barsOf values from 0 to most; a gap for NaN.
func barsOf(values []float64, most float64) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		case most <= 0:
			b.WriteRune(levels[0])
		default:
			b.WriteRune(levels[int(math.Round(min(v/most, 1)*float64(len(levels)-1)))])
		}
	}
	return b.String()
}

// took is a time as tables have it.
func took(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	case d < 100*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
