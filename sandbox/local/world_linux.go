package local

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"rollbench/sandbox"
)

// searchPath is where commands find programs.
const searchPath = "/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// systemDirs are shown read-only where this machine has them.
var systemDirs = []string{"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt", "nix"}

// systemFiles is the part of /etc that programs need and that holds no secret.
var systemFiles = []string{"alternatives", "ssl", "ca-certificates", "pki", "passwd", "group", "nsswitch.conf",
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "mime.types", "magic", "protocols",
	"services", "debian_version", "os-release", "python3", "perl", "java", "fonts"}

// world is the sandbox's folder and what is shown on top of it.
type world struct {
	root    string
	binds   []bind
	workdir string
}

// checkWorkdir says whether a folder of the sandbox's own can be there.
func checkWorkdir(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("workdir %q is not an absolute path", dir)
	}
	clean := filepath.Clean(dir)
	if clean == "/" {
		return errors.New("workdir / cannot be a local sandbox's: use a folder such as /workspace")
	}
	top, _, _ := strings.Cut(clean[1:], "/")
	switch top {
	case "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix", "etc", "proc", "dev", "sys":
		return fmt.Errorf("workdir %s lies in a system folder, which a local sandbox shows read-only: use docker", clean)
	}
	return nil
}

// newWorld lays the folder out. Nothing of this sandbox has run yet, but a folder
// that was filled from a snapshot may hold traps: see dir and file.
func newWorld(root, workdir string, network, filled bool, readOnly []string) (world, error) {
	w := world{root: root, workdir: filepath.Clean(workdir)}
	for _, dir := range []string{"proc", "dev", "etc", "tmp", "var/tmp", "run", "home", "root", w.workdir} {
		if err := w.dir(dir); err != nil {
			return w, err
		}
	}
	for _, dir := range []string{"tmp", "var/tmp"} {
		if filled {
			break
		}
		if err := os.Chmod(filepath.Join(root, dir), 0o777|fs.ModeSticky); err != nil {
			return w, err
		}
	}
	for _, dir := range systemDirs {
		if w.workdir == "/"+dir || strings.HasPrefix(w.workdir, "/"+dir+"/") {
			continue // /opt, when the workdir is there
		}
		if err := w.show("/" + dir); err != nil {
			return w, err
		}
	}
	files := systemFiles
	if network {
		files = append([]string{"resolv.conf"}, files...)
	}
	for _, name := range files {
		if err := w.show("/etc/" + name); err != nil {
			return w, err
		}
	}
	for _, dir := range readOnly {
		if err := w.show(filepath.Clean(dir)); err != nil {
			return w, err
		}
	}
	if filled {
		return w, nil
	}
	return w, os.WriteFile(filepath.Join(root, "etc/hosts"), []byte("127.0.0.1 localhost sandbox\n::1 localhost\n"), 0o644)
}

// mount plans to show a source at a target. Its place must be in the sandbox's own
// folder: what this machine shows there is read-only.
func (w *world) mount(m sandbox.Mount) error {
	for _, b := range w.binds {
		if sandbox.Within(m.Target, b.To) || sandbox.Within(b.To, m.Target) {
			return fmt.Errorf("%w mount %s:%s: %s is this machine's own, shown read-only: choose another target", errSpec, m.Source, m.Target, b.To)
		}
	}
	if sandbox.Within(w.workdir, m.Target) {
		return fmt.Errorf("%w mount %s:%s: the working directory %s would be read-only", errSpec, m.Source, m.Target, w.workdir)
	}
	if sandbox.Within(w.root, m.Source) {
		return fmt.Errorf("%w mount %s: it holds %s, where sandboxes live", errSpec, m.Source, w.root)
	}
	return w.place(m.Source, m.Target)
}

// show plans a read-only bind and makes its mount point. Symbolic links (/bin to
// usr/bin) are followed: a mount point cannot be removed, a link could.
func (w *world) show(path string) error {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	from := path
	if st.Mode()&fs.ModeSymlink != 0 {
		from, err = filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // dangling here, so missing there
		}
		if err != nil {
			return err
		}
	}
	if strings.HasPrefix(w.root, from+"/") {
		return fmt.Errorf("sandboxes live in %s, inside %s, which every sandbox sees: choose another home folder", w.root, from)
	}
	return w.place(from, path)
}

// place makes the mount point of a bind.
func (w *world) place(from, path string) error {
	st, err := os.Stat(from)
	if err != nil {
		return err
	}
	if st.IsDir() {
		err = w.dir(path)
	} else if err = w.dir(filepath.Dir(path)); err == nil {
		err = w.file(path)
	}
	if err != nil {
		return err
	}
	w.binds = append(w.binds, bind{From: from, To: path})
	return nil
}

// dir makes a folder of the sandbox with its parents. A link or a file in its way
// is an error: what this machine does there would be done somewhere else.
func (w *world) dir(path string) error {
	at := w.root
	for _, name := range strings.Split(filepath.Clean(path), "/") {
		at = filepath.Join(at, name)
		st, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			err = os.Mkdir(at, 0o755)
		} else if err == nil && !st.IsDir() {
			err = fmt.Errorf("%w folder %s: something else is in its place", errSpec, strings.TrimPrefix(at, w.root))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// file makes an empty file in a folder that dir has made.
func (w *world) file(path string) error {
	at := filepath.Join(w.root, path)
	if st, err := os.Lstat(at); err == nil {
		if st.IsDir() {
			return fmt.Errorf("%w file %s: a folder is in its place", errSpec, path)
		}
		if err := os.Remove(at); err != nil {
			return err
		}
	}
	return os.WriteFile(at, nil, 0o644)
}

// bwrapArgs is the command line that makes this world and runs the init in it.
func (w *world) bwrapArgs(bwrap string, network bool) ([]string, error) {
	args := []string{bwrap, "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts",
		"--uid", "0", "--gid", "0", "--hostname", "sandbox", "--new-session", "--as-pid-1", "--cap-drop", "ALL"}
	if !network {
		args = append(args, "--unshare-net")
	}
	args = append(args, "--bind", w.root, "/")
	for _, b := range w.binds {
		args = append(args, "--ro-bind", b.From, b.To)
	}
	args = append(args, "--dev", "/dev")
	if boundsShm() {
		// Files in memory count against the memory limit, where there is one, and are
		// not gone with the command that wrote them.
		args = append(args, "--perms", "1777", "--size", "67108864", "--tmpfs", "/dev/shm", "--remount-ro", "/dev")
	}
	args = append(args, "--proc", "/proc")
	names, err := machineProc()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		args = append(args, "--ro-bind", "/proc/"+name, "/proc/"+name)
	}
	return append(args, "--chdir", "/", "--", "/proc/self/fd/4", initName, stageServe), nil
}

// boundsShm says whether this machine's bubblewrap can limit a file system in
// memory, which it can since 0.6.
var boundsShm = sync.OnceValue(func() bool {
	out, err := exec.Command("bwrap", "--help").CombinedOutput()
	return err == nil && bytes.Contains(out, []byte("--size")) && bytes.Contains(out, []byte("--perms"))
})

// baseEnv is all that commands see of an environment: nothing of ours.
func baseEnv(prefix string, extra map[string]string) []string {
	env := map[string]string{"PATH": searchPath, "HOME": prefix + "/root", "LANG": "C.UTF-8", "TERM": "dumb", "USER": "root"}
	if prefix != "" {
		env["TMPDIR"] = prefix + "/tmp"
	}
	for k, v := range extra {
		env[k] = v
	}
	return environ(nil, env)
}
