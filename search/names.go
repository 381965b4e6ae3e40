package search

import (
	"cmp"
	"slices"
	"strings"
)

// Scores of names, by how they were found. What ranks free text stays below scoreNear.
const (
	scoreExact   = 1000
	scoreFolded  = 900 // in another case, or with other underscores
	scoreAlias   = 850 // a path
	scorePart    = 700 // all parts of the name, or the beginning of it
	scoreNear    = 500 // misspelt
	perTestFile  = 50  // less for what is in a test file
	perPrivate   = 5
	perDepth     = 1
	perKindClass = 20 // more for classes
	perVariable  = 10 // less for variables
)

// byName finds entities by a dotted name: the last part is the entity's, those before
// it belong to what it is defined in, or to its module.
func (v *look) byName(name, file string, f filter) []Hit {
	parts := strings.Split(name, ".")
	last := parts[len(parts)-1]
	var hits []Hit
	v.named(last, func(where at) {
		h := v.hit(where)
		if file != "" && !pathIs(h.Path, file) || !f.hit(h) {
			return
		}
		score := float64(scoreFolded)
		if h.Name == last {
			score = scoreExact
		}
		if len(parts) > 1 {
			depth := v.ownersMatch(where, parts[:len(parts)-1])
			if depth == 0 {
				return
			}
			score -= float64(depth - 1)
		}
		h.Score = score + v.prior(h)
		hits = append(hits, h)
	})
	sortHits(hits)
	return hits
}

// named calls yield with each entity whose name is the same but for case and underscores.
func (v *look) named(name string, yield func(at)) {
	for _, where := range v.base.names.of(name) {
		if v.hidden[where.file] {
			continue
		}
		if sameName(v.base.files[where.file].ents[where.item].Name, name) {
			yield(where)
		}
	}
	for i := range v.over {
		for e := range v.over[i].ents {
			if sameName(v.over[i].ents[e].Name, name) {
				yield(at{int32(len(v.base.files) + i), int32(e)})
			}
		}
	}
}

func sameName(a, b string) bool {
	return a == b || strings.EqualFold(strings.ReplaceAll(a, "_", ""), strings.ReplaceAll(b, "_", ""))
}

// ownersMatch is 0 when the names before the last are not those of the owners of the
// entity; 1 when they are, the nearest first; 2 when one is left out in between, and so
// on. The module and its packages are the outermost owners.
func (v *look) ownersMatch(where at, owners []string) int {
	f := v.file(where.file)
	chain := f.owners(where.item)
	depth, at := 1, 0
	for i := len(owners) - 1; i >= 0; i-- {
		found := false
		for ; at < len(chain); at++ {
			if strings.EqualFold(chain[at], owners[i]) {
				found = true
				at++
				break
			}
			depth++
		}
		if !found {
			return 0
		}
	}
	return depth
}

// owners are the names of what an entity is defined in, from the nearest: entities,
// the module, then its directories.
func (f *file) owners(i int32) []string {
	var out []string
	p := f.ents[i].Parent
	if r := f.ents[i].Receiver; p < 0 && r != "" {
		out = append(out, r)
	}
	for n := 0; p >= 0 && p < len(f.ents) && n < deepest; n++ {
		out = append(out, f.ents[p].Name)
		p = f.ents[p].Parent
	}
	dirs := strings.Split(f.path, "/")
	base, _, _ := strings.Cut(dirs[len(dirs)-1], ".")
	if base != "__init__" {
		out = append(out, base)
	}
	for i := len(dirs) - 2; i >= 0; i-- {
		out = append(out, dirs[i])
	}
	return out
}

// pathIs says whether a path is the one that was asked for, ends with it, or is in it.
// The extension may be left out, and dots may stand for slashes.
func pathIs(path, asked string) bool {
	if isGlob(asked) {
		return globMatch(asked, path) || globMatch("**/"+asked, path)
	}
	if isTail(path, asked) || strings.HasPrefix(path, asked) && path[len(asked)] == '/' {
		return true
	}
	if hasExtension(asked) {
		return false
	}
	return isTail(strings.TrimSuffix(path, extension(path)), dotsToSlashes(asked))
}

// isTail says whether a path ends with whole names of another one.
func isTail(path, tail string) bool {
	return strings.HasSuffix(path, tail) && (len(path) == len(tail) || path[len(path)-len(tail)-1] == '/')
}

func extension(p string) string {
	i := strings.LastIndexByte(p, '.')
	if i <= strings.LastIndexByte(p, '/') {
		return "\x00" // nothing to cut
	}
	return p[i:]
}

// prior orders hits that were found in the same way.
func (v *look) prior(h Hit) float64 {
	score := 0.0
	if h.test {
		score -= perTestFile
	}
	switch h.Kind {
	case "class":
		score += perKindClass
	case "variable":
		score -= perVariable
	}
	if strings.HasPrefix(h.Name, "_") && !strings.HasPrefix(h.Name, "__") {
		score -= perPrivate
	}
	return score - perDepth*float64(strings.Count(h.Path, "/")) - 0.1*float64(strings.Count(h.Qualified, "."))
}

func sortHits(hits []Hit) {
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Qualified, b.Qualified))
	})
}

// byGlob finds entities whose name, or qualified name, a glob matches.
func (v *look) byGlob(pattern string, f filter) []Hit {
	var hits []Hit
	patterns := expandBraces(pattern, 64)
	dotted := strings.Contains(pattern, ".")
	v.each(func(i int32, file *file) bool {
		if !f.keep(i, file) {
			return true
		}
		for e := range file.ents {
			name := file.ents[e].Name
			if dotted {
				name = file.qualified(int32(e))
			}
			for _, p := range patterns {
				if !matchGlob(p, name) {
					continue
				}
				if h := v.hit(at{i, int32(e)}); f.hit(h) {
					h.Score = scoreExact + v.prior(h)
					hits = append(hits, h)
				}
				break
			}
		}
		return true
	})
	sortHits(hits)
	return hits
}

// byParts finds entities whose name has all parts of the one asked for, or begins with
// it: "queryset bulk", "bulk" or "in_bul" find in_bulk.
func (v *look) byParts(name string, f filter, most int) []Hit {
	folded := foldName(name)
	if len(folded) < 3 {
		return nil
	}
	wanted := appendTerms(nil, name)
	if len(wanted) > 1 {
		wanted = wanted[:len(wanted)-1]
	}
	var hits []Hit
	letters := letterSet(folded)
	if len(wanted) > 1 {
		letters &^= letterSet("deginsy") // stems may lack them
	}
	v.eachUnique(func(unique string, has uint64) bool {
		if letters&^has != 0 {
			return true
		}
		score := partScore(unique, folded, wanted)
		if score == 0 {
			return true
		}
		v.named(unique, func(where at) {
			if h := v.hit(where); f.hit(h) {
				h.Score = score + v.prior(h)
				hits = append(hits, h)
			}
		})
		return len(hits) < 50*most
	})
	sortHits(hits)
	return hits[:min(len(hits), most)]
}

func partScore(unique, folded string, wanted []term) float64 {
	plain := foldName(unique)
	if plain == folded {
		return 0 // found as a name
	}
	extra := float64(min(len(plain), 60))
	if strings.HasPrefix(plain, folded) {
		return scorePart - extra
	}
	if i := strings.Index(plain, folded); i > 0 {
		return scorePart - 40 - extra
	}
	if len(wanted) < 2 {
		return 0
	}
	have := appendTerms(nil, unique)
	for _, t := range wanted {
		if !slices.Contains(have, t) {
			return 0
		}
	}
	return scorePart - 20 - extra
}

func foldName(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
