package local

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"rollbench/sandbox"
)

// agent is the init at work: it starts commands, reaps everything, kills trees
// and touches files, all as a process of the sandbox.
type agent struct {
	cfg    config
	conn   *net.UnixConn
	sendMu sync.Mutex // one frame at a time

	// mu is held over each fork and its registration, so that the reaper never
	// meets a child it has not heard of.
	mu       sync.Mutex
	children map[int]uint64 // pid → request of processes started here
	forked   *sync.Cond     // there may be children to wait for again

	spawn chan func() // run on the thread that is inside the command cgroups
}

// serve is the last stage: it works until the owner's end of the socket is gone.
func serve() error {
	// What the sandbox runs may not look into this process.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide from ptrace: %w", err)
	}
	syscall.CloseOnExec(fdBinary)
	// A command may signal pid 1. Caught signals, unlike ignored ones, are back
	// to their defaults in what is started from here.
	signal.Notify(make(chan os.Signal, 1))
	file := os.NewFile(fdSocket, "owner")
	c, err := net.FileConn(file)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	a := &agent{conn: c.(*net.UnixConn), children: map[int]uint64{}, spawn: make(chan func())}
	a.forked = sync.NewCond(&a.mu)
	files, _, err := receive(a.conn, &a.cfg)
	if err != nil {
		return err
	}
	if a.cfg.Level == None {
		if err := setLimits(a.cfg); err != nil {
			return err
		}
	}
	if a.cfg.Procs > 0 {
		n := uint64(a.cfg.Procs)
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			return fmt.Errorf("limit processes: %w", err)
		}
	}
	// Orphans come to the init, also where it is not pid 1.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become reaper: %w", err)
	}
	if err := a.startSpawner(files); err != nil {
		return err
	}
	go a.reap()
	if err := a.hello(); err != nil {
		return err
	}
	return a.loop()
}

// startSpawner starts the one thread that forks. In v1 cgroups it alone is
// moved into the limited group, which its children inherit: a fork bomb then
// cannot keep the init itself from working.
func (a *agent) startSpawner(tasks []*os.File) error {
	ready := make(chan error)
	go func() {
		runtime.LockOSThread()
		var err error
		for _, f := range tasks {
			if _, werr := f.WriteString("0"); werr != nil {
				err = errors.Join(err, fmt.Errorf("enter cgroup: %w", werr))
			}
		}
		closeAll(tasks)
		ready <- err
		for f := range a.spawn {
			f()
		}
	}()
	return <-ready
}

func (a *agent) hello() error {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return fmt.Errorf("find own pid namespace: %w", err)
	}
	return a.reply(response{NS: st.Ino})
}

func (a *agent) reply(r response, fds ...int) error {
	frame, err := encode(r)
	if err != nil { // a folder of very many entries, say: the owner waits for an answer
		short := response{ID: r.ID}
		short.fail(err)
		if frame, err = encode(short); err != nil {
			return err
		}
		fds = nil
	}
	a.sendMu.Lock()
	defer a.sendMu.Unlock()
	return send(a.conn, frame, fds)
}

func (a *agent) loop() error {
	for {
		var req request
		files, _, err := receive(a.conn, &req)
		if err != nil {
			a.leaveNothing()
			return err
		}
		if req.Op == opStart {
			a.start(req, files)
			continue
		}
		go a.answer(req, files)
	}
}

// leaveNothing is for the level without a pid namespace, where the end of this
// process ends nothing else.
func (a *agent) leaveNothing() {
	if a.cfg.Level != None {
		return
	}
	if err := killAll(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", initName, err)
	}
}

// answer carries out a request that is not a start. A reply that cannot be sent
// means the owner is gone, which loop notices.
func (a *agent) answer(req request, files []*os.File) {
	defer closeAll(files)
	r := response{ID: req.ID}
	var f *os.File
	var err error
	switch req.Op {
	case opKill:
		err = killTree(req.Tree, req.Young)
	case opSignal:
		r.Pids, err = signalTree(req)
	case opRead:
		f, err = a.openRead(req.Path)
	case opWrite:
		f, err = a.openWrite(req.Path, req.Mode)
	case opStat:
		r.Infos, err = a.stat(req.Path)
	case opList:
		r.Infos, err = a.list(req.Path)
	case opUnpack:
		err = a.unpack(req.Path, files)
	case opPack:
		err = a.pack(req.Path, files)
	case opWalk:
		err = a.walk(req.Path, req.Argv, files)
	case opNameless:
		var all map[int]proc
		if all, err = processes(); err == nil {
			r.Bytes, err = sandbox.Nameless(maps.Keys(all), "/")
		}
	case opSweep:
		err = a.sweep()
	default:
		err = fmt.Errorf("unknown request %d", req.Op)
	}
	if err != nil {
		r.fail(err)
	}
	if f != nil {
		defer f.Close()
		a.reply(r, int(f.Fd()))
		return
	}
	a.reply(r)
}

// start forks a command. A program that cannot be executed ends like in a
// shell: a line on its output and code 127 or 126.
func (a *agent) start(req request, files []*os.File) {
	defer closeAll(files)
	if req.Terminal {
		a.startOnTerminal(req, files)
		return
	}
	want := 1
	if req.Stdin {
		want++
	}
	if !req.Merge {
		want++
	}
	if len(files) != want {
		r := response{ID: req.ID}
		r.fail(fmt.Errorf("%d descriptors instead of %d", len(files), want))
		a.reply(r)
		return
	}
	done := make(chan error)
	a.spawn <- func() { done <- a.fork(req, files, nil) }
	err := <-done
	if err == nil {
		return
	}
	a.reply(response{ID: req.ID})
	code := 126
	if errors.Is(err, os.ErrNotExist) {
		code = 127
	}
	out := files[0]
	if req.Stdin {
		out = files[1]
	}
	// Nobody may be reading; the exit code says the same.
	fmt.Fprintf(out, "%v\n", err)
	a.reply(response{ID: req.ID, Exit: true, Code: code})
}

// fork starts the command and answers, with descriptors where there are any.
func (a *agent) fork(req request, files []*os.File, answer []int) error {
	dir := req.Dir
	if dir == "" {
		dir = a.cfg.Workdir
	}
	if st, err := os.Stat(dir); err != nil {
		return err
	} else if !st.IsDir() {
		return fmt.Errorf("%s: not a directory", dir)
	}
	env := environ(a.cfg.Env, req.Env)
	path, err := lookPath(req.Argv[0], dir, envValue(env, "PATH"))
	if err != nil {
		return err
	}
	in := files
	if !req.Stdin && !req.Terminal {
		null, err := os.Open("/dev/null")
		if err != nil {
			return err
		}
		defer null.Close()
		in = append([]*os.File{null}, files...)
	}
	fds := []uintptr{in[0].Fd(), in[min(1, len(in)-1)].Fd(), in[len(in)-1].Fd()}
	a.mu.Lock()
	defer a.mu.Unlock()
	pid, err := syscall.ForkExec(path, req.Argv, &syscall.ProcAttr{
		Dir: dir, Env: env, Files: fds, Sys: &syscall.SysProcAttr{Setsid: true, Setctty: req.Terminal},
	})
	if err != nil {
		return &os.PathError{Op: "exec", Path: req.Argv[0], Err: err}
	}
	a.children[pid] = req.ID
	a.forked.Broadcast()
	// Under the lock: the answer must go out before the reaper tells the exit.
	a.reply(response{ID: req.ID}, answer...)
	return nil
}

// reap waits for every child, own and orphaned.
func (a *agent) reap() {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		a.mu.Lock()
		if errors.Is(err, syscall.ECHILD) {
			// A fork that came between the wait and the lock has registered.
			if len(a.children) == 0 {
				a.forked.Wait()
			}
			a.mu.Unlock()
			continue
		}
		id, ours := a.children[pid]
		delete(a.children, pid)
		a.mu.Unlock()
		if err == nil && ours {
			code := ws.ExitStatus()
			if ws.Signaled() {
				code = 128 + int(ws.Signal())
			}
			a.reply(response{ID: id, Exit: true, Code: code})
		}
	}
}

// environ adds and replaces, keeping the order of base.
func environ(base []string, more map[string]string) []string {
	env := make([]string, 0, len(base)+len(more))
	for _, e := range base {
		name, _, _ := strings.Cut(e, "=")
		if _, replaced := more[name]; !replaced {
			env = append(env, e)
		}
	}
	for k, v := range more {
		env = append(env, k+"="+v)
	}
	return env
}

// lookPath finds a program as a shell in dir would.
func lookPath(name, dir, path string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, nil
	}
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		full := filepath.Join(d, name)
		if st, err := os.Stat(full); err == nil && !st.IsDir() && st.Mode()&0o111 != 0 {
			return full, nil
		}
	}
	return "", fmt.Errorf("%s: command not found: %w", name, os.ErrNotExist)
}

// passed is the single descriptor of a request.
func passed(files []*os.File) (*os.File, error) {
	if len(files) != 1 {
		return nil, fmt.Errorf("%d descriptors instead of 1", len(files))
	}
	return files[0], nil
}

func (a *agent) unpack(dst string, files []*os.File) error {
	f, err := passed(files)
	if err != nil {
		return err
	}
	err = a.unpackInto(dst, f)
	if err == nil {
		// The sender may still be writing the padding of the archive.
		_, err = io.Copy(io.Discard, f)
	}
	return err
}
