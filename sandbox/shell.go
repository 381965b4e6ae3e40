package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// ShellOptions are what a new shell starts with.
type ShellOptions struct {
	Dir   string // working directory
	Group string // its mark, from Marks.Next("s")
}

// shell is the Shell of every kind of sandbox: one long-lived bash (or sh) that
// reads its commands from standard input.
//
// Each command is one quoted word given to eval, so that a broken script is a
// syntax error of eval and no more. The shell's own output goes to descriptor 9
// and its reports to descriptor 8, both hidden from the command. After the
// command the shell writes a random marker to the output and, on the other
// stream, exit code, pid, directory and exported environment. The marker stands
// in the line after the eval, unread while the command runs, so the command
// cannot know it.
//
// Descriptor 7 is the terminal that commands read from (see terminal).
//
// At a limit the command's tree is killed together with the shell, and a fresh
// shell takes over directory and exported environment.
type shell struct {
	s     Starter
	group string
	opt   ShellOptions

	// mu is held by Run and Continue: one command at a time. It guards all but
	// what has a lock of its own; gen and last are also the job's until it is done.
	mu     sync.Mutex
	gen    *generation
	old    []*generation // shells of before, whose background jobs may still write
	seq    int
	last   report // of the last command that reported
	closed bool
	closes chan struct{} // closed by Close: ends a running command

	term    *terminal // nil where none could be opened
	terms   int       // so many were opened or tried
	noInput string    // why there is none
	retry   time.Time // when another may be tried

	state sync.Mutex // guards what follows, so that asking never waits for a command
	dir   string
	left  *job // a command that was left running, or ended since

	out *sink
}

// startLimit bounds the start of a shell, startup report included.
const startLimit = 60 * time.Second

var errShellClosed = errors.New("shell is closed")

// NewShell starts a shell in a sandbox.
func NewShell(ctx context.Context, s Starter, opt ShellOptions) (Shell, error) {
	sh := &shell{s: s, group: opt.Group, opt: opt, out: newSink(), closes: make(chan struct{})}
	sh.last.dir = opt.Dir
	if err := sh.renew(ctx); err != nil {
		return nil, errors.Join(err, sh.Close())
	}
	return sh, nil
}

// renew starts a bash in the last known directory, with the last known
// environment, and waits for its first report.
func (sh *shell) renew(ctx context.Context) error {
	if sh.gen != nil {
		sh.old = append(sh.old, sh.gen)
		err := sh.gen.hangUp()
		sh.gen = nil
		if err != nil {
			return fmt.Errorf("end old shell: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	var terminals sync.WaitGroup
	var failed error
	terminals.Go(func() { _, failed = sh.renewTerminal(ctx) })
	gen, err := startGeneration(ctx, sh.s, sh.opt, sh.out)
	terminals.Wait()
	if err != nil {
		return fmt.Errorf("start shell: %w", err)
	}
	if err = failed; err == nil {
		err = sh.greet(ctx, gen)
	}
	if err != nil {
		sh.old = append(sh.old, gen)
		return errors.Join(err, sh.end(gen))
	}
	sh.gen = gen
	return nil
}

// greet makes a fresh process of the shell ready for commands.
func (sh *shell) greet(ctx context.Context, gen *generation) error {
	setup := "exec 8>&2 9>&1 >/dev/null 2>&1\n"
	if sh.last.env != "" {
		setup += "eval " + quote(sh.last.env) + "\n"
	}
	setup += "command export " + MarkVar + "=" + quote(sh.group) + "\n"
	if sh.last.dir != "" {
		setup += "command cd -- " + quote(sh.last.dir) + "\n"
	}
	rep, err := sh.exchange(ctx, gen, setup+sh.inputLines(), true)
	if err != nil {
		return fmt.Errorf("start shell: %w", err)
	}
	sh.took(rep)
	return sh.connected(ctx, rep)
}

// exchange has a shell run lines of ours and report.
func (sh *shell) exchange(ctx context.Context, gen *generation, lines string, mute bool) (report, error) {
	nonce := newNonce()
	marked := gen.out.arm(nonce, mute)
	done := gen.reports.expect(nonce)
	gen.feed(lines + endLines(nonce))
	select {
	case rep := <-done:
		// The marker must be out of the stream before the first command's output.
		select {
		case <-marked:
		case <-gen.exited:
		case <-ctx.Done():
		}
		return rep, nil
	case <-gen.exited:
		if gen.err != nil {
			return report{}, gen.err
		}
		return report{}, fmt.Errorf("it ended at once with exit code %d", gen.code)
	case <-sh.closes:
		return report{}, errShellClosed
	case <-ctx.Done():
		return report{}, fmt.Errorf("no answer: %w", ctx.Err())
	}
}

func (sh *shell) took(rep report) {
	sh.last = rep
	sh.state.Lock()
	sh.dir = rep.dir
	sh.state.Unlock()
}

// State after the last command.
func (sh *shell) State() ShellState {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return ShellState{Dir: sh.last.dir, Env: sh.last.env}
}

// Adopt a state as a shell that was killed does: in a fresh process.
func (sh *shell) Adopt(ctx context.Context, s ShellState) error {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.closed {
		return errShellClosed
	}
	sh.last = report{dir: s.Dir, env: s.Env}
	return sh.renew(ctx)
}

// Dir is the working directory after the last command.
func (sh *shell) Dir() string {
	sh.state.Lock()
	defer sh.state.Unlock()
	return sh.dir
}

// Running says whether a command that was left is still running.
func (sh *shell) Running() bool {
	sh.state.Lock()
	defer sh.state.Unlock()
	return sh.left != nil && !sh.left.over()
}

// Run feeds one script to the shell and waits for its end.
func (sh *shell) Run(ctx context.Context, c Command) (Result, error) {
	if err := checkScript(c.Script); err != nil {
		return Result{}, err
	}
	if len(c.Stdin) > 0 {
		return Result{}, errors.New("a shell's command reads no such input: use Exec for a command with stdin")
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.closed {
		return Result{}, errShellClosed
	}
	if sh.Running() {
		return Result{}, ErrRunning
	}
	sh.leave(nil) // one that ended is not asked for any more; its output comes first
	if ctx.Err() != nil {
		return Result{ExitCode: -1, End: Cancelled}, nil
	}
	if sh.gen == nil || sh.gen.gone() || sh.gen.unkilled {
		if err := sh.renew(ctx); err != nil {
			return Result{}, err
		}
	} else if err := sh.refreshTerminal(ctx); err != nil {
		return Result{}, err
	}
	began, out := time.Now(), NewCollector(c.MaxOutput, c.OnOutput)
	sh.out.attach(out)
	return sh.attend(ctx, sh.start(c), began, c.Idle, c.Leave, out)
}

// Continue waits on for a command that was left running.
func (sh *shell) Continue(ctx context.Context, s Step) (Result, error) {
	if err := checkInput(s.Input); err != nil {
		return Result{}, err
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.closed {
		return Result{}, errShellClosed
	}
	j := sh.left
	if j == nil {
		return Result{}, ErrNotRunning
	}
	began, out := time.Now(), NewCollector(s.MaxOutput, s.OnOutput)
	sh.out.attach(out)
	if !j.over() {
		if err := sh.act(ctx, j, s); err != nil {
			sh.out.keep(out)
			return Result{}, err
		}
	}
	return sh.attend(ctx, j, began, s.Idle, true, out)
}

// Close ends a running command, the shell, and what was stopped in it. Background
// jobs that left the shell live on until the sandbox is closed.
func (sh *shell) Close() error {
	sh.state.Lock()
	select {
	case <-sh.closes:
	default:
		close(sh.closes)
	}
	sh.state.Unlock()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.closed {
		return nil
	}
	sh.closed = true
	if sh.left != nil {
		<-sh.left.done // closes has ended it
		sh.leave(nil)
	}
	var errs []error
	if sh.gen != nil {
		sh.old = append(sh.old, sh.gen)
		errs = append(errs, sh.end(sh.gen))
	}
	for _, gen := range sh.old {
		if gen.parked != nil {
			errs = append(errs, sh.endParked(gen))
		}
		errs = append(errs, gen.close())
	}
	if sh.term != nil {
		errs = append(errs, sh.term.close(context.Background(), sh.s))
		sh.term = nil
	}
	return errors.Join(errs...)
}

// endParked kills a stopped command, the shell that waits for it, and its terminal.
func (sh *shell) endParked(gen *generation) error {
	ctx, cancel := context.WithTimeout(context.Background(), killLimit)
	defer cancel()
	var err error
	if !gen.gone() {
		t := *gen.parked
		t.Age = time.Since(gen.since)
		if err = sh.s.KillTree(ctx, t); errors.Is(err, ErrLost) {
			err = nil
		}
	}
	if gen.term != nil {
		err = errors.Join(err, gen.term.close(ctx, sh.s))
	}
	return err
}

// end closes a shell's input and kills it if it does not leave, as one with a
// trap on EXIT may not.
func (sh *shell) end(gen *generation) error {
	err := gen.hangUp()
	select {
	case <-gen.exited:
		return err
	case <-time.After(leaveLimit):
	}
	ctx, cancel := context.WithTimeout(context.Background(), killLimit)
	defer cancel()
	kerr := sh.s.KillTree(ctx, Tree{Mark: sh.group, Group: sh.group})
	if errors.Is(kerr, ErrLost) {
		kerr = nil // nothing is left to kill
	}
	return errors.Join(err, kerr)
}

// leaveLimit is the time a shell has to exit at the end of its input.
const leaveLimit = 2 * time.Second

// endLines make the shell report. Each uses "command" to pass by functions of
// the same name.
func endLines(nonce string) string {
	return `{ command printf '` + nonce + ` %d %d\0' "$?" "$$"; command pwd; command printf '\0'; ` +
		`command export -p; command printf '\0%s.' ` + nonce + `; } >&8 || exit 125; command printf ` + nonce + " >&9 || exit 125\n"
}

// quote makes one word of any text without NUL.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
