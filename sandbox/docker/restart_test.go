//go:build linux

package docker

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"rollbench/sandbox"
)

// ownEngine is a dockerd of the test's own, which can be killed.
type ownEngine struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
	log bytes.Buffer
}

// newEngine makes the folders of one, or skips where none can run.
func newEngine(t *testing.T) *ownEngine {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("an engine of our own needs root")
	}
	for _, name := range []string{"dockerd", "containerd"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	dir, err := os.MkdirTemp("", "rb-engine-") // short: a socket's path may have 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	e := &ownEngine{t: t, dir: dir}
	t.Cleanup(func() {
		e.stop(syscall.SIGTERM)
		e.sweep()
		e.unmount()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("DOCKER_CONTEXT", "")
	t.Setenv("DOCKER_HOST", "unix://"+dir+"/s")
	return e
}

// containers starts the containerd below the engine, which outlives it as it does
// where both are services.
func (e *ownEngine) containers() {
	e.t.Helper()
	config := e.dir + "/containerd.toml"
	text := "version = 2\nroot = \"" + e.dir + "/croot\"\nstate = \"" + e.dir + "/cstate\"\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\naddress = \"" + e.dir + "/c\"\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		e.t.Fatal(err)
	}
	cmd := exec.Command("containerd", "--config="+config, "--log-level=error")
	if err := cmd.Start(); err != nil {
		e.t.Skipf("no containerd: %v", err)
	}
	e.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
}

// start it, or skip where it does not come up.
func (e *ownEngine) start() {
	e.t.Helper()
	e.log.Reset()
	e.cmd = exec.Command("dockerd", "--host=unix://"+e.dir+"/s", "--containerd="+e.dir+"/c", "--data-root="+e.dir+"/data", "--exec-root="+e.dir+"/x", "--pidfile="+e.dir+"/pid",
		"--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--storage-driver=vfs", "--config-file="+e.dir+"/none.json")
	e.cmd.Stdout, e.cmd.Stderr = &e.log, &e.log
	// An engine without a bridge deletes docker0 when it starts, whoever's it is: it
	// gets a network of its own, in which there is none.
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := os.WriteFile(e.dir+"/none.json", []byte("{}"), 0o600); err != nil {
		e.t.Fatal(err)
	}
	if err := e.cmd.Start(); err != nil {
		e.t.Skipf("no engine: %v", err)
	}
	p := e.provider()
	for began := time.Now(); ; {
		if p.Check(e.t.Context()).OK {
			return
		}
		if time.Since(began) > 30*time.Second {
			e.stop(syscall.SIGKILL)
			e.t.Skipf("an engine of our own does not come up: %s", e.log.String()[max(0, e.log.Len()-500):])
		}
		<-time.After(50 * time.Millisecond) // nothing tells when it listens
	}
}

// stop it by a signal.
func (e *ownEngine) stop(s syscall.Signal) {
	if e.cmd != nil && e.cmd.ProcessState == nil {
		_ = e.cmd.Process.Signal(s)
		_ = e.cmd.Wait() // it was told to end
	}
}

// sweep kills what has the engine's folder on its command line: the parents of its
// containers.
func (e *ownEngine) sweep() {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		e.t.Error(err)
	}
	for _, f := range files {
		if line, err := os.ReadFile(f); err == nil && bytes.Contains(line, []byte(e.dir+"/")) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil && pid > 1 && pid != os.Getpid() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// unmount what a killed engine has left mounted below its own folder.
func (e *ownEngine) unmount() {
	data, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		e.t.Error(err)
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); strings.HasPrefix(f[1], e.dir+"/") {
			if err := syscall.Unmount(f[1], syscall.MNT_DETACH); err != nil {
				e.t.Error(f[1], err)
			}
		}
	}
}

func (e *ownEngine) provider() *Provider {
	e.t.Helper()
	return provider(e.t, Options{})
}

// tiny imports an image that has nothing but busybox.
func (e *ownEngine) tiny(p *Provider) string {
	e.t.Helper()
	box, err := exec.LookPath("busybox")
	if err != nil {
		e.t.Skip("busybox is not installed")
	}
	if out, err := exec.Command("ldd", box).CombinedOutput(); err == nil {
		e.t.Skipf("busybox is not static: %s", out)
	}
	root := filepath.Join(e.t.TempDir(), "root")
	script := `mkdir -p "$1/bin" "$1/tmp" "$1/proc" && cp "$2" "$1/bin/busybox" && for c in sh sleep id ls cat mkdir chown stat; do ln -s busybox "$1/bin/$c"; done && tar -C "$1" -c .`
	tar, err := exec.Command("sh", "-c", script, "sh", root, box).Output()
	if err != nil {
		e.t.Fatal(err)
	}
	answer, err := p.engine.ImageImport(e.t.Context(), image.ImportSource{Source: bytes.NewReader(tar), SourceName: "-"}, "rollbench-test/tiny:1", image.ImportOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	defer answer.Close()
	if err := readProgress(answer, func(message) {}, func(string) {}); err != nil {
		e.t.Fatal(err)
	}
	return "rollbench-test/tiny:1"
}

// An engine that is killed in the middle of a command ends it, and every later
// call, at once. After its restart Reap removes what is left of a dead owner, and
// sandboxes open again.
func TestEngineRestart(t *testing.T) {
	e := newEngine(t)
	e.containers()
	e.start()
	p := e.provider()
	name := e.tiny(p)
	p.opt.Owner = dead(t) // so that the containers are left over afterwards
	c := open(t, p, sandbox.Spec{Image: name})
	shell, err := c.Shell(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	up, ended := make(chan struct{}, 2), make(chan error, 2)
	for _, run := range []func(context.Context, sandbox.Command) (sandbox.Result, error){c.Exec, shell.Run} {
		go func() {
			_, err := run(t.Context(), sandbox.Command{Script: "echo up; sleep 600", OnOutput: func([]byte) { up <- struct{}{} }})
			ended <- err
		}()
	}
	<-up
	<-up
	began := time.Now()
	e.stop(syscall.SIGKILL)
	for range 2 {
		if err := <-ended; !errors.Is(err, sandbox.ErrLost) || !strings.Contains(err.Error(), "engine") {
			t.Errorf("the command: %v", err)
		}
	}
	if _, err := c.Exec(t.Context(), sandbox.Command{Script: "true"}); !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("the next command: %v", err)
	}
	t.Logf("the commands ended within %v", time.Since(began))
	if _, err := p.Open(t.Context(), sandbox.Spec{Image: name}); err == nil || !strings.Contains(err.Error(), "start the engine") {
		t.Errorf("open without an engine: %v", err)
	}
	e.start()
	again := e.provider()
	if _, err := again.Reap(t.Context()); err != nil {
		t.Errorf("reap: %v", err)
	}
	if list, err := again.engine.ContainerList(t.Context(), container.ListOptions{All: true}); err != nil || len(list) != 0 {
		t.Errorf("left: %v %v", list, err)
	}
	run(t, open(t, again, sandbox.Spec{Image: name}), sandbox.Command{Script: "true"})
}
