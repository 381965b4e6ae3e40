package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// dataset of a Harbor registry: tasks of one name and version.
type dataset struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Tasks   []struct {
		Name   string `json:"name"`
		GitURL string `json:"git_url"`
		Commit string `json:"git_commit_id"`
		Path   string `json:"path"`
	} `json:"tasks"`
}

func (d dataset) String() string { return d.Name + "@" + d.Version }

// isRegistry: a file registry.json, or a folder with one.
func isRegistry(path string, folder bool) (bool, error) {
	if folder {
		return isFile(filepath.Join(path, "registry.json")), nil
	}
	return filepath.Base(path) == "registry.json", nil
}

// registryTasks loads the tasks that a registry lists and that lie below it.
// Options.Split chooses the dataset, by NAME or NAME@VERSION.
func registryTasks(path string, to *collection) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "registry.json")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var all []dataset
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("registry.json: it must be a list of {name, version, tasks}: %w", err)
	}
	d, err := chooseDataset(all, to.options.Split)
	if err != nil {
		return fmt.Errorf("registry.json: %w", err)
	}
	root := filepath.Dir(path)
	for i, t := range d.Tasks {
		in, err := Instance{}, error(nil)
		folder := filepath.Join(root, filepath.FromSlash(t.Path))
		switch {
		case t.Path == "" || !filepath.IsLocal(filepath.FromSlash(t.Path)):
			err = fmt.Errorf("field \"path\" is %q; it must lead to a folder below the registry", t.Path)
		case !isFile(filepath.Join(folder, "task.toml")) && t.GitURL != "":
			err = fmt.Errorf("%s is not below %s: it is in the repository %s; clone that, and put registry.json at its root", t.Path, root, t.GitURL)
		default:
			id := t.Name
			if id == "" {
				id = filepath.Base(folder)
			}
			in, err = loadHarbor(os.DirFS(folder), strings.ReplaceAll(id, "/", "__"), folder, to.options)
		}
		if err := to.add(fmt.Sprintf("%s task %d (%s)", d, i+1, t.Name), in, err); err != nil {
			return err
		}
	}
	return nil
}

func chooseDataset(all []dataset, choice string) (dataset, error) {
	var fit []dataset
	var have []string
	for _, d := range all {
		have = append(have, d.String())
		if choice == "" || choice == d.Name || choice == d.String() {
			fit = append(fit, d)
		}
	}
	slices.Sort(have)
	switch {
	case len(all) == 0:
		return dataset{}, errors.New("it lists no dataset")
	case len(fit) == 0:
		return dataset{}, fmt.Errorf("no dataset is called %q; there are: %s", choice, strings.Join(have, ", "))
	case len(fit) > 1:
		return dataset{}, fmt.Errorf("it lists several datasets: %s; choose one with --split", strings.Join(have, ", "))
	case len(fit[0].Tasks) == 0:
		return dataset{}, fmt.Errorf("%s lists no task", fit[0])
	}
	return fit[0], nil
}
