package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// makeWorld builds what bubblewrap would: the sandbox's folder as root, the
// machine's programs read-only on top, its own /proc and /dev. It runs in fresh
// namespaces, before anything of the sandbox does, so the folder is still ours.
func makeWorld(cfg config) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount(cfg.Root, cfg.Root, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", cfg.Root, err)
	}
	if err := setAttr(cfg.Root, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
		return err
	}
	for _, b := range cfg.Binds {
		if err := bindReadOnly(b.From, filepath.Join(cfg.Root, b.To)); err != nil {
			return err
		}
	}
	if err := makeDev(filepath.Join(cfg.Root, "dev")); err != nil {
		return err
	}
	if err := makeProc(filepath.Join(cfg.Root, "proc")); err != nil {
		return err
	}
	if err := os.Chdir(cfg.Root); err != nil {
		return err
	}
	// The old root is stacked below the new one and then taken off.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	if cfg.Network {
		return nil
	}
	return loopbackUp()
}

func setAttr(path string, attr uint64) error {
	err := unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attr})
	if err != nil {
		return fmt.Errorf("restrict mount %s: %w", path, err)
	}
	return nil
}

func bindReadOnly(from, to string) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s: %w", from, err)
	}
	return setAttr(to, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID)
}

// makeDev fills /dev with the devices that programs cannot do without.
func makeDev(dev string) error {
	if err := unix.Mount("tmpfs", dev, "tmpfs", unix.MS_NOSUID, "mode=755,size=64k"); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		to := filepath.Join(dev, name)
		if err := os.WriteFile(to, nil, 0o666); err != nil {
			return err
		}
		if err := unix.Mount("/dev/"+name, to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind /dev/%s: %w", name, err)
		}
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0",
		"stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(target, filepath.Join(dev, name)); err != nil {
			return err
		}
	}
	for _, m := range []struct{ name, kind, data string }{
		{"pts", "devpts", "newinstance,ptmxmode=0666,mode=620"},
		{"shm", "tmpfs", "mode=1777,size=64m"},
	} {
		to := filepath.Join(dev, m.name)
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, to, m.kind, unix.MS_NOSUID|unix.MS_NOEXEC, m.data); err != nil {
			return fmt.Errorf("mount /dev/%s: %w", m.name, err)
		}
	}
	return nil
}

// makeProc mounts a /proc whose switches of the whole machine are read-only:
// a process of uid 0 may write them without any capability.
func makeProc(proc string) error {
	if err := unix.Mount("proc", proc, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	names, err := machineProc()
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(proc, name)
		if err := bindReadOnly(path, path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// machineProc names what in /proc belongs to the whole machine and can be
// written: every folder and writable file that is not a process. A sandbox's
// uid 0 is this machine's user, so with root as that user the kernel would let
// it write there without any capability, in a user namespace too.
func machineProc() ([]string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil {
			continue
		}
		st, err := e.Info()
		if err != nil {
			continue // a process that has ended
		}
		if st.IsDir() || st.Mode().IsRegular() && st.Mode().Perm()&0o222 != 0 {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// loopbackUp brings lo up in a fresh network namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("bring up loopback: %w", err)
	}
	return nil
}
