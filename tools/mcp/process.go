package mcp

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// basicEnv are the variables every server gets; none of them is a secret.
var basicEnv = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"}

// grace is how long a server may take for each step of its end: after its input
// is closed, and after SIGTERM.
const grace = time.Second

// maxSaid bounds what is kept of a server's standard error: its end.
const maxSaid = 4 << 10

// process is a server of this machine.
type process struct {
	cmd    *exec.Cmd
	guard  *exec.Cmd
	alive  *os.File // closing it, as our death does, makes the guard kill the group
	stdin  *os.File
	stdout *os.File
	said   tail
	exited chan struct{}
}

// guardScript leads the process group of a server. It waits for the end of its
// input, which comes when rollbench is gone however it went, and then kills the
// group: the server, what the server started, and itself.
const guardScript = `trap '' TERM INT HUP; read -r x; kill -9 0`

func startProcess(s Server) (*process, error) {
	env, err := environment(s.Env)
	if err != nil {
		return nil, err
	}
	p := &process{exited: make(chan struct{})}
	var files [3]*os.File // the ends that the children get
	for i, ours := range []**os.File{&p.alive, &p.stdin, &p.stdout} {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(append(files[:], p.alive, p.stdin, p.stdout)...)
			return nil, err
		}
		files[i], *ours = r, w
		if i == 2 {
			files[i], *ours = w, r
		}
	}
	defer closeAll(files[:]...)
	p.guard = exec.Command("sh", "-c", guardScript)
	p.guard.Stdin, p.guard.Env, p.guard.SysProcAttr = files[0], []string{"PATH=" + os.Getenv("PATH")}, grouped(0)
	if err := p.guard.Start(); err != nil {
		closeAll(p.alive, p.stdin, p.stdout)
		return nil, fmt.Errorf("start what guards its processes: %w", err)
	}
	p.cmd = exec.Command(s.Argv[0], s.Argv[1:]...)
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = s.Dir, env, files[1], files[2], &p.said
	p.cmd.SysProcAttr, p.cmd.WaitDelay = grouped(p.guard.Process.Pid), grace
	started := make(chan error, 1)
	go p.live(started)
	if err := <-started; err != nil {
		closeAll(p.alive, p.stdin, p.stdout)
		return nil, errors.Join(err, ended(p.guard.Wait()))
	}
	return p, nil
}

// live runs the server to its end on a thread of its own: the kernel kills the
// server when the thread that started it ends.
func (p *process) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.exited)
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	if err := ended(p.cmd.Wait()); err != nil {
		fmt.Fprintf(&p.said, "\n%v", err)
	}
	p.kill() // what it left behind
}

// ended drops what is no failure of waiting: how the process ended, and that its
// standard error was held open longer.
func ended(err error) error {
	if _, exit := errors.AsType[*exec.ExitError](err); exit || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// stop ends the server as the protocol wants it: by the end of its input, else by
// SIGTERM, else by SIGKILL. Its process group goes with it.
func (p *process) stop() error {
	closeAll(p.stdin)
	if !p.waits() {
		p.terminate()
		p.waits()
	}
	p.kill()
	<-p.exited
	closeAll(p.stdout, p.alive)
	return ended(p.guard.Wait()) // last: until then nothing else can have the group's number
}

func (p *process) waits() bool {
	limit := time.NewTimer(grace)
	defer limit.Stop()
	select {
	case <-p.exited:
		return true
	case <-limit.C:
		return false
	}
}

// fate says how the server ended, with the end of what it wrote on its standard
// error; "" while it runs.
func (p *process) fate() string {
	select {
	case <-p.exited:
	default:
		return ""
	}
	text := "it ended: " + p.cmd.ProcessState.String()
	if said := strings.TrimSpace(p.said.String()); said != "" {
		text += "; it wrote: " + said
	}
	return text
}

func environment(names []string) ([]string, error) {
	var env []string
	for _, name := range basicEnv {
		if value, ok := os.LookupEnv(name); ok && !slices.Contains(names, name) {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range names {
		value, err := variable(name, "which env passes on")
		if err != nil {
			return nil, err
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

// closeAll closes pipes; one that is closed already, or was never made, is fine.
func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // a pipe has nothing to flush
		}
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex // guards kept
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - maxSaid; over > 0 {
		t.kept = append([]byte(nil), t.kept[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
