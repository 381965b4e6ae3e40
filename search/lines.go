package search

import (
	"fmt"
	"slices"
)

// findLines finds the entities around lines of one file.
func (v *look) findLines(q Query, f filter) section {
	s := section{asked: asked{form: formPath, raw: q.Path, file: f.path}, exact: true, lines: true}
	i, ok := v.oneFile(f)
	if !ok {
		s.how = "line_nums need file_path_or_pattern to name one file"
		s.exact = false
		if f.path != "" {
			s.how = fmt.Sprintf("%s is not one file", f.path)
			for _, p := range v.nearPaths(f.path, 3) {
				if n, ok := v.lookup(p); ok {
					s.hits = append(s.hits, v.hit(at{n, -1}))
				}
			}
		}
		s.cut(limitOf(q))
		return s
	}
	file := v.file(i)
	last := file.lineCount()
	lines := slices.Clone(q.Lines)
	slices.Sort(lines)
	for _, n := range slices.Compact(lines) {
		if n < 1 || n > last {
			s.how = fmt.Sprintf("%s has lines 1 to %d", file.path, last)
			continue
		}
		h := v.hit(at{i, file.at(n)})
		h.line = n
		h.Score = scoreExact
		if h.where.item < 0 || !slices.ContainsFunc(s.hits, func(o Hit) bool { return o.where == h.where }) {
			s.hits = append(s.hits, h)
		}
	}
	s.cut(limitOf(q))
	return s
}

// oneFile is the only file inside the path of a filter.
func (v *look) oneFile(f filter) (int32, bool) {
	if i, ok := v.lookup(f.path); ok {
		return i, true
	}
	found, n := int32(0), 0
	if f.path != "" {
		v.each(func(i int32, file *file) bool {
			if f.file(file.path) {
				found = i
				n++
			}
			return n < 2
		})
	}
	return found, n == 1
}
