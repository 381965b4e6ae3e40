package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Options of loading. The zero value is fine.
type Options struct {
	// BuildArgs are given to every Dockerfile build and are part of the image's tag.
	BuildArgs map[string]string
	// Getenv answers ${VAR} of task.toml; nil means os.LookupEnv.
	Getenv func(string) (string, bool)
}

func merge(opts []Options) Options {
	var o Options
	for _, one := range opts {
		if one.BuildArgs != nil {
			o.BuildArgs = one.BuildArgs
		}
		if one.Getenv != nil {
			o.Getenv = one.Getenv
		}
	}
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	return o
}

// Load reads instances from a Harbor task folder, a directory of them (one or
// two levels down) or a SWE-bench-style .jsonl or .json file. Which one it is
// is found by looking.
func Load(path string, opts ...Options) ([]Instance, error) {
	o := merge(opts)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("load tasks %s: no such file or folder; give a Harbor task, a folder of them or a .jsonl file", path)
	case err != nil:
		return nil, fmt.Errorf("load tasks %s: %w", path, err)
	}
	var ins []Instance
	if info.IsDir() {
		ins, err = loadFolder(path, o)
	} else {
		ins, err = loadRows(path)
	}
	if err != nil {
		return nil, fmt.Errorf("load tasks %s: %w", path, err)
	}
	if err := checkIDs(ins); err != nil {
		return nil, fmt.Errorf("load tasks %s: %w", path, err)
	}
	return ins, nil
}

func loadFolder(path string, o Options) ([]Instance, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	dirs, err := taskDirs(os.DirFS(abs))
	if err != nil {
		return nil, err
	}
	var ins []Instance
	for _, dir := range dirs {
		full := filepath.Join(abs, filepath.FromSlash(dir))
		in, err := loadHarbor(os.DirFS(full), filepath.Base(full), full, o)
		if err != nil {
			if dir != "." {
				err = fmt.Errorf("%s: %w", dir, err)
			}
			return nil, err
		}
		ins = append(ins, in)
	}
	return ins, nil
}

// taskDirs finds the folders with a task.toml: the root, else those one level
// down, else two.
func taskDirs(root fs.FS) ([]string, error) {
	for _, pattern := range []string{"task.toml", "*/task.toml", "*/*/task.toml"} {
		found, err := fs.Glob(root, pattern)
		if err != nil {
			return nil, err
		}
		var dirs []string
		for _, file := range found {
			dir := strings.TrimSuffix(strings.TrimSuffix(file, "task.toml"), "/")
			if dir == "" {
				dir = "."
			}
			if dir == "." || !strings.HasPrefix(dir, ".") && !strings.Contains(dir, "/.") {
				dirs = append(dirs, dir)
			}
		}
		if len(dirs) > 0 {
			slices.Sort(dirs)
			return dirs, nil
		}
	}
	return nil, errors.New("no task.toml in it or up to two folders down; give a Harbor task, a folder of them, or a SWE-bench .jsonl file")
}

// checkIDs refuses ids that repeat or that would break names made of them.
func checkIDs(ins []Instance) error {
	seen := map[string]string{}
	for i := range ins {
		in := &ins[i]
		bad := strings.IndexFunc(in.ID, func(r rune) bool {
			return r == '/' || r == '#' || unicode.IsSpace(r) || !unicode.IsPrint(r)
		})
		if in.ID == "" || bad >= 0 {
			return fmt.Errorf("%s: id %q may not be empty nor hold spaces, / or #; rename it", in.Origin, in.ID)
		}
		if first, twice := seen[in.ID]; twice {
			return fmt.Errorf("%s: id %q is already used by %s; ids must be unique", in.Origin, in.ID, first)
		}
		seen[in.ID] = in.Origin
	}
	return nil
}
