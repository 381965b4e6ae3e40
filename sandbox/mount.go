package sandbox

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Mount shows Source, a folder or file of the machine, at Target. It is always
// read-only, and file systems mounted below Source are not shown with it.
type Mount struct{ Source, Target string }

// ParseMounts reads SOURCE:TARGET, and refuses what no machine may show.
func ParseMounts(all []string) ([]Mount, error) {
	var mounts []Mount
	for _, text := range all {
		source, target, ok := strings.Cut(text, ":")
		if !ok || strings.Contains(target, ":") {
			return nil, fmt.Errorf("%q: write SOURCE:TARGET, such as /data/models:/models", text)
		}
		m := Mount{path.Clean(source), path.Clean(target)}
		if err := m.Check(); err != nil {
			return nil, err
		}
		for _, other := range mounts {
			if other.Target == m.Target {
				return nil, fmt.Errorf("%s and %s are both to be shown at %s", other.Source, m.Source, m.Target)
			}
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// Check refuses paths that no machine may show, by their names.
func (m Mount) Check() error {
	switch {
	case !path.IsAbs(m.Source) || !path.IsAbs(m.Target):
		return fmt.Errorf("%s:%s: both must be absolute paths", m.Source, m.Target)
	case m.Target == "/" || Within(m.Target, "/proc", "/sys", "/dev"):
		return fmt.Errorf("nothing can be shown at %s", m.Target)
	}
	return showable(m.Source)
}

// kernelDirs hold the machine itself: its processes, switches, devices and
// sockets.
var kernelDirs = []string{"/proc", "/sys", "/dev", "/run", "/var/run"}

func showable(source string) error {
	switch {
	case source == "/" || source == "/var" && !isLink("/var/run"):
		return fmt.Errorf("%s cannot be shown in a sandbox: it holds everything, name the folder that is needed", source)
	case Within(source, kernelDirs...):
		return fmt.Errorf("%s cannot be shown in a sandbox: it gives a way out of it", source)
	}
	return nil
}

func isLink(name string) bool {
	st, err := os.Lstat(name)
	return err == nil && st.Mode()&os.ModeSymlink != 0
}

// Within says whether a clean path is one of the folders or below one.
func Within(p string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
	})
}

// CheckMounts looks, on the machine whose paths they are, at what the sources
// really are, and returns the mounts with those. None may be, or hold, one of the
// sockets.
func CheckMounts(mounts []Mount, sockets ...string) ([]Mount, error) {
	out := make([]Mount, len(mounts))
	for i, m := range mounts {
		if err := m.Check(); err != nil {
			return nil, fmt.Errorf("mount %w", err)
		}
		source, err := filepath.EvalSymlinks(m.Source)
		if err != nil {
			return nil, fmt.Errorf("mount %s: %w: make it, or correct sandbox.mounts", m.Source, err)
		}
		if err := showable(source); err != nil {
			return nil, fmt.Errorf("mount %s: %w", m.Source, err)
		}
		st, err := os.Stat(source)
		if err != nil {
			return nil, fmt.Errorf("mount %s: %w", m.Source, err)
		}
		if !st.IsDir() && !st.Mode().IsRegular() {
			return nil, fmt.Errorf("mount %s: it is neither a folder nor a file: a socket or device gives a way out of the sandbox", m.Source)
		}
		for _, s := range sockets {
			if real, err := filepath.EvalSymlinks(s); err == nil {
				s = real
			}
			if Within(s, source) {
				return nil, fmt.Errorf("mount %s: it holds the engine's socket %s, by which a sandbox could open any other", m.Source, s)
			}
		}
		out[i] = Mount{source, m.Target}
	}
	return out, nil
}
