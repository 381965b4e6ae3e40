package engine

import (
	"errors"
	"sync"

	"rollbench/engine/agent"
	"rollbench/sessions"
	"rollbench/tools"
)

// Tool is what the policy is told of a tool, with its parameters as a JSON Schema.
type Tool = tools.Spec

// Tools are those that every policy of the run has, in the order it is told of them.
func (e *Engine) Tools() ([]Tool, error) { return e.specs() }

// specsOf asks the configuration once.
func specsOf(o Options) func() ([]Tool, error) {
	return sync.OnceValues(func() ([]Tool, error) {
		_, specs, err := Scaffold(o.Config, o.Servers)
		return specs, err
	})
}

// errNoModel is why a person has to write every turn.
var errNoModel = errors.New("the run has no endpoint: every turn is yours to write")

// Human has a person write the turns of a trajectory from the next one on (the zero
// key: of all), or gives the model its turns back.
func (e *Engine) Human(key sessions.Key, on bool) error {
	if !on && len(e.opt.Endpoints) == 0 {
		return errNoModel
	}
	note := "off"
	if on {
		note = "on"
	}
	return e.each(key, "human", note, func(t *trajectory) { t.gate.Human(on) })
}

// human are the trajectories whose turns a person writes.
func (e *Engine) human() map[string]bool {
	var out map[string]bool
	for _, t := range e.all() {
		if t.done.Load() || !t.gate.IsHuman() {
			continue
		}
		if out == nil {
			out = map[string]bool{}
		}
		out[t.key.String()] = true
	}
	return out
}

// Write a turn instead of the model: before its next call, or in the place of the
// reply that waits. No model call is made for it.
func (e *Engine) Write(key sessions.Key, text string, calls []sessions.Call) error {
	return e.one(key, func(t *trajectory) error { return t.gate.Write(text, calls) })
}

// InjectAs adds a message before the next model call, as a user's or as a tool's.
func (e *Engine) InjectAs(key sessions.Key, as, text string) error {
	return e.one(key, func(t *trajectory) error { return t.gate.InjectAs(agent.As(as), text) })
}

// StopNow gives up the model call under way and holds the trajectory before it; the
// zero key stops all. A call that runs is left alone: CancelCall ends it.
func (e *Engine) StopNow(key sessions.Key) error {
	if key.IsZero() {
		return e.each(key, "stop", "", func(t *trajectory) { _ = t.gate.StopNow() }) // those that are held stay so
	}
	return e.one(key, func(t *trajectory) error {
		if err := t.gate.StopNow(); err != nil {
			return err
		}
		return e.say(key, "stop", "")
	})
}

// yours reports whether the turn that is held is a person's to write.
func (e *Engine) yours(key sessions.Key) error {
	if key.IsZero() {
		return nil // those stay held, the others go on
	}
	t, err := e.find(key)
	if err != nil {
		return err
	}
	return t.gate.Yours()
}
