package tools

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"rollbench/sandbox"
)

// Carry is what the tools of a trajectory know beside the files of its sandbox, for
// those of another whose sandbox is opened from a snapshot: the shell's directory
// and exported environment, and what undo_edit can take back. Processes are not
// in it, nor a shell's functions and its variables that are not exported.
type Carry struct {
	shell   *sandbox.ShellState // nil: none was started
	history map[string][]edit
}

// carrier is a tool that knows something beside the files.
type carrier interface {
	carry(c *Carry) error
	adopt(ctx context.Context, c *Carry) error
}

// Carry of the tools as they are now. An error says why it cannot be had.
func (r *Registry) Carry() (*Carry, error) {
	c := &Carry{}
	for _, e := range r.tools {
		if t, ok := e.tool.(carrier); ok {
			if err := t.carry(c); err != nil {
				return nil, fmt.Errorf("%s: %w", e.spec.Name, err)
			}
		}
	}
	return c, nil
}

// Adopt what the tools of another trajectory knew, before any call.
func (r *Registry) Adopt(ctx context.Context, c *Carry) error {
	for _, e := range r.tools {
		if t, ok := e.tool.(carrier); ok {
			if err := t.adopt(ctx, c); err != nil {
				return fmt.Errorf("tool %s: %w", e.spec.Name, err)
			}
		}
	}
	return nil
}

func (t *bash) carry(c *Carry) error {
	if t.shell == nil {
		return nil
	}
	if !t.left.IsZero() {
		return errors.New("a command is still running")
	}
	s, ok := t.shell.(sandbox.Carrier)
	if !ok {
		return errors.New("the state of this shell cannot be read")
	}
	state := s.State()
	c.shell = &state
	return nil
}

func (t *bash) adopt(ctx context.Context, c *Carry) error {
	if c.shell == nil {
		return nil
	}
	shell, err := t.env.Sandbox.Shell(ctx)
	if err != nil {
		return err
	}
	s, ok := shell.(sandbox.Carrier)
	if !ok {
		return errors.Join(errors.New("this shell takes no state over"), shell.Close())
	}
	if err := s.Adopt(ctx, *c.shell); err != nil {
		return errors.Join(err, shell.Close())
	}
	t.shell = shell
	return nil
}

// carry a copy: the lists grow and shrink, the edits in them never change.
func (t *editor) carry(c *Carry) error {
	c.history = maps.Clone(t.history)
	for file, past := range c.history {
		c.history[file] = slices.Clone(past)
	}
	return nil
}

func (t *editor) adopt(_ context.Context, c *Carry) error {
	for file, past := range c.history { // shared by all that adopt it
		t.history[file] = slices.Clone(past)
	}
	return nil
}

func (t *python) carry(*Carry) error {
	if t.live != nil {
		return errors.New("its interpreter holds variables")
	}
	return nil
}

func (t *python) adopt(context.Context, *Carry) error { return nil }
