//go:build linux

package local

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// v2 is a hierarchy of version 2 made of plain files: a new group gets the files
// that the kernel would give it.
type v2 struct {
	t    *testing.T
	root string
	proc string
}

func newV2(t *testing.T, own string) v2 {
	v := v2{t: t, root: t.TempDir(), proc: t.TempDir()}
	v.write(filepath.Join(v.proc, "cgroup"), "0::"+own+"\n")
	v.write(filepath.Join(v.proc, "mountinfo"), "24 1 0:21 / /proc rw - proc proc rw\n"+
		fmt.Sprintf("33 24 0:28 / %s rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n", v.root))
	return v
}

func (v v2) write(name, text string) {
	v.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		v.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		v.t.Fatal(err)
	}
}

func (v v2) read(name string) string {
	v.t.Helper()
	b, err := os.ReadFile(filepath.Join(v.root, name))
	if err != nil {
		v.t.Fatal(err)
	}
	return string(b)
}

// group makes a group; passes are the controllers of its children. A folder in the
// place of cgroup.subtree_control refuses to be written, as the kernel does (EBUSY)
// where processes are in the group.
func (v v2) group(name, controllers, passes string, busy bool) {
	dir := filepath.Join(v.root, name)
	v.write(filepath.Join(dir, "cgroup.controllers"), controllers+"\n")
	v.write(filepath.Join(dir, "cgroup.procs"), "")
	if busy {
		if err := os.Mkdir(filepath.Join(dir, "cgroup.subtree_control"), 0o755); err != nil {
			v.t.Fatal(err)
		}
		return
	}
	v.write(filepath.Join(dir, "cgroup.subtree_control"), passes+"\n")
}

func (v v2) hierarchy() hierarchy {
	v.t.Helper()
	h, err := groups(v.proc)
	if err != nil {
		v.t.Fatal(err)
	}
	h.mkdir = func(dir string, perm fs.FileMode) error {
		if err := os.Mkdir(dir, perm); err != nil {
			return err
		}
		on, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control"))
		if err != nil {
			return err
		}
		for _, c := range strings.Fields(string(on)) {
			v.write(filepath.Join(dir, strings.TrimPrefix(c, "+")+".max"), "")
		}
		v.write(filepath.Join(dir, "cgroup.procs"), "")
		return nil
	}
	return h
}

// A session of systemd as root: the own group has processes and passes nothing on,
// the slice above passes all on.
func TestV2GroupAboveTheSession(t *testing.T) {
	v := newV2(t, "/user.slice/session-1.scope")
	v.group("", "cpu io memory pids", "cpu io memory pids", false)
	v.group("user.slice", "cpu memory pids", "cpu memory pids", false)
	v.group("user.slice/session-1.scope", "cpu memory pids", "", true)
	g := newCgroups(v.hierarchy(), "rollbench-x", 256, 64, 0.5)
	if want := []string{"pids 64", "memory 256 MB", "cpus 0.5"}; !slices.Equal(g.said, want) || len(g.short) != 0 {
		t.Fatalf("said %q, short %q", g.said, g.short)
	}
	if err := g.admit(4711); err != nil {
		t.Fatal(err)
	}
	const at = "user.slice/rollbench-x/"
	// 64 and the init's 32 threads; 256 MB; half of each 100 ms.
	for name, want := range map[string]string{"pids.max": "96", "memory.max": "268435456", "cpu.max": "50000 100000", "cgroup.procs": "4711"} {
		if got := v.read(at + name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if len(g.dirs) != 1 || len(g.tasks) != 0 {
		t.Errorf("folders %v, v1 tasks %v", g.dirs, g.tasks)
	}
}

// A controller that the folder has and does not pass on is turned on.
func TestV2TurnsControllersOn(t *testing.T) {
	v := newV2(t, "/app.slice/app.scope")
	v.group("", "", "", false)
	v.group("app.slice", "memory pids", "", false)
	v.group("app.slice/app.scope", "memory pids", "", true)
	g := newCgroups(v.hierarchy(), "rollbench-x", 256, 64, 1)
	// The plain file holds the last thing written: memory, after pids.
	if got := v.read("app.slice/cgroup.subtree_control"); !strings.HasPrefix(got, "+memory") {
		t.Errorf("turned on: %q", got)
	}
	if !slices.Contains(g.said, "pids 64") || !slices.Contains(g.short, "cpu") {
		t.Errorf("said %q, short %q", g.said, g.short)
	}
}

// A container that sees its own group as the top, with its processes in it: nothing
// can be limited, and that is said.
func TestV2NothingToWrite(t *testing.T) {
	v := newV2(t, "/")
	v.group("", "cpu memory pids", "", true)
	g := newCgroups(v.hierarchy(), "rollbench-x", 256, 64, 1)
	if want := []string{"pids", "memory", "cpu"}; !slices.Equal(g.short, want) || len(g.said)+len(g.dirs)+len(g.procs) != 0 {
		t.Errorf("%+v", g)
	}
	b := &folder{level: Namespaces, groups: g}
	if got := b.Isolation(); !strings.HasSuffix(got, "not limited: pids, memory, cpu (no writable cgroup)") {
		t.Error(got)
	}
}

// Both versions at once, each controller in one of them.
func TestHybridHierarchy(t *testing.T) {
	v := newV2(t, "/")
	pids := t.TempDir()
	v.write(filepath.Join(v.proc, "mountinfo"), fmt.Sprintf("33 24 0:28 / %s rw - cgroup2 none rw\n34 24 0:29 / %s rw - cgroup cgroup rw,pids\n", v.root, pids))
	v.write(filepath.Join(v.proc, "cgroup"), "8:pids:/a\n4:memory:/gone\n0::/b\n")
	h, err := groups(v.proc)
	if err != nil || h.v1["pids"] != pids+"/a" || h.v1["memory"] != "" || h.v2 != v.root+"/b" || h.top != v.root {
		t.Errorf("%+v, %v", h, err)
	}
	if got := h.above(); !slices.Equal(got, []string{v.root + "/b", v.root}) {
		t.Errorf("above: %v", got)
	}
}

// The least of the machine's memory and the limits of the groups this process is in.
func TestMachineMB(t *testing.T) {
	v := newV2(t, "/a/b")
	meminfo := filepath.Join(t.TempDir(), "meminfo")
	v.write(meminfo, "MemTotal:       24684216 kB\nMemFree:        1 kB\n")
	if got := machineMB(meminfo, v.proc); got != 24105 { // 24684216 / 1024
		t.Errorf("%d", got)
	}
	v.write(filepath.Join(v.root, "a/b/memory.max"), "max\n")
	v.write(filepath.Join(v.root, "a/memory.max"), "8589934592\n")
	if got := machineMB(meminfo, v.proc); got != 8192 {
		t.Errorf("%d under a limit of the group above", got)
	}
	if got := machineMB(meminfo+"-none", v.proc); got != 0 {
		t.Errorf("%d of a machine that says nothing", got)
	}
}
