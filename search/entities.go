package search

import "strings"

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// lineCount is how many lines the file has.
func (u *unit) lineCount() int {
	n := strings.Count(u.src, "\n")
	if u.src != "" && !strings.HasSuffix(u.src, "\n") {
		n++
	}
	return n
}

// deepest is how deep definitions are followed; a deeper one is named from there.
const deepest = 32

// qualified is the name of an entity with what it is defined in.
func (u *unit) qualified(i int32) string {
	name := u.ents[i].Name
	p := u.ents[i].Parent
	if r := u.ents[i].Receiver; p < 0 && r != "" {
		return r + "." + name
	}
	for n := 0; p >= 0 && p < len(u.ents) && n < deepest; n++ {
		name = u.ents[p].Name + "." + name
		p = u.ents[p].Parent
	}
	return name
}

// kindOf is the kind of an entity in the words of Kinds.
func (u *unit) kindOf(i int32) string {
	e := &u.ents[i]
	switch e.Kind {
	case kindClass:
		return "class"
	case kindFunction:
		if e.Receiver != "" || e.Parent >= 0 && e.Parent < len(u.ents) && u.ents[e.Parent].Kind == kindClass {
			return "method"
		}
		return "function"
	case kindVariable:
		return "variable"
	}
	return "file"
}
