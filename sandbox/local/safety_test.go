//go:build linux

package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"rollbench/sandbox"
)

// A folder of a sandbox is removed below home only: not what a link in its place
// points to, and not what is mounted in it.
func TestRemovesUnderHomeOnly(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	kept := filepath.Join(other, "kept")
	write := func(name string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write(kept)
	if err := os.Symlink(other, filepath.Join(home, "rollbench-link")); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(home, "rollbench-x", "root", "f"))
	if err := os.Symlink(other, filepath.Join(home, "rollbench-x", "root", "l")); err != nil {
		t.Fatal(err)
	}
	if err := removeTree(home, "rollbench-link"); err == nil {
		t.Error("a link in the place of a folder was removed as one")
	}
	if err := removeTree(home, "rollbench-x"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(home, "rollbench-x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
}

func TestRemovesNoMount(t *testing.T) {
	home := t.TempDir()
	at := filepath.Join(home, "rollbench-x", "root", "mnt")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mount: %v", err)
	}
	defer func() {
		if err := unix.Unmount(at, 0); err != nil {
			t.Error(err)
		}
	}()
	kept := filepath.Join(at, "kept")
	if err := os.WriteFile(kept, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := removeTree(home, "rollbench-x"); err == nil || !strings.Contains(err.Error(), "is a mount of its own") {
		t.Errorf("removed: %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}

// What an owner file names is killed only if it is that process still: its start
// time is looked at right before.
func TestKillsOnlyThatProcess(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	start, err := sandbox.StartTime(pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []Level{Namespaces, Bubblewrap, None} {
		if err := killLeft(fmt.Sprintf("%d/%d %s", pid, start-1, level)); err != nil {
			t.Error(err)
		}
	}
	for _, line := range []string{"1/1 namespaces", "0/1 none", "-1/5 bubblewrap", "x"} {
		if err := killLeft(line); err == nil || !strings.Contains(err.Error(), "bad init line") {
			t.Errorf("%q: %v", line, err)
		}
	}
	if err := killInit(1, 0, None); err == nil {
		t.Error("pid 1 may be killed")
	}
	// In another pid namespace than the sandbox's it is another process.
	if err := killInit(pid, 1, Namespaces); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the process: %v", err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// Only folders with our name and an owner file that can be read, of a dead process
// of this machine, boot and pid namespace, are removed.
func TestReapsOnlyWhatIsDead(t *testing.T) {
	p := provider(t, Namespaces)
	here := p.owner
	dead := here
	dead.Start-- // the pid lives, as another process
	changed := func(change func(*sandbox.Owner)) sandbox.Owner { o := dead; change(&o); return o }
	for name, owner := range map[string]string{
		"rollbench-living":  here.String(),
		"rollbench-boot":    changed(func(o *sandbox.Owner) { o.Boot = "another" }).String(),
		"rollbench-machine": changed(func(o *sandbox.Owner) { o.Machine = "another" }).String(),
		"rollbench-ns":      changed(func(o *sandbox.Owner) { o.PidNS = "1" }).String(),
		"someone-elses":     dead.String(),
		"rollbench-bad":     "what is this",
		"rollbench-dead":    dead.String(),
	} {
		dir := filepath.Join(p.opt.Home, name)
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "root"), 0o755), os.WriteFile(dir+".owner", []byte(owner+"\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := p.Reap(t.Context())
	if len(removed) != 1 || removed[0] != "local sandbox rollbench-dead" {
		t.Errorf("removed %q", removed)
	}
	if err == nil || !strings.Contains(err.Error(), "rollbench-bad") {
		t.Errorf("an owner file that cannot be read is not told: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(p.opt.Home, "*"))
	if err != nil || len(left) != 12 {
		t.Errorf("left %v, %v", left, err)
	}
	for _, f := range left { // this test's own, by full name
		if err := os.RemoveAll(f); err != nil {
			t.Error(err)
		}
	}
}

// What files take, worked out by hand: blocks of 4 KiB or what the file system
// gives, so between the bytes written and twice as much.
func TestDiskUse(t *testing.T) {
	dir := t.TempDir()
	base, err := sandbox.Usage(t.Context(), dir, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, size int) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, make([]byte, size), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	grew := func(what string, least, most int64) {
		t.Helper()
		now, err := sandbox.Usage(t.Context(), dir, 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		if n := now - base; n < least || n > most {
			t.Errorf("%s: %d bytes, want %d to %d", what, n, least, most)
		}
		base = now
	}
	file("a/b/c", 1<<20)
	grew("a file", 1<<20, 1<<20+64<<10)
	if err := os.Link(filepath.Join(dir, "a/b/c"), filepath.Join(dir, "twin")); err != nil {
		t.Fatal(err)
	}
	grew("a second name", 0, 8<<10)
	if err := os.Symlink("/usr", filepath.Join(dir, "usr")); err != nil {
		t.Fatal(err)
	}
	grew("a link", 0, 8<<10)
	if err := os.Truncate(filepath.Join(dir, "sparse"), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	file("sparse", 0)
	if err := os.Truncate(filepath.Join(dir, "sparse"), 1<<30); err != nil {
		t.Fatal(err)
	}
	grew("a hole of 1 GB", 0, 8<<10)
	file("locked/f", 1<<20)
	if err := os.Chmod(filepath.Join(dir, "locked"), 0); err != nil {
		t.Fatal(err)
	}
	grew("a folder that nobody may read", 1<<20, 1<<20+64<<10)
	if st, err := os.Stat(filepath.Join(dir, "locked")); err != nil || st.Mode().Perm() != 0 {
		t.Errorf("its mode became %v, %v", st, err)
	}
	if err := os.Chmod(filepath.Join(dir, "locked"), 0o700); err != nil {
		t.Fatal(err)
	}
	file(strings.Repeat("d/", 500)+"f", 1<<20)
	grew("500 folders deep", 1<<20, 1<<20+500*64<<10)
}

// A process that was making a sandbox when its owner died is ended with what it had
// started.
func TestReapsWhatIsBeingMade(t *testing.T) {
	p := provider(t, Namespaces)
	cmd := exec.Command("sh", "-c", "sleep 987 & echo $!; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var child int
	if _, err := fmt.Fscan(out, &child); err != nil {
		t.Fatal(err)
	}
	start, err := sandbox.StartTime(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	owner := p.owner
	owner.Start--
	file := filepath.Join(p.opt.Home, "rollbench-x.owner")
	if err := os.WriteFile(file, []byte(fmt.Sprintf("%s\n%d/%d %s\n", owner, cmd.Process.Pid, start, starting)), 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // or it would stay as a zombie
	removed, err := p.Reap(t.Context())
	if err != nil || len(removed) != 1 {
		t.Errorf("%q, %v", removed, err)
	}
	<-ended
	if _, err := sandbox.StartTime(child); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its child: %v", err)
	}
}
