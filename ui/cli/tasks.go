package cli

import (
	"fmt"
	"os/exec"
	"path"
	"path/filepath"

	"rollbench/engine/task"
)

// loadTasks reads the instances that the flags name.
func (a *app) loadTasks(c *config, source string) ([]*task.Instance, string, error) {
	if a.flags.limit < 0 {
		return nil, "", bad(fmt.Errorf("--limit is %d: it must not be negative", a.flags.limit))
	}
	opt := task.Options{BuildArgs: c.Sandbox.BuildArgs}
	var all []task.Instance
	var err error
	title := "bundled"
	switch source {
	case "":
		all, err = task.Default(hasProgram, opt)
	case "bundled":
		all, err = task.Bundled(opt)
	default:
		title = filepath.Base(source)
		all, err = task.Load(source, opt)
	}
	if err != nil {
		return nil, "", bad(err)
	}
	var out []*task.Instance
	for i := range all {
		keep, err := matches(all[i].ID, a.flags.instances)
		if err != nil {
			return nil, "", bad(err)
		}
		if keep && (a.flags.limit <= 0 || len(out) < a.flags.limit) {
			out = append(out, &all[i])
		}
	}
	if len(out) == 0 {
		return nil, "", bad(fmt.Errorf("no instance is left: --instances %v matches none of %d", a.flags.instances, len(all)))
	}
	return out, title, nil
}

func matches(id string, globs []string) (bool, error) {
	for _, g := range globs {
		ok, err := path.Match(g, id)
		if err != nil {
			return false, fmt.Errorf("--instances %s: %w", g, err)
		}
		if ok {
			return true, nil
		}
	}
	return len(globs) == 0, nil
}

func hasProgram(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}
