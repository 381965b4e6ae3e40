//go:build linux

package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollbench/sandbox"
)

// Links that a sandbox laid where this machine lays folders lead nowhere out of
// what is opened from its snapshot.
func TestSnapshotTraps(t *testing.T) {
	outside := t.TempDir()
	for _, l := range []Level{Bubblewrap, Namespaces} {
		for _, trap := range []string{"mv /var /v; ln -s OUT /var", "mv /etc /e; ln -s OUT /etc", "rm -rf /home; ln -s OUT/new /home", "mv /workspace /w; ln -s OUT /workspace", "mv /tmp /t; : > /tmp"} {
			t.Run(string(l)+" "+trap, func(t *testing.T) {
				p := provider(t, l)
				b := open(t, p, sandbox.Spec{Name: "trap"})
				r, err := b.Exec(t.Context(), sandbox.Command{Script: strings.ReplaceAll(trap, "OUT", outside), Dir: "/"})
				if err != nil || r.ExitCode != 0 {
					t.Skipf("the trap cannot be laid: %s %v", r.Output, err)
				}
				s, err := b.Snapshot(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if sb, err := p.Open(t.Context(), sandbox.Spec{Workdir: "/workspace", From: s.ID()}); err == nil || !strings.Contains(err.Error(), "something else is in its place") {
					t.Errorf("%v %v", sb, err)
				}
				if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
					t.Errorf("outside: %v %v", left, err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// What is over its disk limit as a copy has no snapshot, and leaves none; nor does
// a name that is no snapshot's open anything.
func TestNoSnapshot(t *testing.T) {
	p := provider(t, Namespaces)
	b := open(t, p, sandbox.Spec{Name: "big", DiskMB: 64})
	b.diskMB = 2 // the watch, which has the 64, would be faster
	if r, err := b.Exec(t.Context(), sandbox.Command{Script: "for i in 1 2 3; do head -c 1048576 /dev/zero > big$i; done"}); err != nil || r.ExitCode != 0 {
		t.Fatal(r, err)
	}
	if s, err := b.Snapshot(t.Context()); !errors.Is(err, sandbox.ErrNoSnapshot) || !strings.Contains(err.Error(), "disk limit") {
		t.Errorf("%v %v", s, err)
	}
	if left, err := filepath.Glob(p.opt.Home + "/rollbench-snapshot-*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
	for _, from := range []string{"rollbench-snapshot-none", "../x", "rollbench-snapshot-/../x", b.id} {
		if sb, err := p.Open(t.Context(), sandbox.Spec{Workdir: "/workspace", From: from}); err == nil {
			t.Errorf("%s was opened: %v", from, sb)
		}
	}
}
