package search

import (
	"slices"
	"strings"
	"sync"
)

// View is a Base with the changes of one trajectory. Its methods may be called by
// several goroutines.
type View struct {
	base *Base

	mu sync.RWMutex // guards what follows
	// over has the changed and the new files, by path; overlay numbers follow the
	// numbers of the base's files.
	over []file
	// hidden are the files of the base that were changed or removed.
	hidden map[int32]bool
	words  *words
}

// View is a new view without changes. It costs nothing.
func (b *Base) View() *View { return &View{base: b} }

// Base is what the view was made from.
func (v *View) Base() *Base { return v.base }

// Update sets the content of a file, which may be new.
func (v *View) Update(path string, content []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.words == nil {
		v.words = newWords()
	}
	if i, ok := v.base.find(path); ok {
		if v.base.files[i].src == string(content) {
			v.drop(path)
			delete(v.hidden, int32(i))
			return
		}
		v.hide(int32(i))
	}
	f := newFile(path, string(content), v.words)
	if f.language == "" && f.src != "" && len(f.src) <= largestSource {
		v.words.read(f.unit) // other text of the base is read when first asked for
	}
	i, ok := v.overFind(path)
	if ok {
		v.over[i] = f
		return
	}
	v.over = slices.Insert(v.over, i, f)
}

// Remove forgets a file. Removing one that is not there does nothing.
func (v *View) Remove(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if i, ok := v.base.find(path); ok {
		v.hide(int32(i))
	}
	v.drop(path)
}

func (v *View) hide(i int32) {
	if v.hidden == nil {
		v.hidden = map[int32]bool{}
	}
	v.hidden[i] = true
}

func (v *View) drop(path string) {
	if i, ok := v.overFind(path); ok {
		v.over = slices.Delete(v.over, i, i+1)
	}
}

func (v *View) overFind(path string) (int, bool) {
	return slices.BinarySearchFunc(v.over, path, func(f file, p string) int { return strings.Compare(f.path, p) })
}

// Changed are the paths of the files that differ from the base.
func (v *View) Changed() []string {
	v.mu.RLock()
	defer v.mu.RUnlock()
	var out []string
	for _, f := range v.over {
		out = append(out, f.path)
	}
	for i := range v.hidden {
		if p := v.base.files[i].path; !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// file is the file of that number.
func (v *View) file(i int32) *file {
	if n := int32(len(v.base.files)); i >= n {
		return &v.over[i-n]
	}
	return &v.base.files[i]
}

// each calls yield with all files, those of the base first, each part by path.
func (v *View) each(yield func(i int32, f *file) bool) {
	for i := range v.base.files {
		if len(v.hidden) > 0 && v.hidden[int32(i)] {
			continue
		}
		if !yield(int32(i), &v.base.files[i]) {
			return
		}
	}
	for i := range v.over {
		if !yield(int32(len(v.base.files)+i), &v.over[i]) {
			return
		}
	}
}

// lookup is the file with that path.
func (v *View) lookup(path string) (int32, bool) {
	if i, ok := v.overFind(path); ok {
		return int32(len(v.base.files) + i), true
	}
	if i, ok := v.base.find(path); ok && !v.hidden[int32(i)] {
		return int32(i), true
	}
	return 0, false
}
