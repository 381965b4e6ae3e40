package search

import (
	"fmt"
	"slices"
	"strings"
)

// section is what one term of a query found.
type section struct {
	asked asked
	hits  []Hit
	total int    // hits, also those beyond the limit
	how   string // how they were found, when not in the plain way
	// calls and imports that mean nothing in the repository
	outside []string
	target  *Hit // of a relation
	lines   bool // of line_nums
	exact   bool // the hits are what was asked for, not something like it
}

// defaultLimit is how many hits a term gives when the query does not say.
const defaultLimit = 20

// find lists the things found, best first, each once.
func (v *look) find(q Query) []Hit {
	var out []Hit
	seen := map[string]bool{}
	for _, s := range v.sections(q) {
		for _, h := range s.hits {
			key := fmt.Sprint(h.ID(), h.Kind, h.Start)
			if !seen[key] {
				seen[key] = true
				out = append(out, h)
			}
		}
	}
	return out
}

// sections asks each part of a query.
func (v *look) sections(q Query) []section {
	f := newFilter(q)
	var out []section
	if len(q.Lines) > 0 {
		out = append(out, v.findLines(q, f))
	}
	for _, term := range q.Terms {
		if strings.TrimSpace(term) != "" {
			out = append(out, v.findTerm(term, limitOf(q), f))
		}
	}
	if strings.TrimSpace(q.Pattern) != "" {
		out = append(out, v.findPattern(q.Pattern, limitOf(q), f))
	}
	if len(out) == 0 && f.path != "" {
		s := v.findPath(asked{form: formPath, raw: f.path, file: f.path}, f)
		s.cut(limitOf(q))
		out = append(out, s)
	}
	return out
}

func limitOf(q Query) int {
	if q.Limit > 0 {
		return q.Limit
	}
	return defaultLimit
}

// cut keeps the best hits.
func (s *section) cut(limit int) {
	s.total = max(s.total, len(s.hits))
	s.hits = s.hits[:min(len(s.hits), limit)]
}

func (v *look) findTerm(term string, limit int, f filter) section {
	a := parseTerm(term)
	var s section
	switch {
	case f.kind == "text":
		s = v.findText(a, limit, f)
	case a.form == formRelation:
		s = v.findRelation(a, limit, f)
	case a.form == formGlob:
		s = section{asked: a, hits: v.byGlob(a.name, f), exact: true}
	case a.form == formPath:
		s = v.findPath(a, f)
	case a.form == formName:
		s = v.findName(a, limit, f)
	default:
		s = v.findFree(a, limit, f)
	}
	s.cut(limit)
	return s
}

func (v *look) findPath(a asked, f filter) section {
	return section{asked: a, hits: v.byPath(a.file, f), exact: true}
}

// findName finds a name as it is, else what it may have meant.
func (v *look) findName(a asked, limit int, f filter) section {
	s := section{asked: a, exact: true}
	if a.kind != "" && f.kind == "" {
		f.kind = a.kind
	}
	s.hits = v.byName(a.name, a.file, f)
	if len(s.hits) == 0 && a.file == "" {
		s.hits = v.byPath(strings.ReplaceAll(a.name, ".", "/"), f)
	}
	if len(s.hits) > 0 {
		return s
	}
	s.exact = false
	s.how = "no such name; the nearest names"
	s.hits = v.nearNames(a, limit, f)
	if f.kind == "" || f.kind == "test" {
		texts := v.wordLines(a.name, min(limit, 10), f)
		if len(texts) > 0 {
			s.how = "not the name of an entity; lines with this text, then the nearest names"
			s.hits = append(texts, s.hits...)
		}
	}
	if len(s.hits) == 0 {
		s.how = "no such name; ranked by its words"
		s.hits = v.ranked(a.name, limit, f)
	}
	return s
}

// nearNames are misspelt names, and names of which the one asked for is a part.
func (v *look) nearNames(a asked, limit int, f filter) []Hit {
	hits := v.byDistance(a.name, f, limit)
	if a.file != "" {
		kept := hits[:0]
		for _, h := range hits {
			if pathIs(h.Path, a.file) {
				h.Score += 200
			}
			kept = append(kept, h)
		}
		hits = kept
		for _, h := range v.byName(a.name, "", f) { // the name in another file
			h.Score = scoreNear + 50
			hits = append(hits, h)
		}
	}
	for _, h := range v.byParts(lastName(a.name), f, limit) {
		h.Score -= scorePart - scoreNear + 150
		hits = append(hits, h)
	}
	if strings.Contains(a.name, ".") && a.file == "" {
		// The last name without its owner, and members of the owner.
		for _, h := range v.byName(lastName(a.name), "", f) {
			h.Score = scoreNear - 150 + v.prior(h)/10
			hits = append(hits, h)
		}
	}
	sortHits(hits)
	return distinctHits(hits)
}

func distinctHits(hits []Hit) []Hit {
	seen := map[string]bool{}
	out := hits[:0]
	for _, h := range hits {
		key := fmt.Sprint(h.Path, ":", h.Start, h.Name)
		if !seen[key] {
			seen[key] = true
			out = append(out, h)
		}
	}
	return out
}

// wordLines are lines that hold the text as a word.
func (v *look) wordLines(text string, most int, f filter) []Hit {
	var out []Hit
	v.literal(text, f, most, true, func(h Hit) bool {
		out = append(out, h)
		return true
	})
	return out
}

// findText finds lines, in another case if there are none in this one.
func (v *look) findText(a asked, limit int, f filter) section {
	s := section{asked: a, exact: true}
	v.literal(a.raw, f, 20*limit, false, func(h Hit) bool {
		s.hits = append(s.hits, h)
		return true
	})
	if len(s.hits) == 0 {
		v.foldedLines(a.raw, f, 20*limit, func(h Hit) { s.hits = append(s.hits, h) })
		s.how = "in another case"
	}
	return s
}

// findFree finds the text as it stands, then what its words are about.
func (v *look) findFree(a asked, limit int, f filter) section {
	s := section{asked: a}
	if len(a.raw) <= 200 && !strings.Contains(a.raw, "\n") && f.kind == "" {
		v.literal(a.raw, f, 10, false, func(h Hit) bool {
			s.hits = append(s.hits, h)
			return true
		})
		if len(s.hits) > 0 {
			s.how = "lines with this text, then ranked by its words"
		}
	}
	s.hits = append(s.hits, v.ranked(a.raw, limit, f)...)
	return s
}

// ranked are the entities that a text is about. Other text of the repository is asked
// when nothing else is there, or when the filter names it.
func (v *look) ranked(text string, limit int, f filter) []Hit {
	q := newQuestion(text)
	keep := func(i int32, file *file) bool { return file.language != "" && f.keep(i, file) }
	var hits []Hit
	add := func(v *look, r []ranked) {
		for _, x := range r {
			h := v.hit(x.where)
			h.Score = x.score
			if f.hit(h) {
				hits = append(hits, h)
			}
		}
	}
	most := limit
	if f.kind != "" && f.kind != "test" {
		most = 20 * limit
	}
	add(v, v.rank(q, keep, most))
	if len(hits) < min(limit, 3) || f.path != "" {
		other := v.plainView()
		hits = append(hits, v.plainHits(other, q, limit, f)...)
		slices.SortStableFunc(hits, func(a, b Hit) int {
			switch {
			case a.Score > b.Score:
				return -1
			case a.Score < b.Score:
				return 1
			}
			return 0
		})
	}
	return hits
}

// hit describes what stands at a place.
func (v *look) hit(where at) Hit {
	f := v.file(where.file)
	if where.item < 0 {
		return Hit{Path: f.path, Kind: "file", Name: baseName(f.path), Qualified: f.path, Start: 1, End: f.lineCount(), where: where, test: f.test}
	}
	e := &f.ents[where.item]
	return Hit{
		Path: f.path, Kind: f.kindOf(where.item), Name: e.Name, Qualified: f.qualified(where.item),
		Start: e.Start, End: e.End, where: where, test: f.test,
	}
}
