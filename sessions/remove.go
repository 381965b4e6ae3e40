package sessions

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Remove a run's folder for good. A run that a living process writes is refused
// (ErrLocked), as is one whose folder has something mounted in it.
func Remove(ctx context.Context, home, id string) (err error) {
	dir := runDir(home, id)
	if !validID(id) {
		return fmt.Errorf("%w: %q", ErrNoRun, id)
	}
	if _, err := os.Lstat(dir); err != nil {
		return fmt.Errorf("remove run %s: %w", id, err)
	}
	lock, err := acquire(ctx, dir)
	if err != nil {
		return fmt.Errorf("remove run %s: %w", id, err)
	}
	defer lock.Close() // its file is gone by then
	if err := oneDevice(dir); err != nil {
		return fmt.Errorf("remove run %s: %w", id, err)
	}
	// It disappears at once: nobody ever sees half a run. Names with a dot are no runs.
	aside, err := os.MkdirTemp(filepath.Dir(dir), ".gone-*")
	if err != nil {
		return fmt.Errorf("remove run %s: %w", id, err)
	}
	if err := os.Rename(dir, filepath.Join(aside, id)); err != nil {
		os.Remove(aside)
		return fmt.Errorf("remove run %s: %w", id, err)
	}
	if err := os.RemoveAll(aside); err != nil {
		return fmt.Errorf("remove run %s: %w", id, err)
	}
	return nil
}

// oneDevice: all of the folder lies on the file system of the folder around it.
func oneDevice(dir string) error {
	want, err := device(filepath.Dir(dir))
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		got, err := device(path)
		if err == nil && got != want {
			err = fmt.Errorf("%s is another file system, mounted there: unmount it first", path)
		}
		return err
	})
}

func device(path string) (uint64, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%s: its file system cannot be told", path)
	}
	return uint64(st.Dev), nil
}
