package sandbox

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// 10 files of 1 MiB, one of them with three names, one below 50 folders with
// names of 200 bytes (longer than any path may be), one that is all hole; links lead out and are not followed.
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("sh", "-ec", `mkdir in out; for i in 1 2 3 4 5 6 7 8; do cp ../big in/$i; done
ln in/1 in/one; ln in/1 one; ln -s / root; ln -s ../out in/loop; truncate -s 1G hole`)
	cmd.Dir = filepath.Join(dir, "tree")
	big := filepath.Join(dir, "big")
	for _, err := range []error{os.Mkdir(cmd.Dir, 0o755), os.WriteFile(big, bytes.Repeat([]byte("x"), 1<<20), 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	root, err := os.OpenRoot(cmd.Dir)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("n", 200)
	for range 50 {
		if err := root.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		below, err := root.OpenRoot(name)
		if err != nil {
			t.Fatal(err)
		}
		root.Close()
		root = below
	}
	if err := root.WriteFile("f", bytes.Repeat([]byte("x"), 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	root.Close()
	got, err := Usage(t.Context(), cmd.Dir, 1<<40)
	// Folders take up to 4 KiB each.
	if err != nil || got < 9<<20 || got > 9<<20+60*4096+1<<16 {
		t.Errorf("%d, %v", got, err)
	}
	if some, err := Usage(t.Context(), cmd.Dir, 1<<20); err != nil || some <= 1<<20 || some > got {
		t.Errorf("%d, %v", some, err)
	}
	if _, err := Usage(t.Context(), filepath.Join(dir, "absent"), 1); err == nil {
		t.Error("an absent folder has a size")
	}
}

// Folders without end are refused before they take this process's memory.
func TestUsageOfTheDeep(t *testing.T) {
	dir := t.TempDir()
	below := func(depth int) {
		t.Helper()
		at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
		for range depth {
			if err == nil {
				err = unix.Mkdirat(at, "d", 0o755)
			}
			if errors.Is(err, unix.EEXIST) {
				err = nil
			}
			var next int
			if err == nil {
				next, err = unix.Openat(at, "d", unix.O_PATH|unix.O_DIRECTORY, 0)
			}
			unix.Close(at)
			at = next
		}
		unix.Close(at)
		if err != nil {
			t.Fatal(err)
		}
	}
	below(maxDepth)
	if _, err := Usage(t.Context(), dir, 1<<40); err != nil {
		t.Error(err)
	}
	below(maxDepth + 1)
	if n, err := Usage(t.Context(), dir, 1<<40); !errors.Is(err, ErrExhausted) {
		t.Errorf("%d, %v", n, err)
	}
}

// Folders that a command has closed to all count for their owner too, and keep their
// modes. Nothing is closed to root, so that root has nobody look.
func TestUsageOfTheClosed(t *testing.T) {
	dir, err := os.MkdirTemp("", "rb-usage-") // below t.TempDir only its owner gets
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if os.Getuid() == 0 {
		const nobody = 65534
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestUsageOfTheClosed$")
		cmd.Dir, cmd.Env = "/", append(os.Environ(), "TMPDIR="+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	outer, inner := filepath.Join(dir, "outer"), filepath.Join(dir, "outer/inner")
	for _, err := range []error{os.MkdirAll(inner, 0o700), os.WriteFile(filepath.Join(inner, "f"), bytes.Repeat([]byte("x"), 1<<20), 0o600),
		os.Chmod(inner, 0), os.Chmod(outer, 0o100)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Usage(t.Context(), dir, 1<<40); err != nil || got < 1<<20 {
		t.Errorf("%d, %v", got, err)
	}
	st, err := os.Stat(inner)
	if err != nil || st.Mode().Perm() != 0 {
		t.Errorf("the inner one has mode %v, %v", st.Mode(), err)
	}
	if st, err = os.Stat(outer); err != nil || st.Mode().Perm() != 0o100 {
		t.Errorf("the outer one has mode %v, %v", st.Mode(), err)
	}
	for _, p := range []string{outer, inner} {
		if err := os.Chmod(p, 0o700); err != nil {
			t.Error(err)
		}
	}
}

// A folder that is removed while it is looked at is no error: many programs make and
// remove folders all the time.
func TestUsageOfTheShortLived(t *testing.T) {
	dir := t.TempDir()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				name := filepath.Join(dir, strconv.Itoa(i)+"-"+strconv.Itoa(n%8))
				os.Mkdir(name, 0o755)
				os.Remove(name)
			}
		})
	}
	for range 3000 {
		if _, err := Usage(t.Context(), dir, 1<<40); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	wg.Wait()
}

// BenchmarkUsage is one look at a sandbox that has written 20,000 files.
func BenchmarkUsage(b *testing.B) {
	dir := b.TempDir()
	for i := range 200 {
		sub := filepath.Join(dir, strconv.Itoa(i))
		if err := os.Mkdir(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		for k := range 100 {
			if err := os.WriteFile(filepath.Join(sub, strconv.Itoa(k)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	for b.Loop() {
		if _, err := Usage(b.Context(), dir, 1<<40); err != nil {
			b.Fatal(err)
		}
	}
}
