package search

import (
	"sort"
	"strings"
)

// addPlaces raises what the question names outright: files by path, and the functions
// of a traceback's frames, of which the last one is nearest to the error.
func (v *look) addPlaces(s *scores, q question, over *docTable, most float32) {
	if len(q.frames) == 0 && len(q.paths) == 0 {
		return
	}
	v.each(func(i int32, f *file) bool {
		if len(f.docs) == 0 {
			return true
		}
		for _, p := range q.paths {
			if n := sharedTail(f.path, p); n > 0 {
				s.file[i] += most * float32(weights.named*tailWeight(n, f.path))
				break
			}
		}
		for n, fr := range q.frames {
			if tail := sharedTail(f.path, fr.path); tail > 0 {
				late := float64(n+1) / float64(len(q.frames))
				if d, ok := v.document(i, f, fr, over); ok {
					s.doc[d] += most * float32(weights.frame*late*tailWeight(tail, f.path))
				}
			}
		}
		return true
	})
}

// document is the number of the document that a frame stands in: by its name, since
// lines differ between versions, else by its line.
func (v *look) document(i int32, f *file, fr frame, over *docTable) (int, bool) {
	table, first := &v.base.docs, 0
	if int(i) >= len(v.base.files) {
		table, first = over, len(v.base.docs.file)
	}
	n := sort.Search(len(table.file), func(d int) bool { return table.file[d] >= i })
	best, distance := -1, 0
	for j, d := range f.docs {
		if d.ent < 0 || fr.name != "" && f.ents[d.ent].Name != fr.name {
			continue
		}
		e := &f.ents[d.ent]
		apart := 0
		if fr.line < e.Start || fr.line > e.End {
			apart = min(abs(fr.line-e.Start), abs(fr.line-e.End))
			if fr.name == "" {
				continue
			}
		}
		if best < 0 || apart <= distance { // of two around the line the inner one
			best, distance = j, apart
		}
	}
	return first + n + best, best >= 0
}

func abs(n int) int { return max(n, -n) }

// sharedTail is how many names at the ends of two paths are equal, if the shorter path
// is wholly the end of the longer one, or two names are equal.
func sharedTail(a, b string) int {
	n := 0
	for a != "" && b != "" {
		i, j := strings.LastIndexByte(a, '/'), strings.LastIndexByte(b, '/')
		if a[i+1:] != b[j+1:] {
			if n >= 2 {
				return n
			}
			return 0
		}
		n++
		a, b = a[:max(i, 0)], b[:max(j, 0)]
	}
	return n
}

// tailWeight trusts a bare file name less, unless the file is at the top.
func tailWeight(shared int, file string) float64 {
	if shared >= 2 || !strings.Contains(file, "/") {
		return 1
	}
	return 0.5
}
