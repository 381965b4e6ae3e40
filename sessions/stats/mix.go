package stats

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Shares of the levels in a training set, in percent.
type Shares map[Level]int

// Drawn is what a mix took of a level.
type Drawn struct {
	Level  Level    `json:"level"`
	Share  int      `json:"share"`  // percent
	Have   int      `json:"have"`   // instances of the level
	Wanted int      `json:"wanted"` // by the share
	IDs    []string `json:"instances"`
}

// Fits is the size of the largest set in which every share can be filled, and the
// hardest of the levels that keep it from being larger, "" when all are used up. It is
// 0 where a level with a share has no instance at all: rounding would make small sets
// without it.
func (s Shares) Fits(by map[Level][]string) (size int, limit Level) {
	for _, l := range Levels() {
		if s[l] > 0 && len(by[l]) == 0 {
			return 0, l
		}
		size += len(by[l])
	}
	for { // quotas are rounded: there is no formula
		short := s.short(by, size)
		if short == "" || size == 0 {
			return size, limit
		}
		size, limit = size-1, short
	}
}

// short is the hardest level that has too few for a set of n, "" when none has.
func (s Shares) short(by map[Level][]string, n int) Level {
	quotas := s.quotas(n)
	for _, l := range Levels() {
		if quotas[l] > len(by[l]) {
			return l
		}
	}
	return ""
}

// quotas of a set of n, which add up to n: whole parts first, then one each to the
// largest remainders, of equal ones to the harder level.
func (s Shares) quotas(n int) map[Level]int {
	type rest struct {
		level Level
		part  int // hundredths
	}
	q, left := map[Level]int{}, n
	var rests []rest
	for _, l := range Levels() {
		q[l] = n * s[l] / 100
		left -= q[l]
		rests = append(rests, rest{l, n * s[l] % 100})
	}
	slices.SortStableFunc(rests, func(a, b rest) int { return cmp.Compare(b.part, a.part) })
	for i := 0; i < left && i < len(rests); i++ {
		q[rests[i].level]++
	}
	return q
}

// Mix draws a set of n by the shares, which must add up to 100. Of a level it
// takes at random, each time of the group that the set has fewest of; group nil
// puts all in one. A level that has too few is not made up for by others. The
// same arguments draw the same set.
func (s Shares) Mix(by map[Level][]string, n int, seed uint64, group func(id string) string) []Drawn {
	draw := rand.New(rand.NewPCG(seed, 0))
	quotas, taken := s.quotas(n), map[string]int{}
	var out []Drawn
	for _, l := range Levels() {
		d := Drawn{Level: l, Share: s[l], Have: len(by[l]), Wanted: quotas[l], IDs: []string{}}
		groups := map[string][]string{}
		var names []string
		ids := slices.Clone(by[l])
		slices.Sort(ids)
		draw.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		for _, id := range ids {
			name := ""
			if group != nil {
				name = group(id)
			}
			if groups[name] == nil {
				names = append(names, name) // in an order of the draw: ties are no one's
			}
			groups[name] = append(groups[name], id)
		}
		for len(d.IDs) < d.Wanted && len(names) > 0 {
			least := slices.MinFunc(names, func(a, b string) int { return cmp.Compare(taken[a], taken[b]) })
			d.IDs = append(d.IDs, groups[least][0])
			taken[least]++
			if groups[least] = groups[least][1:]; len(groups[least]) == 0 {
				names = slices.DeleteFunc(names, func(name string) bool { return name == least })
			}
		}
		slices.Sort(d.IDs)
		out = append(out, d)
	}
	return out
}
