package search

import (
	"strings"
)

// pattern is code with holes. $NAME stands for one expression, the same one wherever
// the name stands again; $$$ for any number of them, with commas; … or ... for anything
// up to the end of the block that the match began in. Spaces, line ends inside brackets
// and comments do not count.
type pattern struct {
	tokens []token
	words  []string // that a match must hold
}

func parsePattern(text string) pattern {
	text = strings.ReplaceAll(text, "...", "…")
	var p pattern
	for text != "" {
		i := strings.IndexAny(text, "$…")
		if i < 0 {
			i = len(text)
		}
		p.literal(text[:i])
		text = text[i:]
		switch {
		case strings.HasPrefix(text, "$$$"):
			text = text[3:]
			_, n := nextWord(text, 0)
			if n > 0 && byteClass[text[0]] != byteOther {
				text = text[n:] // a name of $$$ says nothing
			}
			p.tokens = append(p.tokens, token{text: "$$$", kind: tokHoles})
		case strings.HasPrefix(text, "…"):
			text = text[len("…"):]
			p.tokens = append(p.tokens, token{text: "…", kind: tokBlock})
		case strings.HasPrefix(text, "$"):
			text = text[1:]
			n := 0
			for n < len(text) && byteClass[text[n]] != byteOther {
				n++
			}
			p.tokens = append(p.tokens, token{text: text[:n], kind: tokHole})
			text = text[n:]
		}
	}
	return p
}

// literal adds the tokens of code without holes. Line ends of a pattern are left to the
// code: they may stand where a colon or a block was.
func (p *pattern) literal(text string) {
	for _, t := range tokenize(nil, text, true) {
		if t.kind == tokLineEnd {
			continue
		}
		p.tokens = append(p.tokens, t)
		if t.kind == tokWord && len(t.text) > 1 {
			p.words = append(p.words, t.text)
		}
	}
}

// findPattern finds code by its form. Hits that are a whole definition are entities,
// others the lines that matched.
func (v *look) findPattern(text string, limit int, f filter) section {
	s := section{asked: asked{form: formText, raw: text}, exact: true}
	p := parsePattern(text)
	if len(p.tokens) == 0 || p.tokens[0].kind >= tokHole && len(p.words) == 0 {
		s.how = "a pattern begins with code and needs at least one word, as in: except $E: pass"
		s.exact = false
		return s
	}
	may := v.filesWith(p.words)
	const most = 200
	var tokens []token
	work := mostWork
	for _, tests := range []bool{false, true} {
		v.each(func(i int32, file *file) bool {
			if file.test != tests || file.language == "" || !f.keep(i, file) || !may(i, file) {
				return true
			}
			if len(s.hits) >= most {
				return false
			}
			if work <= 0 {
				s.how, s.exact = "stopped: too much work", false
				return false
			}
			m := matcher{pattern: p.tokens, tokens: tokens, src: file.src, work: &work}
			hash := file.language == "python"
			if !m.worth(hash) {
				tokens = m.tokens
				return true
			}
			tokens = tokenize(m.tokens[:0], file.src, hash)
			m.tokens = tokens
			m.all(func(from, to int) bool {
				h := v.matchHit(i, tokens[from], tokens[to-1], m.bound())
				if f.kind != "text" && !f.hit(h) {
					return true
				}
				s.hits = append(s.hits, h)
				return len(s.hits) < most
			})
			return len(s.hits) < most
		})
	}
	if len(s.hits) == most {
		s.how = "only the first matches"
	}
	s.cut(limit)
	return s
}

func (v *look) matchHit(i int32, first, last token, bound string) Hit {
	f := v.file(i)
	e := f.at(int(first.line))
	end := int(last.line) + strings.Count(last.text, "\n")
	if last.kind == tokLineEnd {
		end = int(last.line) - 1
	}
	if e >= 0 && (f.ents[e].Start == int(first.line) || firstLine(&f.ents[e]) == int(first.line)) {
		h := v.hit(at{i, e})
		h.Score, h.line, h.note = scoreExact, end, bound
		return h
	}
	h := Hit{Path: f.path, Kind: "text", Start: int(first.line), End: end, where: at{i, e}, test: f.test, Score: scoreExact, note: bound}
	starts := appendLineStarts(nil, f.src)
	h.Name = strings.TrimSpace(clip(f.src[starts[first.line-1]:starts[first.line]], 200))
	if e >= 0 {
		h.Qualified = f.qualified(e)
	}
	return h
}

// filesWith says which files can hold all words.
func (v *look) filesWith(words []string) func(int32, *file) bool {
	var possible []bool
	for _, w := range words {
		terms := appendTerms(nil, w)
		if len(terms) == 0 {
			continue
		}
		docs, _ := v.base.words.find(terms[len(terms)-1])
		now := make([]bool, len(v.base.files))
		for _, d := range docs {
			if file := v.base.docs.file[d]; possible == nil || possible[file] {
				now[file] = true
			}
		}
		possible = now
	}
	return func(i int32, f *file) bool {
		if possible != nil && int(i) < len(possible) && !possible[i] {
			return false
		}
		for _, w := range words {
			if !strings.Contains(f.src, w) {
				return false
			}
		}
		return true
	}
}
