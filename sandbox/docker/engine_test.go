package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"

	"rollbench/sandbox"
	"rollbench/sandbox/sandboxtest"
)

// testRun labels all containers of this test process.
var testRun = fmt.Sprintf("docker-test-%d", os.Getpid())

func testImage() string {
	if name := os.Getenv("ROLLBENCH_TEST_IMAGE"); name != "" {
		return name
	}
	return "rollbench-test/base:1"
}

// engine is a provider with the test image present, or the test is skipped
// unless docker is required.
func engine(t testing.TB, opt Options) *Provider {
	t.Helper()
	absent := func(why any) {
		t.Helper()
		if os.Getenv("ROLLBENCH_REQUIRE_DOCKER") == "1" {
			t.Fatalf("docker is required: %v", why)
		}
		t.Skipf("no docker: %v", why)
	}
	p, err := New(t.Context(), opt)
	if err != nil {
		absent(err)
	}
	have, err := p.HasImage(t.Context(), testImage())
	if err != nil {
		absent(err)
	}
	if !have {
		absent("no image " + testImage())
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func open(t testing.TB, p *Provider, spec sandbox.Spec) *Container {
	t.Helper()
	if spec.Image == "" {
		spec.Image = testImage()
	}
	if spec.Name == "" {
		spec.Name = t.Name()
	}
	spec.Labels = map[string]string{"run": testRun, "trajectory": t.Name()}
	s, err := p.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.(*Container)
}

func run(t testing.TB, s sandbox.Sandbox, c sandbox.Command) string {
	t.Helper()
	r, err := s.Exec(t.Context(), c)
	if err != nil || r.End != sandbox.Exited || r.ExitCode != 0 {
		t.Fatalf("%+v: %v %v %d %s", c, err, r.End, r.ExitCode, r.Output)
	}
	return string(r.Output)
}

func TestSuite(t *testing.T) {
	p := engine(t, Options{DiskEvery: 200 * time.Millisecond})
	sandboxtest.Run(t, func(t *testing.T, spec sandbox.Spec) sandbox.Sandbox {
		spec.Image, spec.Labels = testImage(), map[string]string{"run": testRun}
		s, err := p.Open(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		run(t, s, sandbox.Command{Script: setsid, Dir: "/"})
		return s
	})
}

// setsid makes the program that the suite needs where the image lacks it.
const setsid = `command -v setsid || { cat > /usr/bin/setsid && chmod 755 /usr/bin/setsid; } <<'EOF'
#!/usr/bin/env python3
import os, sys
os.setsid()
os.execvp(sys.argv[1], sys.argv[1:])
EOF
`

func TestLimitsAndLabels(t *testing.T) {
	p := engine(t, Options{Pids: 99})
	c := open(t, p, sandbox.Spec{Name: "flask-4045.2/a1", Workdir: "/new/place", Env: map[string]string{"GREETING": "a b"}, MemoryMB: 200, CPUs: 0.5})
	info, err := p.engine.ContainerInspect(t.Context(), c.id)
	if err != nil {
		t.Fatal(err)
	}
	h := info.HostConfig
	if h.Memory != 200<<20 || h.MemorySwap != 200<<20 || h.NanoCPUs != 5e8 || h.PidsLimit == nil || *h.PidsLimit != 99 {
		t.Errorf("limits: %+v", h.Resources)
	}
	if h.NetworkMode != "none" || h.Privileged || h.Init == nil || !*h.Init {
		t.Errorf("network %s, privileged %t", h.NetworkMode, h.Privileged)
	}
	if len(h.CapDrop) != 1 || h.CapDrop[0] != "ALL" || len(h.CapAdd) != 8 || len(h.SecurityOpt) != 1 || h.SecurityOpt[0] != "no-new-privileges" {
		t.Errorf("capabilities %v %v, security %v", h.CapDrop, h.CapAdd, h.SecurityOpt)
	}
	labels := info.Config.Labels
	if labels["rollbench"] != "1" || labels["rollbench.run"] != testRun || labels["rollbench.trajectory"] != t.Name() || labels["rollbench.owner"] != p.opt.Owner.String() {
		t.Errorf("labels %v", labels)
	}
	if !strings.HasPrefix(info.Name, "/rollbench-flask-4045.2-a1-") {
		t.Errorf("name %s", info.Name)
	}
	got := run(t, c, sandbox.Command{Script: `pwd; echo "$GREETING"; cat /sys/class/net/*/operstate | sort -u; ls /sys/class/net`})
	if got != "/new/place\na b\nunknown\nlo\n" && got != "/new/place\na b\ndown\nlo\n" {
		t.Errorf("%q", got)
	}
}

// A container that dies under a command ends it with ErrLost, and every later
// call answers at once.
func TestKilledContainer(t *testing.T) {
	p := engine(t, Options{})
	for _, how := range []string{"exec", "shell", "idle"} {
		t.Run(how, func(t *testing.T) {
			c := open(t, p, sandbox.Spec{})
			shell, err := c.Shell(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer shell.Close()
			started := make(chan struct{})
			var once sync.Once
			command := sandbox.Command{Script: "echo started; sleep 600", OnOutput: func([]byte) { once.Do(func() { close(started) }) }}
			failed := make(chan error, 1)
			switch how {
			case "exec":
				go func() { _, err := c.Exec(t.Context(), command); failed <- err }()
			case "shell":
				go func() { _, err := shell.Run(t.Context(), command); failed <- err }()
			default:
				close(started)
				failed <- sandbox.ErrLost
			}
			<-started
			if err := p.engine.ContainerKill(t.Context(), c.id, "KILL"); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-failed:
				if !errors.Is(err, sandbox.ErrLost) {
					t.Errorf("the command: %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("the command did not end")
			}
			<-c.lost
			began := time.Now()
			if _, err := c.Exec(t.Context(), sandbox.Command{Script: "true"}); !errors.Is(err, sandbox.ErrLost) {
				t.Errorf("exec: %v", err)
			}
			if _, err := c.ReadFile(t.Context(), "/etc/passwd"); !errors.Is(err, sandbox.ErrLost) {
				t.Errorf("read: %v", err)
			}
			if err := c.WriteFile(t.Context(), "/x", nil, 0); !errors.Is(err, sandbox.ErrLost) {
				t.Errorf("write: %v", err)
			}
			if err := c.CopyIn(t.Context(), "/x", bytes.NewReader(nil)); !errors.Is(err, sandbox.ErrLost) {
				t.Errorf("copy in: %v", err)
			}
			if _, err := c.CopyOut(t.Context(), "/etc"); !errors.Is(err, sandbox.ErrLost) {
				t.Errorf("copy out: %v", err)
			}
			if _, err := c.Shell(t.Context()); !errors.Is(err, sandbox.ErrLost) || !strings.Contains(err.Error(), "exit code 137") {
				t.Errorf("shell: %v", err)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("a lost sandbox took %s to say so", took)
			}
		})
	}
}

func TestMemoryLimitEndsACommand(t *testing.T) {
	c := open(t, engine(t, Options{}), sandbox.Spec{MemoryMB: 64})
	r, err := c.Exec(t.Context(), sandbox.Command{Argv: []string{"python3", "-c", "x = b'x' * (1 << 30)"}})
	if err != nil || r.ExitCode != 137 && r.ExitCode != 1 { // killed, or a MemoryError
		t.Errorf("%v %d %s", err, r.ExitCode, r.Output)
	}
	run(t, c, sandbox.Command{Script: "true"})
}

// A tree that has used up the pids limit is killed all the same.
func TestKillAtThePidsLimit(t *testing.T) {
	c := open(t, engine(t, Options{}), sandbox.Spec{Pids: 40})
	r, err := c.Exec(t.Context(), sandbox.Command{Script: "for i in $(seq 100); do sleep 600 & done 2>/dev/null; wait", Timeout: 3 * time.Second})
	if err != nil || r.End != sandbox.TimedOut {
		t.Fatalf("%v %v %s", err, r.End, r.Output)
	}
	if got := run(t, c, sandbox.Command{Script: "ls -d /proc/[0-9]* | wc -l"}); strings.TrimSpace(got) > "9" && len(strings.TrimSpace(got)) > 1 {
		t.Errorf("%s processes are left", got)
	}
}

// main is a script's words for the container's main process.
const main = "$(ps -o pid= --ppid 1 | head -n 1)"

// A root inside that stops the main process does not keep a tree alive.
func TestKillWithoutTheMainProcess(t *testing.T) {
	t.Parallel() // it waits for answers that do not come
	c := open(t, engine(t, Options{}), sandbox.Spec{})
	for _, signal := range []string{"STOP", "CONT"} {
		run(t, c, sandbox.Command{Script: "kill -" + signal + " " + main})
		r, err := c.Exec(t.Context(), sandbox.Command{Script: "sleep 603 & sleep 604", Timeout: 200 * time.Millisecond})
		if err != nil || r.End != sandbox.TimedOut {
			t.Errorf("%s: %v %v", signal, err, r.End)
		}
		if got := run(t, c, sandbox.Command{Script: "ps -eo args | grep -c '^sleep' || true"}); got != "0\n" {
			t.Errorf("%s: %s left", signal, got)
		}
	}
}

// Nor does one that stops it over and over keep anything running when all is to end.
func TestSweepWithoutTheMainProcess(t *testing.T) {
	t.Parallel() // it waits for an answer that does not come
	c := open(t, engine(t, Options{}), sandbox.Spec{Pids: 64})
	run(t, c, sandbox.Command{Script: "m=" + main + `; (trap '' TERM HUP; while :; do kill -STOP $m; done) >/dev/null 2>&1 &
setsid sleep 605 >/dev/null 2>&1 &`})
	if err := c.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := run(t, c, sandbox.Command{Script: "ps -eo args= | grep -e 'sleep 60[5]' -e '[S]TOP' || true"}); got != "" {
		t.Errorf("left:\n%s", got)
	}
	r, err := c.Exec(t.Context(), sandbox.Command{Script: "sleep 606 & sleep 607", Timeout: 200 * time.Millisecond})
	if err != nil || r.End != sandbox.TimedOut {
		t.Errorf("afterwards: %v %v", err, r.End)
	}
}

// A root inside that kills the main process has ended the sandbox.
func TestKillingTheMainProcess(t *testing.T) {
	c := open(t, engine(t, Options{}), sandbox.Spec{})
	r, err := c.Exec(t.Context(), sandbox.Command{Script: "kill -KILL " + main + "; sleep 600", Timeout: 20 * time.Second})
	if !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("%v %+v", err, r)
	}
}

// Lines that are cut off, or that are no request, do nothing to the main process.
func TestMainProcessReadsWholeLines(t *testing.T) {
	c := open(t, engine(t, Options{}), sandbox.Spec{})
	for _, text := range []string{"exit 7", "exit 7\n", "case x in\n", "mark=ROLLBENCH_COMMAND= ; kill_tree"} {
		m, err := c.talk(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(m.conn.Conn, text); err != nil {
			t.Fatal(err)
		}
		code, err := m.ask("(exit 3)", m.first, time.Minute)
		m.close()
		if err != nil || code != 3 {
			t.Errorf("after %q: %d %v", text, code, err)
		}
	}
	run(t, c, sandbox.Command{Script: "true"})
}

// What an agent may do to stray processes does not end the sandbox.
func TestKillingShellsInside(t *testing.T) {
	c := open(t, engine(t, Options{}), sandbox.Spec{})
	if _, err := c.Exec(t.Context(), sandbox.Command{Script: "pkill -x sh; kill -TERM -1; true"}); err != nil {
		t.Error(err)
	}
	run(t, c, sandbox.Command{Script: "true"})
}

func TestOpenCancelled(t *testing.T) {
	p := engine(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Open(ctx, sandbox.Spec{Image: testImage(), Name: t.Name()}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestMissingImage(t *testing.T) {
	p := engine(t, Options{})
	_, err := p.Open(t.Context(), sandbox.Spec{Image: "127.0.0.1:1/rollbench/no-such:1"})
	if err == nil || !strings.HasPrefix(err.Error(), `image "127.0.0.1:1/rollbench/no-such:1": not present and cannot be pulled: `) || !strings.HasSuffix(err.Error(), "build it, or name one that is there") {
		t.Errorf("%v", err)
	}
	if _, err := p.Open(t.Context(), sandbox.Spec{}); err == nil || !strings.Contains(err.Error(), "names no image") {
		t.Errorf("%v", err)
	}
}

// buildContext is a tar stream with these files.
func buildContext(files map[string]string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for name, text := range files {
			if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
				return nil, err
			}
			if _, err := w.Write([]byte(text)); err != nil {
				return nil, err
			}
		}
		return io.NopCloser(&b), w.Close()
	}
}

// Sandboxes that ask for one absent image at the same time build it once; its
// user, working directory and environment are theirs.
func TestBuild(t *testing.T) {
	p := engine(t, Options{})
	name := "rollbench-test/" + testRun + ":1"
	t.Cleanup(func() {
		// Containers are closed by cleanups registered later, so before this one.
		if _, err := p.engine.ImageRemove(context.Background(), name, image.RemoveOptions{Force: true, PruneChildren: true}); err != nil {
			t.Error(err)
		}
	})
	var mu sync.Mutex
	builds := 0
	files := buildContext(map[string]string{
		"Dockerfile": "FROM " + testImage() + "\nARG WHO\nRUN mkdir /made && echo $WHO > /made/by\nUSER agent\nWORKDIR /home/agent\n",
	})
	spec := sandbox.Spec{Image: name, Workdir: "/fresh", Build: &sandbox.Build{
		Args: map[string]string{"WHO": "somebody"},
		Context: func() (io.ReadCloser, error) {
			mu.Lock()
			defer mu.Unlock()
			builds++
			return files()
		},
	}}
	var lines []string
	spec.Progress = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}
	sandboxes := make([]sandbox.Sandbox, 3)
	errs := make([]error, len(sandboxes))
	var wg sync.WaitGroup
	for i := range sandboxes {
		wg.Go(func() { sandboxes[i], errs[i] = p.Open(t.Context(), spec) })
	}
	wg.Wait()
	for i, s := range sandboxes {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		t.Cleanup(func() { s.Close() })
	}
	if builds != 1 || !strings.Contains(strings.Join(lines, "\n"), "RUN mkdir /made") {
		t.Errorf("%d builds, progress %q", builds, lines)
	}
	c := sandboxes[0]
	if err := c.WriteFile(t.Context(), "/tests/deep/run.sh", []byte("echo ran"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.CopyIn(t.Context(), "/in", tarOf(t, tar.Header{Name: "a/b", Mode: 0o640, Size: 1, Uid: 77, Typeflag: tar.TypeReg})); err != nil {
		t.Fatal(err)
	}
	got := run(t, c, sandbox.Command{Script: "id -u; pwd; touch mine; cat /made/by; /tests/deep/run.sh; stat -c '%u %a' /fresh /tests /tests/deep /tests/deep/run.sh /in /in/a/b"})
	want := "1000\n/fresh\nsomebody\nran\n1000 755\n1000 755\n1000 755\n1000 755\n1000 755\n1000 640\n"
	if got != want {
		t.Errorf("%q", got)
	}
	// The tree of a user that is not root is killed as well.
	if r, err := c.Exec(t.Context(), sandbox.Command{Script: "sleep 601 & sleep 602", Timeout: 200 * time.Millisecond}); err != nil || r.End != sandbox.TimedOut {
		t.Errorf("%v %v", err, r.End)
	}
	if got := run(t, c, sandbox.Command{Script: "ps -eo args | grep -c '^sleep' || true"}); got != "0\n" {
		t.Errorf("%s left", got)
	}
}

// The second build of the same files runs nothing again. What is listed as ours is
// the name that was built, not others of it, and removing leaves what is in use.
func TestBuildCacheAndImages(t *testing.T) {
	p := engine(t, Options{})
	name := func(n string) string { return "rollbench-test/" + testRun + "-cache:" + n }
	t.Cleanup(func() {
		for _, n := range []string{"1", "2", "mine"} {
			if _, err := p.removeImage(context.Background(), name(n)); err != nil {
				t.Error(err)
			}
		}
	})
	var lines []string
	build := func(n string) string {
		t.Helper()
		lines = nil
		files := buildContext(map[string]string{"Dockerfile": "FROM " + testImage() + "\nRUN echo " + testRun + " && head -c 3145728 /dev/zero > /made\n"})
		err := p.EnsureImage(t.Context(), sandbox.Spec{Image: name(n), Build: &sandbox.Build{Context: files}, Progress: func(l string) { lines = append(lines, l) }})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(lines, "\n")
	}
	if said := build("1"); strings.Contains(said, "Using cache") || !strings.Contains(said, testRun) {
		t.Errorf("the first build: %s", said)
	}
	if said := build("2"); !strings.Contains(said, "Using cache") {
		t.Errorf("the second build: %s", said)
	}
	if err := p.engine.ImageTag(t.Context(), name("2"), name("mine")); err != nil {
		t.Fatal(err)
	}
	c := open(t, p, sandbox.Spec{Image: name("1")})
	listed := func() map[string]Image {
		t.Helper()
		all, err := p.Images(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]Image{}
		for _, i := range all {
			if strings.Contains(i.Name, testRun) {
				found[i.Name] = i
			}
		}
		return found
	}
	all := listed()
	one, two := all[name("1")], all[name("2")]
	if len(all) != 2 || one.How != "built" || two.How != "built" || one.Size < 100<<20 || !strings.HasPrefix(one.Used, "container rollbench-") || two.Used != "" {
		t.Errorf("%+v", all)
	}
	// 3 MiB more than the base, which both share; counted once.
	if own := one.Own + two.Own; own < 3<<20 || own > 4<<20 {
		t.Errorf("%d and %d bytes of their own", one.Own, two.Own)
	}
	if err := p.RemoveImage(t.Context(), one); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("removed under a container: %v", err)
	}
	run(t, c, sandbox.Command{Script: "true"})
	if err := p.RemoveImage(t.Context(), two); err != nil {
		t.Error(err)
	}
	if have, err := p.HasImage(t.Context(), name("mine")); err != nil || !have {
		t.Errorf("another's name is gone too: %v", err)
	}
}

// Two images of the same files that are asked for at the same time are built once.
func TestSameFilesAreBuiltOnce(t *testing.T) {
	p := engine(t, Options{})
	names := []string{"rollbench-test/" + testRun + "-one:abc", "rollbench-test/" + testRun + "-two:abc"}
	t.Cleanup(func() {
		for _, n := range names {
			if _, err := p.removeImage(context.Background(), n); err != nil {
				t.Error(err)
			}
		}
	})
	files := buildContext(map[string]string{"Dockerfile": "FROM " + testImage() + "\nRUN echo " + testRun + "-once && sleep 1\n"})
	said := make([]string, len(names))
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			errs[i] = p.EnsureImage(t.Context(), sandbox.Spec{Image: name, Build: &sandbox.Build{Context: files}, Progress: func(l string) { said[i] += l + "\n" }})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if a, b := strings.Contains(said[0], "Using cache"), strings.Contains(said[1], "Using cache"); a == b {
		t.Errorf("from the cache: %t and %t\n%s\n%s", a, b, said[0], said[1])
	}
}

func TestBuildFails(t *testing.T) {
	p := engine(t, Options{})
	name := "rollbench-test/" + testRun + "-bad:1"
	build := func(dockerfile string, limit time.Duration) error {
		_, err := p.Open(t.Context(), sandbox.Spec{Image: name, Build: &sandbox.Build{
			Context: buildContext(map[string]string{"Dockerfile": dockerfile}), Timeout: limit,
		}})
		return err
	}
	err := build("FROM "+testImage()+"\nRUN echo the reason; exit 7\n", 0)
	if err == nil || !strings.Contains(err.Error(), "build failed") || !strings.Contains(err.Error(), "the reason") || !strings.Contains(err.Error(), "7") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	err = build("FROM "+testImage()+"\nRUN sleep 600\n", 2*time.Second)
	if err == nil || !strings.Contains(err.Error(), "it took longer than 2s") {
		t.Errorf("%v", err)
	}
	if err = build("FRUM x\n", 0); err == nil || !strings.Contains(err.Error(), "build failed") {
		t.Errorf("%v", err)
	}
}

func TestNoEngine(t *testing.T) {
	t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
	p, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if r := p.Check(t.Context()); r.OK || !strings.Contains(r.Fix, "start the engine") || r.Detail == "" {
		t.Errorf("%+v", r)
	}
	if _, err := p.Open(t.Context(), sandbox.Spec{Image: "x"}); err == nil || !strings.Contains(err.Error(), "--sandbox local") {
		t.Errorf("%v", err)
	}
}

func TestCheck(t *testing.T) {
	p := engine(t, Options{})
	r := p.Check(t.Context())
	if !r.OK || !strings.HasPrefix(r.Detail, "docker ") || !strings.Contains(r.Detail, " images") || !strings.Contains(r.Isolation, "no network") {
		t.Errorf("%+v", r)
	}
	t.Log(r)
}

// Close of the provider removes what is still open.
func TestProviderClose(t *testing.T) {
	p := engine(t, Options{})
	c := open(t, p, sandbox.Spec{})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	look := engine(t, Options{})
	list, err := look.engine.ContainerList(t.Context(), container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("id", c.id))})
	if err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
