package search

import "strings"

// plain is the index of the files that no scanner reads, made when first asked for.
func (b *Base) plain() *Base {
	b.plainOnce.Do(func() {
		w := newWords()
		p := &Base{}
		for i := range b.files {
			f := b.files[i]
			if f.language != "" || f.src == "" {
				continue
			}
			u := &unit{src: f.src}
			w.read(u)
			f.unit = u
			p.files = append(p.files, f)
		}
		p.finish()
		b.plainBase = p
	})
	return b.plainBase
}

// plainView is a view of the files that no scanner reads, without those that changed.
func (v *look) plainView() *look {
	p := &look{base: v.base.plain()}
	for i := range v.hidden {
		if j, ok := p.base.find(v.base.files[i].path); ok {
			p.hide(int32(j))
		}
	}
	for i := range v.over {
		if v.over[i].language == "" {
			p.over = append(p.over, v.over[i])
		}
	}
	return p
}

// plainHits ranks other text. Its hits keep the numbers of v.
func (v *look) plainHits(other *look, q question, limit int, f filter) []Hit {
	if f.kind != "" && f.kind != "file" && f.kind != "test" {
		return nil
	}
	var hits []Hit
	for _, x := range other.rank(q, f.keep, limit) {
		i, ok := v.lookup(other.file(x.where.file).path)
		if !ok {
			continue
		}
		h := v.hit(at{i, -1})
		if h.Score = x.score; f.hit(h) {
			hits = append(hits, h)
		}
	}
	return hits
}

// foldedLines is literal search without regard to the case of ASCII letters.
func (v *look) foldedLines(text string, f filter, most int, yield func(Hit)) {
	wanted := strings.ToLower(text)
	if wanted == "" {
		return
	}
	n := 0
	v.each(func(i int32, file *file) bool {
		if !f.keep(i, file) {
			return true
		}
		for line, rest := 1, file.src; rest != "" && n < most; line++ {
			var l string
			l, rest, _ = strings.Cut(rest, "\n")
			if len(l) < len(wanted) || !containsFolded(l, wanted) {
				continue
			}
			e := file.at(line)
			h := Hit{Path: file.path, Kind: "text", Name: strings.TrimSpace(clip(l, 200)), Start: line, End: line,
				where: at{i, e}, test: file.test, Score: scoreFolded}
			if e >= 0 {
				h.Qualified = file.qualified(e)
			}
			yield(h)
			n++
		}
		return n < most
	})
}

// containsFolded says whether s holds the lower-case wanted in any case.
func containsFolded(s, wanted string) bool {
	first := wanted[0]
	for i := 0; i+len(wanted) <= len(s); i++ {
		if lower(s[i]) != first {
			continue
		}
		j := 1
		for j < len(wanted) && lower(s[i+j]) == wanted[j] {
			j++
		}
		if j == len(wanted) {
			return true
		}
	}
	return false
}
