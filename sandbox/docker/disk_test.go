package docker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

// A sandbox that writes more than it may is stopped in the middle of its command,
// whichever way its size is found out; one below the limit is not.
func TestDiskLimit(t *testing.T) {
	for _, how := range []string{"folder", "engine"} {
		t.Run(how, func(t *testing.T) {
			p := engine(t, Options{DiskEvery: 100 * time.Millisecond})
			p.engineSizes = how == "engine"
			c := open(t, p, sandbox.Spec{DiskMB: 8})
			small := open(t, p, sandbox.Spec{DiskMB: 8})
			run(t, small, sandbox.Command{Script: "head -c 4194304 /dev/zero > /tmp/small"})
			// Filling takes no process that a fork bomb could keep from starting. How much
			// of it there is when the watch looks is up to chance.
			_, err := c.Exec(t.Context(), sandbox.Command{Script: "head -c 16777216 /dev/zero > /var/big; sleep 600", Timeout: time.Minute})
			if !errors.Is(err, sandbox.ErrLost) || !errors.Is(err, sandbox.ErrExhausted) || !strings.Contains(err.Error(), "resources exhausted: disk limit 8 MB reached (") {
				t.Errorf("%v", err)
			}
			if _, err := c.Exec(t.Context(), sandbox.Command{Script: "true"}); !errors.Is(err, sandbox.ErrExhausted) {
				t.Errorf("afterwards: %v", err)
			}
			run(t, small, sandbox.Command{Script: "true"})
		})
	}
}

// A look comes early when the file system fills up: one that many files, or many
// containers, make late would come too late.
func TestDiskLooksEarly(t *testing.T) {
	p := engine(t, Options{DiskEvery: time.Hour})
	c := open(t, p, sandbox.Spec{DiskMB: 8})
	if p.remote() {
		t.Skip("the engine's file system is another machine's")
	}
	r := room{all: []*Container{c}}
	var err error
	if r.dir, err = c.findUpper(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.free, err = sandbox.Free(r.dir); err != nil {
		t.Skip(err) // not this user's to look at
	}
	began := time.Now()
	time.AfterFunc(100*time.Millisecond, func() {
		c.Exec(context.Background(), sandbox.Command{Script: "head -c 33554432 /dev/zero > /var/big; sync"})
	})
	if !p.rest(time.Minute, &r) || time.Since(began) > 50*time.Second {
		t.Errorf("rested %v", time.Since(began))
	}
}

// Mounts are shown read-only, what is mounted below them not at all.
func TestMounts(t *testing.T) {
	p := engine(t, Options{})
	dir := t.TempDir()
	for _, err := range []error{os.Mkdir(filepath.Join(dir, "models"), 0o755), os.WriteFile(filepath.Join(dir, "models/m"), []byte("weights"), 0o644),
		os.WriteFile(filepath.Join(dir, "one"), []byte("file"), 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c := open(t, p, sandbox.Spec{Workdir: "/w", Mounts: []sandbox.Mount{{Source: dir + "/models", Target: "/data/models"}, {Source: dir + "/one", Target: "/w/one"}}})
	got := run(t, c, sandbox.Command{Script: "cat /data/models/m one; for c in 'echo x > /data/models/m' 'touch /data/models/n' 'rm /w/one' 'echo x > /w/one' 'mount -o remount,rw /data/models'; do (eval $c) 2>/dev/null && echo $c; done; cat /data/models/m one"})
	if got != "weightsfileweightsfile" {
		t.Errorf("%q", got)
	}
	for want, m := range map[string]sandbox.Mount{
		"no such file":            {Source: dir + "/absent", Target: "/x"},
		"a way out":               {Source: "/var/run/docker.sock", Target: "/x"},
		"would be read-only":      {Source: dir, Target: "/testbed"},
		"nothing can be shown at": {Source: dir, Target: "/"},
	} {
		if s, err := p.Open(t.Context(), sandbox.Spec{Image: testImage(), Workdir: "/testbed/x", Mounts: []sandbox.Mount{m}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v %v", m, s, err)
		}
	}
}
