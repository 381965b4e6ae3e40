package cli

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// sandboxFiles are the folders and owner files of local sandboxes, by name.
func (s *shop) sandboxFiles() []string {
	s.t.Helper()
	all, err := filepath.Glob(filepath.Join(s.home, "rollbench-*"))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range all {
		all[i] = filepath.Base(all[i])
	}
	return all
}

// leftNothing: no folder of a sandbox is left, nor a note of a container to come.
func (s *shop) leftNothing() {
	s.t.Helper()
	notes, err := filepath.Glob(filepath.Join(s.home, "pending", "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, name := range append(notes, s.sandboxFiles()...) {
		s.t.Errorf("left behind: %s", name)
	}
}

// remains is what a killed process left at first.
type remains struct {
	pid        string
	containers []string // ids
	local      []string // names
}

// ids that paths and command lines of what is left would hold.
func (r remains) ids() []string {
	ids := slices.Clone(r.containers)
	for _, name := range r.local {
		ids = append(ids, strings.TrimSuffix(name, ".owner"))
	}
	return ids
}

// remainsOf a process that was just killed; others are those of earlier ones.
func (s *shop) remainsOf(pid string, others []remains) remains {
	s.t.Helper()
	r := remains{pid: pid, containers: s.containersOf(pid)}
	for _, name := range s.sandboxFiles() {
		if !slices.ContainsFunc(others, func(o remains) bool { return slices.Contains(o.local, name) }) {
			r.local = append(r.local, name)
		}
	}
	return r
}

// containersOf a process: id, and in which state.
func (s *shop) containersOf(pid string) []string {
	s.t.Helper()
	out, err := exec.Command("docker", "ps", "-a", "--no-trunc", "--filter", "label=rollbench=1", "--format", `{{.ID}} {{.Label "rollbench.owner"}}`).Output()
	if err != nil {
		s.t.Fatal(err)
	}
	var ids []string
	for line := range strings.Lines(string(out)) {
		id, owner, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(owner, pid+"/") {
			ids = append(ids, id)
		}
	}
	return ids
}

// gone checks that nothing is left of dead processes: containers, folders,
// processes, mounts, groups.
func (s *shop) gone(dead []remains) {
	t := s.t
	t.Helper()
	var ids []string
	for _, r := range dead {
		if left := s.containersOf(r.pid); len(left) > 0 {
			t.Errorf("containers of process %s are left: %v; known right after the kill: %v", r.pid, left, r.containers)
		}
		if left := s.volumesOf(r.pid); len(left) > 0 {
			t.Errorf("volumes of process %s are left: %v", r.pid, left)
		}
		for _, name := range r.local {
			if _, err := os.Lstat(filepath.Join(s.home, name)); err == nil {
				t.Errorf("%s of process %s is left", name, r.pid)
			}
		}
		ids = append(ids, r.ids()...)
	}
	for _, p := range processesWith(ids) {
		t.Errorf("a process is left: %s", p)
	}
	for _, g := range groupsOf(ids) {
		t.Errorf("a control group is left: %s", g)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if strings.Contains(string(mounts), id) {
			t.Errorf("a mount of %s is left", id)
		}
	}
}

// processesWith words in their command line, program, groups, mounts or environment.
func processesWith(words []string) []string {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var found []string
	for _, dir := range all {
		if dir == "/proc/"+strconv.Itoa(os.Getpid()) {
			continue
		}
		exe, err := os.Readlink(dir + "/exe")
		if err != nil {
			continue // a thread of the kernel, or it has ended
		}
		text := exe
		for _, f := range []string{"cmdline", "cgroup", "mountinfo", "environ"} {
			b, _ := os.ReadFile(dir + "/" + f) // it may have ended
			text += "\n" + string(b)
		}
		for _, w := range words {
			if strings.Contains(text, w) {
				found = append(found, dir+" "+exe+" has "+w)
				break
			}
		}
	}
	return found
}

// groupsOf are control groups whose name holds one of the words.
func groupsOf(words []string) []string {
	var found []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // others come and go
		}
		for _, w := range words {
			if strings.Contains(d.Name(), w) {
				found = append(found, dir)
			}
		}
		return nil
	})
	return found
}

// networks of the engine that are not its own three, with our name.
func networks() ([]string, error) {
	out, err := exec.Command("docker", "network", "ls", "--format", "{{.Name}}").Output()
	if err != nil {
		return nil, err
	}
	var ours []string
	for name := range strings.Lines(string(out)) {
		if strings.Contains(name, "rollbench") {
			ours = append(ours, strings.TrimSpace(name))
		}
	}
	return ours, nil
}
