package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"

	"rollbench/sandbox"
)

// streamOf makes a tar of files.
func streamOf(files map[string]string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for name, text := range files {
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
				return nil, err
			}
			if _, err := io.WriteString(w, text); err != nil {
				return nil, err
			}
		}
		return io.NopCloser(&b), w.Close()
	}
}

// webAndSeed are a service that fills a shared volume and ends, and a web server
// that shows it.
func webAndSeed() *sandbox.Beside {
	image := testImage()
	return &sandbox.Beside{
		Key: "web", Shared: []string{"data"}, Names: []string{"main"}, Hosts: []string{"far:192.0.2.7"},
		Mounts: []sandbox.Volume{{Name: "data", Target: "/data"}},
		After:  []sandbox.Dependency{{Service: "web", Until: sandbox.Healthy}},
		Start:  &sandbox.Program{Command: []string{"sh", "-c", "cp /data/page /began; exec sleep 600"}},
		Health: &sandbox.Health{Test: []string{"CMD", "test", "-s", "/began"}, Interval: time.Second},
		Files:  []sandbox.File{{Target: "/etc/own.conf", One: true, Tar: streamOf(map[string]string{"x": "own"})}},
		Companions: []sandbox.Companion{
			{Name: "seed", Names: []string{"seed"}, Image: image,
				Program: sandbox.Program{Command: []string{"sh", "-c", "cp /in/page /data/page; echo $WORD >> /data/page"}},
				Env:     map[string]string{"WORD": "from the environment"},
				Files:   []sandbox.File{{Target: "/in", Tar: streamOf(map[string]string{"page": "seeded "})}},
				Mounts:  []sandbox.Volume{{Name: "data", Target: "/data"}}},
			{Name: "web", Names: []string{"web", "www"}, Image: image,
				Program: sandbox.Program{Entrypoint: []string{"python3"}, Command: []string{"-m", "http.server", "80"}}, Workdir: "/srv",
				Mounts: []sandbox.Volume{{Name: "data", Target: "/srv", ReadOnly: true}}, MemoryMB: 200, CPUs: 0.5, Pids: 50,
				Health: &sandbox.Health{Test: []string{"CMD-SHELL", "python3 -c 'import urllib.request as u; u.urlopen(\"http://www/page\")'"}, Interval: time.Second, Retries: 20},
				After:  []sandbox.Dependency{{Service: "seed", Until: sandbox.Completed}}},
		},
	}
}

// left are the containers and volumes of a test.
func left(t *testing.T, p *Provider, label string) (names []string) {
	t.Helper()
	only := filters.NewArgs(filters.Arg("label", label))
	list, err := p.engine.ContainerList(t.Context(), container.ListOptions{All: true, Filters: only})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		names = append(names, strings.TrimPrefix(c.Names[0], "/"))
	}
	vols, err := p.engine.VolumeList(t.Context(), volume.ListOptions{Filters: only})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vols.Volumes {
		names = append(names, v.Name)
	}
	return names
}

// nothingLeft: a list of containers may still have one whose removal was answered.
func nothingLeft(t *testing.T, p *Provider, label string) {
	t.Helper()
	var n []string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if n = left(t, p, label); len(n) == 0 {
			return
		}
	}
	t.Errorf("left: %q", n)
}

func TestCompanions(t *testing.T) {
	p := engine(t, Options{})
	c := open(t, p, sandbox.Spec{Beside: webAndSeed()})
	get := `python3 -c 'import urllib.request as u; print(u.urlopen("http://web/page").read().decode(), end="")'`
	if got := run(t, c, sandbox.Command{Script: get + "; cat /data/page /etc/own.conf; ls /sys/class/net; grep far /etc/hosts"}); got != "seeded from the environment\nseeded from the environment\nownlo\n192.0.2.7\tfar\n" {
		t.Errorf("%q", got)
	}
	// What the task started is no orphan of a command, and is not killed with one.
	if r, err := c.Exec(t.Context(), sandbox.Command{Script: "sleep 600 & sleep 600", Timeout: 500 * time.Millisecond}); err != nil || r.End != sandbox.TimedOut {
		t.Errorf("%+v, %v", r, err)
	}
	if got := run(t, c, sandbox.Command{Script: "cat /began; pgrep -c -x sleep"}); got != "seeded from the environment\n1\n" {
		t.Errorf("%q", got)
	}
	if _, err := c.Snapshot(t.Context()); !errors.Is(err, sandbox.ErrNoSnapshot) || !strings.Contains(err.Error(), "seed, web") {
		t.Errorf("snapshot: %v", err)
	}
	label := "rollbench.trajectory=" + t.Name()
	if n := left(t, p, label); len(n) != 4 {
		t.Errorf("%q, want three containers and a volume", n)
	}
	info, err := p.engine.ContainerInspect(t.Context(), c.beside[1].id)
	if err != nil {
		t.Fatal(err)
	}
	h := info.HostConfig
	if h.Memory != 200<<20 || h.MemorySwap != 200<<20 || h.NanoCPUs != 5e8 || *h.PidsLimit != 50 || string(h.NetworkMode) != "container:"+c.id || len(h.PortBindings) > 0 {
		t.Errorf("limits of web: %+v, network %s", h.Resources, h.NetworkMode)
	}
	if !slices.Equal(h.CapDrop, []string{"ALL"}) || !slices.Contains(h.SecurityOpt, "no-new-privileges") || h.Privileged {
		t.Errorf("privileges of web: %v %v", h.CapDrop, h.SecurityOpt)
	}
	if l := info.Config.Labels; l["rollbench.owner"] != p.opt.Owner.String() || l["rollbench.run"] != testRun || l["rollbench.service"] != "web" {
		t.Errorf("labels %v", l)
	}
	if err := c.Claim(t.Context(), "taken"); err != nil {
		t.Fatal(err)
	}
	if n := left(t, p, label); !slices.ContainsFunc(n, func(s string) bool { return strings.HasPrefix(s, "rollbench-taken.web-") }) {
		t.Errorf("names after the claim: %q", n)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, p, label)
}

// With a network of its own the sandbox's companions are in that.
func TestCompanionsWithANetwork(t *testing.T) {
	p := engine(t, Options{})
	c := open(t, p, sandbox.Spec{Beside: webAndSeed(), Network: true})
	got := run(t, c, sandbox.Command{Script: `python3 -c 'import urllib.request as u; print(u.urlopen("http://web/page").read().decode(), end="")'; ls /sys/class/net`})
	if got != "seeded from the environment\neth0\nlo\n" {
		t.Errorf("%q", got)
	}
}

// What goes wrong is told in the companion's own words, and nothing stays.
func TestCompanionsThatFail(t *testing.T) {
	p := engine(t, Options{})
	ends := sandbox.Companion{Name: "db", Names: []string{"db"}, Image: testImage(), Program: sandbox.Program{Command: []string{"sh", "-c", "echo no such table >&2; exit 3"}}}
	sick := ends
	sick.Command, sick.Health = []string{"sleep", "60"}, &sandbox.Health{Test: []string{"CMD", "sh", "-c", "echo not yet; false"}, Interval: 100 * time.Millisecond, Retries: 2}
	hangs := sick
	hangs.Health = &sandbox.Health{Test: []string{"CMD", "sleep", "60"}, Interval: 100 * time.Millisecond, Timeout: 200 * time.Millisecond, Retries: 1}
	web := sandbox.Companion{Name: "a", Image: testImage(), Program: sandbox.Program{Command: []string{"python3", "-m", "http.server", "80"}},
		Health: &sandbox.Health{Test: []string{"CMD", "python3", "-c", "import socket; socket.create_connection((\"127.0.0.1\", 80))"}, Interval: time.Second, Retries: 20}}
	clash := web
	clash.Name, clash.After, clash.Health = "b", []sandbox.Dependency{{Service: "a", Until: sandbox.Healthy}}, &sandbox.Health{Test: []string{"CMD", "false"}, Interval: time.Second, Retries: 20}
	blind := sandbox.Companion{Name: "c", Image: testImage(), After: []sandbox.Dependency{{Service: "db", Until: sandbox.Healthy}}, Program: ends.Program}
	calm := ends
	calm.Command = []string{"sleep", "60"}
	for name, x := range map[string]struct {
		all  []sandbox.Companion
		want string
	}{
		"ends":          {[]sandbox.Companion{ends, {Name: "c", Image: testImage(), After: []sandbox.Dependency{{Service: "db", Until: sandbox.Completed}}}}, `companion db: it ended with exit code 3 (last lines: no such table)`},
		"sick":          {[]sandbox.Companion{sick}, `companion db: it is unhealthy: ["CMD" "sh" "-c" "echo not yet; false"]: exit code 1: not yet`},
		"hangs":         {[]sandbox.Companion{hangs}, "it took longer than 200ms"},
		"clash":         {[]sandbox.Companion{web, clash}, "no two can listen on the same port"},
		"no check":      {[]sandbox.Companion{calm, blind}, "service db is to be healthy, and has no health check"},
		"no image":      {[]sandbox.Companion{{Name: "db", Image: "rollbench-test/none:none"}}, "companion db: "},
		"no such thing": {[]sandbox.Companion{{Name: "db", Image: testImage(), Program: sandbox.Program{Entrypoint: []string{"/none"}}}}, "companion db: "},
	} {
		t.Run(name, func(t *testing.T) {
			label := "rollbench.trajectory=" + t.Name()
			_, err := p.Open(t.Context(), sandbox.Spec{Name: "fails", Image: testImage(), Labels: map[string]string{"run": testRun, "trajectory": t.Name()},
				Beside: &sandbox.Beside{Key: name, Companions: x.all, Shared: []string{"v"}}})
			if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v\nwant %s", err, x.want)
			}
			nothingLeft(t, p, label)
		})
	}
}

// Whoever stops waiting for companions leaves nothing behind.
func TestCompanionsCancelled(t *testing.T) {
	p := engine(t, Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	b := webAndSeed()
	b.Companions[1].Health = &sandbox.Health{Test: []string{"CMD", "false"}, Interval: time.Minute}
	label := "rollbench.trajectory=" + t.Name()
	done := make(chan error, 1)
	go func() {
		_, err := p.Open(ctx, sandbox.Spec{Name: "cancelled", Image: testImage(), Labels: map[string]string{"run": testRun, "trajectory": t.Name()}, Beside: b})
		done <- err
	}()
	for len(left(t, p, label)) < 4 {
	}
	stop := errors.New("the caller left")
	cancel(stop)
	if err := <-done; !errors.Is(err, stop) && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	nothingLeft(t, p, label)
}

// What a dead owner left is removed, volumes as well; another's is not.
func TestCompanionsReaped(t *testing.T) {
	owner, dies := mortal(t)
	p, other := engine(t, Options{Owner: owner}), engine(t, Options{})
	label := "rollbench.trajectory=" + t.Name()
	open(t, p, sandbox.Spec{Beside: webAndSeed()})
	if n := left(t, other, label); len(n) != 4 {
		t.Fatalf("%q", n)
	}
	dies()
	removed, err := other.Reap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, other, label)
	if all := strings.Join(removed, "\n"); strings.Count(all, "TestCompanionsReaped") != 4 || !strings.Contains(all, "volume rollbench-TestCompanionsReaped.data-") {
		t.Errorf("removed %q", removed)
	}
}

// A companion that fills the disk ends the sandbox.
func TestCompanionDisk(t *testing.T) {
	p := engine(t, Options{DiskEvery: 100 * time.Millisecond})
	for name, to := range map[string]string{"own": "/big", "volume": "/data/big"} {
		t.Run(name, func(t *testing.T) {
			b := webAndSeed()
			b.Companions = append(b.Companions, sandbox.Companion{Name: "fat", Image: testImage(), Mounts: []sandbox.Volume{{Name: "data", Target: "/data"}},
				Program: sandbox.Program{Command: []string{"sh", "-c", "until [ -e /data/go ]; do sleep 0.1; done; head -c 30000000 /dev/zero > " + to + "; sleep 600"}}})
			c := open(t, p, sandbox.Spec{Beside: b, DiskMB: 20})
			run(t, c, sandbox.Command{Script: "touch /data/go"})
			<-c.lost
			if _, err := c.Exec(t.Context(), sandbox.Command{Script: "true"}); !errors.Is(err, sandbox.ErrLost) || !errors.Is(err, sandbox.ErrExhausted) {
				t.Error(err)
			}
		})
	}
}
