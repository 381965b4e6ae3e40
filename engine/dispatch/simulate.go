package dispatch

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// Job is a recorded item: the group it belongs to and how long its stages
// took, in seconds. A stage that it never reached takes no time.
type Job struct {
	Group   string
	Seconds [3]float64 // init, run, eval
	Kept    bool       // it is evaluated in the sandbox it ran in
}

// Result of a simulation, in seconds of its virtual clock.
type Result struct {
	Makespan float64
	MostLive int
	// RunUse is the mean share of the run slots that worked, 0..1; with no
	// limit, of the most that ever worked at once.
	RunUse float64
	// RunBusy is the mean number of busy run slots in each of 60 equal parts
	// of the makespan.
	RunBusy [60]float64
	// Waited is the mean time an item waited to enter each stage.
	Waited [3]float64
	// Blocked is how long each stage had a free slot and work to come, by what
	// it waited for: the stage that was behind, or "sandboxes".
	Blocked [3]map[string]float64
	// GroupDone is the mean time at which a group was complete.
	GroupDone float64
	// Bound is the least makespan that any order could reach: the work of a
	// stage divided by its limit, or the longest item.
	Bound float64
}

// Simulate runs the jobs through a Core on a virtual clock: the same state
// machine that the live engine drives.
func Simulate(p Policy, l Limits, jobs []Job, order []Item) Result {
	s := &simulation{core: NewCore(p, l, len(jobs), order), jobs: jobs, since: make([]float64, len(jobs)), limit: resolve(p, l, len(jobs)).busy[Run]}
	s.core.KeepIf(func(it Item) bool { return jobs[it].Kept })
	s.apply(s.core.Begin())
	for s.agenda.Len() > 0 {
		e := heap.Pop(&s.agenda).(stageEnd)
		s.advance(e.at)
		switch e.stage {
		case Init:
			s.since[e.it] = s.now
			s.apply(s.core.InitDone(e.it, true))
		case Run:
			s.since[e.it] = s.now
			s.apply(s.core.RunDone(e.it, true))
		default:
			s.apply(s.core.EvalDone(e.it))
		}
	}
	work, longest := Bounds(p, l, jobs)
	return s.result(max(work[Init], work[Run], work[Eval], longest))
}

// simulation is the virtual clock and what it measures.
type simulation struct {
	core   *Core
	jobs   []Job
	agenda stageEnds
	now    float64
	n      int
	since  []float64 // when the item began to wait
	limit  int

	most, mostRun int
	runTime       float64   // slot seconds of run
	changes       []busyRun // for RunBusy
	waited        [3]float64
	blocked       [3]map[string]float64
	done          map[string]float64 // of groups
}

type busyRun struct {
	at float64
	n  int
}

func (s *simulation) advance(to float64) {
	busy := s.core.busy[Run]
	s.runTime += float64(busy) * (to - s.now)
	s.changes = append(s.changes, busyRun{s.now, busy})
	if to > s.now {
		for st, by := range s.core.blocked() {
			if by != "" {
				if s.blocked[st] == nil {
					s.blocked[st] = map[string]float64{}
				}
				s.blocked[st][by] += to - s.now
			}
		}
	}
	s.now = to
}

func (s *simulation) apply(actions []Action) {
	for _, a := range actions {
		switch a.Do {
		case Start:
			s.waited[a.Stage] += s.now - s.since[a.Item]
			s.n++
			heap.Push(&s.agenda, stageEnd{s.now + s.jobs[a.Item].Seconds[a.Stage], s.n, a.Item, a.Stage})
		case End:
			if s.done == nil {
				s.done = map[string]float64{}
			}
			s.done[s.jobs[a.Item].Group] = s.now
		}
	}
	s.most = max(s.most, s.core.live)
	s.mostRun = max(s.mostRun, s.core.busy[Run])
}

func (s *simulation) result(bound float64) Result {
	r := Result{Makespan: s.now, MostLive: s.most, Bound: bound, Blocked: s.blocked}
	slots := s.limit
	if slots == none {
		slots = s.mostRun
	}
	if s.now > 0 && slots > 0 {
		r.RunUse = s.runTime / (float64(slots) * s.now)
	}
	for i := range r.Waited {
		if len(s.jobs) > 0 {
			r.Waited[i] = s.waited[i] / float64(len(s.jobs))
		}
	}
	for _, at := range s.done {
		r.GroupDone += at / float64(len(s.done))
	}
	s.spread(&r)
	return r
}

// spread the busy slots over the parts of the makespan.
func (s *simulation) spread(r *Result) {
	part := s.now / float64(len(r.RunBusy))
	if !(part > 0) || math.IsInf(part, 0) {
		return
	}
	s.changes = append(s.changes, busyRun{s.now, 0})
	for i := range len(s.changes) - 1 {
		from, to, n := s.changes[i].at, s.changes[i+1].at, float64(s.changes[i].n)
		for k := int(from / part); k < len(r.RunBusy) && float64(k)*part < to; k++ {
			overlap := min(to, float64(k+1)*part) - max(from, float64(k)*part)
			if overlap > 0 {
				r.RunBusy[k] += n * overlap / part
			}
		}
	}
}

// Bounds are what no schedule can beat: the work of each stage divided by its
// limit (0 without a limit), and the longest item; in seconds.
func Bounds(p Policy, l Limits, jobs []Job) (work [3]float64, longest float64) {
	b := resolve(p, l, len(jobs))
	for _, j := range jobs {
		sum := 0.0
		for st, d := range j.Seconds {
			work[st] += d
			sum += d
		}
		longest = max(longest, sum)
	}
	for st, limit := range b.busy {
		if limit == none {
			work[st] = 0
		} else {
			work[st] /= float64(limit)
		}
	}
	return work, longest
}

// stageEnd is a stage that ends; stageEnds is a heap of them, the earliest first.
type stageEnd struct {
	at    float64
	n     int // of two at the same time the one started first
	it    Item
	stage Stage
}

type stageEnds []stageEnd

func (a stageEnds) Len() int { return len(a) }
func (a stageEnds) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(a[i].at, a[j].at), cmp.Compare(a[i].n, a[j].n)) < 0
}
func (a stageEnds) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *stageEnds) Push(x any)   { *a = append(*a, x.(stageEnd)) }
func (a *stageEnds) Pop() any {
	x := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return x
}

// Order is in which order items start.
type Order string

// The orders.
const (
	// FIFO is trajectory-major, as SkyRL-Agent's: the first trajectory of every
	// group, then the second of every group, and so on.
	FIFO Order = "fifo"
	// ByGroup starts siblings together, so that groups complete early.
	ByGroup Order = "group"
	// LongestFirst starts the instances first that took longest before, so
	// that none of them is left alone at the end.
	LongestFirst Order = "longest_first"
)

// Orders in the order of the documentation.
func Orders() []Order { return []Order{FIFO, ByGroup, LongestFirst} }

// Arrange the items: groups[i] is the group of item i; history is how long a
// trajectory of a group took before, in seconds. A group without history
// counts as the mean of the trajectories of those with one.
func Arrange(o Order, groups []string, history map[string]float64) []Item {
	order := make([]Item, len(groups))
	first := map[string]int{}            // place of a group: that of its first item
	number := make([]int, len(groups))   // of an item within its group
	took := make([]float64, len(groups)) // before, for LongestFirst
	size, known := map[string]int{}, 0
	mean := 0.0
	for i, g := range groups {
		order[i] = Item(i)
		if _, ok := first[g]; !ok {
			first[g] = i
		}
		number[i] = size[g]
		size[g]++
		if t, ok := history[g]; ok {
			mean, known = mean+t, known+1
		}
	}
	for i, g := range groups {
		var ok bool
		if took[i], ok = history[g]; !ok && known > 0 {
			took[i] = mean / float64(known)
		}
	}
	slices.SortStableFunc(order, func(a, b Item) int {
		switch o {
		case FIFO:
			return cmp.Or(cmp.Compare(number[a], number[b]), cmp.Compare(first[groups[a]], first[groups[b]]))
		case LongestFirst:
			return cmp.Or(cmp.Compare(took[b], took[a]), cmp.Compare(first[groups[a]], first[groups[b]]))
		}
		return cmp.Compare(first[groups[a]], first[groups[b]])
	})
	return order
}
