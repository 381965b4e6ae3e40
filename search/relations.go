package search

import (
	"cmp"
	"slices"
	"strings"

	"rollbench/search/source"
)

// related is one end of a relation.
type related struct {
	where at
	line  int // of the reference
	sure  int
}

// mentions calls yield with every reference whose last name is name.
func (v *look) mentions(name string, yield func(file int32, r *ref)) {
	for _, where := range v.base.refs.of(name) {
		if v.hidden[where.file] {
			continue
		}
		if r := &v.base.files[where.file].refs[where.item]; r.last() == name {
			yield(where.file, r)
		}
	}
	for i := range v.over {
		for j := range v.over[i].refs {
			if r := &v.over[i].refs[j]; r.last() == name {
				yield(int32(len(v.base.files)+i), r)
			}
		}
	}
}

// mostRivals is how many other definitions of a name may be there before a call that
// only the name speaks for says nothing.
const mostRivals = 3

// rivals counts the other functions and classes outside tests that have the target's name
// and are no kin of it.
func (v *look) rivals(target at) int {
	n := 0
	name := v.file(target.file).ents[target.item].Name
	v.named(name, func(where at) {
		f := v.file(where.file)
		if e := &f.ents[where.item]; where != target && e.Name == name && isScope(e.Kind) && !f.test {
			n++
		}
	})
	return n
}

// uses calls yield with every reference by that name, and by the names that imports give
// it elsewhere.
func (v *look) uses(name string, yield func(file int32, r *ref)) {
	type alias struct {
		file int32
		name string
	}
	var others []alias
	v.mentions(name, func(file int32, r *ref) {
		if r.imp != nil && r.imp.as != "" && r.imp.as != name {
			others = append(others, alias{file, r.imp.as})
		}
		yield(file, r)
	})
	for _, o := range others {
		refs := v.file(o.file).refs
		for i := range refs {
			if refs[i].imp == nil && refs[i].last() == o.name {
				yield(o.file, &refs[i])
			}
		}
	}
}

// callers are the entities that call, or are decorated with, the target: those that
// certainly do, then those of which only the name speaks for it. A call that certainly
// means something else is left out. unclear counts the calls that could mean too many
// things.
func (v *look) callers(target at) (out []related, unclear int) {
	name := v.file(target.file).ents[target.item].Name
	common := v.rivals(target) > mostRivals
	v.uses(name, func(file int32, r *ref) {
		if r.kind != source.Invokes && r.kind != source.Decorates {
			return
		}
		switch sure := v.means(file, r, target); {
		case sure == possible && common:
			unclear++
		case sure != unknown:
			out = append(out, related{at{file, r.from}, int(r.line), sure})
		}
	})
	return v.distinct(out), unclear
}

// means says how sure a reference means the target.
func (v *look) means(file int32, r *ref, target at) int {
	found, ok := v.resolve(file, r)
	switch {
	case ok && found == target:
		return certain
	case ok && found.item >= 0 && v.overriddenBy(target, found):
		return possible // a call of the base's method may reach the target
	case ok:
		return unknown
	}
	f := v.file(target.file)
	method := f.ents[target.item].Parent >= 0
	dotted := strings.Contains(r.name, ".")
	if method != dotted {
		return unknown // a method needs an object, a function none
	}
	if first, _, _ := strings.Cut(r.name, "."); dotted && (first == "self" || first == "cls") {
		// The class is known and has no such method by itself.
		if class := v.file(file).enclosing(r.from, kindClass); class >= 0 && !v.kin(at{file, class}, target) {
			return unknown
		}
	}
	return possible
}

// overriddenBy says whether target is found's method in a class below found's.
func (v *look) overriddenBy(target, found at) bool {
	tp, fp := v.owner(target), v.owner(found)
	return tp.item >= 0 && fp.item >= 0 && slices.Contains(v.ancestors(tp), fp)
}

// kin says whether a class is the target's class, above it or below it.
func (v *look) kin(class, target at) bool {
	owner := v.owner(target)
	if owner.item < 0 || owner == class {
		return owner == class
	}
	return slices.Contains(v.ancestors(owner), class) || slices.Contains(v.ancestors(class), owner)
}

// owner is the class or function that an entity is defined in, item -1 when none.
func (v *look) owner(e at) at {
	return at{e.file, int32(v.file(e.file).ents[e.item].Parent)}
}

// distinct keeps one of each place, the surest: certain ones first, tests last.
func (v *look) distinct(all []related) []related {
	slices.SortStableFunc(all, func(a, b related) int {
		return cmp.Or(cmp.Compare(b.sure, a.sure), cmp.Compare(v.testRank(a), v.testRank(b)),
			cmp.Compare(v.file(a.where.file).path, v.file(b.where.file).path), cmp.Compare(a.line, b.line))
	})
	seen := map[at]bool{}
	out := all[:0]
	for _, r := range all {
		if !seen[r.where] {
			seen[r.where] = true
			out = append(out, r)
		}
	}
	return out
}

func (v *look) testRank(r related) int {
	if v.file(r.where.file).test {
		return 1
	}
	return 0
}

// calls are the entities that an entity calls; unresolved has the names of the others.
func (v *look) calls(from at) (out []related, unresolved []string) {
	f := v.file(from.file)
	seen := map[string]bool{}
	for i := range f.refs {
		r := &f.refs[i]
		if r.kind != source.Invokes && r.kind != source.Decorates || !f.within(r.from, from.item) {
			continue
		}
		if e, ok := v.resolve(from.file, r); ok {
			out = append(out, related{e, int(r.line), certain})
		} else if only, ok := v.onlyOne(r.last()); ok {
			out = append(out, related{only, int(r.line), possible})
		} else if !seen[r.name] {
			seen[r.name] = true
			unresolved = append(unresolved, r.name)
		}
	}
	return v.distinct(out), unresolved
}

// within says whether item is the entity outer or in it; every item is in the file.
func (u *unit) within(item, outer int32) bool {
	if outer < 0 {
		return true
	}
	for n := 0; item >= 0 && int(item) < len(u.ents) && n < deepest; n++ {
		if item == outer {
			return true
		}
		item = int32(u.ents[item].Parent)
	}
	return false
}

// onlyOne is the one function or class outside tests that has this name.
func (v *look) onlyOne(name string) (at, bool) {
	var found at
	n := 0
	v.named(name, func(where at) {
		f := v.file(where.file)
		if e := &f.ents[where.item]; e.Name == name && isScope(e.Kind) && !f.test {
			found = where
			n++
		}
	})
	return found, n == 1
}

// subclasses are the classes below a class, direct ones first.
func (v *look) subclasses(class at) []related {
	const most = 2000
	seen := map[at]bool{class: true}
	var out []related
	for queue := []at{class}; len(queue) > 0 && len(out) < most; queue = queue[1:] {
		var level []related
		v.uses(v.file(queue[0].file).ents[queue[0].item].Name, func(file int32, r *ref) {
			if r.kind != source.Inherits || seen[at{file, r.from}] {
				return
			}
			scope := *r
			if r.from >= 0 {
				scope.from = int32(v.file(file).ents[r.from].Parent)
			}
			found, ok := v.resolve(file, &scope)
			if ok && found != queue[0] {
				return
			}
			sure := possible
			if ok {
				sure = certain
			}
			level = append(level, related{at{file, r.from}, int(r.line), sure})
		})
		for _, r := range v.distinct(level) {
			if !seen[r.where] && r.where.item >= 0 {
				seen[r.where] = true
				out = append(out, r)
				queue = append(queue, r.where)
			}
		}
	}
	return out
}

// overrides are the methods of the bases that a method replaces, nearest first.
func (v *look) overrides(method at) []related {
	owner := v.owner(method)
	if owner.item < 0 {
		return nil
	}
	f := v.file(method.file)
	var out []related
	for _, c := range v.ancestors(owner) {
		if m, ok := v.own(c, f.ents[method.item].Name); ok {
			out = append(out, related{m, v.file(m.file).ents[m.item].Start, certain})
		}
	}
	return out
}

// overridden are the methods of subclasses that replace a method.
func (v *look) overridden(method at) []related {
	owner := v.owner(method)
	if owner.item < 0 || v.file(owner.file).ents[owner.item].Kind != kindClass {
		return nil
	}
	name := v.file(method.file).ents[method.item].Name
	var out []related
	for _, c := range v.subclasses(owner) {
		if m, ok := v.own(c.where, name); ok {
			out = append(out, related{m, v.file(m.file).ents[m.item].Start, c.sure})
		}
	}
	return out
}

// importers are the files that import a file (item -1), or an entity from its file.
func (v *look) importers(target at) []related {
	var out []related
	if target.item >= 0 {
		v.mentions(v.file(target.file).ents[target.item].Name, func(file int32, r *ref) {
			if r.imp == nil {
				return
			}
			if found, ok := v.imported(file, r, 0); ok && found == target {
				out = append(out, related{at{file, -1}, int(r.line), certain})
			}
		})
		return v.distinct(out)
	}
	v.each(func(i int32, f *file) bool {
		for j := range f.refs {
			r := &f.refs[j]
			if r.imp != nil && i != target.file && v.importsFile(i, r, target.file) {
				out = append(out, related{at{i, -1}, int(r.line), certain})
				break
			}
		}
		return true
	})
	return v.distinct(out)
}

// importsFile says whether an import takes a file, or something from it.
func (v *look) importsFile(from int32, r *ref, target int32) bool {
	name := moduleName(v.file(target).path)
	last := lastName(name)
	if r.imp.level == 0 && lastName(r.name) != last && r.imp.target != last {
		return false // cheap, and true of nearly all
	}
	if slices.Contains(v.modules(from, r.imp.level, r.name), target) {
		return true
	}
	return r.imp.target == last && slices.Contains(v.modules(from, r.imp.level, strings.Trim(r.name+"."+last, ".")), target)
}

// moduleName is the dotted name of a file.
func moduleName(path string) string {
	name := strings.TrimSuffix(path, extension(path))
	name = strings.TrimSuffix(name, "/__init__")
	return strings.ReplaceAll(name, "/", ".")
}

// imports are the files and entities that a file imports; unresolved has the others.
func (v *look) imports(file int32) (out []related, unresolved []string) {
	f := v.file(file)
	for i := range f.refs {
		r := &f.refs[i]
		if r.imp == nil {
			continue
		}
		if e, ok := v.imported(file, r, 0); ok {
			out = append(out, related{e, int(r.line), certain})
			continue
		}
		name := strings.Repeat(".", r.imp.level) + r.name
		if !slices.Contains(unresolved, name) {
			unresolved = append(unresolved, name)
		}
	}
	return v.distinct(out), unresolved
}

// members are the entities directly in an entity, or in a file (item -1).
func (v *look) members(of at) []related {
	var out []related
	ents := v.file(of.file).ents
	for i := range ents {
		if int32(ents[i].Parent) == of.item {
			out = append(out, related{at{of.file, int32(i)}, ents[i].Start, certain})
		}
	}
	return out
}

// tests are the functions of test files that mention an entity by its name; those that
// call it come first.
func (v *look) tests(target at) []related {
	name := v.file(target.file).ents[target.item].Name
	common := v.rivals(target) > mostRivals
	var out []related
	v.uses(name, func(file int32, r *ref) {
		if !v.file(file).test || r.imp != nil {
			return
		}
		if sure := v.means(file, r, target); sure == certain || sure == possible && !common {
			out = append(out, related{at{file, r.from}, int(r.line), sure})
		}
	})
	if !common && len(out) < 20 {
		v.literal(name, filter{kind: "test"}, 100, true, func(h Hit) bool {
			out = append(out, related{h.where, h.Start, unknown})
			return true
		})
	}
	kept := out[:0]
	for _, r := range out {
		if v.file(r.where.file).test && r.where.item >= 0 && v.file(r.where.file).ents[r.where.item].Kind == kindFunction {
			kept = append(kept, r)
		}
	}
	return v.distinct(kept)
}
