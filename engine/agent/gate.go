package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"rollbench/sessions"
)

// Gate is where a person's verbs meet the loop. Verbs may be called from any
// goroutine at any time: they are accepted or refused at once; their effect is
// made by the loop and comes back as an event.
type Gate struct {
	mu      sync.Mutex // guards everything below
	mode    mode
	held    bool
	at      sessions.Gate   // where held
	calls   []sessions.Call // pending where held
	changes []Change
	wake    chan struct{} // capacity one
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
	Verb      string // inject, edit, reject, finish
	Text      string
	Index     int
	Name      string
	Arguments string
}

// NewGate lets everything pass.
func NewGate() *Gate { return &Gate{wake: make(chan struct{}, 1)} }

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
	if !g.held {
		g.mode = pausing
	}
}

// Continue lets a held trajectory go on and takes a pending pause back.
func (g *Gate) Continue() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode, g.held = free, false
	g.ring()
}

// Step goes on to the next gate ("into"), to the next model call ("over") or
// to the end of the run stage ("out").
func (g *Gate) Step(how string) error {
	m, ok := map[string]mode{"into": stepInto, "over": stepOver, "out": stepOut}[how]
	if !ok {
		return fmt.Errorf("step %q is unknown: use into, over or out", how)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode, g.held = m, false
	g.ring()
	return nil
}

// Held reports whether and where the trajectory is held.
func (g *Gate) Held() (sessions.Gate, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at, g.held
}

// Inject adds a user message before the next model call.
func (g *Gate) Inject(text string) error {
	if text == "" {
		return errors.New("the feedback is empty")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held && g.at == sessions.BeforeEval {
		return errors.New("the run stage is over: no model call follows that could read it")
	}
	g.add(Change{Verb: "inject", Text: text})
	return nil
}

// Edit replaces call number index of the reply that is held before its tools run.
func (g *Gate) Edit(index int, name, arguments string) error {
	if !json.Valid([]byte(arguments)) {
		return errors.New("the arguments are not valid JSON")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.atReply(); err != nil {
		return err
	}
	if index < 0 || index >= len(g.calls) {
		return fmt.Errorf("there is no call %d: the reply has %d", index, len(g.calls))
	}
	if c := g.calls[index]; c.Name == name && c.Arguments == arguments {
		return errors.New("the call is as it was: nothing is edited")
	}
	g.add(Change{Verb: "edit", Index: index, Name: name, Arguments: arguments})
	return nil
}

// Reject answers the pending calls with the reason instead of running them.
func (g *Gate) Reject(reason string) error {
	if reason == "" {
		return errors.New("the reason is empty: it is what the model reads instead of a result")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.atReply(); err != nil {
		return err
	}
	g.add(Change{Verb: "reject", Text: reason})
	return nil
}

// Finish ends the run stage at the next gate.
func (g *Gate) Finish() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.add(Change{Verb: "force_finish"})
}

// atReply refuses what only works on a pending call; mu is held.
func (g *Gate) atReply() error {
	if !g.held || g.at != sessions.AfterReply || len(g.calls) == 0 {
		return errors.New("no call is pending: hold the trajectory after a reply, before its tool runs (pause, then step)")
	}
	return nil
}

func (g *Gate) add(c Change) {
	g.changes = append(g.changes, c)
	g.ring()
}

// arrive says whether to be held at a gate, and why. stay: the loop is
// already held here and asks whether it still is.
func (g *Gate) arrive(at sessions.Gate, calls []sessions.Call, stay bool) (sessions.HeldReason, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if stay {
		g.calls = calls // edited meanwhile
		return "", g.held
	}
	reason := sessions.HeldStep
	switch {
	case g.mode == pausing:
		reason = sessions.HeldPaused
	case g.mode == stepInto:
	case g.mode == stepOver && (at == sessions.BeforeModel || at == sessions.BeforeEval):
	case g.mode == stepOut && at == sessions.BeforeEval:
	default:
		return "", false
	}
	g.mode, g.held, g.at, g.calls = free, true, at, calls
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

// gate is passed at each point of a turn: changes are applied, and the
// trajectory is held here when asked. While held, its run slot is free.
func (l *Loop) gate(ctx context.Context, at sessions.Gate) error {
	held := false
	for {
		for _, c := range l.Gate.take() {
			if err := l.apply(ctx, at, c); err != nil {
				return err
			}
		}
		reason, hold := l.Gate.arrive(at, l.pending(), held)
		if !hold {
			break
		}
		if !held {
			held = true
			if err := l.commit(ctx, sessions.KindState, sessions.StateChange{State: sessions.Held, Held: reason, At: at}); err != nil {
				return err
			}
			l.Slot.Hold()
		}
		select {
		case <-l.Gate.wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !held {
		return nil
	}
	if err := l.Slot.Want(ctx); err != nil {
		return err
	}
	return l.commit(ctx, sessions.KindState, sessions.StateChange{State: sessions.Running})
}

// pending are the calls of the last reply while they wait for their tools;
// none once they are answered, by a tool or by a person.
func (l *Loop) pending() []sessions.Call {
	if l.last == nil || l.last.Complete || len(l.last.Observations) >= len(l.last.Calls) {
		return nil
	}
	return l.last.Calls
}
