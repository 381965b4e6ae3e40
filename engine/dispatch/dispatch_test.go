package dispatch

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A schedule drives the Core on a virtual clock, with random durations,
// failures, holds, cancels and limit changes, and checks the invariants of the
// package comment after every step.
type schedule struct {
	t       *testing.T
	core    *Core
	rng     *rand.Rand
	now     float64
	agenda  agenda
	lowered bool
	started [][numStages]int
	ended   []int
	state   []string // what the schedule believes the item does
	chaos   bool
}

type due struct {
	at float64
	n  int // ties in the order made
	do func()
}
type agenda []due

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].n < a[j].n
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(due)) }
func (a *agenda) Pop() any     { x := (*a)[len(*a)-1]; *a = (*a)[:len(*a)-1]; return x }

func (s *schedule) after(d float64, do func()) {
	heap.Push(&s.agenda, due{s.now + d, len(s.ended) + s.agenda.Len(), do})
}

func (s *schedule) apply(actions []Action) {
	for _, a := range actions {
		switch a.Do {
		case Start:
			s.start(a)
		case Resume:
			s.state[a.Item] = "run"
			s.after(s.rng.Float64(), func() { s.finishRun(a.Item) })
		case End:
			s.ended[a.Item]++
			s.state[a.Item] = "ended"
		}
	}
	s.check()
}

func (s *schedule) start(a Action) {
	// What starts finds room, however the limits were changed before.
	if b := s.core.bounds; !a.Cancelled && (s.core.busy[a.Stage] > b.busy[a.Stage] || a.Stage == Init && s.core.live > b.live) {
		s.t.Fatalf("started %s with %d busy of %d, %d live of %d", a.Stage, s.core.busy[a.Stage], b.busy[a.Stage], s.core.live, b.live)
	}
	s.started[a.Item][a.Stage]++
	if n := s.started[a.Item][a.Stage]; n != 1 {
		s.t.Fatalf("item %d started %s %d times", a.Item, a.Stage, n)
	}
	for st := range a.Stage {
		if s.started[a.Item][st] != 1 && !(st < Eval && a.Stage == Eval) {
			s.t.Fatalf("item %d started %s before %s", a.Item, a.Stage, st)
		}
	}
	s.state[a.Item] = a.Stage.String()
	wait := s.rng.Float64()
	if a.Cancelled {
		wait = 0
	}
	switch a.Stage {
	case Init:
		ok := !a.Cancelled && !(s.chaos && s.rng.IntN(10) == 0)
		s.after(wait, func() { s.apply(s.core.InitDone(a.Item, ok)) })
	case Run:
		if s.chaos && !a.Cancelled && s.rng.IntN(4) == 0 {
			s.after(wait/2, func() { s.hold(a.Item) })
			return
		}
		s.after(wait, func() { s.finishRun(a.Item) })
	case Eval:
		s.after(wait, func() { s.apply(s.core.EvalDone(a.Item)) })
	}
}

func (s *schedule) hold(it Item) {
	if s.state[it] != "run" {
		return
	}
	s.state[it] = "held"
	s.apply(s.core.Hold(it))
	s.after(s.rng.Float64(), func() {
		if s.state[it] == "held" {
			s.state[it] = "wanting"
			s.apply(s.core.Want(it))
		}
	})
}

func (s *schedule) finishRun(it Item) {
	if s.state[it] == "run" || s.state[it] == "held" {
		s.state[it] = "ran"
		s.apply(s.core.RunDone(it, !(s.chaos && s.rng.IntN(10) == 0)))
	}
}

func (s *schedule) cancel(it Item) {
	was := s.state[it]
	s.apply(s.core.Cancel(it))
	if was == "held" { // the driver interrupts it
		s.finishRun(it)
	}
}

// add items while others are under way.
func (s *schedule) add(n int) {
	if s.core.Left() == 0 { // Live refuses then
		return
	}
	s.started = append(s.started, make([][numStages]int, n)...)
	s.ended = append(s.ended, make([]int, n)...)
	s.state = append(s.state, make([]string, n)...)
	first, actions := s.core.Add(n)
	if int(first) != len(s.ended)-n {
		s.t.Fatalf("added items begin at %d, want %d", first, len(s.ended)-n)
	}
	s.apply(actions)
}

// shuffled lists some of the items in some order.
func (s *schedule) shuffled() []Item {
	some := make([]Item, 0, len(s.ended))
	for _, it := range s.rng.Perm(len(s.ended)) {
		if s.rng.IntN(5) > 0 {
			some = append(some, Item(it))
		}
	}
	return some
}

// check compares the counters of the Core with what its items say.
func (s *schedule) check() {
	snap := s.core.Snapshot()
	b := s.core.bounds
	var busy [numStages]int
	live, ready := 0, 0
	for _, x := range s.core.items {
		if x.place {
			live++
		}
		if x.phase == readyPhase {
			ready++
		}
		if x.slot {
			busy[map[phase]Stage{initing: Init, running: Run, evaling: Eval}[x.phase]]++
		}
	}
	if busy != snap.Busy || live != snap.Live || ready != snap.Ready {
		s.t.Fatalf("counted busy %v live %d ready %d, snapshot %+v", busy, live, ready, snap)
	}
	if s.lowered { // what is above a new limit drains
		return
	}
	for st := range busy {
		if busy[st] > b.busy[st] {
			s.t.Fatalf("%s: %d busy, limit %d", Stage(st), busy[st], b.busy[st])
		}
	}
	if live > b.live {
		s.t.Fatalf("%d live, limit %d", live, b.live)
	}
	if ready > b.ready {
		s.t.Fatalf("%d ready, limit %d", ready, b.ready)
	}
}

const readyPhase = ready

func (s *schedule) run() {
	s.apply(s.core.Begin())
	for steps := 0; s.core.Left() > 0; steps++ {
		if s.agenda.Len() == 0 {
			s.t.Fatalf("nothing happens any more with %d items left: %+v", s.core.Left(), s.core.Snapshot())
		}
		if steps > 100*len(s.ended)+1000 {
			s.t.Fatal("no end")
		}
		d := heap.Pop(&s.agenda).(due)
		s.now = d.at
		d.do()
	}
	for it, n := range s.ended {
		if n != 1 {
			s.t.Fatalf("item %d ended %d times", it, n)
		}
	}
	if snap := s.core.Snapshot(); snap.Live != 0 || snap.Busy != [3]int{} || snap.Held != 0 {
		s.t.Fatalf("slots left over: %+v", snap)
	}
}

func newSchedule(t *testing.T, seed uint64, p Policy, l Limits, n int) *schedule {
	return &schedule{t: t, core: NewCore(p, l, n, nil), rng: rand.New(rand.NewPCG(seed, 1)),
		started: make([][numStages]int, n), ended: make([]int, n), state: make([]string, n)}
}

// Thousands of random schedules: every item leaves every stage exactly once
// and no limit is passed, whatever fails, is held, cancelled, changed or added.
func TestRandomSchedules(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		p := Policies()[rng.IntN(3)]
		l := Limits{Init: rng.IntN(4), Run: 1 + rng.IntN(4), Eval: 1 + rng.IntN(3), Live: rng.IntN(7), Ready: rng.IntN(3)}
		n := 1 + rng.IntN(30)
		s := newSchedule(t, seed, p, l, n)
		s.chaos = true
		if rng.IntN(2) == 0 {
			s.core.KeepIf(func(it Item) bool { return it%3 == 1 })
		}
		for range rng.IntN(5) {
			it := Item(rng.IntN(n))
			s.after(rng.Float64()*5, func() { s.cancel(it) })
		}
		if rng.IntN(4) == 0 { // a resumed run: some have ended, some enter at eval
			for it := range Item(n) {
				switch rng.IntN(4) {
				case 0:
					s.core.Skip(it)
					s.ended[it], s.state[it] = 1, "ended"
				case 1:
					s.core.SkipToEval(it)
					s.state[it] = "ran"
				}
			}
		}
		for range rng.IntN(3) {
			more, when := 1+rng.IntN(4), rng.Float64()*8
			s.after(when, func() { s.add(more) })
			s.after(when+rng.Float64(), func() { s.cancel(Item(rng.IntN(len(s.ended)))) })
		}
		for range rng.IntN(4) {
			s.after(rng.Float64()*5, func() {
				s.lowered = true
				s.apply(s.core.SetLimits(Limits{Init: rng.IntN(3), Run: rng.IntN(4), Eval: rng.IntN(3), Live: rng.IntN(4), Ready: rng.IntN(3)}))
			})
		}
		if rng.IntN(3) == 0 { // another policy and another order meanwhile
			for range 1 + rng.IntN(3) {
				s.after(rng.Float64()*5, func() {
					s.lowered = true
					s.core.Reorder(s.shuffled())
					s.apply(s.core.SetPolicy(Policies()[rng.IntN(3)]))
				})
			}
		}
		t.Run(fmt.Sprintf("%d_%s_%+v_n%d", seed, p, l, n), func(t *testing.T) { s.t = t; s.run() })
		if t.Failed() {
			return
		}
	}
}

// With one live place, eval must get the place a run gave back before a new
// init takes it: otherwise fresh eval sandboxes deadlock.
func TestEvalHasFirstClaim(t *testing.T) {
	c := NewCore(AsyncPipeline, Limits{Init: 2, Run: 2, Eval: 1, Live: 1, Ready: 1}, 3, nil)
	expect(t, c.Begin(), "start init 0")
	expect(t, c.InitDone(0, true), "start run 0")
	expect(t, c.RunDone(0, true), "start eval 0")
	expect(t, c.EvalDone(0), "end 0", "start init 1")
}

// A held trajectory gives its run slot to the next and waits for one to go on.
func TestHoldGivesSlotBack(t *testing.T) {
	c := NewCore(AsyncPipeline, Limits{Init: 2, Run: 1, Eval: 1, Live: 4, Ready: 2}, 2, nil)
	expect(t, c.Begin(), "start init 0", "start init 1")
	expect(t, c.InitDone(0, true), "start run 0")
	expect(t, c.InitDone(1, true))
	expect(t, c.Hold(0), "start run 1")
	expect(t, c.Want(0))
	expect(t, c.RunDone(1, false), "end 1", "resume 0")
	expect(t, c.RunDone(0, true), "start eval 0")
	expect(t, c.EvalDone(0), "end 0")
}

// async_batch_bounded keeps an item's place to the end of eval: the pool of
// two never has three items in flight.
func TestBoundedKeepsPlace(t *testing.T) {
	c := NewCore(AsyncBatchBounded, Limits{Run: 2, Eval: 1}, 3, nil)
	expect(t, c.Begin(), "start init 0", "start init 1")
	expect(t, c.InitDone(0, true), "start run 0")
	expect(t, c.InitDone(1, true), "start run 1")
	expect(t, c.RunDone(0, true), "start eval 0")
	expect(t, c.RunDone(1, true)) // eval is full, its place is kept: item 2 waits
	expect(t, c.EvalDone(0), "end 0", "start eval 1", "start init 2")
}

// What is evaluated in the sandbox it ran in keeps its place meanwhile, needs no other,
// and is let past items that wait for one.
func TestKeptPlace(t *testing.T) {
	c := NewCore(AsyncPipeline, Limits{Init: 2, Run: 2, Eval: 1, Live: 2, Ready: 2}, 4, nil)
	c.KeepIf(func(it Item) bool { return it > 0 })
	expect(t, c.Begin(), "start init 0", "start init 1")
	expect(t, c.InitDone(0, true), "start run 0")
	expect(t, c.InitDone(1, true), "start run 1")
	if next := c.Next(9); !slices.Equal(next, []Item{2, 3, 0}) {
		t.Errorf("next to want a place: %v, want 2 and 3 for init, 0 for eval", next)
	}
	expect(t, c.RunDone(1, true), "start eval 1") // in its own place: both are taken
	expect(t, c.RunDone(0, true), "start init 2") // eval is full, and 0 gave its place back
	expect(t, c.EvalDone(1), "end 1", "start eval 0")
	expect(t, c.EvalDone(0), "end 0", "start init 3")
	expect(t, c.InitDone(2, true), "start run 2")
	expect(t, c.InitDone(3, true), "start run 3")
	expect(t, c.RunDone(2, false), "end 2")
	expect(t, c.RunDone(3, true), "start eval 3")
	expect(t, c.EvalDone(3), "end 3")

	c = NewCore(AsyncPipeline, Limits{Init: 1, Run: 1, Eval: 2, Live: 1, Ready: 1}, 3, nil)
	c.KeepIf(func(it Item) bool { return it == 2 })
	c.SkipToEval(0)
	c.SkipToEval(1)
	expect(t, c.Begin(), "start eval 0") // 1 waits for the one place, so 2 does not begin
	expect(t, c.EvalDone(0), "end 0", "start eval 1")
	expect(t, c.EvalDone(1), "end 1", "start init 2")
}

func TestAsyncBatchIsUnbounded(t *testing.T) {
	c := NewCore(AsyncBatch, Limits{Init: 1, Run: 1, Eval: 1}, 3, nil)
	expect(t, c.Begin(), "start init 0", "start init 1", "start init 2")
	c = NewCore(AsyncBatch, Limits{Live: 2}, 3, nil)
	expect(t, c.Begin(), "start init 0", "start init 1")
}

func TestCancelWaiting(t *testing.T) {
	c := NewCore(AsyncPipeline, Limits{Init: 1, Run: 1, Eval: 1, Live: 4, Ready: 2}, 3, nil)
	expect(t, c.Begin(), "start init 0")
	expect(t, c.Cancel(2), "cancelled init 2")
	expect(t, c.InitDone(2, false), "end 2")
	expect(t, c.InitDone(0, true), "start run 0", "start init 1")
	expect(t, c.InitDone(1, true))
	expect(t, c.Cancel(1), "cancelled run 1") // it holds a sandbox: its run stage closes it
	expect(t, c.RunDone(1, false), "end 1")
	expect(t, c.Cancel(1))
}

func TestOrder(t *testing.T) {
	c := NewCore(AsyncPipeline, Limits{Init: 1, Run: 1, Eval: 1}, 3, []Item{2, 0, 1})
	expect(t, c.Begin(), "start init 2")
	expect(t, c.InitDone(2, true), "start run 2", "start init 0")
}

// Resumed runs: what has ended is skipped, what had run enters at eval.
func TestSkip(t *testing.T) {
	c := NewCore(AsyncPipeline, Limits{Init: 1, Run: 1, Eval: 1}, 3, nil)
	c.Skip(0)
	c.SkipToEval(1)
	expect(t, c.Begin(), "start eval 1", "start init 2")
	expect(t, c.EvalDone(1), "end 1")
	expect(t, c.InitDone(2, false), "end 2")
	if c.Left() != 0 {
		t.Errorf("%d left", c.Left())
	}
}

// No limit is above the number of items.
func TestLimitsAreCut(t *testing.T) {
	c := NewCore(AsyncPipeline, Limits{Init: 8, Run: 64, Eval: 2, Live: 96}, 5, nil)
	if s := c.Snapshot(); s.Limit != [3]int{5, 5, 2} || s.MaxLive != 5 {
		t.Errorf("%+v", s)
	}
}

// What each stage with a free slot waits for, step by step.
func TestBlocked(t *testing.T) {
	c := NewCore(AsyncPipeline, Limits{Init: 2, Run: 2, Eval: 1, Live: 3, Ready: 1}, 4, nil)
	want := func(init, run, eval string) {
		t.Helper()
		if got := c.Snapshot().Blocked; got != [3]string{init, run, eval} {
			t.Fatalf("blocked %q, want %q", got, []string{init, run, eval})
		}
	}
	c.Begin() // 0 and 1 in init
	want("", "init", "run")
	c.InitDone(0, true) // runs; 2 in init: three are live, 3 waits
	want("", "init", "run")
	c.InitDone(1, true) // runs: init has a free slot, but all places are taken
	want("sandboxes", "", "run")
	c.InitDone(2, true) // ready
	want("sandboxes", "", "run")
	c.Hold(0) // 2 takes its slot
	c.Hold(1)
	c.Hold(2)
	want("sandboxes", "sandboxes", "run")
	c.Cancel(3)
	c.InitDone(3, false)
	want("", "held", "held")
	c.Want(0)
	c.RunDone(0, true) // evaluated; 1 and 2 are held
	want("", "held", "")
	c.EvalDone(0)
	c.RunDone(1, false)
	c.RunDone(2, false)
	want("", "", "")
}

// The room for ready ones is full: run blocks init.
func TestInitBlockedByRun(t *testing.T) {
	c := NewCore(AsyncPipeline, Limits{Init: 2, Run: 1, Eval: 1, Live: 9, Ready: 1}, 4, nil)
	c.Begin()
	c.InitDone(0, true)
	c.InitDone(1, true)
	if s := c.Snapshot(); s.Blocked != [3]string{"run", "", "run"} || s.LimitedBy != "run" {
		t.Errorf("%+v", s)
	}
}

func TestLoweredLimitDrains(t *testing.T) {
	c := NewCore(AsyncPipeline, Limits{Init: 3, Run: 3, Eval: 1}, 5, nil)
	expect(t, c.Begin(), "start init 0", "start init 1", "start init 2")
	for it := range Item(3) {
		c.InitDone(it, true)
	}
	expect(t, c.SetLimits(Limits{Init: 1, Run: 1, Eval: 1}))
	if got := c.Snapshot().Busy[Run]; got != 3 {
		t.Errorf("lowering the limit left %d of 3 running", got)
	}
	c.RunDone(0, false)
	c.RunDone(1, false)
	if got := c.Snapshot().Busy[Run]; got != 1 {
		t.Errorf("%d running after the drain, want 1", got)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		p    Policy
		l    Limits
		want string
	}{
		{AsyncPipeline, Limits{}, "<nil>"},
		{"async", Limits{}, `dispatcher.type "async" is unknown: use one of [async_batch async_batch_bounded async_pipeline]`},
		{AsyncBatch, Limits{Eval: -1}, "dispatcher.max_eval_parallel_agents is -1: use 0 (no limit) or more"},
	} {
		if got := fmt.Sprint(Check(c.p, c.l)); got != c.want {
			t.Errorf("Check(%s, %+v) = %s, want %s", c.p, c.l, got, c.want)
		}
	}
}

func expect(t *testing.T, got []Action, want ...string) {
	t.Helper()
	var said []string
	for _, a := range got {
		switch {
		case a.Do == Start && a.Cancelled:
			said = append(said, fmt.Sprintf("cancelled %s %d", a.Stage, a.Item))
		case a.Do == Start:
			said = append(said, fmt.Sprintf("start %s %d", a.Stage, a.Item))
		case a.Do == Resume:
			said = append(said, fmt.Sprintf("resume %d", a.Item))
		default:
			said = append(said, fmt.Sprintf("end %d", a.Item))
		}
	}
	if fmt.Sprint(said) != fmt.Sprint(want) {
		t.Fatalf("got %q, want %q", said, want)
	}
}
