package search

import (
	"path"
	"strings"

	"rollbench/search/source"
)

// How sure a reference means an entity.
const (
	unknown  = iota // nothing says what it means
	possible        // the names agree, nothing speaks against it
	certain         // by scope, class or import
)

// deepestImport is how often an import may lead on to another one.
const deepestImport = 6

// modules lists the files that a dotted name of a module can mean: those whose paths
// end with it, the shortest path first. Relative imports start at the file's package.
func (v *look) modules(from int32, level int, dotted string) []int32 {
	tail := dotsToSlashes(strings.Trim(dotted, "."))
	if level > 0 {
		dir := path.Dir(v.file(from).path)
		for range level - 1 {
			dir = path.Dir(dir)
		}
		if i, ok := v.module(path.Join(dir, tail)); ok {
			return []int32{i}
		}
		return nil
	}
	if tail == "" {
		return nil
	}
	// The package of the file itself, its parents, then common roots of sources.
	for dir := path.Dir(v.file(from).path); ; dir = path.Dir(dir) {
		if i, ok := v.module(path.Join(dir, tail)); ok {
			return []int32{i}
		}
		if dir == "." || dir == "/" {
			break
		}
	}
	for _, root := range [...]string{"src", "lib", "python"} {
		if i, ok := v.module(path.Join(root, tail)); ok {
			return []int32{i}
		}
	}
	return nil
}

// module is the file of a module: name.py, name.pyi or the package's __init__.py.
func (v *look) module(name string) (int32, bool) {
	for _, end := range [...]string{".py", "/__init__.py", ".pyi"} {
		if i, ok := v.lookup(strings.TrimPrefix(name+end, "/")); ok {
			return i, true
		}
	}
	return 0, false
}

// top is the entity of a file with that name that is defined in nothing else; of
// several the last one, as when the file runs. A class goes before a variable.
func (v *look) top(file int32, name string) (at, bool) {
	ents := v.file(file).ents
	found := int32(-1)
	for i := range ents {
		if ents[i].Parent < 0 && ents[i].Name == name && ents[i].Receiver == "" && (found < 0 || ents[i].Kind != kindVariable) {
			found = int32(i)
		}
	}
	return at{file, found}, found >= 0
}

// member is the entity of that name in a class or one of its bases.
func (v *look) member(class at, name string) (at, bool) {
	for _, c := range append([]at{class}, v.ancestors(class)...) {
		if m, ok := v.own(c, name); ok {
			return m, true
		}
	}
	return at{}, false
}

// own is the member that the class itself defines; the last one of that name.
func (v *look) own(class at, name string) (at, bool) {
	ents := v.file(class.file).ents
	for i := len(ents) - 1; i >= 0; i-- {
		if ents[i].Parent == int(class.item) && ents[i].Name == name {
			return at{class.file, int32(i)}, true
		}
	}
	return at{}, false
}

// exported is what a name at the top of a file means: what the file defines or imports.
// A whole module is given as at{file, -1}.
func (v *look) exported(file int32, name string, depth int) (at, bool) {
	key := scopedName{file, name}
	if known, ok := v.names[key]; ok && depth == 0 {
		return known.where, known.ok
	}
	where, ok := v.export(file, name, depth)
	if depth == 0 {
		if v.names == nil {
			v.names = map[scopedName]resolved{}
		}
		v.names[key] = resolved{where, ok}
	}
	return where, ok
}

func (v *look) export(file int32, name string, depth int) (at, bool) {
	if e, ok := v.top(file, name); ok {
		return e, true
	}
	if depth >= deepestImport {
		return at{}, false
	}
	f := v.file(file)
	for i := range f.refs {
		r := &f.refs[i]
		if r.imp == nil {
			continue
		}
		if r.imp.target == "*" {
			for _, m := range v.modules(file, r.imp.level, r.name) {
				if m == file {
					continue
				}
				if e, ok := v.exported(m, name, depth+1); ok {
					return e, true
				}
			}
			continue
		}
		if r.local() == name {
			if e, ok := v.imported(file, r, depth); ok {
				return e, true
			}
		}
	}
	// A submodule of a package is a name of it.
	if path.Base(f.path) == "__init__.py" {
		if m, ok := v.module(path.Join(path.Dir(f.path), name)); ok {
			return at{m, -1}, true
		}
	}
	return at{}, false
}

// local is the name that an import binds.
func (r *ref) local() string {
	switch {
	case r.imp.as != "":
		return r.imp.as
	case r.imp.target != "":
		return r.imp.target
	}
	first, _, _ := strings.Cut(r.name, ".")
	return first
}

// imported is what an import binds its name to.
func (v *look) imported(file int32, r *ref, depth int) (at, bool) {
	name := r.name
	if r.imp.target == "" && r.imp.as == "" {
		name, _, _ = strings.Cut(name, ".") // "import a.b" binds a
	}
	for _, m := range v.modules(file, r.imp.level, name) {
		if r.imp.target == "" {
			return at{m, -1}, true
		}
		if m == file && depth > 0 {
			continue
		}
		if e, ok := v.exported(m, r.imp.target, depth+1); ok {
			return e, true
		}
	}
	if r.imp.target != "" { // from a import b, where b is a module
		for _, m := range v.modules(file, r.imp.level, strings.Trim(r.name+"."+r.imp.target, ".")) {
			return at{m, -1}, true
		}
	}
	return at{}, false
}

// enclosing is the nearest entity of that kind that item is or is in.
func (u *unit) enclosing(item int32, kind source.Kind) int32 {
	for n := 0; item >= 0 && int(item) < len(u.ents) && n < deepest; n++ {
		if u.ents[item].Kind == kind {
			return item
		}
		item = int32(u.ents[item].Parent)
	}
	return -1
}

// resolve says what a reference means, as far as scopes, classes and imports tell.
func (v *look) resolve(file int32, r *ref) (at, bool) {
	if r.imp != nil {
		return v.imported(file, r, 0)
	}
	f := v.file(file)
	first, rest, dotted := strings.Cut(r.name, ".")
	var here at
	ok := false
	switch first {
	case "":
		return at{}, false
	case "self", "cls":
		class := f.enclosing(r.from, kindClass)
		if class < 0 {
			return at{}, false
		}
		here, ok = at{file, class}, true
	case "super()":
		class := f.enclosing(r.from, kindClass)
		if class < 0 || !dotted {
			return at{}, false
		}
		for _, c := range v.ancestors(at{file, class}) {
			if m, found := v.own(c, rest); found {
				return m, true
			}
		}
		return at{}, false
	default:
		here, ok = v.inScope(file, r.from, first)
	}
	for ok && dotted {
		first, rest, dotted = strings.Cut(rest, ".")
		here, ok = v.attribute(here, first)
	}
	return here, ok
}

// inScope is what a bare name means in an entity: a function defined in it or in a
// function around it, else a name of the file.
func (v *look) inScope(file, from int32, name string) (at, bool) {
	f := v.file(file)
	for n := 0; from >= 0 && int(from) < len(f.ents) && n < deepest; n++ {
		if f.ents[from].Kind == kindFunction {
			if e, ok := v.own(at{file, from}, name); ok {
				return e, true
			}
		}
		from = int32(f.ents[from].Parent)
	}
	return v.exported(file, name, 0)
}

// attribute is a name of a module or class.
func (v *look) attribute(of at, name string) (at, bool) {
	if of.item < 0 {
		return v.exported(of.file, name, 1)
	}
	if v.file(of.file).ents[of.item].Kind == kindClass {
		return v.member(of, name)
	}
	return at{}, false
}

// bases are the classes that a class names as its bases, as far as they resolve.
func (v *look) bases(class at) []at {
	f := v.file(class.file)
	var out []at
	for i := range f.refs {
		r := &f.refs[i]
		if r.kind != source.Inherits || r.from != class.item {
			continue
		}
		scope := *r
		scope.from = int32(f.ents[class.item].Parent) // the class does not see itself
		if b, ok := v.resolve(class.file, &scope); ok && b.item >= 0 && b != class {
			out = append(out, b)
		}
	}
	return out
}

// ancestors are the bases, their bases and so on, nearest first, each once.
func (v *look) ancestors(class at) []at {
	const most = 200
	if known, ok := v.above[class]; ok {
		return known
	}
	seen := map[at]bool{class: true}
	var out []at
	for queue := []at{class}; len(queue) > 0 && len(out) < most; queue = queue[1:] {
		for _, b := range v.bases(queue[0]) {
			if !seen[b] {
				seen[b] = true
				out = append(out, b)
				queue = append(queue, b)
			}
		}
	}
	if v.above == nil {
		v.above = map[at][]at{}
	}
	v.above[class] = out
	return out
}

// unresolvedBases are the names of bases that mean nothing in the repository.
func (v *look) unresolvedBases(class at) []string {
	f := v.file(class.file)
	var out []string
	for i := range f.refs {
		r := &f.refs[i]
		if r.kind != source.Inherits || r.from != class.item {
			continue
		}
		scope := *r
		scope.from = int32(f.ents[class.item].Parent)
		if _, ok := v.resolve(class.file, &scope); !ok {
			out = append(out, r.name)
		}
	}
	return out
}

func dotsToSlashes(name string) string { return strings.ReplaceAll(name, ".", "/") }
