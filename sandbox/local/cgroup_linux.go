package local

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cgroups are the groups that limit one sandbox. Machines have version 1, 2 or
// both at once with each controller in one of them.
type cgroups struct {
	dirs   []string
	tasks  []*os.File // of v1 groups, for the init's forking thread
	procs  []string   // of the v2 group, for the whole init
	parent string     // of the v2 group, "" without
	said   []string   // limits in force, in words
	short  []string   // limits that could not be set, in words
}

// hierarchy is where this process's own groups are.
type hierarchy struct {
	v1    map[string]string // folder of this process's group, by controller
	v2    string            // the same in version 2, "" without
	top   string            // where version 2 is mounted
	mkdir func(string, fs.FileMode) error
}

// groups reads the hierarchy from a process's folder in /proc: cgroup and mountinfo.
func groups(proc string) (hierarchy, error) {
	h := hierarchy{v1: map[string]string{}, mkdir: os.Mkdir}
	mounts, unified, err := cgroupMounts(filepath.Join(proc, "mountinfo"))
	if err != nil {
		return h, err
	}
	b, err := os.ReadFile(filepath.Join(proc, "cgroup"))
	if err != nil {
		return h, err
	}
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[0] == "0" && parts[1] == "" {
			if unified != "" {
				h.v2, h.top = filepath.Join(unified, parts[2]), unified
			}
			continue
		}
		for name := range strings.SplitSeq(parts[1], ",") {
			if at, ok := mounts[name]; ok {
				h.v1[name] = filepath.Join(at, parts[2])
			}
		}
	}
	return h, nil
}

// above are the folders from this process's own v2 group up to the top.
func (h hierarchy) above() []string {
	var all []string
	for dir := h.v2; h.v2 != ""; dir = filepath.Dir(dir) {
		all = append(all, dir)
		if dir == h.top || !strings.HasPrefix(dir, h.top+"/") {
			break
		}
	}
	return all
}

// passesOn says whether groups made in a v2 folder have the controller, after
// turning it on where that is allowed. It is not where processes are in the
// folder's own group, as this one is in the lowest.
func passesOn(dir, controller string) bool {
	on, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return false
	}
	if slices.Contains(strings.Fields(string(on)), controller) {
		return true
	}
	has, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil || !slices.Contains(strings.Fields(string(has)), controller) {
		return false
	}
	return writeExisting(filepath.Join(dir, "cgroup.subtree_control"), "+"+controller) == nil
}

// makeV2 makes the one group that a process can be in, in the lowest folder that
// passes a controller on.
func (h hierarchy) makeV2(id, controller string) (string, error) {
	for _, dir := range h.above() {
		if !passesOn(dir, controller) {
			continue
		}
		if err := h.mkdir(filepath.Join(dir, id), 0o755); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("no folder of groups that can be written has the controller")
}

// cgroupMounts finds where each v1 controller and the v2 hierarchy are mounted.
func cgroupMounts(mountinfo string) (v1 map[string]string, v2 string, err error) {
	f, err := os.Open(mountinfo)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	v1 = map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// … mount-point options … - type source super-options
		head, tail, ok := strings.Cut(lines.Text(), " - ")
		fields, kind := strings.Fields(head), strings.Fields(tail)
		if !ok || len(fields) < 5 || len(kind) < 3 {
			continue
		}
		switch kind[0] {
		case "cgroup2":
			v2 = fields[4]
		case "cgroup":
			for name := range strings.SplitSeq(kind[2], ",") {
				v1[name] = fields[4]
			}
		}
	}
	return v1, v2, lines.Err()
}

// initThreads is what the init's own threads may add to a count of processes.
const initThreads = 32

// countsByNamespace says whether RLIMIT_NPROC counts the processes of a user
// namespace alone (Linux 5.14) and binds at all (it never binds root).
func countsByNamespace() bool {
	var u unix.Utsname
	var major, minor int
	if err := unix.Uname(&u); err != nil || os.Getuid() == 0 {
		return false
	}
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 5 || major == 5 && minor >= 14
}

// limit is one number to set, in both versions' files.
type limit struct {
	controller, words string
	v1, v2            [][2]string // file, value
}

func limits(memoryMB, pids int, cpus float64) []limit {
	bytes := strconv.FormatInt(int64(memoryMB)<<20, 10)
	quota := strconv.Itoa(max(int(cpus*100000), 1000))
	return []limit{
		{"pids", fmt.Sprintf("pids %d", pids), [][2]string{{"pids.max", strconv.Itoa(pids)}},
			// In v2 the threads of the init are in the group too.
			[][2]string{{"pids.max", strconv.Itoa(pids + initThreads)}}},
		{"memory", fmt.Sprintf("memory %d MB", memoryMB), [][2]string{{"memory.limit_in_bytes", bytes}}, [][2]string{{"memory.max", bytes}}},
		{"cpu", fmt.Sprintf("cpus %g", cpus), [][2]string{{"cpu.cfs_period_us", "100000"}, {"cpu.cfs_quota_us", quota}},
			[][2]string{{"cpu.max", quota + " 100000"}}},
	}
}

// newCgroups makes what can be made; a limit that cannot be set is told, not
// an error, because most users may not write cgroups.
func newCgroups(h hierarchy, id string, memoryMB, pids int, cpus float64) cgroups {
	var g cgroups
	for _, l := range limits(memoryMB, pids, cpus) {
		set := g.setV2
		if h.v1[l.controller] != "" {
			set = g.setV1
		}
		if err := set(h, l, id); err != nil {
			g.short = append(g.short, l.controller)
			continue
		}
		g.said = append(g.said, l.words)
	}
	return g
}

func (g *cgroups) setV1(h hierarchy, l limit, id string) error {
	dir := filepath.Join(h.v1[l.controller], id)
	if !slices.Contains(g.dirs, dir) {
		if err := h.mkdir(dir, 0o755); err != nil {
			return err
		}
		g.dirs = append(g.dirs, dir)
	}
	if err := writeAll(dir, l.v1); err != nil {
		return err
	}
	tasks, err := os.OpenFile(filepath.Join(dir, "tasks"), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	g.tasks = append(g.tasks, tasks)
	return nil
}

// setV2 sets a limit in the group that the first of them has made.
func (g *cgroups) setV2(h hierarchy, l limit, id string) error {
	if g.parent == "" {
		parent, err := h.makeV2(id, l.controller)
		if err != nil {
			return err
		}
		dir := filepath.Join(parent, id)
		g.parent, g.dirs = parent, append(g.dirs, dir)
		g.procs = append(g.procs, filepath.Join(dir, "cgroup.procs"))
	} else if !passesOn(g.parent, l.controller) {
		return errors.New("the group does not have the controller")
	}
	return writeAll(filepath.Join(g.parent, id), l.v2)
}

func writeAll(dir string, files [][2]string) error {
	for _, f := range files {
		// Never create: a missing file means that the controller is not on.
		if err := writeExisting(filepath.Join(dir, f[0]), f[1]); err != nil {
			return err
		}
	}
	return nil
}

func writeExisting(name, value string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// admit moves a process that waits for its configuration into the v2 groups.
func (g *cgroups) admit(pid int) error {
	for _, name := range g.procs {
		if err := writeExisting(name, strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("limit sandbox: %w", err)
		}
	}
	return nil
}

// remove takes the groups away. The kernel lets go of dead processes with a
// delay, hence the tries.
func (g *cgroups) remove() error {
	closeAll(g.tasks)
	g.tasks = nil
	var errs []error
	for _, dir := range g.dirs {
		errs = append(errs, removeGroup(dir))
	}
	return errors.Join(errs...)
}

func removeGroup(dir string) error {
	for try := 0; ; try++ {
		err := syscall.Rmdir(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || try == 50 {
			return &os.PathError{Op: "rmdir", Path: dir, Err: err}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// places are the folders that newCgroups may make for id.
func (h hierarchy) places(id string) []string {
	var dirs []string
	for _, parent := range append(h.above(), h.v1["pids"], h.v1["memory"], h.v1["cpu"]) {
		if dir := filepath.Join(parent, id); parent != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// groupLine begins the lines of an owner file that name such folders. The next start
// may be in other groups, as another login is, and would not look there.
const groupLine = "group "

// removeLeft removes a group that an owner file names, if it is one of that sandbox.
func removeLeft(dir, id string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); errors.Is(err, unix.ENOENT) {
		return nil
	} else if err != nil {
		return &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if filepath.Base(dir) != id || fs.Type != unix.CGROUP_SUPER_MAGIC && fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return fmt.Errorf("%s is no control group of %s", dir, id)
	}
	return removeGroup(dir)
}
