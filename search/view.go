package search

import (
	"slices"
	"strings"
	"sync"
)

// View is a Base with the changes of one trajectory. Its methods may be called by
// several goroutines.
type View struct {
	index index

	mu sync.RWMutex // guards what follows
	// changes is the view without its base, which may be on disk meanwhile.
	changes look
	words   *words
}

// index gives a Base, which it may have to read from disk first. It is the same one
// each time, file by file.
type index interface {
	get() (*Base, error)
}

func (b *Base) get() (*Base, error) { return b, nil }

// look is what one query sees: nothing in it changes while the query runs.
type look struct {
	base *Base
	// over has the changed and the new files, by path; their numbers follow those of
	// the base's files.
	over []file
	// hidden are the files of the base that were changed or removed.
	hidden map[int32]bool
	// What the query has found out about classes and names already.
	above map[at][]at
	names map[scopedName]resolved
}

type scopedName struct {
	file int32
	name string
}

type resolved struct {
	where at
	ok    bool
}

// View is a new view without changes. It costs nothing.
func (b *Base) View() *View { return &View{index: b} }

// Load reads the base from disk where it is not in memory. The error says that its file
// is gone or damaged, and that the view is of no use any more.
func (v *View) Load() error {
	_, err := v.index.get()
	return err
}

// Query answers in text.
func (v *View) Query(q Query) Answer {
	v.mu.RLock()
	defer v.mu.RUnlock()
	l, err := v.look()
	if err != nil {
		return Answer{Text: "The index of this repository cannot be read: " + err.Error()}
	}
	return l.answer(q)
}

// Hits are the things found, best first, each once.
func (v *View) Hits(q Query) ([]Hit, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	l, err := v.look()
	if err != nil {
		return nil, err
	}
	return l.find(q), nil
}

func (v *View) look() (*look, error) {
	b, err := v.index.get()
	if err != nil {
		return nil, err
	}
	return &look{base: b, over: v.changes.over, hidden: v.changes.hidden}, nil
}

// Update sets the content of a file, which may be new. One that the base leaves out, or
// would have, stays out: the rules of .gitignore are those of the base.
func (v *View) Update(path string, content []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	l, err := v.look()
	if err != nil {
		return err
	}
	if v.words == nil {
		v.words = newWords()
	}
	l.update(path, string(content), v.words)
	v.changes.over, v.changes.hidden = l.over, l.hidden
	return nil
}

// Remove forgets a file. Removing one that is not there does nothing.
func (v *View) Remove(path string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	l, err := v.look()
	if err != nil {
		return err
	}
	if i, ok := l.base.find(path); ok {
		l.hide(int32(i))
	}
	l.drop(path)
	v.changes.over, v.changes.hidden = l.over, l.hidden
	return nil
}

// Held is how many bytes the files have that differ from the base, those aside of which
// but says so.
func (v *View) Held(but func(path string) bool) int64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	total := int64(0)
	for i := range v.changes.over {
		if f := &v.changes.over[i]; !but(f.path) {
			total += int64(len(f.src))
		}
	}
	return total
}

// Changed are the paths of the files that differ from the base.
func (v *View) Changed() ([]string, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	l, err := v.look()
	if err != nil {
		return nil, err
	}
	return l.changed(), nil
}

func (v *look) update(path, content string, w *words) {
	if v.base.ignored.match(path) {
		return
	}
	if i, ok := v.base.find(path); ok {
		if v.base.files[i].src == content {
			v.drop(path)
			delete(v.hidden, int32(i))
			return
		}
		v.hide(int32(i))
	}
	f := newFile(path, content, w)
	if f.language == "" && f.src != "" {
		w.read(f.unit) // other text of the base is read when first asked for
	}
	i, ok := v.overFind(path)
	if ok {
		v.over[i] = f
		return
	}
	v.over = slices.Insert(v.over, i, f)
}

func (v *look) hide(i int32) {
	if v.hidden == nil {
		v.hidden = map[int32]bool{}
	}
	v.hidden[i] = true
}

func (v *look) drop(path string) {
	if i, ok := v.overFind(path); ok {
		v.over = slices.Delete(v.over, i, i+1)
	}
}

func (v *look) overFind(path string) (int, bool) {
	return slices.BinarySearchFunc(v.over, path, func(f file, p string) int { return strings.Compare(f.path, p) })
}

func (v *look) changed() []string {
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
func (v *look) file(i int32) *file {
	if n := int32(len(v.base.files)); i >= n {
		return &v.over[i-n]
	}
	return &v.base.files[i]
}

// each calls yield with all files, those of the base first, each part by path.
func (v *look) each(yield func(i int32, f *file) bool) {
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
func (v *look) lookup(path string) (int32, bool) {
	if i, ok := v.overFind(path); ok {
		return int32(len(v.base.files) + i), true
	}
	if i, ok := v.base.find(path); ok && !v.hidden[int32(i)] {
		return int32(i), true
	}
	return 0, false
}
