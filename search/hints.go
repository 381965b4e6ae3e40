package search

import (
	"fmt"
	"slices"
	"strings"
)

// mostHints is how many hints an answer ends with.
const mostHints = 3

// hints are the next queries worth asking after what was found. Each is computed from
// the index: a hint that would find nothing is not given.
func (v *look) hints(sections []section, q Query) []Hint {
	var out []Hint
	for _, s := range sections {
		for _, h := range v.hintsOf(s, q) {
			if len(out) == mostHints {
				return out
			}
			if !hasHint(out, h) {
				out = append(out, h)
			}
		}
	}
	return out
}

func hasHint(hints []Hint, h Hint) bool {
	for _, o := range hints {
		if o.Query.Path == h.Query.Path && slices.Equal(o.Query.Terms, h.Query.Terms) {
			return true
		}
	}
	return false
}

func (v *look) hintsOf(s section, q Query) []Hint {
	if len(s.hits) == 0 {
		return nil
	}
	var out []Hint
	if s.total > len(s.hits) || len(s.hits) > fewHits {
		if h, ok := v.narrower(s, q); ok {
			out = append(out, h)
		}
	}
	best, ok := v.bestEntity(s)
	if !ok {
		return out
	}
	if s.target != nil {
		// The next step of a relation is the first thing found.
		return append(out, v.relationHints(best, s.asked.relation)...)
	}
	if !s.exact || len(s.hits) > fewHits {
		out = append([]Hint{idHint(best, "its code")}, out...)
	}
	return append(out, v.relationHints(best, "")...)
}

// bestEntity is the first hit that is an entity, or stands in one.
func (v *look) bestEntity(s section) (Hit, bool) {
	for _, h := range s.hits {
		if h.where.file >= 0 && h.where.item >= 0 {
			return v.hit(h.where), true
		}
	}
	return Hit{}, false
}

func idHint(h Hit, shows string) Hint {
	return termHint(h.ID(), shows)
}

func termHint(term, shows string) Hint {
	return Hint{
		Query: Query{Terms: []string{term}},
		Text:  fmt.Sprintf("next: search_terms [%q] shows %s", term, visible(shows)),
	}
}

// relationHints name the relations of an entity that hold something.
func (v *look) relationHints(h Hit, asked string) []Hint {
	var out []Hint
	add := func(relation string, found []related, one, many string) {
		if len(found) == 0 || relation == asked {
			return
		}
		if len(found) == 1 {
			other := v.hit(found[0].where)
			out = append(out, idHint(other, fmt.Sprintf("%s %s", one, h.Qualified)))
			return
		}
		out = append(out, termHint(relation+":"+h.ID(), fmt.Sprintf("%s %s: %s", fmt.Sprintf(many, len(found)), h.Qualified, v.ids(found, 3))))
	}
	switch h.Kind {
	case "class":
		add("subclasses", v.subclasses(h.where), "the only subclass of", "%d subclasses of")
		callers, _ := v.callers(h.where)
		add("callers", callers, "the only caller of", "%d callers of")
	case "function", "method":
		callers, _ := v.callers(h.where)
		add("callers", callers, "the only caller of", "%d callers of")
		add("overridden", v.overridden(h.where), "what overrides", "%d overrides of")
		add("overrides", v.overrides(h.where), "the method that is overridden by", "%d methods overridden by")
	case "variable":
		return nil
	}
	if !h.test {
		add("tests", v.tests(h.where), "the test of", "%d tests that mention")
	}
	return out
}

// ids lists the first places by their qualified names.
func (v *look) ids(found []related, most int) string {
	var names []string
	for _, r := range found[:min(len(found), most)] {
		h := v.hit(r.where)
		names = append(names, h.ID())
	}
	if len(found) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// narrower is the same query in the directory that holds most of what was found.
func (v *look) narrower(s section, q Query) (Hint, bool) {
	count := map[string]int{}
	for _, h := range s.hits {
		for d := parentOf(h.Path); d != ""; d = parentOf(d) {
			count[d]++
		}
	}
	best, n := "", 0
	for d, c := range count {
		// The deepest directory that still holds a third, and not everything.
		if c*3 < len(s.hits) || c == len(s.hits) || c < 2 {
			continue
		}
		if deeper := strings.Count(d, "/") - strings.Count(best, "/"); best == "" || deeper > 0 || deeper == 0 && (c > n || c == n && d < best) {
			best, n = d, c
		}
	}
	if best == "" || best == cleanPath(q.Path) || len(q.Terms) != 1 {
		return Hint{}, false
	}
	next := q
	next.Path = best
	return Hint{
		Query: next,
		Text:  fmt.Sprintf("next: the same with file_path_or_pattern %q keeps %d of %d", best, n, len(s.hits)),
	}, true
}
