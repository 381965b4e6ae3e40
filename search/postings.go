package search

import (
	"slices"
	"sync"
)

// postings lists for each term the documents that hold it, in their order, with a
// packed count each. Immutable.
type postings struct {
	keys []term   // ascending
	ends []uint32 // the documents of keys[i] end at ends[i], and begin at ends[i-1]
	docs []uint32
	tfs  []uint16
	dir  []uint32 // dir[t>>16] is the first index of keys with these upper bits
}

func (p *postings) find(t term) (docs []uint32, tfs []uint16) {
	if len(p.dir) == 0 {
		return nil, nil
	}
	from, to := p.dir[t>>16], p.dir[t>>16+1]
	i, ok := slices.BinarySearch(p.keys[from:to], t)
	if !ok {
		return nil, nil
	}
	i += int(from)
	begin := uint32(0)
	if i > 0 {
		begin = p.ends[i-1]
	}
	return p.docs[begin:p.ends[i]], p.tfs[begin:p.ends[i]]
}

// source of postings: the words of consecutive documents.
type wordList struct {
	doc    uint32
	terms  []term
	counts []uint16
}

// invert builds postings, half of the terms on each of two goroutines.
func invert(lists []wordList) *postings {
	const parts = 2
	var half [parts]postings
	var wg sync.WaitGroup
	for i := range half {
		wg.Go(func() { half[i].invert(lists, func(t term) bool { return t>>31 == uint32(i) }) })
	}
	wg.Wait()
	shift := uint32(len(half[0].docs))
	for i := range half[1].ends {
		half[1].ends[i] += shift
	}
	p := &postings{
		keys: append(half[0].keys, half[1].keys...),
		ends: append(half[0].ends, half[1].ends...),
		docs: append(half[0].docs, half[1].docs...),
		tfs:  append(half[0].tfs, half[1].tfs...),
	}
	p.index()
	return p
}

// index fills dir.
func (p *postings) index() {
	p.dir = make([]uint32, 1<<16+1)
	i := 0
	for high := range p.dir {
		for i < len(p.keys) && int(p.keys[i]>>16) < high {
			i++
		}
		p.dir[high] = uint32(i)
	}
}

func (p *postings) invert(lists []wordList, mine func(term) bool) {
	table := newTermTable()
	total := 0
	for _, l := range lists {
		for _, t := range l.terms {
			if mine(t) {
				table.count(t)
				total++
			}
		}
	}
	p.keys = slices.Clone(table.keys)
	slices.Sort(p.keys)
	p.ends = make([]uint32, len(p.keys))
	next := make([]uint32, len(p.keys)) // by the table's index: where the next posting goes
	at := uint32(0)
	for i, k := range p.keys {
		j := table.find(k)
		next[j] = at
		at += table.counts[j]
		p.ends[i] = at
	}
	p.docs = make([]uint32, total)
	p.tfs = make([]uint16, total)
	for _, l := range lists {
		for i, t := range l.terms {
			if !mine(t) {
				continue
			}
			j := table.find(t)
			p.docs[next[j]], p.tfs[next[j]] = l.doc, l.counts[i]
			next[j]++
		}
	}
}

// termTable counts terms.
type termTable struct {
	slots  []uint32 // index into keys + 1
	keys   []term
	counts []uint32
}

func newTermTable() *termTable { return &termTable{slots: make([]uint32, 1<<14)} }

func (t *termTable) slot(k term) int {
	mask := uint32(len(t.slots) - 1)
	i := (k * 0x9E3779B1) >> 8 & mask
	for t.slots[i] != 0 && t.keys[t.slots[i]-1] != k {
		i = (i + 1) & mask
	}
	return int(i)
}

func (t *termTable) find(k term) uint32 { return t.slots[t.slot(k)] - 1 }

func (t *termTable) count(k term) {
	i := t.slot(k)
	if t.slots[i] == 0 {
		t.keys = append(t.keys, k)
		t.counts = append(t.counts, 0)
		t.slots[i] = uint32(len(t.keys))
		if 2*len(t.keys) > len(t.slots) {
			t.grow()
			i = t.slot(k)
		}
	}
	t.counts[t.slots[i]-1]++
}

func (t *termTable) grow() {
	t.slots = make([]uint32, 2*len(t.slots))
	mask := uint32(len(t.slots) - 1)
	for n, k := range t.keys {
		i := (k * 0x9E3779B1) >> 8 & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = uint32(n + 1)
	}
}
