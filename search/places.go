package search

import "strings"

// addPlaces raises what the question names outright: files by path, and the functions
// of a traceback's frames. Of many frames the last ones, nearest to the error, count most.
func (v *View) addPlaces(s *scores, q question) {
	if len(q.frames) == 0 && len(q.paths) == 0 {
		return
	}
	v.each(func(i int32, f *file) bool {
		for _, p := range q.paths {
			if n := sharedTail(f.path, p); n > 0 {
				s.file[i] += float32(weights.named * tailWeight(n, p, f.path))
				break
			}
		}
		return true
	})
	_ = strings.HasSuffix
}

// sharedTail is how many names at the ends of two paths are equal, if the shorter path
// is wholly the end of the longer one or two names are equal.
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

func tailWeight(n int, p, file string) float64 {
	if n >= 2 || n == 1 && !strings.Contains(file, "/") {
		return 1
	}
	return 0.5
}
