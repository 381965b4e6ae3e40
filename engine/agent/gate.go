package agent

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"rollbench/sessions"
)

// Gate is where a person's verbs meet the loop. Verbs may be called from any
// goroutine at any time: they are accepted or refused at once; their effect is
// made by the loop and comes back as an event.
type Gate struct {
	mu      sync.Mutex // guards everything below
	mode    mode
	held    bool
	at      sessions.Gate // where held
	now     standing      // of the last reply where held
	changes []Change
	waiting bool          // held by an error, not by a person: it goes on by itself
	over    bool          // the run stage has ended
	ended   chan struct{} // closed with over
	wake    chan struct{} // capacity one

	call      context.CancelCauseFunc // of the call that runs, nil while none does
	callBegan time.Time
}

// mode is what to do at the next gate.
type mode uint8

const (
	free mode = iota
	pausing
	stepInto // hold at the next gate
	stepOver // hold before the next model call
	stepOut  // hold before eval
)

// Change is a person's change, to be applied by the loop.
type Change struct {
	Verb      string
	Text      string
	Index     int
	Name      string
	Arguments string
	N         int  // resample: how many
	Version   int  // pick
	Turns     int  // raise_limit; 0: as before
	Tokens    int  // raise_limit; 0: as before
	Look      bool // run: in a copy
	// Do is done at the gate (beside): before is the next turn, of which nothing has
	// happened in the sandbox yet; 0 when the calls of a reply are answered in part.
	Do func(ctx context.Context, before int)
}

// standing is what can be done to the last reply at a gate.
type standing struct {
	calls    []sessions.Call // that wait for their tools
	open     bool            // nothing has answered the reply yet
	versions []int           // of the replies to its prompt, the one in effect first
	answers  int             // observations that can be edited
}

// NewGate lets everything pass.
func NewGate() *Gate { return &Gate{wake: make(chan struct{}, 1), ended: make(chan struct{})} }

func (g *Gate) ring() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// Pause holds the trajectory at its next gate.
func (g *Gate) Pause() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.held || g.waiting {
		g.mode = pausing
	}
}

// Continue lets a held trajectory go on and takes a pending pause back.
func (g *Gate) Continue() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode, g.held, g.waiting = free, false, false
	g.ring()
}

var steps = map[string]mode{"into": stepInto, "over": stepOver, "out": stepOut}

// CheckStep says how a step may go.
func CheckStep(how string) error {
	if _, ok := steps[how]; !ok {
		return fmt.Errorf("step %q is unknown: use into, over or out", how)
	}
	return nil
}

// Step goes on to the next gate ("into"), to the next model call ("over") or
// to the end of the run stage ("out").
func (g *Gate) Step(how string) error {
	if err := CheckStep(how); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode, g.held, g.waiting = steps[how], false, false
	g.ring()
	return nil
}

// End says that the run stage is over: no verb has an effect any more.
func (g *Gate) End() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		close(g.ended)
	}
	g.over, g.held, g.changes = true, false, nil
}

// Ended is closed once no verb has an effect any more.
func (g *Gate) Ended() <-chan struct{} { return g.ended }

// Over reports whether the run stage is over.
func (g *Gate) Over() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over
}

// Held reports whether and where the trajectory is held.
func (g *Gate) Held() (sessions.Gate, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at, g.held
}

// arrive says whether to be held at a gate, and why. stay: the loop is
// already held here and asks whether it still is. hit: a breakpoint is here.
func (g *Gate) arrive(at sessions.Gate, now standing, stay, hit bool) (sessions.HeldReason, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if stay {
		g.now = now                             // edited meanwhile
		return "", g.held || len(g.changes) > 0 // a change accepted before continue is made before it goes on
	}
	reason := sessions.HeldStep
	switch {
	case hit:
		reason = sessions.HeldBreakpoint
	case g.mode == pausing:
		reason = sessions.HeldPaused
	case g.mode == stepInto:
	case g.mode == stepOver && (at == sessions.BeforeModel || at == sessions.BeforeEval):
	case g.mode == stepOut && at == sessions.BeforeEval:
	default:
		return "", false
	}
	g.mode, g.held, g.at, g.now = free, true, at, now
	return reason, true
}

// take returns the changes made since the last call.
func (g *Gate) take() []Change {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := g.changes
	g.changes = nil
	return out
}

// gate is passed at each point of a turn: breakpoints are asked, changes are
// applied, and the trajectory is held here when asked.
func (l *Loop) gate(ctx context.Context, at sessions.Gate) error {
	hit, err := l.meet(ctx, at)
	if err != nil {
		return err
	}
	return l.pass(ctx, at, hit)
}

// pass a gate; hit is the breakpoint that holds here, "" for none. While held,
// the trajectory's run slot is free.
func (l *Loop) pass(ctx context.Context, at sessions.Gate, hit string) error {
	held, shown := false, false
	first := l.First
	l.First = ""
	for {
		if err := l.changes(ctx, at); err != nil {
			return err
		}
		reason, hold := l.Gate.arrive(at, l.standing(at), held, hit != "" || first != "")
		if hold {
			why := sessions.StateChange{State: sessions.Held, Held: reason, At: at, Why: hit}
			if first != "" {
				why.Held, why.Why = sessions.HeldPaused, first
			}
			var err error
			switch {
			case !held:
				err = l.hold(ctx, why)
			case !shown: // paused again while it waited for its slot
				why.Held, why.Why = sessions.HeldPaused, ""
				err = l.commit(ctx, sessions.KindState, why)
			}
			if err != nil {
				return err
			}
			held, shown = true, true
			if err := l.Gate.wait(ctx); err != nil {
				return err
			}
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !held {
			return nil
		}
		if err := l.want(ctx, func() { shown = false }); err != nil {
			return err
		}
		// What a person did while it waited for its slot counts here.
		if err := l.changes(ctx, at); err != nil {
			return err
		}
		if !l.Gate.pausedAgain() {
			return l.commit(ctx, sessions.KindState, sessions.StateChange{State: sessions.Running})
		}
		l.Slot.Hold()
		l.away = &sessions.StateChange{State: sessions.Held, Held: sessions.HeldPaused, At: at}
	}
}

// want a run slot to go on with. Where none is free the trajectory says that it
// waits for one, and then calls waits.
func (l *Loop) want(ctx context.Context, waits func()) error {
	var failed error
	err := l.Slot.Want(ctx, func() {
		failed = l.commit(ctx, sessions.KindState, sessions.StateChange{State: sessions.Held, Held: sessions.HeldLimit, Why: "limit: no run slot is free"})
		waits()
	})
	if err == nil {
		l.away = nil
	}
	return cmp.Or(failed, err)
}

func (l *Loop) changes(ctx context.Context, at sessions.Gate) error {
	for _, c := range l.Gate.take() {
		if err := l.apply(ctx, at, c); err != nil {
			return err
		}
	}
	return nil
}

// hold records that the trajectory is held and gives its slot back.
func (l *Loop) hold(ctx context.Context, s sessions.StateChange) error {
	if err := l.commit(ctx, sessions.KindState, s); err != nil {
		return err
	}
	l.Slot.Hold()
	l.away = &s
	return nil
}

// sitOut holds the trajectory while the endpoint is away, for a time or until a
// person lets it go on.
func (l *Loop) sitOut(ctx context.Context, why error, wait time.Duration) error {
	l.Gate.stop(sessions.BeforeModel)
	if err := l.hold(ctx, sessions.StateChange{State: sessions.Held, Held: sessions.HeldError, At: sessions.BeforeModel, Why: why.Error()}); err != nil {
		return err
	}
	timer := time.AfterFunc(wait, l.Gate.goOn)
	defer timer.Stop()
	for {
		if err := l.changes(ctx, sessions.BeforeModel); err != nil {
			return err
		}
		if _, held := l.Gate.Held(); !held {
			break
		}
		if err := l.Gate.wait(ctx); err != nil {
			return err
		}
	}
	if err := l.want(ctx, func() {}); err != nil {
		return err
	}
	if err := l.commit(ctx, sessions.KindState, sessions.StateChange{State: sessions.Running}); err != nil {
		return err
	}
	return l.pass(ctx, sessions.BeforeModel, "") // where a pause asked for meanwhile holds it
}

// stop holds at a gate without having been asked to.
func (g *Gate) stop(at sessions.Gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held, g.waiting, g.at, g.now = true, true, at, standing{}
}

// goOn ends such a hold.
func (g *Gate) goOn() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting {
		g.held, g.waiting = false, false
		g.ring()
	}
}

func (g *Gate) wait(ctx context.Context) error {
	select {
	case <-g.wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pausedAgain: a pause came after the trajectory was let go and before it had
// its slot back. It is held where it is, as if it had never gone.
func (g *Gate) pausedAgain() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mode != pausing {
		return false
	}
	g.mode, g.held = free, true
	return true
}

// know what has become of the last reply while it is held.
func (g *Gate) know(s standing) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now = s
}

// standing of the last reply at a gate.
func (l *Loop) standing(at sessions.Gate) standing {
	s := standing{calls: l.pending()}
	switch t := l.last; {
	case t == nil:
	case at == sessions.AfterTool:
		s.answers = len(t.Observations)
	case at == sessions.AfterReply && !t.Complete && len(t.Observations) == 0:
		s.open, s.versions = true, []int{t.Version}
		for _, o := range l.others {
			s.versions = append(s.versions, o.Version)
		}
	}
	return s
}

// pending are the calls of the last reply while they wait for their tools;
// none once they are answered, by a tool or by a person.
func (l *Loop) pending() []sessions.Call {
	if l.last == nil || l.last.Complete || len(l.last.Observations) >= len(l.last.Calls) {
		return nil
	}
	return l.last.Calls
}
