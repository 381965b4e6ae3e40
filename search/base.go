package search

import (
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// File is a file to index: a path relative to the repository, with slashes, and its
// bytes.
type File struct {
	Path    string
	Content []byte
}

// file is a file of an index.
type file struct {
	path      string
	test      bool
	generated bool
	*unit
}

// Base is the index of a repository at one commit. It is immutable, so that any number
// of views may share it.
type Base struct {
	files []file // by path
	// ignored are the rules of .gitignore at this commit.
	ignored ignore
	stats   stats
	words   *postings
	names   buckets // of entities, by name
	refs    buckets // of references, by the last part of the name
	docs    docTable

	// fileFactor is 1-b+b*length/average of each file.
	fileFactor []float32

	plainOnce sync.Once
	plainBase *Base

	namesOnce sync.Once
	unique    []string // names of entities, each once, sorted
	letters   []uint64 // the letterSet of each
}

// docTable has a row for each document of the index.
type docTable struct {
	first  []int32 // by file: the number of its first document
	file   []int32
	ent    []int32
	owner  []int32   // document of the class or function around it, -1: none
	length []float32 // 1/(1-b+b*length/average), per field that has a length
	name   []float32
}

// stats are what ranking must know of the whole index.
type stats struct {
	docs   int
	length float64 // mean words of a document's body
	files  int     // with documents
	file   float64 // mean words of a file
}

// Build indexes a repository. Files come in any order; of two with one path the last
// one counts. What .gitignore files among them exclude is left out.
func Build(files []File) *Base {
	files = dedupe(files)
	ignored := newIgnore(files)
	kept := files[:0:0]
	for _, f := range files {
		if !inHiddenDir(f.Path) && !ignored.match(f.Path) {
			kept = append(kept, f)
		}
	}
	b := &Base{files: make([]file, len(kept)), ignored: ignored}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8) {
		wg.Go(func() {
			w := newWords()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(kept) {
					return
				}
				b.files[i] = newFile(kept[i].Path, string(kept[i].Content), w)
			}
		})
	}
	wg.Wait()
	b.finish()
	return b
}

// dedupe sorts files by path, the last of equal paths only.
func dedupe(files []File) []File {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	out := files[:0]
	for i, f := range files {
		if i+1 < len(files) && files[i+1].Path == f.Path {
			continue
		}
		out = append(out, f)
	}
	return out
}

// finish builds what spans files.
func (b *Base) finish() {
	var wg sync.WaitGroup
	wg.Go(func() {
		b.names = newBuckets(b.eachName)
		b.refs = newBuckets(b.eachRef)
	})
	b.tabulate()
	b.words = invert(b.wordLists())
	wg.Wait()
	for i := range b.files {
		b.files[i].terms, b.files[i].counts = nil, nil
	}
}

func (b *Base) eachName(yield func(string, at)) {
	for f := range b.files {
		for e := range b.files[f].ents {
			yield(b.files[f].ents[e].Name, at{int32(f), int32(e)})
		}
	}
}

func (b *Base) eachRef(yield func(string, at)) {
	for f := range b.files {
		for r := range b.files[f].refs {
			ref := &b.files[f].refs[r]
			where := at{int32(f), int32(r)}
			yield(ref.last(), where)
		}
	}
}

// last is the name that a reference is found by: of an import what is taken from the
// module, else the last part of the module's name.
func (r *ref) last() string {
	if r.imp != nil && r.imp.target != "" && r.imp.target != "*" {
		return r.imp.target
	}
	return lastName(r.name)
}

// tabulate numbers the documents.
func (b *Base) tabulate() {
	b.stats = stats{}
	n := 0
	words := 0.0
	for i := range b.files {
		if len(b.files[i].docs) == 0 {
			continue
		}
		n += len(b.files[i].docs)
		b.stats.files++
		for _, d := range b.files[i].docs {
			words += float64(d.length)
		}
	}
	b.stats.docs = n
	if n > 0 {
		b.stats.length = words / float64(n)
		b.stats.file = words / float64(b.stats.files)
	}
	b.docs = docTable{
		file: make([]int32, 0, n), ent: make([]int32, 0, n), owner: make([]int32, 0, n),
		length: make([]float32, 0, n), name: make([]float32, 0, n),
	}
	b.fileFactor = make([]float32, len(b.files))
	for i := range b.files {
		b.fileFactor[i] = b.files[i].lengthFactor(&b.stats)
		b.docs.add(int32(i), b.files[i].unit, &b.stats)
	}
}

// add adds the documents of a file.
func (t *docTable) add(file int32, u *unit, s *stats) {
	first := len(t.file)
	t.first = append(t.first, int32(first))
	for i, d := range u.docs {
		t.file = append(t.file, file)
		t.ent = append(t.ent, d.ent)
		t.length = append(t.length, lengthFactor(float64(d.length), s.length, weights.lengthB))
		t.name = append(t.name, lengthFactor(float64(d.nameLen), 2.5, weights.nameB))
		owner := int32(-1)
		if d.ent >= 0 {
			// Documents are in the order of the entities, so an owner's is before it.
			for j := i - 1; j > 0; j-- {
				if int(u.docs[j].ent) == u.ents[d.ent].Parent {
					owner = int32(first + j)
					break
				}
			}
		}
		t.owner = append(t.owner, owner)
	}
}

// lengthFactor is what the length of a file multiplies its saturation with.
func (f *file) lengthFactor(s *stats) float32 {
	n := 0.0
	for _, d := range f.docs {
		n += float64(d.length)
	}
	return 1 / lengthFactor(n, s.file, weights.fileB)
}

// lengthFactor divides a count by the length of its field.
func lengthFactor(length, mean, b float64) float32 {
	if mean <= 0 {
		return 1
	}
	return float32(1 / (1 - b + b*length/mean))
}

// wordLists are the words of all documents in their order.
func (b *Base) wordLists() []wordList {
	lists := make([]wordList, 0, b.stats.docs+b.stats.files)
	n := uint32(0)
	for i := range b.files {
		f := &b.files[i]
		for d := range f.docs {
			l := f.words(d)
			l.doc = n
			lists = append(lists, l)
			n++
		}
	}
	return lists
}

// withPath adds the words of the path to those of a file's own document: as a name the
// parts of the file's name, in the signature those of its directories.
func withPath(l wordList, file string) wordList {
	terms := slices.Clone(l.terms)
	counts := slices.Clone(l.counts)
	add := func(t term, count uint16, shift uint, most uint16) {
		if i := slices.Index(l.terms, t); i >= 0 && shift != 0 {
			had := counts[i] >> shift & most
			counts[i] = counts[i]&^(most<<shift) | min(had+1, most)<<shift
			return
		}
		if i := slices.Index(terms[len(l.terms):], t); i >= 0 {
			counts[len(l.terms)+i] |= count
			return
		}
		terms, counts = append(terms, t), append(counts, count)
	}
	dir, base := path.Split(file)
	base = strings.TrimSuffix(base, path.Ext(base))
	var buf []term
	for start, end := nextWord(base, 0); start < len(base); start, end = nextWord(base, end) {
		buf = appendTerms(buf[:0], base[start:end])
		for _, t := range buf {
			add(t, 1<<shiftName, shiftName, maxName)
		}
	}
	add(hashMarked(markFile, base), 1<<shiftName, shiftName, maxName)
	for start, end := nextWord(dir, 0); start < len(dir); start, end = nextWord(dir, end) {
		buf = appendTerms(buf[:0], dir[start:end])
		for _, t := range buf {
			add(t, 1<<shiftSig, shiftSig, maxSig)
		}
	}
	for part := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		add(hashMarked(markDir, part), 1<<shiftName, shiftName, maxName)
	}
	return wordList{doc: l.doc, terms: terms, counts: counts}
}

// find is the number of the file with that path.
func (b *Base) find(name string) (int, bool) {
	return slices.BinarySearchFunc(b.files, name, func(f file, name string) int { return strings.Compare(f.path, name) })
}
