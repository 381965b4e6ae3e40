package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"rollbench/sandbox"
)

// process is a command started by exec.
type process struct {
	c      *Container
	exec   string // the engine's id
	conn   types.HijackedResponse
	stdin  bool
	stdout *io.PipeReader
	stderr *io.PipeReader
	code   chan int      // the reported exit code, where the command was wrapped
	mark   string        // of its environment
	killed chan struct{} // closed once KillTree has killed it

	joined sync.WaitGroup
	ended  chan struct{} // closed when the engine has ended the streams
	close  sync.Once
}

// as says whom a command runs as: "" is root.
type as struct{ user string }

// Start runs a process in the container as the sandbox's user, or as the one that it
// names.
func (c *Container) Start(ctx context.Context, p sandbox.Proc) (sandbox.Process, error) {
	switch p.User {
	case "":
		return c.launch(ctx, p, as{user: c.runUser})
	case sandbox.ImageUser:
		return c.launch(ctx, p, as{user: c.imageUser})
	case sandbox.Root:
		return c.launch(ctx, p, as{})
	}
	return c.launch(ctx, p, as{user: p.User})
}

func (c *Container) launch(ctx context.Context, p sandbox.Proc, who as) (*process, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	argv := p.Argv
	marker := ""
	if p.Merge && !p.Terminal {
		marker = newMarker()
		argv = reporting(marker, argv)
	}
	env := make([]string, 0, len(p.Env))
	for _, k := range slices.Sorted(maps.Keys(p.Env)) {
		env = append(env, k+"="+p.Env[k])
	}
	ctx, cancel := questioning(ctx)
	defer cancel()
	made, err := c.p.engine.ContainerExecCreate(ctx, c.id, container.ExecOptions{
		Cmd: argv, Env: env, WorkingDir: c.abs(p.Dir), User: who.user,
		AttachStdin: p.Stdin || p.Terminal, AttachStdout: true, AttachStderr: true, Tty: p.Terminal,
	})
	if err != nil {
		return nil, c.check(err)
	}
	conn, err := hijack(ctx, func() (types.HijackedResponse, error) {
		return c.p.engine.ContainerExecAttach(ctx, made.ID, container.ExecAttachOptions{Tty: p.Terminal})
	})
	if err != nil {
		return nil, c.check(err)
	}
	return c.follow(made.ID, conn, p, marker), nil
}

// follow splits the engine's stream into the process's outputs.
func (c *Container) follow(exec string, conn types.HijackedResponse, p sandbox.Proc, marker string) *process {
	x := &process{c: c, exec: exec, conn: conn, stdin: p.Stdin || p.Terminal, mark: p.Env[sandbox.MarkVar],
		killed: make(chan struct{}), ended: make(chan struct{})}
	c.running.add(x)
	var out, err *io.PipeWriter
	x.stdout, out = io.Pipe()
	x.stderr, err = io.Pipe()
	var second io.Writer = err
	if p.Merge {
		second = io.Discard // what the wrapping shell has to say of its own ("Killed")
	}
	report := &reportReader{out: out, marker: []byte(marker), code: make(chan int, 1)}
	x.code = report.code
	x.joined.Go(func() {
		defer close(x.ended)
		var failed error
		if p.Terminal {
			_, failed = io.Copy(out, conn.Reader) // one stream, as it is
		} else {
			_, failed = stdcopy.StdCopy(report, second, conn.Reader)
		}
		if failed == nil {
			failed = report.flush()
		}
		if failed == nil {
			failed = io.EOF
		}
		out.CloseWithError(failed)
		err.CloseWithError(failed)
	})
	return x
}

// Stdin is nil when the process has none.
func (x *process) Stdin() io.WriteCloser {
	if !x.stdin {
		return nil
	}
	return stdin{x}
}

// stdin writes to the engine's stream and half-closes it.
type stdin struct{ x *process }

func (s stdin) Write(p []byte) (int, error) { return s.x.conn.Conn.Write(p) }
func (s stdin) Close() error                { return s.x.conn.CloseWrite() }

func (x *process) Stdout() io.Reader { return x.stdout }
func (x *process) Stderr() io.Reader { return x.stderr }

// Wait prefers the code that the command's wrapper reports. Without it (it was
// killed, or there is none) the end of the streams is the command's end.
func (x *process) Wait() (int, error) {
	select {
	case code := <-x.code:
		return code, nil
	case <-x.killed: // the engine may tell of it seconds later
		return 128 + 9, nil
	case <-x.ended:
	case <-x.c.lost:
		return -1, x.c.gone
	}
	select {
	case code := <-x.code:
		return code, nil
	default:
	}
	code, err := x.result()
	if err != nil {
		return -1, x.c.check(err)
	}
	if code == 128+9 && x.mark != "" {
		// Killed: by the container's own end, perhaps.
		if err := x.c.probe(); err != nil {
			return -1, err
		}
	}
	return code, nil
}

// resultLimit bounds the wait for an exit code after the streams have ended.
const resultLimit = 15 * time.Second

// result asks the engine for the exit code until it knows it.
func (x *process) result() (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), resultLimit)
	defer cancel()
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		info, err := x.c.p.engine.ContainerExecInspect(ctx, x.exec)
		if err != nil {
			return -1, fmt.Errorf("inspect command: %w", err)
		}
		if !info.Running {
			return info.ExitCode, nil
		}
		select {
		case <-time.After(pause):
		case <-x.c.lost:
			return -1, x.c.gone
		case <-ctx.Done():
			return -1, errors.New("the engine closed the command's streams but says it still runs")
		}
	}
}

// Close ends the streams. It does not kill.
func (x *process) Close() error {
	x.close.Do(func() {
		x.conn.Close()
		x.stdout.CloseWithError(io.ErrClosedPipe)
		x.stderr.CloseWithError(io.ErrClosedPipe)
		x.joined.Wait()
		x.c.running.remove(x)
	})
	return nil
}

// Exec runs a command to its end.
func (c *Container) Exec(ctx context.Context, cmd sandbox.Command) (sandbox.Result, error) {
	if err := c.alive(); err != nil {
		return sandbox.Result{}, err
	}
	return sandbox.Run(ctx, c, c.marks.Next("e"), cmd)
}

// Shell starts a bash that keeps its directory and environment.
func (c *Container) Shell(ctx context.Context) (sandbox.Shell, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	return sandbox.NewShell(ctx, c, sandbox.ShellOptions{Dir: c.workdir, Group: c.marks.Next("s")})
}
