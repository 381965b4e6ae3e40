package sandbox

import (
	"fmt"
	"iter"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Nameless is what files take, in bytes, that have no name any more and that
// processes hold open, on the file system of root. A file that is mapped into memory
// and has no descriptor is not seen, nor are processes that hide.
func Nameless(pids iter.Seq[int], root string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(root, &fs); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: root, Err: err}
	}
	type inode struct{ dev, ino uint64 }
	seen := map[inode]bool{}
	total := int64(0)
	for pid := range pids {
		folder := "/proc/" + strconv.Itoa(pid) + "/fd"
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // it has ended, or hides
		}
		for _, e := range entries {
			name := folder + "/" + e.Name()
			// Most descriptors are pipes and files with a name.
			if to, err := os.Readlink(name); err != nil || !strings.HasSuffix(to, " (deleted)") {
				continue
			}
			var st unix.Stat_t
			var its unix.Statfs_t
			if unix.Stat(name, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || seen[inode{st.Dev, st.Ino}] ||
				unix.Statfs(name, &its) != nil || its.Type != fs.Type || its.Fsid != fs.Fsid {
				continue
			}
			seen[inode{st.Dev, st.Ino}] = true
			total += st.Blocks * 512
		}
	}
	return total, nil
}

// Pids are the processes that /proc lists.
func Pids() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	return all, nil
}
