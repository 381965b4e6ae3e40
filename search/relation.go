package search

import "fmt"

// findRelation answers "callers:Class.method" and its like, for the best entity of that
// name.
func (v *look) findRelation(a asked, limit int, f filter) section {
	s := section{asked: a, exact: true}
	target, ok := v.target(a)
	if !ok {
		inner := a
		inner.form = formName
		if a.name == "" {
			inner.name = baseName(a.file)
		}
		s.hits = v.nearNames(inner, limit, f)
		s.exact = false
		s.how = "no such name; the nearest names"
		return s
	}
	s.target = &target
	found, outside := v.relate(a.relation, target.where)
	s.outside = outside
	if a.relation == "callers" && target.where.item >= 0 {
		if _, unclear := v.callers(target.where); unclear > 0 {
			s.how = fmt.Sprintf("%d more calls of this name cannot be told from those of other definitions", unclear)
		}
	}
	for _, r := range found {
		h := v.hit(r.where)
		h.line = r.line
		h.Score = scoreExact
		if r.sure != certain {
			h.Score = scoreFolded
			h.note = "possible: by name only"
		}
		if f.hit(h) {
			s.hits = append(s.hits, h)
		}
	}
	if n := len(found) - len(s.hits); n > 0 {
		s.how = fmt.Sprintf("%d more are outside the filter", n)
	}
	return s
}

// target is the entity or file that a relation is asked of.
func (v *look) target(a asked) (Hit, bool) {
	if a.name == "" {
		if i, ok := v.lookup(a.file); ok {
			return v.hit(at{i, -1}), true
		}
		for _, h := range v.byPath(a.file, filter{}) {
			if h.Kind == "file" {
				return h, true
			}
		}
		return Hit{}, false
	}
	f := filter{kind: a.kind}
	if hits := v.byName(a.name, a.file, f); len(hits) > 0 {
		return hits[0], true
	}
	for m := range v.moduleHits(a.name) {
		return m, true
	}
	return Hit{}, false
}

// moduleHits are the files that a dotted name of a module means.
func (v *look) moduleHits(name string) func(yield func(Hit) bool) {
	return func(yield func(Hit) bool) {
		for _, h := range v.byPath(dotsToSlashes(name), filter{kind: "file"}) {
			if !yield(h) {
				return
			}
		}
	}
}

// relate follows a relation. Of a class the calls are those of its methods, and its
// callers those who make one.
func (v *look) relate(relation string, of at) (found []related, outside []string) {
	entity := of.item >= 0
	switch relation {
	case "callers":
		if entity {
			found, _ = v.callers(of)
			return found, nil
		}
		return v.importers(of), nil
	case "calls":
		return v.calls(of)
	case "subclasses":
		if entity {
			return v.subclasses(of), nil
		}
	case "bases":
		if entity {
			for _, b := range v.ancestors(of) {
				found = append(found, related{b, v.file(b.file).ents[b.item].Start, certain})
			}
			return found, v.unresolvedBases(of)
		}
	case "overrides":
		if entity {
			return v.overrides(of), nil
		}
	case "overridden":
		if entity {
			return v.overridden(of), nil
		}
	case "importers":
		return v.importers(of), nil
	case "imports":
		return v.imports(of.file)
	case "members":
		return v.members(of), nil
	case "tests":
		if entity {
			return v.tests(of), nil
		}
		return v.testsOf(of.file), nil
	}
	return nil, nil
}

// testsOf are the test files that import a file, or are named after it.
func (v *look) testsOf(of int32) []related {
	base := moduleBase(v.file(of).path)
	var out []related
	for _, r := range v.importers(at{of, -1}) {
		if v.file(r.where.file).test {
			out = append(out, r)
		}
	}
	v.each(func(i int32, f *file) bool {
		if b := moduleBase(f.path); f.test && (b == "test_"+base || b == base+"_test") {
			out = append(out, related{at{i, -1}, 1, certain})
		}
		return true
	})
	return v.distinct(out)
}

func moduleBase(path string) string {
	return lastName(moduleName(path))
}
