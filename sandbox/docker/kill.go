package docker

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"

	"rollbench/sandbox"
)

// startSlack is what starting a command by exec may take.
const startSlack = time.Second

// killRoom are the processes that may exist above the limit while a tree is
// killed: a tree that has used up the limit leaves no room for its killer.
const killRoom = 64

// KillTree kills a command's processes from inside the container, as root: they
// may have become any user. It tries once more with room above the pids limit.
func (c *Container) KillTree(ctx context.Context, t sandbox.Tree) error {
	argv := sandbox.KillArgv(t, startSlack)
	if _, err := c.helper(ctx, argv, as{}); err == nil {
		c.running.killed(t)
		return nil
	}
	if gone := c.alive(); gone != nil {
		return gone
	}
	if err := c.setPids(ctx, c.pids+killRoom); err != nil {
		return c.check(err)
	}
	said, err := c.helper(ctx, argv, as{})
	if back := c.setPids(ctx, c.pids); err == nil {
		err = back
	}
	if err != nil {
		return c.check(fmt.Errorf("%w: %s", err, oneLine(said)))
	}
	c.running.killed(t)
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

// killed tells those that belong to the tree: a command's own process, or the
// shell that the command ran in.
func (r *processes) killed(t sandbox.Tree) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for x, told := range r.all {
		if !told && x.mark != "" && (x.mark == t.Mark || t.Root != 0 && x.mark == t.Group) {
			r.all[x] = true
			close(x.killed)
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
