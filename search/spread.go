package search

import (
	"slices"

	"rollbench/search/source"
)

// spreadFrom is how many of the best documents give to those that they call, and to those
// that call them.
const (
	spreadFrom  = 30
	spreadNames = 3  // definitions that a called name may have
	spreadCalls = 12 // calls that a name may have for its callers to get anything
)

// spread gives a share of the best scores along calls: an issue names what a user called,
// and the fault is often one call further; a test calls what it is about.
func (v *look) spread(s *scores, over *docTable) {
	if weights.callee == 0 && weights.caller == 0 && weights.fromTest == 0 {
		return
	}
	top := v.topDocs(s, over)
	gain := map[int]float32{}
	for _, d := range top {
		t, j := v.table(over, d)
		where := at{t.file[j], t.ent[j]}
		f := v.file(where.file)
		score := float32(s.total(t, d, j))
		share := float32(weights.callee)
		if f.test {
			share = float32(weights.fromTest)
		}
		if share > 0 {
			v.calledBy(where, func(d int) { gain[d] = max(gain[d], share*score) }, over)
		}
		if where.item >= 0 && !f.test && weights.caller > 0 {
			v.callersOf(where, func(d int) { gain[d] = max(gain[d], float32(weights.caller)*score) }, over)
		}
	}
	for d, g := range gain {
		s.doc[d] += g
	}
}

// topDocs are the documents with the highest scores, tests as good as others.
func (v *look) topDocs(s *scores, over *docTable) []int {
	var top []int
	var least float64
	total := func(d int) float64 {
		t, j := v.table(over, d)
		return s.total(t, d, j)
	}
	byScore := func(a, b int) int {
		if x, y := total(a), total(b); x != y {
			if x > y {
				return -1
			}
			return 1
		}
		return a - b
	}
	for d, score := range s.doc {
		if score == 0 {
			continue
		}
		if x := total(d); x <= least {
			continue
		}
		if t, j := v.table(over, d); v.hidden[t.file[j]] {
			continue
		}
		top = append(top, d)
		if len(top) >= 8*spreadFrom {
			slices.SortFunc(top, byScore)
			top = top[:spreadFrom]
			least = total(top[spreadFrom-1])
		}
	}
	slices.SortFunc(top, byScore)
	return top[:min(len(top), spreadFrom)]
}

// table is the table that document d is in, and its place there.
func (v *look) table(over *docTable, d int) (*docTable, int) {
	if n := len(v.base.docs.file); d >= n {
		return over, d - n
	}
	return &v.base.docs, d
}

// calledBy calls give with the documents of the functions and classes that an entity
// calls, by names that few have.
func (v *look) calledBy(from at, give func(d int), over *docTable) {
	f := v.file(from.file)
	var seen []string
	for i := range f.refs {
		r := &f.refs[i]
		if r.imp != nil || r.from != from.item || r.kind == source.Inherits {
			continue
		}
		name := r.last()
		if slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		var found []at
		v.named(name, func(where at) {
			o := v.file(where.file)
			if e := &o.ents[where.item]; e.Name == name && isScope(e.Kind) && !o.test {
				found = append(found, where)
			}
		})
		if len(found) > spreadNames {
			continue
		}
		for _, where := range found {
			if d, ok := v.docOf(where, over); ok && where != from {
				give(d)
			}
		}
	}
}

// callersOf calls give with the documents that call an entity, if few do.
func (v *look) callersOf(target at, give func(d int), over *docTable) {
	name := v.file(target.file).ents[target.item].Name
	var found []at
	v.mentions(name, func(file int32, r *ref) {
		if r.imp == nil && !v.file(file).test && len(found) <= spreadCalls {
			found = append(found, at{file, r.from})
		}
	})
	if len(found) > spreadCalls {
		return
	}
	for _, where := range found {
		if d, ok := v.docOf(where, over); ok && where != target {
			give(d)
		}
	}
}

// docOf is the number of an entity's document.
func (v *look) docOf(where at, over *docTable) (int, bool) {
	first := 0
	if n := int32(len(v.base.files)); where.file < n {
		first = int(v.base.docs.first[where.file])
	} else {
		first = len(v.base.docs.file) + int(over.first[where.file-n])
	}
	docs := v.file(where.file).docs
	i, ok := slices.BinarySearchFunc(docs, where.item, func(d document, ent int32) int { return int(d.ent - ent) })
	return first + i, ok
}

// inFunction says whether an entity is defined in a function.
func (u *unit) inFunction(ent int32) bool {
	return u.enclosing(int32(u.ents[ent].Parent), kindFunction) >= 0
}
