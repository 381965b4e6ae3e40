package search

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// eachUnique calls yield with every name of an entity once, as one of them writes it,
// and the set of its letters.
func (v *look) eachUnique(yield func(name string, letters uint64) bool) {
	names := v.base.uniqueNames()
	for i, n := range names {
		if !yield(n, v.base.letters[i]) {
			return
		}
	}
	for i := range v.over {
		for e := range v.over[i].ents {
			name := v.over[i].ents[e].Name
			if _, ok := slices.BinarySearch(names, name); !ok && !yield(name, letterSet(name)) {
				return
			}
		}
	}
}

func (b *Base) uniqueNames() []string {
	b.namesOnce.Do(func() {
		names := make([]string, 0, len(b.names.items))
		for _, where := range b.names.items {
			names = append(names, b.files[where.file].ents[where.item].Name)
		}
		slices.Sort(names)
		b.unique = slices.Clip(slices.Compact(names))
		b.letters = make([]uint64, len(b.unique))
		for i, n := range b.unique {
			b.letters[i] = letterSet(n)
		}
	})
	return b.unique
}

// near is a name at a small distance from the one asked for.
type near struct {
	name     string
	distance int
}

// longestName is how long a name may be that misspelt ones are looked for of, in bytes.
const longestName = 200

// nearest lists names within two edits (one for short names), nearest first.
func (v *look) nearest(name string, most int) []near {
	if len(name) > longestName {
		return nil // no name is near one that nobody gives, and the look would take long
	}
	asked := strings.ToLower(name)
	limit := 2
	if len(asked) < 5 {
		limit = 1
	}
	if len(asked) > 14 {
		limit = 3
	}
	letters := letterSet(asked)
	var row distanceRows
	var found []near
	v.eachUnique(func(unique string, has uint64) bool {
		if d := len(unique) - len(asked); d > limit || -d > limit {
			return true
		}
		// An edit changes at most two letters of the set.
		if bits.OnesCount64(letters^has) > 2*limit {
			return true
		}
		if d := row.distance(asked, unique, limit); d <= limit {
			found = append(found, near{unique, d})
		}
		return true
	})
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(commonPrefix(b.name, asked), commonPrefix(a.name, asked)),
			cmp.Compare(a.name, b.name))
	})
	return found[:min(len(found), most)]
}

// letterSet has a bit for each letter, whose case does not count, and digit.
func letterSet(s string) uint64 {
	var set uint64
	for i := 0; i < len(s); i++ {
		set |= 1 << (lower(s[i]) & 63)
	}
	return set
}

func commonPrefix(name, folded string) int {
	n := 0
	for n < len(name) && n < len(folded) && lower(name[n]) == folded[n] {
		n++
	}
	return n
}

// distanceRows are three rows of the table of edit distances.
type distanceRows struct{ a, b, c []int }

// distance is the number of letters to insert, delete, replace or swap with the next
// one, to make name from the lower-case asked; more than limit is not counted exactly.
func (d *distanceRows) distance(asked, name string, limit int) int {
	n := len(name)
	if cap(d.a) <= n {
		d.a, d.b, d.c = make([]int, n+32), make([]int, n+32), make([]int, n+32)
	}
	before, prev, row := d.a[:n+1], d.b[:n+1], d.c[:n+1]
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(asked); i++ {
		row[0] = i
		best := i
		for j := 1; j <= n; j++ {
			cost := 1
			if asked[i-1] == lower(name[j-1]) {
				cost = 0
			}
			x := min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && asked[i-1] == lower(name[j-2]) && asked[i-2] == lower(name[j-1]) {
				x = min(x, before[j-2]+1)
			}
			row[j] = x
			best = min(best, x)
		}
		if best > limit {
			return best
		}
		before, prev, row = prev, row, before
	}
	return prev[n]
}

// byDistance finds entities with a misspelt name. owners are the parts before it.
func (v *look) byDistance(name string, f filter, most int) []Hit {
	parts := strings.Split(name, ".")
	last := parts[len(parts)-1]
	if len(last) < 3 {
		return nil
	}
	var hits []Hit
	for _, n := range v.nearest(last, 4*most) {
		v.named(n.name, func(where at) {
			h := v.hit(where)
			if h.Name != n.name || !f.hit(h) {
				return
			}
			h.Score = scoreNear - 100*float64(n.distance) + float64(commonPrefix(n.name, strings.ToLower(last))) + v.prior(h)/10
			if len(parts) > 1 {
				h.Score += 30 * v.ownersNear(where, parts[:len(parts)-1])
			}
			hits = append(hits, h)
		})
	}
	sortHits(hits)
	return hits[:min(len(hits), most)]
}

// ownersNear is the share of the owners asked for that the entity has, misspelt ones too.
func (v *look) ownersNear(where at, owners []string) float64 {
	chain := v.file(where.file).owners(where.item)
	var row distanceRows
	n := 0
	for _, o := range owners {
		if slices.ContainsFunc(chain, func(c string) bool { return row.distance(strings.ToLower(o), c, 2) <= 2 }) {
			n++
		}
	}
	return float64(n) / float64(len(owners))
}
