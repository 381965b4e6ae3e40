package compare

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"rollbench/sessions"
	"rollbench/sessions/stats"
)

// searchTool is the name under which the policy calls our search.
const searchTool = "search"

// Side is a run with what it did, as far as it is known.
type Side struct {
	Run  sessions.Run
	Rows []sessions.Trajectory
	Log  *Log
}

// ReadSide reads a run, going on from a log of it (nil: from the start).
func ReadSide(ctx context.Context, r sessions.Reader, log *Log) (Side, error) {
	if log == nil {
		log = &Log{}
	}
	s := Side{Run: r.Run(), Log: log}
	var err error
	if s.Rows, _, err = r.Trajectories(ctx); err != nil {
		return s, err
	}
	return s, log.Follow(ctx, r)
}

// ReadSides reads two runs at once.
func ReadSides(ctx context.Context, a, b sessions.Reader, logA, logB *Log) (x, y Side, err error) {
	var other error
	var wg sync.WaitGroup
	wg.Go(func() { y, other = ReadSide(ctx, b, logB) })
	x, err = ReadSide(ctx, a, logA)
	wg.Wait()
	return x, y, cmp.Or(err, other)
}

// Report is two runs against each other, over the instances both have.
type Report struct {
	A          Counted  `json:"a"`
	B          Counted  `json:"b"`
	Intervened bool     `json:"with_intervened"`
	Shared     []string `json:"instances"`
	OnlyA      []string `json:"only_in_a"`
	OnlyB      []string `json:"only_in_b"`
	// Unknown names the runs that have no fingerprint.
	Unknown  []string  `json:"without_fingerprint,omitempty"`
	Settings []Setting `json:"fingerprint_differences"`
	Metrics  []Metric  `json:"metrics"`
	Pass     []PassAt  `json:"pass_at"`
	Finish   []Finish  `json:"finish_reasons"`
	Flips    []Flip    `json:"flips"`
	Rated    int       `json:"instances_with_rewards_in_both"`
}

// Counted says of a run which of its trajectories (of shared instances) count.
type Counted struct {
	Run       string         `json:"run"`
	Title     string         `json:"title"`
	Model     string         `json:"model"`
	Simulated bool           `json:"simulated"`
	Members   int            `json:"trajectories"`
	Ended     int            `json:"ended"`    // that count for what the policy did
	Rated     int            `json:"rewarded"` // that count for rewards, too
	Left      map[string]int `json:"left_out"` // of rewards, by why
}

// Metric is a mean over shared instances of an instance's mean over its
// trajectories. Diff is B − A, instance by instance.
type Metric struct {
	Name string   `json:"name"`
	A    Estimate `json:"a"`
	B    Estimate `json:"b"`
	Diff Estimate `json:"difference"`
}

// PassAt is pass@k over the shared instances that have k rewards or more in both.
type PassAt struct {
	K    int      `json:"k"`
	A    Estimate `json:"a"`
	B    Estimate `json:"b"`
	Diff Estimate `json:"difference"`
}

// Finish counts the trajectories of shared instances that ended so.
type Finish struct {
	Reason string `json:"reason"` // "" where none was recorded
	A      int    `json:"a"`
	B      int    `json:"b"`
}

// Flip is an instance that is solved more or less often: never, sometimes, always.
type Flip struct {
	Instance string `json:"instance_id"`
	A        Score  `json:"a"`
	B        Score  `json:"b"`
}

// Score is how many of an instance's rewarded trajectories solved it.
type Score struct {
	Solved int `json:"solved"`
	Of     int `json:"of"`
}

// Word for how often.
func (s Score) Word() string {
	switch s.Solved {
	case 0:
		return "never"
	case s.Of:
		return "always"
	}
	return "sometimes"
}

func (s Score) share() float64 { return float64(s.Solved) / float64(s.Of) }

// Runs compares two.
func Runs(a, b Side, intervened bool) (Report, error) {
	x, y := sortSide(a, intervened), sortSide(b, intervened)
	r := Report{Intervened: intervened, OnlyA: []string{}, OnlyB: []string{}, Shared: []string{}, Metrics: []Metric{}, Pass: []PassAt{}, Finish: []Finish{}, Flips: []Flip{}}
	for _, name := range x.order {
		if _, both := y.groups[name]; both {
			r.Shared = append(r.Shared, name)
		} else {
			r.OnlyA = append(r.OnlyA, name)
		}
	}
	for _, name := range y.order {
		if _, both := x.groups[name]; !both {
			r.OnlyB = append(r.OnlyB, name)
		}
	}
	for _, s := range []Side{a, b} {
		if len(s.Run.Print) == 0 {
			r.Unknown = append(r.Unknown, s.Run.ID)
		}
	}
	var err error
	if r.Settings, err = Prints(a.Run, b.Run); err != nil {
		return r, err
	}
	r.A, r.B = x.counted(r.Shared), y.counted(r.Shared)
	for _, m := range metrics {
		r.Metrics = append(r.Metrics, measure(m, r.Shared, x, y))
	}
	r.pass(x, y)
	r.finish(x, y)
	r.flips(x, y)
	return r, nil
}

// sorted is a run's trajectories by instance.
type sorted struct {
	side   Side
	order  []string // of the instances, in queue order
	groups map[string]*group
}

type group struct {
	all   int
	acted []acted        // that count for what the policy did
	rated []acted        // of them, those whose rewards count
	left  map[string]int // of the others, by why
}

type acted struct {
	sessions.Trajectory
	use Use
}

// sortSide leaves the children of forks out: they are no sample of the policy.
func sortSide(s Side, intervened bool) *sorted {
	out := &sorted{side: s, groups: map[string]*group{}}
	member := make(map[sessions.Key]bool, len(s.Run.Members))
	for _, k := range s.Run.Members {
		member[k] = true
	}
	for _, t := range s.Rows {
		g := out.groups[t.Instance]
		if g == nil {
			g = &group{left: map[string]int{}}
			out.groups[t.Instance] = g
			out.order = append(out.order, t.Instance)
		}
		if !member[t.Key] {
			g.left[Forked]++
			continue
		}
		g.all++
		did := acted{t, nil}
		if Left(t, intervened) == "" {
			did.use = s.Log.Use(t.Key)
			g.acted = append(g.acted, did)
		}
		if why := Unrated(t, intervened); why != "" {
			g.left[why]++
			continue
		}
		g.rated = append(g.rated, did)
	}
	return out
}

func (s *sorted) counted(shared []string) Counted {
	run := s.side.Run
	c := Counted{Run: run.ID, Title: run.Title, Model: run.Model, Simulated: run.Simulate, Left: map[string]int{}}
	for _, name := range shared {
		g := s.groups[name]
		c.Members, c.Ended, c.Rated = c.Members+g.all, c.Ended+len(g.acted), c.Rated+len(g.rated)
		for why, n := range g.left {
			c.Left[why] += n
		}
	}
	return c
}

// quantity of a trajectory that made a turn. rated ones need a reward, too.
type quantity struct {
	name  string
	rated bool
	of    func(t acted) float64
}

var metrics = []quantity{
	{"reward", true, func(t acted) float64 { return *t.Reward }},
	{"turns", false, func(t acted) float64 { return float64(t.Turn) }},
	{"tokens", false, func(t acted) float64 { return float64(t.Tokens) }},
	{"sampled", false, func(t acted) float64 { return float64(t.Sampled) }},
	{"search calls", false, func(t acted) float64 { return float64(t.use.Of(searchTool).Made) }},
	{"tool calls", false, func(t acted) float64 { return float64(t.use.All().Made) }},
	{"tool errors", false, func(t acted) float64 { return float64(t.use.All().Errors) }},
	{"tool timeouts", false, func(t acted) float64 { return float64(t.use.All().Timeouts) }},
	{"calls not run", false, func(t acted) float64 { return float64(t.use.All().NotRun()) }},
	{"tool seconds", false, func(t acted) float64 { return t.use.All().Wall.Seconds() }},
}

// measure a quantity on both sides: on instances that both know it of.
func measure(q quantity, shared []string, x, y *sorted) Metric {
	var a, b, diff []float64
	for _, name := range shared {
		v, one := x.mean(q, name)
		w, two := y.mean(q, name)
		if one && two {
			a, b, diff = append(a, v), append(b, w), append(diff, w-v)
		}
	}
	return Metric{q.name, estimate(a), estimate(b), estimate(diff)}
}

func (s *sorted) mean(q quantity, instance string) (mean float64, ok bool) {
	sum, n := 0.0, 0
	g := s.groups[instance]
	list := g.acted
	if q.rated {
		list = g.rated
	}
	for _, t := range list {
		if t.Turn == 0 {
			continue
		}
		sum += q.of(t)
		n++
	}
	return sum / float64(max(n, 1)), n > 0
}

func (g *group) score() Score {
	s := Score{Of: len(g.rated)}
	for _, t := range g.rated {
		if Solved(t.Trajectory) {
			s.Solved++
		}
	}
	return s
}

// pass estimates pass@k for k = 1, 2, 4 … as far as any instance has rewards.
func (r *Report) pass(x, y *sorted) {
	for k := 1; ; k *= 2 {
		var a, b, diff []float64
		for _, name := range r.Shared {
			s, t := x.groups[name].score(), y.groups[name].score()
			if min(s.Of, t.Of) < k {
				continue
			}
			v, w := stats.Pass(s.Of, s.Solved, k), stats.Pass(t.Of, t.Solved, k)
			a, b, diff = append(a, v), append(b, w), append(diff, w-v)
		}
		if len(a) == 0 {
			return
		}
		r.Pass = append(r.Pass, PassAt{k, estimate(a), estimate(b), estimate(diff)})
	}
}

// finish counts the reasons in the order of their table; what is not in it comes last.
func (r *Report) finish(x, y *sorted) {
	counts := map[string]*Finish{}
	for side, s := range []*sorted{x, y} {
		for _, name := range r.Shared {
			for _, t := range s.groups[name].acted {
				f := counts[t.Finish]
				if f == nil {
					f = &Finish{Reason: t.Finish}
					counts[t.Finish] = f
				}
				if side == 0 {
					f.A++
				} else {
					f.B++
				}
			}
		}
	}
	known := sessions.FinishReasons()
	rank := func(f *Finish) int {
		if i := slices.Index(known, sessions.FinishReason(f.Reason)); i >= 0 {
			return i
		}
		return len(known)
	}
	for _, f := range slices.SortedFunc(maps.Values(counts), func(f, g *Finish) int {
		return cmp.Or(cmp.Compare(rank(f), rank(g)), strings.Compare(f.Reason, g.Reason))
	}) {
		r.Finish = append(r.Finish, *f)
	}
}

// flips are sorted by how much the share of solved changed.
func (r *Report) flips(x, y *sorted) {
	for _, name := range r.Shared {
		f := Flip{name, x.groups[name].score(), y.groups[name].score()}
		if f.A.Of == 0 || f.B.Of == 0 {
			continue
		}
		r.Rated++
		if f.A.Word() != f.B.Word() {
			r.Flips = append(r.Flips, f)
		}
	}
	slices.SortStableFunc(r.Flips, func(f, g Flip) int {
		return cmp.Or(cmp.Compare(math.Abs(g.B.share()-g.A.share()), math.Abs(f.B.share()-f.A.share())), strings.Compare(f.Instance, g.Instance))
	})
}

// Change of a flip, as a share of its trajectories.
func (f Flip) Change() float64 { return f.B.share() - f.A.share() }
