package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rollbench/engine/task/rows"
)

// layout is a way in which a dataset lies on disk.
type layout struct {
	name  string
	sign  string // what it is known by, for messages
	named bool   // Options.Format may name it
	fits  func(path string, folder bool) (bool, error)
	load  func(path string, to *collection) error
}

func layouts() []layout {
	return []layout{
		{"harbor", "task.toml", true, func(path string, folder bool) (bool, error) {
			if !folder {
				return false, nil
			}
			dirs, err := foldersWith(os.DirFS(path), "task.toml")
			return len(dirs) > 0, err
		}, harborFolders},
		{"harbor-registry", "registry.json", true, isRegistry, registryTasks},
		{"swebench-repo", "sweb.yaml", true, func(path string, folder bool) (bool, error) {
			return folder && isFile(filepath.Join(path, "sweb.yaml")), nil
		}, taskRepo},
		{"terminal-bench", "task.yaml with run-tests.sh", true, func(path string, folder bool) (bool, error) {
			if !folder {
				return false, nil
			}
			dirs, err := foldersWith(os.DirFS(path), "run-tests.sh")
			return len(dirs) > 0 && (dirs[0] == "." || !isFile(filepath.Join(path, "task.toml"))), err
		}, terminalFolders},
		{"rows", ".parquet, .jsonl or .json", false, func(path string, folder bool) (bool, error) {
			if !folder {
				return true, nil
			}
			_, err := rows.Find(path, "")
			return !errors.Is(err, rows.ErrNoTable), nil // what else is wrong is told when they are read
		}, tables},
	}
}

// findLayout by its name or by looking. A table beside tasks is not one of the
// dataset's: results lie there, too.
func findLayout(path string, folder bool, name string) (layout, error) {
	if _, isRows := formatNamed(name); isRows {
		name = "rows"
	}
	var fit []layout
	for _, l := range layouts() {
		if name != "" && l.name != name {
			continue
		}
		ok, err := l.fits(path, folder)
		if err != nil {
			return layout{}, err
		}
		if ok && (l.name != "rows" || len(fit) == 0) {
			fit = append(fit, l)
		}
		if !ok && name != "" {
			return layout{}, fmt.Errorf("it is not of format %s, which is known by %s", name, l.sign)
		}
	}
	switch {
	case len(fit) == 0:
		return layout{}, errors.New("no task.toml in it or up to two folders down, nor anything else that is known; docs/tasks.md lists what can be read")
	case len(fit) > 1:
		return layout{}, fmt.Errorf("it can be read as %s (%s) and as %s (%s); say which with --format", fit[0].name, fit[0].sign, fit[1].name, fit[1].sign)
	}
	return fit[0], nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// foldersWith finds the folders that hold a file: the root, else those one level
// down, else two.
func foldersWith(root fs.FS, file string) ([]string, error) {
	for _, pattern := range []string{file, "*/" + file, "*/*/" + file} {
		found, err := fs.Glob(root, pattern)
		if err != nil {
			return nil, err
		}
		var dirs []string
		for _, name := range found {
			dir := strings.TrimSuffix(strings.TrimSuffix(name, file), "/")
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
	return nil, nil
}

// harborFolders loads Harbor tasks.
func harborFolders(path string, to *collection) error {
	return eachFolder(path, "task.toml", to, func(full string) (Instance, error) {
		return loadHarbor(os.DirFS(full), filepath.Base(full), full, to.options)
	})
}

func eachFolder(path, file string, to *collection, read func(full string) (Instance, error)) error {
	dirs, err := foldersWith(os.DirFS(path), file)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		full := filepath.Join(path, filepath.FromSlash(dir))
		in, err := read(full)
		if dir == "." {
			dir = ""
		}
		if err := to.add(dir, in, err); err != nil {
			return err
		}
	}
	return nil
}
