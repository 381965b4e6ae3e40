package agent

import (
	"encoding/json"
	"errors"
	"fmt"

	"rollbench/sessions"
)

// As is the role in which feedback is given.
type As string

// The roles. A tool's message follows what the tools returned, as one more result
// of the last call.
const (
	AsUser As = "user"
	AsTool As = "tool"
)

// Inject adds a user message before the next model call.
func (g *Gate) Inject(text string) error { return g.InjectAs(AsUser, text) }

// InjectAs adds a message before the next model call.
func (g *Gate) InjectAs(as As, text string) error {
	switch {
	case text == "":
		return errors.New("the feedback is empty")
	case as != AsUser && as != AsTool:
		return fmt.Errorf("feedback as %q is unknown: use user or tool", as)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held && g.at == sessions.BeforeEval {
		return errors.New("the run stage is over: no model call follows that could read it")
	}
	if as == AsTool && g.held && !g.now.called {
		return errors.New("the last reply made no call that a tool's message could answer: inject it as a user's")
	}
	g.add(Change{Verb: "inject", As: as, Text: text})
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
	if index < 0 || index >= len(g.now.calls) {
		return fmt.Errorf("there is no call %d: the reply has %d", index, len(g.now.calls))
	}
	if c := g.now.calls[index]; c.Name == name && c.Arguments == arguments {
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
func (g *Gate) Finish() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shells > 0 {
		return errors.New("a shell is open in its sandbox, whose patch would be taken half done: leave it first")
	}
	g.add(Change{Verb: "force_finish"})
	return nil
}

// atReply refuses what only works on a pending call; mu is held.
func (g *Gate) atReply() error {
	if !g.held || g.at != sessions.AfterReply || len(g.now.calls) == 0 {
		return errors.New("no call is pending: hold the trajectory after a reply, before its tool runs (pause, then step)")
	}
	return nil
}

func (g *Gate) add(c Change) {
	g.changes = append(g.changes, c)
	g.ring()
}
