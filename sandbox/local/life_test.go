//go:build linux

package local

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollbench/sandbox"
)

func TestOpenRefuses(t *testing.T) {
	p := provider(t, Namespaces)
	for dir, want := range map[string]string{
		"":            "not an absolute path",
		"rel/dir":     "not an absolute path",
		"/":           "workdir /",
		"/usr/src/x":  "system folder",
		"/x/../proc":  "system folder",
		"/etc/rollit": "system folder",
	} {
		if _, err := p.Open(t.Context(), sandbox.Spec{Workdir: dir}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", dir, err)
		}
	}
	if _, err := p.Open(t.Context(), sandbox.Spec{Workdir: "/w", Beside: &sandbox.Beside{}}); err == nil || !strings.Contains(err.Error(), "cannot have companions: a task of several containers needs --sandbox docker") {
		t.Errorf("companions: %v", err)
	}
	for _, opt := range []Options{{}, {Home: "/"}, {Home: t.TempDir(), ReadOnly: []string{"rel"}}} {
		if _, err := New(opt); err == nil {
			t.Errorf("%+v accepted", opt)
		}
	}
	uncontained, err := New(Options{Home: t.TempDir(), Level: None})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := uncontained.Open(t.Context(), sandbox.Spec{Workdir: "/w"}); err == nil || !strings.Contains(err.Error(), "--allow-uncontained") {
		t.Errorf("uncontained: %v", err)
	}
	if r := uncontained.Check(t.Context()); r.OK || r.Fix == "" {
		t.Errorf("%+v", r)
	}
	inside := t.TempDir()
	shown, err := New(Options{Home: filepath.Join(inside, "home"), Level: Namespaces, ReadOnly: []string{inside}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shown.Open(t.Context(), sandbox.Spec{Workdir: "/w"}); err == nil || !strings.Contains(err.Error(), "another home") {
		t.Errorf("home inside a shown folder: %v", err)
	}
}

func TestCheck(t *testing.T) {
	for _, l := range []Level{Bubblewrap, Namespaces, None} {
		t.Run(string(l), func(t *testing.T) {
			r := provider(t, l).Check(t.Context())
			want := string(l)
			if !r.OK || !strings.HasPrefix(r.Isolation, want) || !strings.Contains(r.Isolation, "pids") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Close leaves no process, also none that left every session, and removes what
// a command tried to make unremovable.
func TestCloseLeavesNothing(t *testing.T) {
	for _, l := range []Level{Bubblewrap, Namespaces, None} {
		t.Run(string(l), func(t *testing.T) {
			p := provider(t, l)
			sb, err := p.Open(t.Context(), sandbox.Spec{Name: "leaves nothing", Workdir: "/workspace"})
			if err != nil {
				t.Fatal(err)
			}
			b := sb.(*folder)
			nap := fmt.Sprintf("8%d", os.Getpid())
			r, err := b.Exec(t.Context(), sandbox.Command{Timeout: time.Minute, Script: `
setsid sh -c '(trap "" TERM; sleep ` + nap + `; sleep ` + nap + `) >/dev/null 2>&1 &' </dev/null
env -i /usr/bin/setsid /bin/sleep ` + nap + ` >/dev/null 2>&1 &
mkdir -p locked/in; touch locked/in/f; chmod 0 locked/in; chmod 0500 locked
d=deep; for i in $(seq 300); do d=$d/d; done; mkdir -p $d; touch $d/f
ln -s / rootlink; mkfifo pipe; touch "$(printf 'new\nline')"`})
			if err != nil || r.ExitCode != 0 {
				t.Fatalf("%s %+v %v", r.Output, r, err)
			}
			if n := napping(t, nap); n == 0 {
				t.Fatal("nothing runs")
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if n := napping(t, nap); n != 0 {
				t.Errorf("%d processes are left", n)
			}
			for _, dir := range leftGroups(b.id) {
				t.Errorf("left %s", dir)
			}
		})
	}
}

// napping counts processes of this machine with the number on their command line.
func napping(t *testing.T, nap string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(b), "sleep") && strings.Contains(string(b), nap) {
			n++
		}
	}
	return n
}

// TestOwnerDies has this test binary open a sandbox in a second process, which
// is then killed with SIGKILL.
func TestOwnerDies(t *testing.T) {
	if home := os.Getenv("LOCAL_TEST_HOME"); home != "" {
		beOwner(t, home, Level(os.Getenv("LOCAL_TEST_LEVEL")), os.Getenv("LOCAL_TEST_NAP"))
		return
	}
	for _, l := range []Level{Bubblewrap, Namespaces, None} {
		t.Run(string(l), func(t *testing.T) {
			p := provider(t, l)
			mine := open(t, p, sandbox.Spec{Name: "mine"})
			nap := fmt.Sprintf("9%d", os.Getpid())
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestOwnerDies$")
			cmd.Env = append(os.Environ(), "LOCAL_TEST_HOME="+p.opt.Home, "LOCAL_TEST_LEVEL="+string(l), "LOCAL_TEST_NAP="+nap)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			id, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			id = strings.TrimSpace(id)
			if removed, err := p.Reap(t.Context()); err != nil || len(removed) != 0 {
				t.Errorf("reaped what lives: %v, %v", removed, err)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("owner ended with %v", err)
			}
			removed, err := p.Reap(t.Context())
			if err != nil || len(removed) != 1 || removed[0] != "local sandbox "+id {
				t.Errorf("reaped %v, %v; want %s", removed, err, id)
			}
			if n := napping(t, nap); n != 0 && l != None {
				t.Errorf("%d processes are left", n)
			}
			if _, err := os.Lstat(filepath.Join(p.opt.Home, id)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("folder is left: %v", err)
			}
			if r, err := mine.Exec(t.Context(), sandbox.Command{Script: "echo alive"}); err != nil || string(r.Output) != "alive\n" {
				t.Errorf("my own sandbox: %+v, %v", r, err)
			}
		})
	}
}

func beOwner(t *testing.T, home string, l Level, nap string) {
	p, err := New(Options{Home: home, Level: l, AllowUncontained: l == None})
	if err != nil {
		t.Fatal(err)
	}
	sb, err := p.Open(t.Context(), sandbox.Spec{Name: "orphan", Workdir: "/workspace"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := sb.Exec(t.Context(), sandbox.Command{Script: "setsid sleep " + nap + " >/dev/null 2>&1 &"})
	if err != nil || r.ExitCode != 0 {
		t.Fatal(r, err)
	}
	fmt.Println(sb.ID())
	for os.Getenv("LOCAL_TEST_AGAIN") != "" {
		spec := sandbox.Spec{Name: "again", Workdir: "/workspace"}
		if err := sb.Close(); err != nil {
			t.Fatal(err)
		}
		if sb, err = p.Open(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		fmt.Println(sb.ID())
	}
	select {} // until killed
}

// An owner that is killed at any moment of closing one sandbox and opening the
// next leaves nothing that the next Reap does not remove.
func TestOwnerDiesInCloseOrOpen(t *testing.T) {
	for _, l := range []Level{Bubblewrap, Namespaces} {
		t.Run(string(l), func(t *testing.T) {
			p := provider(t, l)
			nap := fmt.Sprintf("6%d", os.Getpid())
			for times := range 8 {
				cmd := exec.Command("/proc/self/exe", "-test.run=^TestOwnerDies$")
				cmd.Env = append(os.Environ(), "LOCAL_TEST_HOME="+p.opt.Home, "LOCAL_TEST_LEVEL="+string(l), "LOCAL_TEST_NAP="+nap, "LOCAL_TEST_AGAIN=1")
				cmd.Stderr = os.Stderr
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				lines := bufio.NewScanner(out)
				for range times + 1 {
					if !lines.Scan() {
						t.Fatal("the owner ended", lines.Err())
					}
				}
				if err := errors.Join(cmd.Process.Kill(), lines.Err()); err != nil {
					t.Fatal(err)
				}
				cmd.Wait()
				removed, err := p.Reap(t.Context())
				if err != nil || len(removed) == 0 {
					t.Errorf("reaped %v, %v", removed, err)
				}
				for _, name := range removed {
					for _, dir := range leftGroups(strings.TrimPrefix(name, "local sandbox ")) {
						t.Errorf("left %s", dir)
					}
				}
				if left, err := os.ReadDir(p.opt.Home); err != nil || len(left) > 0 {
					t.Errorf("left in home: %v, %v", left, err)
				}
				if n := napping(t, nap); n != 0 {
					t.Errorf("%d processes are left", n)
				}
			}
		})
	}
}

// A dying init is a lost sandbox, at once.
func TestInitDies(t *testing.T) {
	for _, l := range []Level{Bubblewrap, Namespaces} {
		t.Run(string(l), func(t *testing.T) {
			b := open(t, provider(t, l), sandbox.Spec{Name: "dies"})
			up := make(chan struct{}, 8)
			done := make(chan error, 1)
			go func() {
				_, err := b.Exec(t.Context(), sandbox.Command{Script: "echo up; sleep 600", OnOutput: func([]byte) { up <- struct{}{} }})
				done <- err
			}()
			<-up
			if err := killInit(b.init, b.ns, b.level); err != nil {
				t.Fatal(err)
			}
			if err := <-done; !errors.Is(err, sandbox.ErrLost) {
				t.Errorf("running command: %v", err)
			}
			if _, err := b.Exec(t.Context(), sandbox.Command{Script: "true"}); !errors.Is(err, sandbox.ErrLost) {
				t.Errorf("next command: %v", err)
			}
		})
	}
}

// The pids limit holds, whatever it is that counts. The command starts no more
// than 200 processes in any case.
func TestPidsLimit(t *testing.T) {
	for _, l := range []Level{Bubblewrap, Namespaces} {
		t.Run(string(l), func(t *testing.T) {
			b := open(t, provider(t, l), sandbox.Spec{Name: "pids", Pids: 64})
			if !strings.Contains(b.Isolation(), "pids 64") {
				t.Skipf("no pids limit here: %s", b.Isolation())
			}
			r, err := b.Exec(t.Context(), sandbox.Command{Timeout: 3 * time.Second,
				Script: "for i in $(seq 200); do sleep 600 >/dev/null 2>&1 & done; echo all"})
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(string(r.Output), "all\n") && r.End == sandbox.Exited && !strings.Contains(string(r.Output), "fork") {
				t.Errorf("200 processes under a limit of 64: %s", r.Output)
			}
		})
	}
}
