package search

import (
	"slices"
	"sort"
	"strings"
)

// literal calls yield with every line that holds text, in the order of paths, tests
// last, until most were found or yield says no. With word the text must not go on as
// a word on either side. Where of a hit is the entity that the line is in.
func (v *look) literal(text string, f filter, most int, word bool, yield func(Hit) bool) {
	if text == "" {
		return
	}
	may := v.mayHold(text, word)
	n := 0
	for _, tests := range []bool{false, true} {
		done := false
		v.each(func(i int32, file *file) bool {
			if file.test != tests || !f.keep(i, file) || !may(i) {
				return true
			}
			done = !v.lines(i, text, word, func(h Hit) bool {
				n++
				return yield(h) && n < most
			})
			return !done
		})
		if done {
			return
		}
	}
}

// mayHold says which files can hold a text, by its whole words; unless the text stands
// for whole words, the first and the last one may go on.
func (v *look) mayHold(text string, whole bool) func(int32) bool {
	var possible map[int32]bool
	first := true
	for start, end := nextWord(text, 0); start < len(text); start, end = nextWord(text, end) {
		if !whole && (start == 0 || end == len(text)) || end-start < 3 {
			continue
		}
		terms := appendTerms(nil, text[start:end])
		if len(terms) == 0 {
			continue
		}
		docs, _ := v.base.words.find(terms[len(terms)-1])
		now := map[int32]bool{}
		for _, d := range docs {
			if file := v.base.docs.file[d]; first || possible[file] {
				now[file] = true
			}
		}
		possible, first = now, false
	}
	return func(i int32) bool {
		// Only files with documents are in the lists of words.
		return possible == nil || possible[i] || int(i) >= len(v.base.files) || len(v.base.files[i].docs) == 0
	}
}

// lines calls yield with each line of a file that holds text, once a line.
func (v *look) lines(i int32, text string, word bool, yield func(Hit) bool) bool {
	f := v.file(i)
	line, counted := 1, 0
	for from := 0; ; {
		n := strings.Index(f.src[from:], text)
		if n < 0 {
			return true
		}
		n += from
		from = n + len(text)
		if word && !wholeWord(f.src, n, from) {
			continue
		}
		line += strings.Count(f.src[counted:n], "\n")
		counted = n
		begin := strings.LastIndexByte(f.src[:n], '\n') + 1
		end := len(f.src)
		if e := strings.IndexByte(f.src[n:], '\n'); e >= 0 {
			end = n + e
		}
		e := f.at(line)
		h := Hit{
			Path: f.path, Kind: "text", Name: strings.TrimSpace(clip(f.src[begin:end], 200)),
			Start: line, End: line, where: at{i, e}, test: f.test, Score: scoreExact,
		}
		if e >= 0 {
			h.Qualified = f.qualified(e)
		}
		if !yield(h) {
			return false
		}
		if from = end; from >= len(f.src) {
			return true
		}
	}
}

func wholeWord(s string, from, to int) bool {
	if from > 0 && byteClass[s[from-1]] != byteOther && byteClass[s[from]] != byteOther {
		return false
	}
	return to >= len(s) || byteClass[s[to]] == byteOther || byteClass[s[to-1]] == byteOther
}

// at is the innermost class or function that holds a line, -1 when none.
func (u *unit) at(line int) int32 {
	found := int32(-1)
	// Entities are in the order of their lines, so the last one that fits is innermost.
	n := sort.Search(len(u.ents), func(i int) bool { return firstLine(&u.ents[i]) > line })
	for i := n - 1; i >= 0; i-- {
		e := &u.ents[i]
		if isScope(e.Kind) && firstLine(e) <= line && line <= e.End {
			found = int32(i)
			break
		}
	}
	return found
}

// clip cuts a text to n bytes, at the end of a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// byPath finds files and directories by a path, its end, or a glob.
func (v *look) byPath(asked string, f filter) []Hit {
	var hits []Hit
	dirs := map[string]bool{}
	v.each(func(i int32, file *file) bool {
		if pathIs(file.path, asked) && !strings.HasPrefix(file.path, asked+"/") {
			if h := v.hit(at{i, -1}); f.hit(h) {
				h.Score = scoreAlias + v.prior(h)
				hits = append(hits, h)
			}
		}
		for d := parentOf(file.path); d != "" && !dirs[d]; d = parentOf(d) {
			dirs[d] = true
		}
		return true
	})
	for d := range dirs {
		h := Hit{Path: d, Kind: "directory", Name: baseName(d), Qualified: d, where: at{-1, -1}, test: isTest(d + "/x")}
		if pathIs(d, asked) && (d == asked || strings.HasSuffix(d, "/"+asked) || isGlob(asked)) && f.hit(h) {
			h.Score = scoreAlias + v.prior(h) + 1
			hits = append(hits, h)
		}
	}
	sortHits(hits)
	return hits
}

func parentOf(p string) string {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return ""
}

// nearPaths are the paths most like one that does not exist.
func (v *look) nearPaths(asked string, most int) []string {
	base := strings.ToLower(baseName(asked))
	type scored struct {
		path string
		d    int
	}
	var row distanceRows
	var out []scored
	v.each(func(_ int32, f *file) bool {
		d := row.distance(base, baseName(f.path), 3)
		if d <= 3 && d < len(base)/2 {
			out = append(out, scored{f.path, d*100 + row.distance(strings.ToLower(asked), f.path, 200)})
		}
		return true
	})
	slices.SortFunc(out, func(a, b scored) int {
		if a.d != b.d {
			return a.d - b.d
		}
		return strings.Compare(a.path, b.path)
	})
	var paths []string
	for _, o := range out[:min(len(out), most)] {
		paths = append(paths, o.path)
	}
	return paths
}
