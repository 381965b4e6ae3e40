//go:build linux

package local

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"rollbench/sandbox"
	"rollbench/sandbox/sandboxtest"
)

// need skips, or fails where CI must have it, a level that is not installed.
func need(t testing.TB, l Level) {
	t.Helper()
	if l != Bubblewrap {
		return
	}
	if _, err := exec.LookPath("bwrap"); err == nil {
		return
	}
	if os.Getenv("ROLLBENCH_REQUIRE_DOCKER") == "1" {
		t.Fatal("bubblewrap is not installed: apt-get install bubblewrap")
	}
	t.Skip("bubblewrap is not installed")
}

func provider(t testing.TB, l Level) *Provider {
	t.Helper()
	need(t, l)
	p, err := New(Options{Home: t.TempDir(), Level: l, AllowUncontained: l == None})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		left, err := os.ReadDir(p.opt.Home)
		if err != nil || len(left) > 0 {
			t.Errorf("left in home: %v, %v", left, err)
		}
	})
	return p
}

func open(t testing.TB, p *Provider, spec sandbox.Spec) *folder {
	t.Helper()
	if spec.Workdir == "" {
		spec.Workdir = "/workspace"
	}
	sb, err := p.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(); err != nil {
			t.Error(err)
		}
	})
	return sb.(*folder)
}

func TestSuite(t *testing.T) {
	for _, l := range []Level{Bubblewrap, Namespaces, None} {
		t.Run(string(l), func(t *testing.T) {
			p := provider(t, l)
			machine := names(t, "/")
			t.Cleanup(func() {
				if now := names(t, "/"); now != machine {
					t.Errorf("the machine's root had %s\nand has %s", machine, now)
				}
			})
			sandboxtest.Run(t, func(t *testing.T, spec sandbox.Spec) sandbox.Sandbox {
				return open(t, p, spec)
			})
		})
	}
}

// names in a folder, in order.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}
