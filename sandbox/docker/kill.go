package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"rollbench/sandbox"
)

// startSlack is what starting a command by exec may take.
const startSlack = time.Second

// ageSlack is what may pass between the measuring of a tree's age and its killing.
const ageSlack = 100 * time.Millisecond

// killRoom are the processes that may exist above the limit while a tree is
// killed by exec: a tree that has used up the limit leaves no room for its killer.
const killRoom = 64

// answerLimit bounds the wait for the main process's sign of life.
const answerLimit = 7 * time.Second

// errSilent says that the container's main process cannot be talked to.
var errSilent = errors.New("the container's main process does not answer")

// KillTree kills a command's processes from inside the container, as root: they
// may have become any user. The main process does it, which is there already: a
// fork bomb leaves no room to start a killer, and grows into any room made for
// one. Where root inside has stopped the main process, a command is tried all the
// same (to kill the main process is to end the container).
func (c *Container) KillTree(ctx context.Context, t sandbox.Tree) error {
	if err := c.alive(); err != nil {
		return err
	}
	began := time.Now().Add(-t.Age - ageSlack)
	for _, x := range c.running.of(t) {
		if err := x.begun(ctx); err != nil {
			return c.check(err)
		}
	}
	err := c.killInMain(ctx, t, began)
	if errors.Is(err, errSilent) && c.alive() == nil {
		err = c.killByExec(ctx, t, began)
	}
	if err != nil {
		return c.check(err)
	}
	c.running.killed(t)
	return nil
}

// killInMain has the main process kill a tree, one at a time.
func (c *Container) killInMain(ctx context.Context, t sandbox.Tree, began time.Time) error {
	_, code, err := c.inMain(ctx, t, began, sandbox.KillLine)
	if err == nil && code != 0 {
		err = errors.New("some processes do not die")
	}
	return err
}

// inMain has the main process run a line that looks for a tree; what it printed
// and its exit code.
func (c *Container) inMain(ctx context.Context, t sandbox.Tree, began time.Time, line func(sandbox.Tree, time.Duration) string) (string, int, error) {
	select {
	case c.killing <- struct{}{}:
		defer func() { <-c.killing }()
	case <-ctx.Done():
		return "", -1, ctx.Err()
	case <-c.lost:
		return "", -1, c.gone
	}
	m, err := c.talk(ctx)
	if err != nil {
		return "", -1, err
	}
	defer m.close()
	// Only a process that answers is told what to kill: one that goes on after
	// having been given up would kill by pids that are others' by then.
	if _, err := m.ask(":", m.first, answerLimit); err != nil {
		return "", -1, err
	}
	lived := time.Since(c.started)
	t.Age = time.Since(began) + lived/4000 // clocks of two machines may differ by as much
	code, err := m.ask(line(t, lived), m.second, 0)
	if err != nil {
		return "", -1, err
	}
	var said sandbox.Result // all of it has come before the code
	m.said.Fill(&said)
	return string(said.Output), code, nil
}

// mainProcess is a conversation of two questions with the container's main
// process, by its standard input and output.
type mainProcess struct {
	ctx           context.Context
	conn          types.HijackedResponse
	first, second *reportReader
	said          *sandbox.Collector // what the second question's line printed
	ended         chan struct{}      // closed when the engine has ended the stream
}

func (c *Container) talk(ctx context.Context) (*mainProcess, error) {
	asking, cancel := questioning(ctx)
	defer cancel()
	conn, err := hijack(asking, func() (types.HijackedResponse, error) {
		return c.p.engine.ContainerAttach(asking, c.id, container.AttachOptions{Stream: true, Stdin: true, Stdout: true})
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSilent, err)
	}
	m := &mainProcess{ctx: ctx, conn: conn, said: sandbox.NewCollector(64<<10, nil), ended: make(chan struct{})}
	m.second = &reportReader{out: m.said, marker: []byte(newMarker()), code: make(chan int, 1)}
	m.first = &reportReader{out: m.second, marker: []byte(newMarker()), code: make(chan int, 1)}
	go func() {
		defer close(m.ended)
		stdcopy.StdCopy(m.first, io.Discard, conn.Reader) // its end is all that it can tell
	}()
	return m, nil
}

func (m *mainProcess) close() {
	m.conn.Close()
	<-m.ended
}

// ask has a line of shell run and returns its exit code, within limit (0: ctx's).
func (m *mainProcess) ask(line string, r *reportReader, limit time.Duration) (int, error) {
	ctx, cancel := m.ctx, context.CancelFunc(func() {})
	if limit > 0 {
		ctx, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	if end, ok := ctx.Deadline(); ok {
		m.conn.Conn.SetWriteDeadline(end) // if not, the write itself fails
	}
	// The first line break ends what an earlier conversation may have left.
	if _, err := fmt.Fprintf(m.conn.Conn, "\n%s; echo %s$?';'%s\n", line, r.marker, lineEnd); err != nil {
		return -1, fmt.Errorf("%w: %w", errSilent, err)
	}
	select {
	case code := <-r.code:
		return code, nil
	case <-m.ended:
		select {
		case code := <-r.code: // it was the last that came
			return code, nil
		default:
			return -1, errSilent
		}
	case <-ctx.Done():
		if m.ctx.Err() != nil {
			return -1, m.ctx.Err()
		}
		return -1, errSilent
	}
}

// killByExec starts a command that kills the tree, with more and more room.
func (c *Container) killByExec(ctx context.Context, t sandbox.Tree, began time.Time) error {
	return c.withRoom(ctx, func() error { return c.execKiller(ctx, t, began) })
}

// withRoom tries again with more processes allowed, until do succeeds.
func (c *Container) withRoom(ctx context.Context, do func() error) error {
	err := do()
	for room := int64(killRoom); err != nil && room <= 16*killRoom && ctx.Err() == nil && c.alive() == nil; room *= 4 {
		if err = c.setPids(ctx, c.pids+room); err != nil {
			return err
		}
		err = do()
		if back := c.setPids(context.WithoutCancel(ctx), c.pids); err == nil {
			err = back
		}
	}
	return err
}

func (c *Container) execKiller(ctx context.Context, t sandbox.Tree, began time.Time) error {
	t.Age = time.Since(began)
	said, err := c.helper(ctx, sandbox.KillArgv(t, startSlack), as{})
	if err != nil {
		return fmt.Errorf("%w: %s", err, oneLine(said))
	}
	return nil
}

// processes are the commands of a container whose streams are open.
type processes struct {
	mu  sync.Mutex
	all map[*process]bool // true once killed
}

func (r *processes) add(x *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[*process]bool{}
	}
	r.all[x] = false
}

func (r *processes) remove(x *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, x)
}

// of lists those that belong to the tree and are not known to be killed.
func (r *processes) of(t sandbox.Tree) []*process {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*process
	for x, told := range r.all {
		if !told && x.in(t) {
			found = append(found, x)
		}
	}
	return found
}

// killed tells those that belong to the tree.
func (r *processes) killed(t sandbox.Tree) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for x, told := range r.all {
		if !told && x.in(t) {
			r.all[x] = true
			close(x.killed)
		}
	}
}

// in says whether this is a command's own process, or the shell it ran in.
func (x *process) in(t sandbox.Tree) bool {
	return x.mark != "" && (x.mark == t.Mark || t.Root != 0 && x.mark == t.Group)
}

// begun waits until the process exists: on a busy machine that may be long after
// the engine has answered, and what is not there yet cannot be killed.
func (x *process) begun(ctx context.Context) error {
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		info, err := x.c.p.engine.ContainerExecInspect(ctx, x.exec)
		if info.Pid != 0 || cerrdefs.IsNotFound(err) { // an engine forgets what ended long ago
			return nil
		}
		if err != nil {
			return fmt.Errorf("inspect command: %w", err)
		}
		select {
		case <-time.After(pause):
		case <-x.ended: // it could not be started
			return nil
		case <-x.c.lost:
			return x.c.gone
		case <-ctx.Done():
			return fmt.Errorf("the engine has not started the command yet: %w", ctx.Err())
		}
	}
}

func (c *Container) setPids(ctx context.Context, n int64) error {
	_, err := c.p.engine.ContainerUpdate(ctx, c.id, container.UpdateConfig{Resources: container.Resources{PidsLimit: &n}})
	if err != nil {
		return fmt.Errorf("set the pids limit: %w", err)
	}
	return nil
}

// helper runs a short command of ours, which carries no mark, to its end. What
// it said has come when its exit code has.
func (c *Container) helper(ctx context.Context, argv []string, who as) (string, error) {
	x, err := c.launch(ctx, sandbox.Proc{Argv: argv, Dir: "/", Merge: true}, who)
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { x.conn.Close() })
	defer stop()
	out := sandbox.NewCollector(64<<10, nil)
	var reading sync.WaitGroup
	reading.Go(func() { _, err = io.Copy(out, x.stdout) }) // its end is told by Wait
	code, waited := x.Wait()
	closed := x.Close()
	reading.Wait()
	var said sandbox.Result
	out.Fill(&said)
	switch {
	case ctx.Err() != nil:
		return string(said.Output), ctx.Err()
	case waited != nil:
		return string(said.Output), waited
	case code != 0:
		return string(said.Output), fmt.Errorf("exit code %d", code)
	}
	return string(said.Output), closed
}
