package local

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"rollbench/sandbox"
)

// call is a request that waits for its response.
type call struct {
	answer chan response // capacity 1
	exit   chan response // capacity 1; starts only
	file   *os.File      // set before answer is sent
}

// receive hands responses to their calls until the init is gone.
func (b *folder) receive() {
	defer close(b.lost)
	for {
		var r response
		files, _, err := receive(b.conn, &r)
		if err != nil {
			return
		}
		b.mu.Lock()
		c := b.calls[r.ID]
		if c != nil && (r.Exit || c.exit == nil) {
			delete(b.calls, r.ID)
		}
		b.mu.Unlock()
		if c == nil {
			closeAll(files)
			continue
		}
		if len(files) > 0 {
			c.file = files[0]
			closeAll(files[1:])
		}
		if r.Exit {
			c.exit <- r
		} else {
			c.answer <- r
		}
	}
}

// request sends a request with descriptors.
func (b *folder) request(req request, starts bool, files ...*os.File) (*call, error) {
	c := &call{answer: make(chan response, 1)}
	if starts {
		c.exit = make(chan response, 1)
	}
	select {
	case <-b.lost:
		return nil, b.lostError()
	default:
	}
	b.mu.Lock()
	b.nextID++
	req.ID = b.nextID
	b.calls[req.ID] = c
	b.mu.Unlock()
	frame, err := encode(req)
	if err == nil {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		b.sendMu.Lock()
		if serr := send(b.conn, frame, fds); serr != nil {
			err = b.lostError()
		}
		b.sendMu.Unlock()
	}
	if err != nil {
		b.mu.Lock()
		delete(b.calls, req.ID)
		b.mu.Unlock()
		return nil, err
	}
	return c, nil
}

func (b *folder) lostError() error {
	if why := b.why.Load(); why != nil {
		return fmt.Errorf("%s: %w: %s", b.id, sandbox.ErrLost, *why)
	}
	return fmt.Errorf("%s: %w", b.id, sandbox.ErrLost)
}

// await is the response to a call, at once an error when the sandbox is lost.
func (b *folder) await(ctx context.Context, c *call) (response, error) {
	select {
	case r := <-c.answer:
		return r, r.error()
	case <-b.lost:
		return response{}, b.lostError()
	case <-ctx.Done():
		// A file that comes later is closed by its finalizer.
		return response{}, ctx.Err()
	}
}

// ask is a request and its response.
func (b *folder) ask(ctx context.Context, req request, files ...*os.File) (response, *os.File, error) {
	if err := ctx.Err(); err != nil {
		return response{}, nil, err
	}
	c, err := b.request(req, false, files...)
	if err != nil {
		return response{}, nil, err
	}
	r, err := b.await(ctx, c)
	if err != nil {
		return r, nil, err
	}
	return r, c.file, nil
}

// process is a command that the init started.
type process struct {
	b        *folder
	call     *call
	in       *os.File
	out, err *os.File
	close1   sync.Once
}

// Start starts a process through the init.
func (b *folder) Start(ctx context.Context, p sandbox.Proc) (sandbox.Process, error) {
	pr := &process{b: b}
	var pass, keep []*os.File
	fail := func(err error) (sandbox.Process, error) {
		closeAll(pass)
		closeAll(keep)
		return nil, err
	}
	if p.Stdin {
		r, w, err := os.Pipe()
		if err != nil {
			return fail(err)
		}
		pr.in = w
		pass, keep = append(pass, r), append(keep, w)
	}
	outputs := []**os.File{&pr.out}
	if !p.Merge {
		outputs = append(outputs, &pr.err)
	}
	for _, to := range outputs {
		r, w, err := os.Pipe()
		if err != nil {
			return fail(err)
		}
		*to = r
		pass, keep = append(pass, w), append(keep, r)
	}
	c, err := b.request(request{Op: opStart, Argv: p.Argv, Dir: p.Dir, Env: p.Env, Stdin: p.Stdin, Merge: p.Merge}, true, pass...)
	if err != nil {
		return fail(err)
	}
	pr.call = c
	// The answer comes within the time of a fork; a command that ctx ends must
	// be known to have started, to be killed.
	actx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	if _, err := b.await(actx, c); err != nil {
		if actx.Err() != nil {
			// An init that does not answer cannot kill either: end it all.
			b.conn.Close()
			err = b.lostError()
		}
		return fail(err)
	}
	closeAll(pass)
	return pr, nil
}

// Stdin, Stdout and Stderr are pipes.
func (p *process) Stdin() io.WriteCloser {
	if p.in == nil {
		return nil
	}
	return p.in
}

func (p *process) Stdout() io.Reader { return p.out }

func (p *process) Stderr() io.Reader {
	if p.err == nil {
		return eof{}
	}
	return p.err
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

func (p *process) Wait() (int, error) {
	select {
	case r := <-p.call.exit:
		return r.Code, nil
	case <-p.b.lost:
	}
	select { // it may have been the last message
	case r := <-p.call.exit:
		return r.Code, nil
	default:
		return -1, p.b.lostError()
	}
}

// Close lets go of the pipes. Stdin may be closed already.
func (p *process) Close() error {
	p.close1.Do(func() { closeAll([]*os.File{p.in, p.out, p.err}) })
	return nil
}

// KillTree has the init kill the tree.
func (b *folder) KillTree(ctx context.Context, t sandbox.Tree) error {
	young, err := youngFrom(t.Age)
	if err != nil {
		return err
	}
	_, _, err = b.ask(ctx, request{Op: opKill, Tree: t, Young: young})
	return err
}
