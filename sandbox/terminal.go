package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"
)

// terminal is a pseudo-terminal that exists beside a shell, as the standard input
// of its commands. Their output does not go there, so it has no colours, pagers or
// carriage returns; what the terminal echoes is dropped.
//
// A process of its own holds it: it is the leader of the session that the
// terminal controls, so that no shell that opens it becomes its subject (and dies
// with it), and so that typed control characters signal nobody else.
type terminal struct {
	proc Process
	mark string
	path string // as seen inside
	// used: what was typed may not have been read, or a command may have changed
	// its modes: the next command gets another one.
	used bool

	typed  chan []byte
	stop   chan struct{}
	ended  chan struct{} // closed when its holder has ended and closed is set
	closed error
	wg     sync.WaitGroup
}

// holdTerminal says which terminal it is on and holds it for ever. It may not read
// from it. Opening a second terminal and waiting for its output needs no program
// that a "pkill sleep" would hit.
const holdTerminal = `trap '' INT QUIT TERM TSTP USR1 USR2; tty || readlink /proc/self/fd/0; ` +
	`IFS= read -r x </dev/ptmx || :; exec sleep 2147483647`

var terminalPath = regexp.MustCompile(`^/dev/pts/[0-9]+$`)

// openLimit bounds the opening of a terminal.
const openLimit = 30 * time.Second

func openTerminal(ctx context.Context, s Starter, mark string) (*terminal, error) {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	proc, err := s.Start(ctx, Proc{Argv: []string{"/bin/sh", "-c", holdTerminal}, Env: map[string]string{MarkVar: mark}, Terminal: true})
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	t := &terminal{proc: proc, mark: mark, typed: make(chan []byte, 8), stop: make(chan struct{}), ended: make(chan struct{})}
	said := make(chan string, 1)
	t.wg.Go(func() { watchTerminal(proc.Stdout(), said) })
	t.wg.Go(func() {
		defer close(t.ended)
		proc.Wait()             // however it ended: it is of no use any more
		t.closed = proc.Close() // now who reads from the terminal reads no more
	})
	t.wg.Go(t.write)
	var line string
	select {
	case line = <-said:
	case <-ctx.Done():
		line = ctx.Err().Error()
	}
	if !terminalPath.MatchString(line) {
		err := fmt.Errorf("open a terminal: %.200q", line)
		return nil, errors.Join(err, t.close(context.WithoutCancel(ctx), s))
	}
	t.path = line
	return t, nil
}

// watchTerminal sends the first line, or what there is of it, and drops the rest.
func watchTerminal(r io.Reader, said chan<- string) {
	b := bufio.NewReader(r)
	line, _ := b.ReadSlice('\n')
	said <- strings.TrimSpace(string(line))
	io.Copy(io.Discard, b) // its end is the terminal's, which ended tells
}

// write types. It is a goroutine of its own because a terminal that nobody reads
// from takes a limited amount; a failed write means that the terminal is gone.
func (t *terminal) write() {
	for {
		select {
		case text := <-t.typed:
			if _, err := t.proc.Stdin().Write(text); err != nil {
				return
			}
		case <-t.stop:
			return
		}
	}
}

// send types text.
func (t *terminal) send(text []byte) error {
	if t.gone() {
		return fmt.Errorf("%w: the terminal is gone", ErrInput)
	}
	t.used = true
	select {
	case t.typed <- text:
		return nil
	default:
		return fmt.Errorf("%w: the command has not read what was sent before", ErrInput)
	}
}

// checkInput says whether text can be typed.
func checkInput(text []byte) error {
	if len(text) > MaxInput {
		return fmt.Errorf("%w: it has %d bytes, %d are the most: write it to a file", ErrInput, len(text), MaxInput)
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if len(line) >= MaxInputLine {
			return fmt.Errorf("%w: a line has %d bytes, a terminal takes %d: write it to a file", ErrInput, len(line), MaxInputLine-1)
		}
	}
	return nil
}

func (t *terminal) gone() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

// close ends the holder, with which the terminal hangs up. One that was asked for a
// moment ago may not be there yet: it is looked for again until it has ended.
func (t *terminal) close(ctx context.Context, s Starter) error {
	close(t.stop)
	ctx, cancel := context.WithTimeout(ctx, killLimit)
	defer cancel()
	var err error
	for pause := 50 * time.Millisecond; err == nil && !t.gone(); pause = min(2*pause, time.Second) {
		lost := false
		if _, err = s.Signal(ctx, Tree{Mark: t.mark, Age: -time.Hour}, Kill, false); errors.Is(err, ErrLost) {
			err, lost = nil, true // nothing is left to end
		}
		if err != nil {
			break
		}
		again := time.After(pause)
		if lost {
			again = nil
		}
		select {
		case <-t.ended:
		case <-again:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		return fmt.Errorf("close a terminal: %w", errors.Join(err, t.proc.Close()))
	}
	t.wg.Wait()
	if t.closed != nil {
		return fmt.Errorf("close a terminal: %w", t.closed)
	}
	return nil
}

// retryAfter is how long a shell goes without a terminal before it tries again.
const retryAfter = 30 * time.Second

// renewTerminal sees to it that there is a terminal nobody has typed to, if there
// can be one, and says whether it is another one. Only a lost sandbox is an error.
func (sh *shell) renewTerminal(ctx context.Context) (bool, error) {
	if sh.term != nil {
		if !sh.term.used && !sh.term.gone() {
			return false, nil
		}
		old := sh.term
		sh.term = nil
		if err := old.close(context.WithoutCancel(ctx), sh.s); err != nil {
			return false, err
		}
	}
	if time.Now().Before(sh.retry) {
		return false, nil
	}
	sh.terms++
	term, err := openTerminal(ctx, sh.s, besideShell(sh.group, sh.terms))
	if errors.Is(err, ErrLost) || ctx.Err() != nil {
		return false, errors.Join(err, ctx.Err())
	}
	if err != nil {
		sh.retry, sh.noInput = time.Now().Add(retryAfter), err.Error()
		return true, nil
	}
	sh.term, sh.noInput = term, ""
	return true, nil
}

// refreshTerminal gives a living shell another terminal where that is needed.
func (sh *shell) refreshTerminal(ctx context.Context) error {
	if other, err := sh.renewTerminal(ctx); err != nil || !other {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	rep, err := sh.exchange(ctx, sh.gen, sh.inputLines(), false)
	if err != nil {
		return fmt.Errorf("give the shell a terminal: %w", err)
	}
	return sh.connected(ctx, rep)
}

// inputLines make descriptor 7 the terminal, or nothing; exit code 0 when it is
// one. A shell with set -e does not end by them.
func (sh *shell) inputLines() string {
	const none = "command exec 7</dev/null\n"
	if sh.term == nil {
		return none
	}
	return "{ command exec 7<>" + sh.term.path + "; } 2>/dev/null || " + none + "command test -t 7 && command :\n"
}

// connected gives up a terminal that the shell could not open.
func (sh *shell) connected(ctx context.Context, rep report) error {
	if sh.term == nil || rep.code == 0 {
		return nil
	}
	term := sh.term
	sh.term, sh.noInput = nil, "the shell could not open its terminal "+term.path
	sh.retry = time.Now().Add(retryAfter)
	return term.close(context.WithoutCancel(ctx), sh.s)
}
