package dispatch

import "fmt"

// Action tells the driver what to do.
type Action struct {
	Item Item
	Do   Do
	// Stage to start, for Start.
	Stage Stage
	// Cancelled: start the stage only to let go of what the item holds. It
	// occupies no slot.
	Cancelled bool
}

// Do is the verb of an action.
type Do uint8

// The verbs.
const (
	Start  Do = iota // start a stage
	Resume           // a held item has its run slot again
	End              // the item has left its last stage
)

// phase of an item, between the calls of the driver.
type phase uint8

const (
	queued  phase = iota
	initing       // in init
	ready         // initialised, waits for a run slot
	running       // in run, with a slot
	held          // in run, without a slot
	wanting       // in run, waits to get a slot back
	ran           // waits for eval
	evaling       // in eval
	ended
)

type item struct {
	phase     phase
	place     bool // counts as live
	slot      bool // counts as busy in its stage
	cancelled bool
}

// Core is the state machine. It is not safe for concurrent use.
type Core struct {
	policy Policy
	limits Limits // as given
	bounds bounds // what they mean for so many items
	begun  bool
	items  []item
	keeps  func(Item) bool
	busy   [numStages]int
	live   int
	kept   int // items that have their place and wait for eval
	held   int // items held or wanting
	left   int // items not ended
	stop   bool
	order  []Item
	// Waiting items: for init in the order given, then first come first served:
	// ready for run, wanting a run slot back, ran and to be evaluated.
	waitInit, waitRun, waitBack, waitEval queue
	out                                   []Action
}

// NewCore with every item queued. order lists all items, first to start first;
// nil means 0…n−1. Add brings more.
func NewCore(p Policy, l Limits, n int, order []Item) *Core {
	if order == nil {
		order = make([]Item, n)
		for i := range order {
			order[i] = Item(i)
		}
	}
	return &Core{policy: p, limits: l, keeps: func(Item) bool { return false }, bounds: resolve(p, l, n), items: make([]item, n), left: n, order: order}
}

// Skip marks an item as already through, before Begin: it starts no stage.
func (c *Core) Skip(it Item) {
	c.must(it, queued)
	c.items[it].phase = ended
	c.left--
}

// KeepIf says which items are evaluated in the sandbox they ran in: those do not give
// their place back when run ends, and want no other for eval. Of an item the answer is
// always the same. Without it there are none.
func (c *Core) KeepIf(keeps func(Item) bool) { c.keeps = keeps }

// SkipToEval lets an item enter at eval (its run stage was recorded earlier).
func (c *Core) SkipToEval(it Item) {
	c.must(it, queued)
	c.items[it].phase = ran
	c.waitEval.push(it)
}

// Begin queues the items and returns the first actions.
func (c *Core) Begin() []Action {
	c.begun = true
	for _, it := range c.order {
		if c.items[it].phase == queued {
			c.waitInit.push(it)
		}
	}
	return c.admit()
}

// Left is the number of items that have not ended.
func (c *Core) Left() int { return c.left }

// InitDone says that init ended. go on false ends the item (its sandbox is
// closed by then).
func (c *Core) InitDone(it Item, goOn bool) []Action {
	c.must(it, initing)
	c.giveSlot(it, Init)
	if !goOn {
		c.end(it)
		return c.admit()
	}
	c.items[it].phase = ready
	if c.items[it].cancelled {
		c.startCancelled(it, Run)
	} else {
		c.waitRun.push(it)
	}
	return c.admit()
}

// RunDone says that the run stage ended and its sandbox is closed, unless the item
// keeps it. eval false ends the item without evaluation, and its sandbox is closed.
func (c *Core) RunDone(it Item, eval bool) []Action {
	c.must(it, running, held, wanting)
	if c.items[it].phase != running {
		c.held--
		c.waitBack.remove(it)
	}
	c.giveSlot(it, Run)
	if !c.bounds.keep && !c.keeps(it) {
		c.givePlace(it)
	}
	if !eval {
		c.end(it)
		return c.admit()
	}
	c.items[it].phase = ran
	if c.items[it].cancelled {
		c.startCancelled(it, Eval)
	} else {
		c.toEval(it)
	}
	return c.admit()
}

// EvalDone says that eval ended and its sandbox is closed.
func (c *Core) EvalDone(it Item) []Action {
	c.must(it, evaling)
	c.giveSlot(it, Eval)
	c.end(it)
	return c.admit()
}

// Hold gives a running item's slot back; its sandbox stays live.
func (c *Core) Hold(it Item) []Action {
	c.must(it, running)
	c.giveSlot(it, Run)
	c.items[it].phase = held
	c.held++
	return c.admit()
}

// Want asks for a held item's slot; Resume is the answer.
func (c *Core) Want(it Item) []Action {
	c.must(it, held)
	c.items[it].phase = wanting
	c.waitBack.push(it)
	return c.admit()
}

// Cancel takes a waiting item out of its queue and starts the next stage only
// to let go of it. A busy item is the driver's to interrupt; it will not wait
// for a slot again.
func (c *Core) Cancel(it Item) []Action {
	x := &c.items[it]
	if x.phase == ended || x.cancelled {
		return nil
	}
	x.cancelled = true
	switch x.phase {
	case queued:
		c.waitInit.remove(it)
		c.startCancelled(it, Init)
	case ready:
		c.waitRun.remove(it)
		c.startCancelled(it, Run)
	case ran:
		c.waitEval.remove(it)
		c.fromEval(it)
		c.startCancelled(it, Eval)
	case wanting:
		c.waitBack.remove(it)
		c.held--
		x.phase = running
		c.out = append(c.out, Action{Item: it, Do: Resume, Cancelled: true})
	}
	return c.admit()
}

// Stop starts nothing more; what is busy ends by itself.
func (c *Core) Stop() { c.stop = true }

// Next lists up to n items that will want a place to work in, first to come
// first: those that wait for eval, those that wait for init, and those on their
// way to eval.
func (c *Core) Next(n int) []Item {
	var next []Item
	if c.stop {
		return nil
	}
	for _, it := range c.waitEval.items[c.waitEval.head:] {
		if len(next) < n && !c.keeps(it) {
			next = append(next, it)
		}
	}
	next = append(next, c.waitInit.items[c.waitInit.head:][:min(c.waitInit.len(), n-len(next))]...)
	for i := 0; i < len(c.items) && len(next) < n; i++ {
		if x := c.items[i]; x.phase > queued && x.phase < ran && !x.cancelled && !c.keeps(Item(i)) {
			next = append(next, Item(i))
		}
	}
	return next
}

// Snapshot of the queues.
type Snapshot struct {
	Waiting [3]int // for init, for a run slot (ready and resumed), for eval
	Busy    [3]int
	Limit   [3]int // 0: none
	Ready   int    // initialised and waiting for their first run slot
	Held    int
	Live    int
	MaxLive int // 0: none
	Left    int
	// LimitedBy is the stage or "sandboxes" that keeps waiting items from
	// starting, "" when nothing waits.
	LimitedBy string
	// Blocked says what a stage that has a free slot and work to come waits
	// for: the stage that is behind, "sandboxes" or "held"; "" when it is not idle.
	Blocked [3]string
}

// Snapshot returns the state of the queues.
func (c *Core) Snapshot() Snapshot {
	s := Snapshot{
		Waiting: [3]int{c.waitInit.len(), c.waitRun.len() + c.waitBack.len(), c.waitEval.len()},
		Busy:    c.busy, Ready: c.waitRun.len(), Held: c.held - c.waitBack.len(), Live: c.live, Left: c.left,
		MaxLive: shown(c.bounds.live),
	}
	for i := range s.Limit {
		s.Limit[i] = shown(c.bounds.busy[i])
	}
	s.Blocked = c.blocked()
	switch {
	case c.waitEval.len() > 0 && c.busy[Eval] >= c.bounds.busy[Eval]:
		s.LimitedBy = "eval"
	case s.Waiting[Run] > 0:
		s.LimitedBy = "run"
	case c.waitInit.len()+c.waitEval.len() > 0 && c.live >= c.bounds.live:
		s.LimitedBy = "sandboxes"
	case c.waitInit.len() > 0:
		s.LimitedBy = "init"
	}
	return s
}

// Words for what stages wait for, beside their names.
const (
	forPlaces = "sandboxes"
	forPerson = "held"
)

// blocked says of each stage with a free slot why the slot is free. Without a
// limit there is always one: then only work that waits counts.
func (c *Core) blocked() (why [3]string) {
	free := func(s Stage) bool { return c.busy[s] < c.bounds.busy[s] }
	if free(Init) && c.waitInit.len() > 0 {
		switch {
		case c.live >= c.bounds.live:
			why[Init] = forPlaces
		case c.waitEval.len() > 0:
			why[Init] = Eval.String()
		default:
			why[Init] = Run.String()
		}
	}
	toInit := c.waitInit.len() + c.busy[Init]
	if free(Run) && c.bounds.busy[Run] != none && c.waitRun.len()+c.waitBack.len() == 0 {
		switch {
		case toInit > 0 && c.busy[Init] == 0:
			why[Run] = why[Init]
		case toInit > 0:
			why[Run] = Init.String()
		case c.held > 0:
			why[Run] = forPerson
		}
	}
	if free(Eval) {
		switch running := c.busy[Run] + c.waitRun.len() + c.waitBack.len(); {
		case c.waitEval.len() > 0:
			why[Eval] = forPlaces
		case c.bounds.busy[Eval] == none:
		case toInit+running > 0:
			why[Eval] = Run.String()
		case c.held > 0:
			why[Eval] = forPerson
		}
	}
	return why
}

func shown(n int) int {
	if n == none {
		return 0
	}
	return n
}

// admit starts whatever may start: eval first (it has the first claim on a
// freed place), then items resumed by a person, ready ones, and new ones.
func (c *Core) admit() []Action {
	if !c.stop {
		for c.busy[Eval] < c.bounds.busy[Eval] {
			it, ok := c.nextEval()
			if !ok {
				break
			}
			c.start(it, Eval, evaling)
		}
		for c.waitBack.len() > 0 && c.busy[Run] < c.bounds.busy[Run] {
			it := c.waitBack.pop()
			c.held--
			c.items[it].phase, c.items[it].slot = running, true
			c.busy[Run]++
			c.out = append(c.out, Action{Item: it, Do: Resume})
		}
		for c.waitRun.len() > 0 && c.busy[Run] < c.bounds.busy[Run] {
			c.start(c.waitRun.pop(), Run, running)
		}
		for c.mayInit() {
			c.start(c.waitInit.pop(), Init, initing)
		}
	}
	out := c.out
	c.out = nil
	return out
}

// nextEval takes the first item that waits for eval and has a place, or finds
// one, out of its queue.
func (c *Core) nextEval() (it Item, ok bool) {
	switch {
	case c.waitEval.len() == 0:
	case c.live < c.bounds.live || c.items[c.waitEval.peek()].place:
		it, ok = c.waitEval.pop(), true
	case c.kept > 0:
		it, ok = c.waitEval.take(func(it Item) bool { return c.items[it].place })
	}
	if ok {
		c.fromEval(it)
	}
	return it, ok
}

// toEval queues an item, and fromEval is told of one that has left the queue.
func (c *Core) toEval(it Item) {
	c.waitEval.push(it)
	if c.items[it].place {
		c.kept++
	}
}

func (c *Core) fromEval(it Item) {
	if c.items[it].place {
		c.kept--
	}
}

// mayInit: a slot and a place are free, no trajectory waits for a place to be
// evaluated in, and the item will find room among the ready ones. Held items
// count as if they had their run slot, since they will want it back.
func (c *Core) mayInit() bool {
	if c.waitInit.len() == 0 || c.busy[Init] >= c.bounds.busy[Init] || c.live >= c.bounds.live {
		return false
	}
	if c.waitEval.len() > 0 && c.busy[Eval] < c.bounds.busy[Eval] {
		return false // eval waits for a place
	}
	if c.bounds.ready == none {
		return true
	}
	free := max(c.bounds.busy[Run]-c.busy[Run]-c.held, 0)
	return c.busy[Init]+c.waitRun.len()-free < c.bounds.ready
}

func (c *Core) start(it Item, s Stage, p phase) {
	x := &c.items[it]
	x.phase, x.slot = p, true
	c.busy[s]++
	if s != Run && !x.place {
		x.place = true
		c.live++
	}
	c.out = append(c.out, Action{Item: it, Do: Start, Stage: s})
}

func (c *Core) startCancelled(it Item, s Stage) {
	c.items[it].phase = [numStages]phase{initing, running, evaling}[s]
	c.out = append(c.out, Action{Item: it, Do: Start, Stage: s, Cancelled: true})
}

func (c *Core) giveSlot(it Item, s Stage) {
	if c.items[it].slot {
		c.items[it].slot = false
		c.busy[s]--
	}
}

func (c *Core) givePlace(it Item) {
	if c.items[it].place {
		c.items[it].place = false
		c.live--
	}
}

func (c *Core) end(it Item) {
	c.givePlace(it)
	c.items[it].phase = ended
	c.left--
	c.out = append(c.out, Action{Item: it, Do: End})
}

// must panics when the driver reports something that cannot have happened:
// an impossible state, never an effect of input.
func (c *Core) must(it Item, want ...phase) {
	for _, p := range want {
		if c.items[it].phase == p {
			return
		}
	}
	panic(fmt.Sprintf("dispatch: item %d is in phase %d, want one of %v", it, c.items[it].phase, want))
}
