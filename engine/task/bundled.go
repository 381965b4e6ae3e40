package task

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
)

//go:generate go test -run TestArchivesEqualTheirSources -update .

// bundled holds the tasks that come with the program, in Harbor layout.
//
//go:embed all:bundled
var bundled embed.FS

// Bundled are all bundled instances, in the order of their ids.
func Bundled(opts ...Options) ([]Instance, error) {
	o := merge(opts)
	root, err := fs.Sub(bundled, "bundled")
	if err != nil {
		return nil, fmt.Errorf("bundled tasks: %w", err)
	}
	dirs, err := foldersWith(root, "task.toml")
	if err != nil {
		return nil, fmt.Errorf("bundled tasks: %w", err)
	}
	all := &collection{seen: map[string]string{}}
	for _, dir := range dirs {
		folder, err := fs.Sub(root, dir)
		if err != nil {
			return nil, fmt.Errorf("bundled task %s: %w", dir, err)
		}
		in, err := loadHarbor(folder, dir, "bundled "+dir, o)
		if err != nil {
			return nil, fmt.Errorf("bundled task %s: %w", dir, err)
		}
		if err := all.add("bundled task "+dir, in, nil); err != nil {
			return nil, err
		}
	}
	return all.ins, nil
}

// Default is the bundled set that starts fast here: the Python tasks where has
// finds python3, else the Go ones (a cold Go build cache costs half a minute).
func Default(has func(program string) bool, opts ...Options) ([]Instance, error) {
	all, err := Bundled(opts...)
	if err != nil {
		return nil, err
	}
	language := "go"
	if has("python3") {
		language = "python3"
	}
	return slices.DeleteFunc(all, func(in Instance) bool { return !slices.Contains(in.Needs, language) }), nil
}
