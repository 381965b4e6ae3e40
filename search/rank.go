package search

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// ranked is a document with its score.
type ranked struct {
	where at
	score float64
}

// scores accumulate over the terms of a question.
type scores struct {
	doc  []float32 // by document of the base, then of the overlay
	file []float32 // by file
}

var scoresPool = sync.Pool{New: func() any { return new(scores) }}

func (s *scores) reset(docs, files int) {
	s.doc = zeroed(s.doc, docs)
	s.file = zeroed(s.file, files)
}

func zeroed(f []float32, n int) []float32 {
	if cap(f) < n {
		return make([]float32, n)
	}
	f = f[:n]
	clear(f)
	return f
}

// fieldTable maps a packed count to what its name, signature and docstring weigh, so
// that scoring a posting is one look-up and one division.
type fieldTable struct {
	name [maxName + 1]float32
	rest [1 << 14 >> 7]float32 // signature and docstring together
}

func newFieldTable() *fieldTable {
	var t fieldTable
	for n := range t.name {
		t.name[n] = float32(weights.name * float64(n))
	}
	for r := range t.rest {
		t.rest[r] = float32(weights.signature*float64(r>>4) + weights.doc*float64(r&maxDoc))
	}
	return &t
}

func (t *fieldTable) count(c uint16, nameFactor, lengthFactor float32) float32 {
	return t.name[c>>shiftName]*nameFactor + (t.rest[c>>shiftDoc&(1<<7-1)]+float32(c&maxBody))*lengthFactor
}

// rank scores all documents that pass keep, best first, most of them at the most.
func (v *look) rank(q question, keep func(i int32, f *file) bool, most int) []ranked {
	b := v.base
	s := scoresPool.Get().(*scores)
	defer scoresPool.Put(s)
	table := docTable{}
	for i := range v.over {
		table.add(int32(len(b.files)+i), v.over[i].unit, &b.stats)
	}
	s.reset(len(b.docs.file)+len(table.file), len(b.files)+len(v.over))
	fields := newFieldTable()
	chosen := v.choose(q.words)
	for _, t := range chosen {
		b.addTerm(s, fields, t)
	}
	if len(v.over) > 0 {
		v.addOverlay(s, fields, chosen, &table)
	}
	v.addPlaces(s, q, &table, mostOf(chosen))
	v.spread(s, &table)
	return v.best(s, &table, keep, most)
}

// mostOf is the score that no document can reach: what a text names outright is worth a
// share of it, so that a long question does not drown it.
func mostOf(chosen []scoredTerm) float32 {
	sum := float32(0)
	for _, t := range chosen {
		sum += t.weight
	}
	return sum
}

// scoredTerm is a term of a question with its weight, rarity included.
type scoredTerm struct {
	term   term
	weight float32
	docs   []uint32
	tfs    []uint16
}

// choose looks terms up and keeps those that tell most. A word in too many documents
// tells nothing, unless nothing else is asked.
func (v *look) choose(words []weightedTerm) []scoredTerm {
	changed, docs := v.changedWords(words)
	n := float64(max(v.base.stats.docs+docs, 1))
	var out, common []scoredTerm
	for _, w := range words {
		t := scoredTerm{term: w.term}
		t.docs, t.tfs = v.base.words.find(w.term)
		df := float64(len(t.docs) + changed[w.term])
		if df == 0 {
			continue
		}
		t.weight = float32(w.weight * math.Log(1+(n-df+0.5)/(df+0.5)))
		if df > n*weights.common && n > 200 {
			common = append(common, t)
			continue
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		out = common
	}
	slices.SortFunc(out, func(a, b scoredTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.term, b.term))
	})
	return out[:min(len(out), weights.maxWork)]
}

// changedWords counts in how many documents of changed files each word stands, and those
// documents.
func (v *look) changedWords(words []weightedTerm) (count map[term]int, docs int) {
	if len(v.over) == 0 {
		return nil, 0
	}
	count = make(map[term]int, len(words))
	for _, w := range words {
		count[w.term] = 0
	}
	for i := range v.over {
		docs += len(v.over[i].docs)
		for d := range v.over[i].docs {
			for _, t := range v.over[i].words(d).terms {
				if n, asked := count[t]; asked {
					count[t] = n + 1
				}
			}
		}
	}
	return count, docs
}

// words are those of document d of the file.
func (f *file) words(d int) wordList {
	from, to := f.wordsOf(d)
	l := wordList{terms: f.terms[from:to], counts: f.counts[from:to]}
	if d == 0 {
		l = withPath(l, f.path)
	}
	return l
}

// addTerm scores one term in the documents of the base, and in their files: the
// documents of a file follow each other.
func (b *Base) addTerm(s *scores, fields *fieldTable, t scoredTerm) {
	k1, fileK1 := float32(weights.k1), float32(weights.fileK1)
	d := &b.docs
	last, inFile := int32(-1), float32(0)
	for i, doc := range t.docs {
		n := fields.count(t.tfs[i], d.name[doc], d.length[doc])
		s.doc[doc] += t.weight * n / (n + k1)
		if f := d.file[doc]; f != last {
			if last >= 0 {
				s.file[last] += t.weight * inFile / (inFile + fileK1*b.fileFactor[last])
			}
			last, inFile = f, 0
		}
		inFile += n
	}
	if last >= 0 {
		s.file[last] += t.weight * inFile / (inFile + fileK1*b.fileFactor[last])
	}
}

// addOverlay does the same for changed files, whose words are few enough to walk.
func (v *look) addOverlay(s *scores, fields *fieldTable, chosen []scoredTerm, table *docTable) {
	asked := make(map[term]float32, len(chosen))
	for _, t := range chosen {
		asked[t.term] = t.weight
	}
	doc := 0
	for i := range v.over {
		f := &v.over[i]
		inFile := map[term]float32{}
		for d := range f.docs {
			l := f.words(d)
			for j, t := range l.terms {
				if w, ok := asked[t]; ok {
					n := fields.count(l.counts[j], table.name[doc], table.length[doc])
					s.doc[len(v.base.docs.file)+doc] += w * n / (n + float32(weights.k1))
					inFile[t] += n
				}
			}
			doc++
		}
		factor := f.lengthFactor(&v.base.stats)
		for _, t := range chosen { // in this order: sums of floats depend on it
			if n, ok := inFile[t.term]; ok {
				s.file[len(v.base.files)+i] += t.weight * n / (n + float32(weights.fileK1)*factor)
			}
		}
	}
}

// best picks the documents with the highest scores.
func (v *look) best(s *scores, over *docTable, keep func(i int32, f *file) bool, most int) []ranked {
	var out []ranked
	floor := math.Inf(-1)
	baseDocs := len(v.base.docs.file)
	skip, last := false, int32(-1)
	for d, score := range s.doc {
		t, j := &v.base.docs, d
		if d >= baseDocs {
			t, j = over, d-baseDocs
		}
		i := t.file[j]
		if score == 0 && s.file[i] == 0 {
			continue
		}
		f := v.file(i)
		if i != last {
			last = i
			skip = v.hidden[i] || !keep(i, f)
		}
		if skip || score == 0 {
			continue
		}
		total := s.total(t, d, j) * factorOf(f, t.ent[j])
		if total <= floor {
			continue
		}
		out = append(out, ranked{at{i, t.ent[j]}, total})
		if len(out) >= 4*most+64 {
			sortRanked(out)
			out = out[:most]
			floor = out[most-1].score
		}
	}
	sortRanked(out)
	return out[:min(len(out), most)]
}

// total is the score of document d, the jth of its table, with that of what is around it.
func (s *scores) total(t *docTable, d, j int) float64 {
	total := float64(s.doc[d]) + weights.file*float64(s.file[t.file[j]])
	if o := t.owner[j]; o >= 0 {
		total += weights.owner * float64(s.doc[d-j+int(o)])
	}
	return total
}

func factorOf(f *file, ent int32) float64 {
	w := 1.0
	if f.test {
		w = weights.test
	}
	if isAside(f.path) {
		w *= weights.aside
	}
	if f.generated {
		w *= weights.made
	}
	switch {
	case ent < 0:
		w *= weights.module
	case f.ents[ent].Kind == kindClass:
		w *= weights.class
	case f.inFunction(ent):
		w *= weights.nested
	}
	return w
}

// sortRanked orders by score; of equal ones by place, so that an order is stable.
func sortRanked(r []ranked) {
	slices.SortFunc(r, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.where.file, b.where.file), cmp.Compare(a.where.item, b.where.item))
	})
}
