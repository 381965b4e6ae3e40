//go:build linux

package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

// A sandbox whose files are many and small is stopped at its limit, in the middle
// of its command. The largest of them is far below the limit of one file.
func TestDiskLimit(t *testing.T) {
	for _, l := range []Level{Bubblewrap, Namespaces, None} {
		t.Run(string(l), func(t *testing.T) {
			p := provider(t, l)
			b := open(t, p, sandbox.Spec{Name: "full", DiskMB: 8})
			small := open(t, p, sandbox.Spec{Name: "small", DiskMB: 8})
			if r, err := small.Exec(t.Context(), sandbox.Command{Script: "head -c 4194304 /dev/zero > small"}); err != nil || r.ExitCode != 0 {
				t.Fatal(r, err)
			}
			_, err := b.Exec(t.Context(), sandbox.Command{Script: "for i in 1 2 3 4 5; do head -c 2097152 /dev/zero > f$i; done; sleep 600", Timeout: time.Minute})
			if !errors.Is(err, sandbox.ErrLost) || !errors.Is(err, sandbox.ErrExhausted) || !strings.Contains(err.Error(), "resources exhausted: disk limit 8 MB reached (") {
				t.Errorf("%v", err)
			}
			if _, err := b.ReadFile(t.Context(), "f1"); !errors.Is(err, sandbox.ErrExhausted) {
				t.Errorf("afterwards: %v", err)
			}
			if r, err := small.Exec(t.Context(), sandbox.Command{Script: "true"}); err != nil || r.ExitCode != 0 {
				t.Error(r, err)
			}
		})
	}
}

func TestMounts(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{os.Mkdir(filepath.Join(dir, "models"), 0o755), os.WriteFile(filepath.Join(dir, "models/m"), []byte("weights"), 0o644),
		os.WriteFile(filepath.Join(dir, "one"), []byte("file"), 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range []Level{Bubblewrap, Namespaces} {
		t.Run(string(l), func(t *testing.T) {
			p := provider(t, l)
			b := open(t, p, sandbox.Spec{Workdir: "/w", Mounts: []sandbox.Mount{{Source: dir + "/models", Target: "/data/models"}, {Source: dir + "/one", Target: "/w/one"}}})
			r, err := b.Exec(t.Context(), sandbox.Command{Script: `cat /data/models/m one
for c in 'echo x > /data/models/m' 'touch /data/models/n' 'rm /w/one' 'echo x > /w/one' 'mount -o remount,rw /data/models'; do (eval $c) 2>/dev/null && echo $c; done; cat /data/models/m one`})
			if err != nil || string(r.Output) != "weightsfileweightsfile" {
				t.Errorf("%q %v", r.Output, err)
			}
			for want, m := range map[string]sandbox.Mount{
				"no such file":         {Source: dir + "/absent", Target: "/x"},
				"a way out":            {Source: "/proc/1", Target: "/x"},
				"would be read-only":   {Source: dir, Target: "/w"},
				"this machine's own":   {Source: dir, Target: "/usr/share/x"},
				"where sandboxes live": {Source: filepath.Dir(p.opt.Home), Target: "/x"},
			} {
				if s, err := p.Open(t.Context(), sandbox.Spec{Workdir: "/w", Mounts: []sandbox.Mount{m}}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "this machine cannot contain it") {
					t.Errorf("%v: %v %v", m, s, err)
				}
			}
		})
	}
	p := provider(t, None)
	if s, err := p.Open(t.Context(), sandbox.Spec{Workdir: "/w", Mounts: []sandbox.Mount{{Source: dir, Target: "/x"}}}); err == nil || !strings.Contains(err.Error(), "containment") {
		t.Errorf("uncontained: %v %v", s, err)
	}
}
