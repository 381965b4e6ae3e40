//go:build linux

package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"rollbench/sandbox"
)

// Reap removes what a dead owner of this machine, boot and pid namespace left, and
// nothing else: no other process, nothing outside its home, nothing in a mount.
func TestReapOnlyWhatIsLeft(t *testing.T) {
	home, outside := t.TempDir(), t.TempDir()
	p, err := New(Options{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gone := p.owner
	gone.Start-- // the pid lives, but as another process
	nap := exec.Command("sleep", "600")
	if err := nap.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { nap.Process.Kill(); nap.Wait() }()
	start, err := sandbox.StartTime(nap.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	left := func(id string, o sandbox.Owner, init string) {
		t.Helper()
		put(filepath.Join(home, id, "root/f"), id)
		put(filepath.Join(home, id+".owner"), o.String()+"\n"+init+"\n")
	}
	napping := fmt.Sprintf("%d/%d %s", nap.Process.Pid, start, Bubblewrap)
	left("rollbench-dead", gone, "")
	left("rollbench-reused", gone, fmt.Sprintf("%d/%d %s", nap.Process.Pid, start-1, Bubblewrap))
	left("rollbench-living", p.owner, napping)
	for name, change := range map[string]func(*sandbox.Owner){
		"boot": func(o *sandbox.Owner) { o.Boot = "x" }, "machine": func(o *sandbox.Owner) { o.Machine = "x" }, "ns": func(o *sandbox.Owner) { o.PidNS = "1" },
	} {
		far := gone
		change(&far)
		left("rollbench-far-"+name, far, napping)
	}
	one, err := sandbox.StartTime(1)
	if err != nil {
		t.Fatal(err)
	}
	left("rollbench-one", gone, fmt.Sprintf("1/%d %s", one, Bubblewrap))
	left("rollbench-zero", gone, "0/1 none")
	left("rollbench-torn", gone, "12")
	left("another", gone, "")
	put(filepath.Join(outside, "precious"), "x")
	put(filepath.Join(home, "rollbench-link.owner"), gone.String()+"\n")
	put(filepath.Join(outside, "owner"), gone.String()+"\n")
	left("rollbench-inner", gone, "")
	for link, to := range map[string]string{"rollbench-link": outside, "rollbench-linked.owner": filepath.Join(outside, "owner"), "rollbench-inner/root/out": outside} {
		if err := os.Symlink(to, filepath.Join(home, link)); err != nil {
			t.Fatal(err)
		}
	}
	left("rollbench-mounted", gone, "")
	mounted := filepath.Join(home, "rollbench-mounted/root/m")
	if err := os.Mkdir(mounted, 0o755); err != nil {
		t.Fatal(err)
	}
	canMount := unix.Mount("tmpfs", mounted, "tmpfs", 0, "size=64k") == nil
	if canMount {
		defer unix.Unmount(mounted, unix.MNT_DETACH)
		put(filepath.Join(mounted, "kept"), "x")
	}
	removed, err := p.Reap(t.Context())
	for _, id := range []string{"rollbench-one", "rollbench-zero", "rollbench-torn", "rollbench-link"} {
		if err == nil || !strings.Contains(err.Error(), "reap "+id) {
			t.Errorf("no word of %s: %v", id, err)
		}
	}
	want := []string{"rollbench-dead", "rollbench-inner", "rollbench-reused"}
	if !canMount {
		want = []string{"rollbench-dead", "rollbench-inner", "rollbench-mounted", "rollbench-reused"}
	}
	var ids []string
	for _, name := range removed {
		ids = append(ids, strings.TrimPrefix(name, "local sandbox "))
	}
	if !slices.Equal(ids, want) {
		t.Errorf("removed %q, want %q", ids, want)
	}
	for _, id := range want {
		if _, err := os.Lstat(filepath.Join(home, id)); err == nil {
			t.Errorf("%s is still there", id)
		}
	}
	for _, name := range []string{"rollbench-living/root/f", "rollbench-far-boot/root/f", "rollbench-far-machine/root/f", "rollbench-far-ns/root/f", "rollbench-one/root/f",
		"rollbench-zero/root/f", "rollbench-torn/root/f", "another/root/f", "another.owner", "rollbench-linked.owner"} {
		if _, err := os.Lstat(filepath.Join(home, name)); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{filepath.Join(outside, "precious"), filepath.Join(outside, "owner")} {
		if _, err := os.Lstat(name); err != nil {
			t.Error(err)
		}
	}
	if canMount {
		if _, err := os.Lstat(filepath.Join(mounted, "kept")); err != nil {
			t.Error(err)
		}
	}
	if err := nap.Process.Signal(unix.Signal(0)); err != nil {
		t.Errorf("a stranger was killed: %v", err)
	}
	if got, err := sandbox.StartTime(nap.Process.Pid); err != nil || got != start {
		t.Errorf("a stranger was killed: %v", err)
	}
}
