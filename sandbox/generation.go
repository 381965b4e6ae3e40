package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"
)

// generation is one process of a shell; a shell that was killed or that exited
// goes on in the next one.
type generation struct {
	proc    Process
	out     *tap
	reports *reports
	in      chan string
	wg      sync.WaitGroup

	exited chan struct{} // closed once code and err are set
	code   int
	err    error
	ended  chan struct{} // closed at the end of its output
	stop   chan struct{}

	// Of a shell that was left with a stopped command: what ends it, since when,
	// and the terminal that the command keeps.
	parked *Tree
	since  time.Time
	term   *terminal

	// unkilled: a command could not be ended, and may still be at work in it. It is
	// the job's until that is done.
	unkilled bool
}

const pickShell = `if command -v bash >/dev/null 2>&1; then exec bash --noprofile --norc -s; fi; exec sh -s`

func startGeneration(ctx context.Context, s Starter, opt ShellOptions, out *sink) (*generation, error) {
	proc, err := s.Start(ctx, Proc{
		Argv:  []string{"/bin/sh", "-c", pickShell},
		Env:   map[string]string{MarkVar: opt.Group},
		Stdin: true,
	})
	if err != nil {
		return nil, err
	}
	g := &generation{proc: proc, out: &tap{to: out}, reports: &reports{}, in: make(chan string, 2),
		exited: make(chan struct{}), ended: make(chan struct{}), stop: make(chan struct{})}
	g.wg.Go(func() { defer close(g.ended); copyOutput(g.out, proc.Stdout()) })
	g.wg.Go(func() { copyOutput(g.reports, proc.Stderr()) })
	g.wg.Go(func() { defer close(g.exited); g.code, g.err = proc.Wait() })
	g.wg.Go(g.write)
	return g, nil
}

// write feeds the shell's input. Writing is a goroutine of its own because a
// shell that hangs does not read; a failed write means that the shell is gone,
// which exited tells.
func (g *generation) write() {
	for {
		select {
		case text := <-g.in:
			if _, err := g.proc.Stdin().Write([]byte(text)); err != nil {
				return
			}
		case <-g.stop:
			return
		}
	}
}

func (g *generation) feed(text string) {
	select {
	case g.in <- text:
	case <-g.exited:
	}
}

func (g *generation) gone() bool {
	select {
	case <-g.exited:
		return true
	default:
		return false
	}
}

// hangUp closes the shell's input, at whose end it exits.
func (g *generation) hangUp() error {
	close(g.stop)
	err := g.proc.Stdin().Close()
	if g.gone() {
		return nil // its input went with it
	}
	return err
}

// close releases the streams of a shell that has exited. One that could not be killed
// is not waited for without end.
func (g *generation) close() error {
	err := g.proc.Close()
	joined := make(chan struct{})
	go func() { g.wg.Wait(); close(joined) }()
	select {
	case <-joined:
		return err
	case <-time.After(killLimit):
		return errors.Join(err, errors.New("a shell does not end"))
	}
}

// report is what a shell says after each command.
type report struct {
	nonce string
	code  int
	pid   int
	dir   string
	env   string // text that restores the exported environment
}

// maxEnv bounds the environment that is carried over to a fresh shell.
const maxEnv = 512 << 10

// maxReport bounds what is kept of a stream that ought to hold reports only.
const maxReport = 4 << 20

// reports reads the shell's second stream.
type reports struct {
	mu    sync.Mutex
	buf   []byte
	nonce string
	ready chan report
}

// expect makes a channel that gets the report with this nonce.
func (r *reports) expect(nonce string) <-chan report {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf, r.nonce, r.ready = nil, nonce, make(chan report, 1)
	return r.ready
}

func (r *reports) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ready == nil || len(r.buf)+len(p) > maxReport {
		return len(p), nil
	}
	r.buf = append(r.buf, p...)
	// The end is searched only where it can newly have come to be.
	from := max(0, len(r.buf)-len(p)-len(r.nonce)-2)
	if bytes.Contains(r.buf[from:], []byte("\x00"+r.nonce+".")) {
		if rep, ok := parseReport(r.buf, r.nonce); ok {
			r.ready <- rep
			r.ready, r.buf = nil, nil
		}
	}
	return len(p), nil
}

// parseReport reads NONCE SP code SP pid NUL dir LF NUL env NUL NONCE ".".
// Anything before it is noise.
func parseReport(b []byte, nonce string) (report, bool) {
	i := bytes.Index(b, []byte(nonce+" "))
	if i < 0 {
		return report{}, false
	}
	parts := bytes.SplitN(b[i+len(nonce)+1:], []byte{0}, 4)
	if len(parts) != 4 || !bytes.HasPrefix(parts[3], []byte(nonce+".")) {
		return report{}, false
	}
	code, pid, ok := strings.Cut(string(parts[0]), " ")
	rep := report{nonce: nonce, dir: strings.TrimSuffix(string(parts[1]), "\n"), env: string(parts[2])}
	var err1, err2 error
	rep.code, err1 = strconv.Atoi(code)
	rep.pid, err2 = strconv.Atoi(pid)
	if !ok || err1 != nil || err2 != nil {
		return report{}, false
	}
	if len(rep.env) > maxEnv {
		rep.env = ""
	}
	return rep, true
}

// newNonce is 128 random bits.
func newNonce() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: it ends the program instead
	return hex.EncodeToString(b[:])
}
