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
// At a limit the command's tree is killed together with the shell, and a fresh
// shell takes over directory and exported environment.
type shell struct {
	s     Starter
	group string
	opt   ShellOptions

	mu     sync.Mutex // held by Run: one command at a time
	gen    *generation
	old    []*generation // ended shells whose background jobs may still write
	seq    int
	last   report // of the last command that reported
	closed bool
	closes chan struct{} // closed by Close: ends a running command

	dirMu sync.Mutex // guards dir only, so that Dir never waits for a command
	dir   string

	out *tap
}

// startLimit bounds the start of a shell, startup report included.
const startLimit = 60 * time.Second

var errShellClosed = errors.New("shell is closed")

// NewShell starts a shell in a sandbox.
func NewShell(ctx context.Context, s Starter, opt ShellOptions) (Shell, error) {
	sh := &shell{s: s, group: opt.Group, opt: opt, out: newTap(), closes: make(chan struct{})}
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
	gen, err := startGeneration(ctx, sh.s, sh.opt, sh.out)
	if err != nil {
		return fmt.Errorf("start shell: %w", err)
	}
	if err := sh.greet(ctx, gen); err != nil {
		sh.old = append(sh.old, gen)
		return errors.Join(err, sh.end(gen))
	}
	sh.gen = gen
	return nil
}

// greet makes a fresh process of the shell ready for commands.
func (sh *shell) greet(ctx context.Context, gen *generation) error {
	nonce := newNonce()
	marked := sh.out.arm(nonce, nil)
	done := gen.reports.expect(nonce)
	setup := "exec 8>&2 9>&1 >/dev/null 2>&1\n"
	if sh.last.env != "" {
		setup += "eval " + quote(sh.last.env) + "\n"
	}
	setup += "command export " + MarkVar + "=" + quote(sh.group) + "\n"
	if sh.last.dir != "" {
		setup += "command cd -- " + quote(sh.last.dir) + "\n"
	}
	gen.feed(setup + endLines(nonce))
	select {
	case rep := <-done:
		sh.took(rep)
		// The marker must be out of the stream before the first command's output.
		select {
		case <-marked:
		case <-gen.exited:
		case <-ctx.Done():
		}
		return nil
	case <-gen.exited:
		if gen.err != nil {
			return fmt.Errorf("start shell: %w", gen.err)
		}
		return fmt.Errorf("start shell: it ended at once with exit code %d", gen.code)
	case <-sh.closes:
		return errShellClosed
	case <-ctx.Done():
		return fmt.Errorf("start shell: no answer: %w", ctx.Err())
	}
}

func (sh *shell) took(rep report) {
	sh.last = rep
	sh.dirMu.Lock()
	sh.dir = rep.dir
	sh.dirMu.Unlock()
}

// Dir is the working directory after the last command.
func (sh *shell) Dir() string {
	sh.dirMu.Lock()
	defer sh.dirMu.Unlock()
	return sh.dir
}

// Run feeds one script to the shell and waits for its end.
func (sh *shell) Run(ctx context.Context, c Command) (Result, error) {
	if err := checkScript(c.Script); err != nil {
		return Result{}, err
	}
	if len(c.Stdin) > 0 {
		return Result{}, errors.New("a shell's command reads no input: use Exec for a command with stdin")
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.closed {
		return Result{}, errShellClosed
	}
	if ctx.Err() != nil {
		return Result{ExitCode: -1, End: Cancelled}, nil
	}
	if sh.gen == nil || sh.gen.gone() {
		if err := sh.renew(ctx); err != nil {
			return Result{}, err
		}
	}
	return sh.run(ctx, c)
}

func (sh *shell) run(ctx context.Context, c Command) (Result, error) {
	sh.seq++
	began, gen := time.Now(), sh.gen
	mark, nonce := inShell(sh.group, sh.seq), newNonce()
	out := NewCollector(c.MaxOutput, c.OnOutput)
	marked := sh.out.arm(nonce, out)
	reported := gen.reports.expect(nonce)
	gen.feed("command export " + MarkVar + "=" + quote(mark) + "\n" +
		"eval " + quote(c.Script) + " </dev/null >&9 2>&9 8>&- 9>&-\n" + endLines(nonce))

	// The command is over when its marker and its report are there, or when
	// the shell itself has ended.
	over, stop := make(chan struct{}), make(chan struct{})
	var rep report
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(over)
		select {
		case rep = <-reported:
		case <-gen.exited:
			return
		case <-sh.closes:
			return
		case <-stop:
			return
		}
		select {
		case <-marked:
		case <-gen.exited:
		case <-sh.closes:
		case <-stop:
		}
	})
	res := Result{End: watch(ctx, c, began, out, over)}
	close(stop)
	wg.Wait()
	err := sh.settle(ctx, &res, gen, rep, out, Tree{Mark: mark, Group: sh.group, Root: sh.last.pid, Age: time.Since(began)})
	sh.out.disarm()
	out.Fill(&res)
	res.Wall = time.Since(began)
	return res, err
}

// settle turns the way a command ended into its result. A shell that is gone
// is replaced by the next Run.
func (sh *shell) settle(ctx context.Context, res *Result, gen *generation, rep report, out *Collector, t Tree) error {
	if res.End == Exited && rep.nonce != "" && !gen.gone() {
		res.ExitCode = rep.code
		sh.took(rep)
		return nil
	}
	res.ExitCode = -1
	if res.End == Exited && gen.gone() {
		// exit, exec or a kill of the shell: what it left behind goes on.
		drain(out, gen.ended)
		if gen.err != nil {
			return fmt.Errorf("shell: %w", gen.err)
		}
		res.ExitCode = gen.code
		if rep.nonce != "" {
			res.ExitCode = rep.code
			sh.took(rep)
		}
		return nil
	}
	kctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killLimit)
	defer cancel()
	if err := sh.s.KillTree(kctx, t); err != nil {
		return fmt.Errorf("kill command: %w", err)
	}
	select {
	case <-gen.exited:
	case <-kctx.Done():
		return fmt.Errorf("kill command: its shell did not end: %w", kctx.Err())
	}
	drain(out, gen.ended)
	if gen.err != nil {
		return fmt.Errorf("shell: %w", gen.err)
	}
	if res.End == Exited {
		return errShellClosed // Close came in the middle of the command
	}
	return nil
}

// Close ends a running command and the shell. Background jobs that left the
// shell live on until the sandbox is closed.
func (sh *shell) Close() error {
	sh.dirMu.Lock()
	select {
	case <-sh.closes:
	default:
		close(sh.closes)
	}
	sh.dirMu.Unlock()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.closed {
		return nil
	}
	sh.closed = true
	var errs []error
	if sh.gen != nil {
		sh.old = append(sh.old, sh.gen)
		errs = append(errs, sh.end(sh.gen))
	}
	for _, gen := range sh.old {
		errs = append(errs, gen.close())
	}
	return errors.Join(errs...)
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
