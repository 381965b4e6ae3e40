package search

import (
	"slices"
	"strings"
)

// filter is the part of a query that nothing found may be outside of.
type filter struct {
	path  string // "" for all
	globs []string
	kind  string
}

func newFilter(q Query) filter {
	f := filter{kind: strings.ToLower(strings.TrimSpace(q.Kind))}
	p := cleanPath(strings.TrimSpace(q.Path))
	if p == "." || p == "**" || p == "**/*" || p == "*" {
		p = ""
	}
	f.path = p
	if isGlob(p) {
		if !strings.Contains(p, "/") {
			p = "**/" + p
		}
		f.globs = expandBraces(p, 64)
	}
	return f
}

// file says whether a file is inside the path.
func (f filter) file(path string) bool {
	if f.path == "" {
		return true
	}
	for _, g := range f.globs {
		if matchGlob(g, path) {
			return true
		}
	}
	return path == f.path || strings.HasPrefix(path, f.path) && path[len(f.path)] == '/'
}

// keep says whether a file can hold anything that is asked for.
func (f filter) keep(_ int32, file *file) bool {
	return f.file(file.path) && (f.kind != "test" || file.test)
}

// hit says whether a hit is of the kind asked for and inside the path.
func (f filter) hit(h Hit) bool {
	if !f.file(h.Path) {
		return false
	}
	switch f.kind {
	case "":
		return true
	case "test":
		return h.test
	case "function":
		return h.Kind == "function" || h.Kind == "method"
	}
	return h.Kind == f.kind
}

// validKind says whether a kind is known; the empty one is.
func validKind(k string) bool {
	return k == "" || slices.Contains(Kinds, strings.ToLower(strings.TrimSpace(k)))
}
