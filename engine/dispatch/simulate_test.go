package dispatch

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
)

// Two jobs of 1+2+1 s with one slot a stage: the second waits 1 s for init and
// 1 s for run, and ends at 6 s.
func TestSimulateByHand(t *testing.T) {
	jobs := []Job{{"a", [3]float64{1, 2, 1}, false}, {"b", [3]float64{1, 2, 1}, false}}
	r := Simulate(AsyncPipeline, Limits{Init: 1, Run: 1, Eval: 1, Live: 4, Ready: 1}, jobs, nil)
	// init a 0–1, b 1–2; run a 1–3, b 3–5; eval a 3–4, b 5–6. Groups end at 4 and 6.
	if r.Makespan != 6 || r.MostLive != 2 || r.GroupDone != 5 {
		t.Errorf("%+v", r)
	}
	if want := 4.0 / 6; math.Abs(r.RunUse-want) > 1e-12 {
		t.Errorf("run use %v, want %v", r.RunUse, want)
	}
	if r.Waited != [3]float64{0.5, 0.5, 0} {
		t.Errorf("waited %v", r.Waited)
	}
	// Run waits for init until 1 s; eval for run until 3 s and from 4 s to 5 s.
	// Init works from 0 s to 2 s, and then there is nothing left for it.
	if got := fmt.Sprint(r.Blocked); got != "[map[] map[init:1] map[run:4]]" {
		t.Errorf("blocked %s", got)
	}
	// Run work 4 s on one slot; the longest item is 4 s too.
	if r.Bound != 4 {
		t.Errorf("bound %v", r.Bound)
	}
	// Tenths of a second: run works from 1 s to 5 s.
	for i, busy := range r.RunBusy {
		want := 0.0
		if i >= 10 && i < 50 {
			want = 1
		}
		if math.Abs(busy-want) > 1e-9 {
			t.Errorf("busy in part %d: %v, want %v", i, busy, want)
		}
	}
}

func TestArrange(t *testing.T) {
	groups := []string{"a", "b", "a", "c", "b"}
	history := map[string]float64{"a": 10, "b": 30}
	for _, c := range []struct {
		o    Order
		want string
	}{
		{FIFO, "[0 1 3 2 4]"},
		{ByGroup, "[0 2 1 4 3]"},
		// The mean of the known trajectories is (10+30+10+30)/4 = 20: c stands between b and a.
		{LongestFirst, "[1 4 3 0 2]"},
	} {
		if got := fmt.Sprint(Arrange(c.o, groups, history)); got != c.want {
			t.Errorf("%s: %s, want %s", c.o, got, c.want)
		}
	}
}

type traced struct {
	Instance string  `json:"instance"`
	Init     float64 `json:"init_s"`
	Run      float64 `json:"run_s"`
	Eval     float64 `json:"eval_s"`
}

func readTrace(t testing.TB, epoch int) (jobs []Job, groups []string, history map[string]float64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("testdata/trace_epoch%d.json", epoch))
	if err != nil {
		t.Fatal(err)
	}
	var rows []traced
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	history = map[string]float64{}
	n := map[string]float64{}
	for _, r := range rows {
		jobs = append(jobs, Job{r.Instance, [3]float64{r.Init, r.Run, r.Eval}, false})
		groups = append(groups, r.Instance)
		history[r.Instance] += r.Init + r.Run + r.Eval
		n[r.Instance]++
	}
	for g := range history {
		history[g] /= n[g]
	}
	return jobs, groups, history
}

// 512 trajectories of a SWE-like trace at 96/96/96 and at most 192 sandboxes.
// SkyRL-Agent's async_pipeline took 2101 s with 507 sandboxes alive at once on
// it: fifo must not be slower, longest_first by at least 12 % faster.
func TestAgainstSkyRLAgent(t *testing.T) {
	const skyrl = 2101.0
	_, _, history := readTrace(t, 1)
	jobs, groups, _ := readTrace(t, 2)
	l := Limits{Init: 96, Run: 96, Eval: 96, Live: 192, OnePlace: true}
	for _, c := range []struct {
		o    Order
		most float64
	}{{FIFO, skyrl}, {LongestFirst, 0.88 * skyrl}} {
		r := Simulate(AsyncPipeline, l, jobs, Arrange(c.o, groups, history))
		t.Logf("%s: %.0f s, %d sandboxes, run slots %.0f %% busy", c.o, r.Makespan, r.MostLive, 100*r.RunUse)
		if r.Makespan > c.most || r.MostLive > 192 {
			t.Errorf("%s: makespan %.0f s, want at most %.0f; %d sandboxes, at most 192", c.o, r.Makespan, c.most, r.MostLive)
		}
		if r.Makespan < r.Bound {
			t.Errorf("%s: %.0f s is below the bound %.0f", c.o, r.Makespan, r.Bound)
		}
	}
}

// Eight jobs of 1+1+4 s with eval one at a time: 2 s until the first eval, then
// 32 s of them. Two evals at once halve that, nothing else helps.
func TestAdvise(t *testing.T) {
	jobs := make([]Job, 8)
	for i := range jobs {
		jobs[i] = Job{string(rune('a' + i/2)), [3]float64{1, 1, 4}, false}
	}
	now := Setting{AsyncPipeline, FIFO, Limits{Init: 4, Run: 4, Eval: 1, Live: 4}}
	all := Advise(now, jobs, nil)
	if all[0].Change != "as it is" || all[0].Result.Makespan != 34 || all[0].Saves != 0 {
		t.Errorf("as it is: %+v", all[0])
	}
	// Without stage limits only the four sandboxes bind: twice 1+1+4 s. It is
	// shown, not recommended: it has no limits to keep.
	if v := all[1]; v.Change != "policy async_batch" || v.Result.Makespan != 12 {
		t.Errorf("the fastest: %+v", v)
	}
	if got := Recommend(all); got != "eval limits you: max_eval_parallel_agents 1 → 2 saves 47 %" { // 18 s of 34
		t.Errorf("%s", got)
	}
	if got := Recommend(all[:1]); got != "" {
		t.Errorf("nothing helps, but: %s", got)
	}
}

func BenchmarkSimulate512(b *testing.B) {
	jobs, groups, history := readTrace(b, 2)
	order := Arrange(LongestFirst, groups, history)
	for b.Loop() {
		Simulate(AsyncPipeline, Limits{Init: 96, Run: 96, Eval: 96, Live: 192, OnePlace: true}, jobs, order)
	}
}

// Of two places one is where the long verifier of a works, from 2 s to 12 s. The other
// is free again at 3 s when b has run, and c works in it from 3 s to 34 s; where b keeps
// it for its verifier, which waits for that of a, c waits for the place of a: 9 s.
func TestSimulateKeptPlaces(t *testing.T) {
	jobs := []Job{{"a", [3]float64{1, 1, 10}, false}, {"b", [3]float64{1, 1, 10}, false}, {"c", [3]float64{1, 30, 1}, false}}
	limits := Limits{Init: 1, Run: 1, Eval: 1, Live: 2, Ready: 1}
	if r := Simulate(AsyncPipeline, limits, jobs, nil); r.Makespan != 35 {
		t.Errorf("fresh: %v s, want 35", r.Makespan)
	}
	for i := range jobs {
		jobs[i].Kept = true
	}
	if r := Simulate(AsyncPipeline, limits, jobs, nil); r.Makespan != 44 {
		t.Errorf("kept: %v s, want 44", r.Makespan)
	}
}
