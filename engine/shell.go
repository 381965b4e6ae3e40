package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"rollbench/sandbox"
	"rollbench/sessions"
)

// Terminal is what a person's own terminal is like.
type Terminal = sandbox.ConsoleSpec

// Shell is one that a person works at; Close leaves it.
type Shell interface {
	sandbox.Console
	// Note is what the person is told before the first prompt.
	Note() string
}

// OpenShell opens a shell in the open run sandbox of a trajectory. look: in a copy of
// its files that is thrown away, beside whatever goes on; else in the sandbox itself,
// while the trajectory is held. What is done there is not known, so that a resume
// starts such a trajectory again.
func (e *Engine) OpenShell(ctx context.Context, key sessions.Key, look bool, term Terminal) (Shell, error) {
	t, err := e.find(key)
	if err != nil {
		return nil, err
	}
	if look {
		return e.lookAround(ctx, t, term)
	}
	var s Shell
	err = e.one(key, func(t *trajectory) (err error) {
		s, err = e.workInside(ctx, t, term)
		return err
	})
	return s, err
}

// workInside opens a shell in the sandbox itself, once its trajectory's record says so.
func (e *Engine) workInside(ctx context.Context, t *trajectory, term Terminal) (Shell, error) {
	at, turn := e.where(t)
	recorded := make(chan struct{})
	if err := t.gate.OpenShell(func() { close(recorded) }); err != nil {
		return nil, err
	}
	s := &shell{e: e, t: t, fact: sessions.Shell{Turn: turn, At: at}, began: time.Now(), leave: func() error { t.gate.CloseShell(); return nil }}
	select {
	case <-recorded:
	case <-t.gate.Ended():
		return nil, errors.Join(fmt.Errorf("the run stage of %s ended meanwhile", t.key), s.leave())
	case <-e.ctx.Done():
		return nil, errors.Join(context.Cause(e.ctx), s.leave())
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), s.leave())
	}
	sb := e.desks.of(t.key)
	if sb == nil {
		return nil, errors.Join(fmt.Errorf("the sandbox of %s is closed", t.key), s.leave())
	}
	return s.open(ctx, sb, term)
}

// lookAround opens a shell in a copy.
func (e *Engine) lookAround(ctx context.Context, t *trajectory, term Terminal) (Shell, error) {
	sb := e.desks.of(t.key)
	switch {
	case sb == nil && (t.done.Load() || t.gate.Over()):
		return nil, fmt.Errorf("the run stage of %s is over and its sandbox closed", t.key)
	case sb == nil:
		return nil, fmt.Errorf("the sandbox of %s is not open: it is still to be prepared", t.key)
	}
	copied, drop, err := e.copyOf(ctx, t, sb)
	if err != nil {
		return nil, err
	}
	at, turn := e.where(t)
	s := &shell{e: e, t: t, fact: sessions.Shell{Turn: turn, At: at, Look: true}, began: time.Now(), leave: drop}
	opened := s.fact
	opened.Open = true
	if err := e.commit(ctx, t.key, sessions.KindShell, opened); err != nil {
		return nil, errors.Join(err, drop())
	}
	return s.open(ctx, copied, term)
}

// where a trajectory is, for what is said of it.
func (e *Engine) where(t *trajectory) (at sessions.Gate, turn int) {
	row, err := e.row(t.key)
	if err != nil {
		return "", 0 // whoever is to record it meets the error
	}
	if turn = row.Turn; row.HeldAt == sessions.BeforeModel {
		turn++
	}
	return row.HeldAt, turn
}

// shell is a console with what has to be done after it.
type shell struct {
	sandbox.Console
	e     *Engine
	t     *trajectory
	fact  sessions.Shell
	began time.Time
	leave func() error

	once  sync.Once
	ended error
}

func (s *shell) open(ctx context.Context, sb sandbox.Sandbox, term Terminal) (Shell, error) {
	c, can := sb.(sandbox.Consoler)
	err := fmt.Errorf("a %s sandbox has no terminal", s.t.kind)
	if can {
		s.Console, err = c.Console(ctx, term)
	}
	if err != nil {
		s.fact.Problem = line(err)
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *shell) Note() string {
	if s.fact.Look {
		return fmt.Sprintf("A copy of the sandbox of %s, thrown away afterwards.", s.t.key)
	}
	return fmt.Sprintf("The sandbox of %s itself: what is changed here stays, the policy is not told, and a resume starts the trajectory again.", s.t.key)
}

// Close leaves the shell, which ends all that was started at it.
func (s *shell) Close() error {
	s.once.Do(func() {
		var errs []error
		if s.Console != nil {
			errs = append(errs, s.Console.Close())
		}
		s.fact.Wall = time.Since(s.began)
		if err := errors.Join(errs...); err != nil {
			s.fact.Problem = strings.TrimSpace(s.fact.Problem + " " + line(err))
		}
		told := s.e.commit(context.WithoutCancel(s.e.ctx), s.t.key, sessions.KindShell, s.fact)
		s.ended = errors.Join(append(errs, told, s.leave())...)
	})
	return s.ended
}

// desks are the open run sandboxes, for whoever is to work in one beside the loop.
// What is done in one that closes meanwhile fails as in any lost sandbox.
type desks struct {
	mu  sync.Mutex // guards all
	all map[sessions.Key]sandbox.Sandbox
}

func (d *desks) open(key sessions.Key, sb sandbox.Sandbox) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[sessions.Key]sandbox.Sandbox{}
	}
	d.all[key] = sb
}

// close lets nobody in any more.
func (d *desks) close(key sessions.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.all, key)
}

// of a trajectory, nil while none is open.
func (d *desks) of(key sessions.Key) sandbox.Sandbox {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all[key]
}
