package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"rollbench/engine"
	"rollbench/engine/dispatch"
	"rollbench/engine/task"
	"rollbench/ui"
)

// trialRun is what commands have in common that run verifiers without a policy.
type trialRun struct {
	app   *app
	label string
	// ended is told of each trial that is over.
	ended func(engine.Tried) error
	shows *counter
}

// runTrials opens the sandboxes and works the trials to their end. It returns
// the cause when ctx ended first: what ended is handed on for what did not.
func (r *trialRun) runTrials(ctx context.Context, c *config, instances []*task.Instance, trials []engine.Trial) (err error) {
	if len(trials) == 0 {
		return nil
	}
	dir, err := home()
	if err != nil {
		return bad(err)
	}
	var close closers
	defer func() { err = errors.Join(err, close.Close()) }()
	ps, err := r.app.providers(ctx, c, dir, instances, &close)
	if err != nil {
		return bad(err)
	}
	if err := r.app.reap(ctx, ps, r.app.progress); err != nil {
		r.app.progress(oneLine(err))
	}
	inSandbox := needSandbox(instances)
	if err := engine.CheckSandboxes(ctx, c.Sandbox, ps, inSandbox, r.app.progress); err != nil {
		return bad(err)
	}
	limits := c.Config
	limits.Generator.NumTrajectories = max(len(trials)/max(len(instances), 1), 1)
	notice, err := engine.FitMemory(ctx, &limits, ps, inSandbox)
	if err != nil {
		return bad(err)
	}
	if notice != "" {
		r.app.progress(notice)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r.shows = newCounter(r.app.err, len(trials))
	defer r.shows.stop()
	t, err := engine.NewTrials(ctx, engine.TrialOptions{Config: limits, Providers: ps, Trials: trials, Label: r.label, Note: r.shows.say,
		Ended: func(x engine.Tried) {
			r.shows.add()
			if err := r.ended(x); err != nil {
				stop(&exit{1, err})
			}
		}})
	if err != nil {
		return bad(err)
	}
	r.shows.watch(t.Snapshot)
	return t.Run(ctx)
}

// widestID of the instances is the width of their column.
func widestID(instances []*task.Instance) int {
	wide := 0
	for _, in := range instances {
		wide = max(wide, utf8.RuneCountInString(in.ID))
	}
	return wide
}

// needSandbox are those of the instances that need a sandbox.
func needSandbox(instances []*task.Instance) (out []*task.Instance) {
	for _, in := range instances {
		if in.NeedsPatch() || in.RunsAnswer() {
			out = append(out, in)
		}
	}
	return out
}

// counter shows how far trials are: on a terminal as one line that is written
// anew, else as a line when nothing ended for a while.
type counter struct {
	out   io.Writer
	live  bool
	total int
	began time.Time
	done  chan struct{}
	wg    sync.WaitGroup

	mu    sync.Mutex // guards what follows, and writing
	ended int
	said  time.Time
	drawn bool
}

func newCounter(out io.Writer, total int) *counter {
	f, ok := out.(*os.File)
	return &counter{out: out, live: ok && term.IsTerminal(int(f.Fd())), total: total, began: time.Now(), said: time.Now(), done: make(chan struct{})}
}

// quiet is how long nothing ends before lines say where everything is.
const quiet = 5 * time.Second

func (c *counter) watch(snapshot func() dispatch.Snapshot) {
	every := quiet
	if c.live {
		every = time.Second
	}
	c.wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				c.show(snapshot(), time.Now())
			case <-c.done:
				return
			}
		}
	})
}

func (c *counter) stop() {
	close(c.done)
	c.wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wipe()
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended++
	c.said = time.Now()
}

func (c *counter) show(s dispatch.Snapshot, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.live && now.Sub(c.said) < quiet {
		return
	}
	c.said = now
	line := trialLine(s, c.ended, c.total, now.Sub(c.began))
	if !c.live {
		fmt.Fprintln(c.out, line)
		return
	}
	w := 80
	if f, ok := c.out.(*os.File); ok {
		if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 1 {
			w = cols
		}
	}
	c.wipe()
	fmt.Fprint(c.out, ui.CutTo(line, w-len("^C")-1)) // which the terminal shows behind it
	c.drawn = true
}

// trialLine says where all trials are. A narrow terminal cuts its end, which matters
// least.
func trialLine(s dispatch.Snapshot, ended, total int, at time.Duration) string {
	line := fmt.Sprintf("[%*d/%d %5s]", len(fmt.Sprint(total)), ended, total, at.Round(time.Second))
	for i, name := range []string{"init", "run", "eval"} {
		line += "  " + name + " " + of(s.Busy[i], s.Limit[i])
		if s.Waiting[i] > 0 {
			line += fmt.Sprintf(" +%d", s.Waiting[i])
		}
	}
	if s.LimitedBy != "" {
		line += "  limited by " + s.LimitedBy
	}
	return line + "  sandboxes " + of(s.Live, s.MaxLive)
}

// wipe the line that is drawn; mu is held.
func (c *counter) wipe() {
	if c.drawn {
		fmt.Fprint(c.out, "\r\x1b[K")
		c.drawn = false
	}
}

// say a line beside the one that is drawn.
func (c *counter) say(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wipe()
	fmt.Fprintln(plain{c.out}, text)
}

// print writes to another stream, which may be the same terminal.
func (c *counter) print(w io.Writer, text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wipe()
	_, err := io.WriteString(plain{w}, text+"\n")
	return err
}

// listing is a file that lines are added to while the work goes on, so that an
// end by force leaves what was done.
type listing struct {
	file *os.File
	n    int
}

// newListing refuses to replace a file unless it is told to; nil for no path.
func newListing(flag, path string, overwrite bool) (*listing, error) {
	if path == "" {
		return nil, nil
	}
	how := os.O_CREATE | os.O_WRONLY | os.O_EXCL
	if overwrite {
		how = os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	}
	f, err := os.OpenFile(filepath.Clean(path), how, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, bad(fmt.Errorf("%s %s: the file exists; choose another name, or --overwrite it", flag, path))
	}
	if err != nil {
		return nil, bad(fmt.Errorf("%s: %w", flag, err))
	}
	return &listing{file: f}, nil
}

func (l *listing) line(text string) error {
	if l == nil {
		return nil
	}
	l.n++
	_, err := io.WriteString(l.file, text+"\n")
	return err
}

func (l *listing) json(v any) error {
	if l == nil {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return l.line(string(text))
}

// Close leaves no file without a line: it would be in the way of the next try.
func (l *listing) Close() error {
	if l == nil {
		return nil
	}
	err := l.file.Close()
	if l.n == 0 {
		err = errors.Join(err, os.Remove(l.file.Name()))
	}
	return err
}
