package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Console is a terminal in a sandbox with a shell on it, at which a person works.
type Console interface {
	// Read what it shows. It ends (io.EOF) when the shell and all that holds the
	// terminal have ended, at Close, and when the sandbox is lost.
	io.Reader
	// Write types.
	io.Writer
	Resize(rows, cols int) error
	// Wait for the shell's end: its exit code, or an error that wraps ErrLost. It may
	// be called once.
	Wait() (int, error)
	// Close kills what was started at it and still runs, and returns when it is gone.
	// It may be called twice.
	Close() error
}

// ConsoleSpec is what the person's own terminal is like.
type ConsoleSpec struct {
	Rows, Cols int
	Term       string // $TERM; "" for one that can nothing
}

// Consoler is a sandbox that a person can work in.
type Consoler interface {
	// Console starts a shell on a fresh terminal, in the sandbox's workdir: bash where
	// present, else sh.
	Console(ctx context.Context, c ConsoleSpec) (Console, error)
}

// Resizer is a Process on a terminal whose size can be set.
type Resizer interface {
	Resize(rows, cols int) error
}

// consoleScript runs the person's shell, for which it waits so that what the shell
// leaves behind is still known by its mark.
const consoleScript = `if command -v bash >/dev/null 2>&1; then exec bash -i; fi; exec sh -i`

// NewConsole starts a person's shell: the Console of every kind of sandbox. What s
// starts on a terminal is a Resizer. mark is that of a command of its own.
func NewConsole(ctx context.Context, s Starter, mark, dir string, c ConsoleSpec) (Console, error) {
	if c.Term == "" {
		c.Term = "dumb"
	}
	env := withMark(map[string]string{"TERM": c.Term}, mark)
	began := time.Now()
	proc, err := s.Start(ctx, Proc{Argv: []string{"/bin/sh", "-c", consoleScript}, Dir: dir, Env: env, Terminal: true})
	if err != nil {
		return nil, fmt.Errorf("open a shell: %w", err)
	}
	k := &console{s: s, proc: proc, mark: mark, began: began}
	if c.Rows > 0 && c.Cols > 0 {
		if err := k.Resize(c.Rows, c.Cols); err != nil {
			return nil, errors.Join(fmt.Errorf("set the size of a terminal: %w", err), k.Close())
		}
	}
	return k, nil
}

type console struct {
	s     Starter
	proc  Process
	mark  string
	began time.Time

	once   sync.Once
	closed error
}

func (k *console) Write(p []byte) (int, error) { return k.proc.Stdin().Write(p) }

// Read has one end: a terminal whose programs have ended answers with an error of its
// own, and Wait says whether the sandbox was lost.
func (k *console) Read(p []byte) (int, error) {
	n, err := k.proc.Stdout().Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

func (k *console) Resize(rows, cols int) error {
	r, can := k.proc.(Resizer)
	if !can {
		return fmt.Errorf("a %T has no size", k.proc)
	}
	return r.Resize(rows, cols)
}

func (k *console) Wait() (int, error) { return k.proc.Wait() }

func (k *console) Close() error {
	k.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), killLimit)
		defer cancel()
		err := k.s.KillTree(ctx, Tree{Mark: k.mark, Age: time.Since(k.began)})
		if errors.Is(err, ErrLost) {
			err = nil // nothing is left to end
		}
		if err != nil {
			err = fmt.Errorf("end what a shell left running: %w", err)
		}
		k.closed = errors.Join(err, k.proc.Close())
	})
	return k.closed
}
