//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// plain starts processes with nothing around them; it kills process groups only.
type plain struct {
	noTerminals bool

	mu   sync.Mutex
	cmds []*exec.Cmd
}

type plainProc struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out, err *os.File
}

func (s *plain) Start(_ context.Context, p Proc) (Process, error) {
	cmd := exec.Command(p.Argv[0], p.Argv[1:]...)
	cmd.Dir = p.Dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", plainVar + "=" + s.id()}
	for k, v := range p.Env {
		cmd.Env = slices.Insert(cmd.Env, 1, k+"="+v)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if p.Terminal {
		return s.startOnTerminal(cmd)
	}
	pr := &plainProc{cmd: cmd}
	var w, ew *os.File
	var err error
	if pr.out, w, err = os.Pipe(); err != nil {
		return nil, err
	}
	if pr.err, ew, err = os.Pipe(); err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = w, ew
	if p.Merge {
		cmd.Stderr = w
	}
	if p.Stdin {
		if pr.in, err = cmd.StdinPipe(); err != nil {
			return nil, err
		}
	}
	err = cmd.Start()
	w.Close()
	ew.Close()
	s.mu.Lock()
	s.cmds = append(s.cmds, cmd)
	s.mu.Unlock()
	return pr, err
}

func (s *plain) startOnTerminal(cmd *exec.Cmd) (Process, error) {
	if s.noTerminals {
		return nil, errors.New("there are none")
	}
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer slave.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr.Setctty = true
	master := os.NewFile(uintptr(fd), "/dev/ptmx")
	return &plainProc{cmd: cmd, in: master, out: master, err: master}, cmd.Start()
}

// Signal knows only processes by their environment and the shell's session.
func (s *plain) Signal(_ context.Context, t Tree, sig Signal, root bool) ([]int, error) {
	var hit []int
	if root {
		hit = append(hit, t.Root)
	}
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	for _, dir := range procs {
		env, _ := os.ReadFile(dir + "/environ")
		stat, _ := os.ReadFile(dir + "/stat")
		st, err := ParseStat(stat)
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if err == nil && st.State != 'Z' && pid != t.Root && (t.Root == 0 || st.Session == t.Root) &&
			bytes.Contains(env, []byte("\x00"+MarkVar+"="+t.Mark+"\x00")) && bytes.Contains(env, []byte(plainVar+"="+s.id()+"\x00")) {
			hit = append(hit, pid)
		}
	}
	number := map[Signal]syscall.Signal{Probe: 0, Int: syscall.SIGINT, Stop: syscall.SIGSTOP, Kill: syscall.SIGKILL}[sig]
	return slices.DeleteFunc(hit, func(pid int) bool { return syscall.Kill(pid, number) != nil }), nil
}

// plainVar tells the processes of one test from those of others.
const plainVar = "ROLLBENCH_PLAIN"

func (s *plain) id() string { return fmt.Sprintf("%d-%p", os.Getpid(), s) }

func (s *plain) KillTree(context.Context, Tree) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.cmds {
		syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	}
	s.cmds = nil
	return nil
}

func (p *plainProc) Stdin() io.WriteCloser {
	return p.in
}
func (p *plainProc) Stdout() io.Reader { return p.out }
func (p *plainProc) Stderr() io.Reader { return p.err }
func (p *plainProc) Close() error {
	if p.err != p.out {
		p.err.Close()
	}
	return p.out.Close()
}
func (p *plainProc) Wait() (int, error) {
	err := p.cmd.Wait()
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	if _, ok := err.(*exec.ExitError); ok {
		err = nil
	}
	return p.cmd.ProcessState.ExitCode(), err
}

func openShell(t *testing.T) Shell {
	t.Helper()
	sh, err := NewShell(t.Context(), &plain{}, ShellOptions{Dir: t.TempDir(), Group: "s1:"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sh.Close(); err != nil {
			t.Error(err)
		}
	})
	return sh
}

func TestShellProtocol(t *testing.T) {
	sh := openShell(t)
	for _, c := range []struct {
		name, script, out string
		code              int
	}{
		{"echo", "echo hi", "hi\n", 0},
		{"no newline", "printf hi", "hi", 0},
		{"empty", "", "", 0},
		{"comment", "# nothing", "", 0},
		{"code", "(exit 7)", "", 7},
		{"order", "echo a; echo b >&2; echo c", "a\nb\nc\n", 0},
		{"stdin is a terminal", "test -t 0 && ! test -t 1 && echo yes", "yes\n", 0},
		{"stdin of a job is empty", "cat & wait; echo done", "done\n", 0},
		{"export", "export X='a b'; Y=1; declare Z=2", "", 0},
		{"persists", `echo "$X$Y$Z"`, "a b12\n", 0},
		{"function", "f() { echo f$1; }", "", 0},
		{"calls it", "f 1", "f1\n", 0},
		{"heredoc", "cat <<'E'\n$x 'q'\nE", "$x 'q'\n", 0},
		{"own stdout lost", "exec >/dev/null 2>&1; echo no", "", 0},
		{"back again", "echo yes", "yes\n", 0},
		{"closed", "exec 1>&- 2>&-", "", 0},
		{"open again", "echo yes", "yes\n", 0},
		{"nothing inherited", "ls /proc/self/fd/7 /proc/self/fd/8 /proc/self/fd/9 2>/dev/null", "", 2},
		{"break", "break 2>/dev/null; continue 2>/dev/null; echo on", "on\n", 0},
		{"trace", "set -x; set +x", "++ set +x\n", 0},
		{"printf shadowed", "printf() { echo x; }; pwd() { echo y; }; export() { echo z; }", "", 0},
		{"still reports", "echo ok; unset -f printf pwd export", "ok\n", 0},
		{"exit", "exit 3", "", 3},
		{"after exit", `echo "$X$Y"`, "a b\n", 0},
		{"exec", "exec sh -c 'echo gone; exit 4'", "gone\n", 4},
		{"kill itself", "kill -9 $$", "", 137},
		{"after kill", "echo $X", "a b\n", 0},
		{"binary", `printf '\000\377\001'`, "\x00\xff\x01", 0},
		{"long", "x='" + strings.Repeat("y", 200<<10) + "'; echo ${#x}", "204800\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := sh.Run(t.Context(), Command{Script: c.script, Timeout: 20 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if string(r.Output) != c.out || r.ExitCode != c.code || r.End != Exited {
				t.Errorf("%q: got %q, code %d, %s; want %q, code %d", c.script[:min(len(c.script), 80)], r.Output, r.ExitCode, r.End, c.out, c.code)
			}
		})
	}
}

func TestShellSyntaxErrors(t *testing.T) {
	sh := openShell(t)
	for _, script := range []string{"echo 'open", `echo "open`, "if true", "cat <<E\nnever closed", "(", "$((", "}", "done", "`"} {
		r, err := sh.Run(t.Context(), Command{Script: script, Timeout: 10 * time.Second})
		if err != nil || r.End != Exited {
			t.Errorf("%q: %+v, %v", script, r, err)
		}
		r, err = sh.Run(t.Context(), Command{Script: "echo alive", Timeout: 10 * time.Second})
		if err != nil || string(r.Output) != "alive\n" {
			t.Errorf("after %q: %q, %v", script, r.Output, err)
		}
	}
}

func TestShellLimits(t *testing.T) {
	sh := openShell(t)
	if _, err := sh.Run(t.Context(), Command{Script: "export K=v; mkdir d; cd d"}); err != nil {
		t.Fatal(err)
	}
	r, err := sh.Run(t.Context(), Command{Script: "echo start; while :; do :; done; echo not", Timeout: 200 * time.Millisecond})
	if err != nil || r.End != TimedOut || string(r.Output) != "start\n" || r.ExitCode != -1 {
		t.Fatalf("%+v %v", r, err)
	}
	r, err = sh.Run(t.Context(), Command{Script: "sleep 60", Idle: 100 * time.Millisecond})
	if err != nil || r.End != IdledOut {
		t.Fatalf("%+v %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err = sh.Run(ctx, Command{Script: "echo go; sleep 60", OnOutput: func(p []byte) {
		if bytes.Contains(p, []byte("go")) {
			cancel()
		}
	}})
	if err != nil || r.End != Cancelled || string(r.Output) != "go\n" {
		t.Fatalf("%+v %v", r, err)
	}
	r, err = sh.Run(t.Context(), Command{Script: `echo "$K"; basename "$PWD"`})
	if err != nil || string(r.Output) != "v\nd\n" || !strings.HasSuffix(sh.Dir(), "/d") {
		t.Fatalf("%+v %v %s", r, err, sh.Dir())
	}
}

func TestShellCloseKillsStubborn(t *testing.T) {
	sh := openShell(t)
	if _, err := sh.Run(t.Context(), Command{Script: "trap 'while :; do sleep 1; done' EXIT"}); err != nil {
		t.Fatal(err)
	}
	if err := sh.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sh.Run(t.Context(), Command{Script: "true"}); err == nil {
		t.Error("ran in a closed shell")
	}
}

func TestShellCloseEndsCommand(t *testing.T) {
	sh := openShell(t)
	up, done := make(chan struct{}, 8), make(chan error, 1)
	go func() {
		_, err := sh.Run(t.Context(), Command{Script: "echo up; sleep 600", OnOutput: func([]byte) { up <- struct{}{} }})
		done <- err
	}()
	<-up
	if err := sh.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("the command ended without an error")
	}
}
