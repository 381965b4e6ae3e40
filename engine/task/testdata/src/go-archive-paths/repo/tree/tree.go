// Package tree holds files in memory.
package tree

import (
	"fmt"
	"sort"

	"example.invalid/bundle/names"
)

// Tree of files by canonical name. The zero value is empty.
type Tree struct {
	files map[string][]byte
}

// Put a file. A name that stands for a folder of another file is refused, as is
// one below another file.
func (t *Tree) Put(name string, data []byte) error {
	if _, err := names.Clean(name); err != nil {
		return err
	}
	if t.files == nil {
		t.files = map[string][]byte{}
	}
	for other := range t.files {
		if other != name && (names.Within(other, name) || names.Within(name, other)) {
			return fmt.Errorf("%w: %q and %q cannot both be files", names.ErrBad, name, other)
		}
	}
	t.files[name] = append([]byte(nil), data...)
	return nil
}

// Get a file.
func (t *Tree) Get(name string) ([]byte, bool) {
	data, ok := t.files[name]
	return data, ok
}

// Names of all files in the folder ("" for all), sorted.
func (t *Tree) Names(folder string) []string {
	var found []string
	for name := range t.files {
		if names.Within(name, folder) {
			found = append(found, name)
		}
	}
	sort.Strings(found)
	return found
}

// Remove a folder with everything in it, or a file. It returns how many files went.
func (t *Tree) Remove(folder string) int {
	gone := t.Names(folder)
	for _, name := range gone {
		delete(t.files, name)
	}
	return len(gone)
}
