package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rollbench/sandbox"
)

// sweepLine kills everything but pid 1 and the main process, which runs it: the
// kernel does that in one system call that no fork can outrun. What is dead counts
// against the limit of processes until it was reaped, hence the look at /proc.
const sweepLine = "kill -KILL -1 2>/dev/null; set -- /proc/[0-9]*; [ $# -le 2 ]"

// sweepLimit bounds the killing of all that commands left.
const sweepLimit = 30 * time.Second

// wakeScript is for a main process that does not answer because root inside has
// stopped it, and would again: all is stopped, in one system call, then all but the
// main process and this script's own parent is killed.
const wakeScript = `kill -STOP -1 2>/dev/null
for d in /proc/[0-9]*; do
  p=${d#/proc/}
  case $p in 1|$$|$PPID) continue ;; esac
  main= ; l= ;
  { while IFS= read -r l || [ -n "$l" ]; do
    case $l in *"` + sandbox.MarkVar + `=main:"*) main=1; break ;; esac
    l= ;
  done < $d/environ; } 2>/dev/null
  if [ -n "$main" ]; then kill -CONT $p; else kill -KILL $p; fi
done 2>/dev/null
kill -CONT $PPID`

// Sweep kills whatever commands left running.
func (c *Container) Sweep(ctx context.Context) error {
	if err := c.alive(); err != nil {
		return err
	}
	err := c.files.renew()
	c.running.allKilled() // first, or a shell looks alive until the engine tells of its end
	ctx, cancel := context.WithTimeout(ctx, sweepLimit)
	defer cancel()
	if err = errors.Join(err, c.check(c.sweep(ctx))); err != nil {
		return fmt.Errorf("end what commands left running: %w", err)
	}
	return nil
}

// allKilled tells every command that it is over.
func (r *processes) allKilled() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for x, told := range r.all {
		if !told {
			r.all[x] = true
			close(x.killed)
		}
	}
}

func (c *Container) sweep(ctx context.Context) error {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		gone, err := c.sweepOnce(ctx)
		if errors.Is(err, errSilent) && c.alive() == nil {
			// What the main process was told to do, it does now, before the next line.
			err = c.withRoom(ctx, func() error {
				_, err := c.helper(ctx, []string{"/bin/sh", "-c", wakeScript}, as{})
				return err
			})
		}
		if err != nil || gone {
			return err
		}
		select {
		case <-time.After(pause):
		case <-c.lost:
			return c.gone
		case <-ctx.Done():
			return errors.New("some processes do not die")
		}
	}
}

// sweepOnce says whether nothing was left.
func (c *Container) sweepOnce(ctx context.Context) (bool, error) {
	select {
	case c.killing <- struct{}{}:
		defer func() { <-c.killing }()
	case <-c.lost:
		return false, c.gone
	case <-ctx.Done():
		return false, ctx.Err()
	}
	m, err := c.talk(ctx)
	if err != nil {
		return false, err
	}
	defer m.close()
	code, err := m.ask(sweepLine, m.first, answerLimit)
	return code == 0, err
}

// renew ends the shell; the next file call starts another.
func (l *lazyShell) renew() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shell == nil || l.closed {
		return nil
	}
	old := l.shell
	l.shell = nil
	return old.Close()
}
