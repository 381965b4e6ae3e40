package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	// killLimit bounds the killing of a tree, which goes on after ctx ended.
	killLimit = 15 * time.Second
	// quiet is how long a stream that children hold open may be still, after
	// the command itself ended, before its output counts as complete.
	quiet = 50 * time.Millisecond
	// drainLimit bounds that wait when those children never stop writing.
	drainLimit = 500 * time.Millisecond
)

// Run runs one command to its end: the Exec of every kind of sandbox.
func Run(ctx context.Context, s Starter, mark string, c Command) (Result, error) {
	p := Proc{Argv: c.Argv, Dir: c.Dir, User: c.User, Env: withMark(c.Env, mark), Stdin: len(c.Stdin) > 0, Merge: true}
	if len(p.Argv) == 0 {
		if err := checkScript(c.Script); err != nil {
			return Result{}, err
		}
		p.Argv = ScriptArgv(c.Script)
	}
	began := time.Now()
	if ctx.Err() != nil {
		return Result{ExitCode: -1, End: Cancelled}, nil
	}
	proc, err := s.Start(ctx, p)
	if err != nil {
		if ctx.Err() != nil && !errors.Is(err, ErrLost) {
			return Result{ExitCode: -1, End: Cancelled, Wall: time.Since(began)}, nil
		}
		return Result{}, fmt.Errorf("start command: %w", err)
	}
	r := running{s: s, proc: proc, out: NewCollector(c.MaxOutput, c.OnOutput), began: began}
	return r.finish(ctx, c, Tree{Mark: mark})
}

func withMark(env map[string]string, mark string) map[string]string {
	all := map[string]string{MarkVar: mark}
	for k, v := range env {
		all[k] = v
	}
	return all
}

func checkScript(script string) error {
	if len(script) > MaxScript {
		return fmt.Errorf("script of %d bytes is over the limit of %d: write it to a file first", len(script), MaxScript)
	}
	if i := strings.IndexByte(script, 0); i >= 0 {
		return fmt.Errorf("script holds a NUL byte at offset %d: a shell cannot read it", i)
	}
	return nil
}

// running is a started command and the goroutines that serve its streams.
type running struct {
	s     Starter
	proc  Process
	out   *Collector
	began time.Time
	wg    sync.WaitGroup

	exited chan struct{} // closed once code and err are set
	code   int
	err    error
	ended  chan struct{} // closed at the end of Stdout
}

func (r *running) finish(ctx context.Context, c Command, t Tree) (Result, error) {
	r.exited, r.ended = make(chan struct{}), make(chan struct{})
	r.wg.Go(func() {
		defer close(r.ended)
		// A read error is the stream's end: Wait says whether the sandbox is lost.
		copyOutput(r.out, r.proc.Stdout())
	})
	r.wg.Go(func() {
		defer close(r.exited)
		r.code, r.err = r.proc.Wait()
	})
	if in := r.proc.Stdin(); in != nil {
		r.wg.Go(func() { feed(in, c.Stdin) })
	}
	res := Result{End: watch(ctx, c, r.began, r.out, r.exited)}
	var killErr error
	if res.End != Exited {
		killErr = r.kill(ctx, t)
	}
	if killErr == nil {
		killErr = r.awaitEnd()
	}
	if killErr == nil {
		drain(r.out, r.ended)
	}
	closeErr := r.proc.Close()
	if killErr != nil {
		return Result{}, fmt.Errorf("kill command: %w", killErr)
	}
	r.wg.Wait()
	r.out.Fill(&res)
	res.Wall = time.Since(r.began)
	res.ExitCode = r.code
	if res.End != Exited {
		res.ExitCode = -1
	}
	if r.err != nil {
		return res, fmt.Errorf("wait for command: %w", r.err)
	}
	if closeErr != nil {
		return res, fmt.Errorf("close command: %w", closeErr)
	}
	return res, nil
}

// awaitEnd waits for a command that has exited or was killed; no sandbox may
// keep a caller for ever.
func (r *running) awaitEnd() error {
	select {
	case <-r.exited:
		return nil
	case <-time.After(killLimit):
		return errors.New("it was killed but its end was not reported")
	}
}

func (r *running) kill(ctx context.Context, t Tree) error {
	kctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killLimit)
	defer cancel()
	t.Age = time.Since(r.began)
	return r.s.KillTree(kctx, t)
}

// feed writes all of a command's standard input. A command that ends, or
// closes its input, before reading everything is no failure.
func feed(in io.WriteCloser, data []byte) {
	defer in.Close()
	in.Write(data)
}

// copyOutput moves a stream until it ends.
func copyOutput(w io.Writer, r io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// watch waits for the command's end or the first limit that strikes.
func watch(ctx context.Context, c Command, began time.Time, out *Collector, exited <-chan struct{}) End {
	var hard, idle <-chan time.Time
	if c.Timeout > 0 {
		t := time.NewTimer(c.Timeout - time.Since(began))
		defer t.Stop()
		hard = t.C
	}
	var idleTimer *time.Timer
	if c.Idle > 0 {
		idleTimer = time.NewTimer(c.Idle)
		defer idleTimer.Stop()
		idle = idleTimer.C
	}
	for {
		select {
		case <-exited:
			return Exited
		case <-ctx.Done():
			return Cancelled
		case <-hard:
			return TimedOut
		case <-idle:
			// Output only moves a time stamp; the timer is set again for the rest.
			left := c.Idle - time.Since(out.Last())
			if left <= 0 {
				return IdledOut
			}
			idleTimer.Reset(left)
		}
	}
}

// drain waits for the end of the output of a command that has ended.
func drain(out interface{ Last() time.Time }, ended <-chan struct{}) {
	stop := time.NewTimer(drainLimit)
	defer stop.Stop()
	began := time.Now()
	still := time.NewTimer(quiet)
	defer still.Stop()
	for {
		select {
		case <-ended:
			return
		case <-stop.C:
			return
		case <-still.C:
			last := out.Last()
			if last.Before(began) {
				last = began
			}
			left := quiet - time.Since(last)
			if left <= 0 {
				return
			}
			still.Reset(left)
		}
	}
}
