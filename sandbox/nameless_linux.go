package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Nameless is what files take, in bytes, that have no name any more and that processes
// of the same pid namespace as pid hold open, on the file system of that process's
// root. A file that is only mapped is not seen.
func Nameless(pid int) (int64, error) {
	base := "/proc/" + strconv.Itoa(pid)
	space, err := os.Readlink(base + "/ns/pid")
	if err != nil {
		return 0, fmt.Errorf("find files without a name: %w", err)
	}
	var root unix.Stat_t
	if err := unix.Stat(base+"/root/", &root); err != nil {
		return 0, &os.PathError{Op: "stat", Path: base + "/root", Err: err}
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0, fmt.Errorf("find files without a name: %w", err)
	}
	seen := map[uint64]bool{} // by inode
	total := int64(0)
	for _, name := range names {
		if _, err := strconv.Atoi(name); err != nil {
			continue
		}
		if its, err := os.Readlink("/proc/" + name + "/ns/pid"); err != nil || its != space {
			continue // it has ended, or is another's
		}
		total += held("/proc/"+name+"/fd", root.Dev, seen)
	}
	return total, nil
}

// held is what the files of one process take that have no name and were not seen yet.
func held(folder string, dev uint64, seen map[uint64]bool) (total int64) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return 0 // it has ended, or hides
	}
	for _, e := range entries {
		name := folder + "/" + e.Name()
		// Most descriptors are pipes and files with a name.
		if to, err := os.Readlink(name); err != nil || !strings.HasSuffix(to, " (deleted)") {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(name, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Dev != dev || seen[st.Ino] {
			continue
		}
		seen[st.Ino] = true
		total += st.Blocks * 512
	}
	return total
}
