//go:build linux

package local

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rollbench/sandbox"
)

// What this process was started with is not handed on: an open folder of the machine
// would be a way out.
func TestInheritsNothing(t *testing.T) {
	fd, err := unix.Open(t.TempDir(), unix.O_RDONLY|unix.O_DIRECTORY, 0) // without O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, l := range []Level{Bubblewrap, Namespaces, None} {
		b := open(t, provider(t, l), sandbox.Spec{})
		r, err := b.Exec(t.Context(), sandbox.Command{Argv: []string{"ls", "/proc/self/fd"}, Timeout: 10 * time.Second})
		// Its own folder is the fourth.
		if err != nil || strings.Join(strings.Fields(string(r.Output)), " ") != "0 1 2 3" {
			t.Errorf("%s: %q %v (ours is %d)", l, r.Output, err, fd)
		}
		if l == None {
			continue
		}
		for _, p := range []string{"/proc/self/fd/", "/proc/1/fd/"} {
			if st, err := b.Stat(t.Context(), p+strconv.Itoa(fd)); err == nil && st.IsDir() {
				t.Errorf("%s: the init has a folder of the machine open: %s", l, st.Mode())
			}
		}
	}
}

// The init has the machine's binary open. No file call changes its mode.
func TestBinaryKeepsItsMode(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(exe, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(exe, 0o755) })
	for _, l := range []Level{Bubblewrap, Namespaces} {
		b := open(t, provider(t, l), sandbox.Spec{})
		for _, p := range []string{"/proc/self/fd/4", "/proc/1/fd/4", "/proc/self/exe"} {
			for _, mode := range []os.FileMode{0, 0o777} {
				if err := b.WriteFile(t.Context(), p, []byte("x"), mode); err == nil {
					t.Errorf("%s: wrote %s", l, p)
				}
			}
		}
		if st, err := os.Stat(exe); err != nil || st.Mode().Perm() != 0o555 {
			t.Fatalf("%s: the binary has mode %v, %v", l, st.Mode(), err)
		}
	}
}
