package source

import "slices"

// Scan reads one file. The texts in the result are substrings of src, except
// where src must first be decoded (a coding cookie, CR line ends, a BOM).
// A path or text that no scanner knows gives a File without entities.
func Scan(path, src string) *File {
	lang := Detect(path, src)
	switch lang {
	case "python":
		return scanPython(src)
	case "go":
		return scanGo(path, src)
	case "javascript", "typescript":
		return scanJavaScript(path, lang, src)
	case "java":
		return scanJava(src)
	case "rust":
		return scanRust(src)
	case "c", "c++":
		return scanC(path, lang, src)
	}
	return &File{Language: lang}
}

// order puts entities and references in the order of their lines, where a scanner
// met them in another.
func (f *File) order() {
	byLine := func(a, b Ref) int { return a.Line - b.Line }
	if !slices.IsSortedFunc(f.Refs, byLine) {
		slices.SortStableFunc(f.Refs, byLine)
	}
	byStart := func(a, b Entity) int { return a.Start - b.Start }
	if slices.IsSortedFunc(f.Entities, byStart) {
		return
	}
	from := make([]int, len(f.Entities)) // new index to old
	for i := range from {
		from[i] = i
	}
	slices.SortStableFunc(from, func(a, b int) int { return f.Entities[a].Start - f.Entities[b].Start })
	to := make([]int, len(from)) // old index to new
	sorted := make([]Entity, len(from))
	for i, old := range from {
		to[old], sorted[i] = i, f.Entities[old]
	}
	for i := range sorted {
		if p := sorted[i].Parent; p >= 0 {
			sorted[i].Parent = to[p]
		}
	}
	for i := range f.Refs {
		if p := f.Refs[i].From; p >= 0 {
			f.Refs[i].From = to[p]
		}
	}
	f.Entities = sorted
}
