package search

import (
	"fmt"
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
	if e >= 0 && f.ents[e].Start == int(first.line) {
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

// matcher matches a pattern against the tokens of one file.
type matcher struct {
	pattern []token
	tokens  []token
	src     string
	holes   []hole
	steps   int
	work    *int  // steps that are left for all files
	indent  int32 // of the line that the match began on
	ran     bool  // out of tokens: with more of them there might be a match
}

type hole struct {
	name     string
	from, to int
}

// mostSteps bounds the work at one start, mostWork that of a whole query, so that no
// pattern can take long. They are steps and not time: the same query has to be answered
// alike whenever it is asked again.
const (
	mostSteps = 20_000
	mostWork  = 20_000_000
)

// window is how many bytes a match without … is looked for in, at first.
const window = 1500

// worth looks quickly whether a file may have a match: a pattern that begins with a word
// is tried where that word stands, which may still be in a string or comment.
func (m *matcher) worth(hash bool) bool {
	first := m.pattern[0]
	if first.kind != tokWord {
		return true
	}
	for _, t := range m.pattern {
		if t.kind == tokBlock {
			return true
		}
	}
	for from := 0; ; {
		n := strings.Index(m.src[from:], first.text)
		if n < 0 {
			return false
		}
		n += from
		from = n + len(first.text)
		if !wholeWord(m.src, n, from) {
			continue
		}
		if from+window >= len(m.src) {
			return true
		}
		// A few lines are most often enough to see that it does not match.
		for _, size := range [...]int{120, window} {
			m.tokens = tokenize(m.tokens[:0], m.src[n:n+size], hash)
			m.steps, m.holes, m.ran = 0, m.holes[:0], false
			_, ok := m.match(0, 0)
			if ok || m.ran && size == window {
				return true
			}
			if !m.ran {
				break
			}
		}
	}
}

// all calls yield with each match, tokens[from:to], none inside another.
func (m *matcher) all(yield func(from, to int) bool) {
	indent := int32(0)
	first := m.pattern[0]
	for i := 0; i < len(m.tokens); i++ {
		t := m.tokens[i]
		if t.kind == tokLineEnd {
			indent = t.indent
			continue
		}
		if first.kind < tokHole && t.text != first.text {
			continue
		}
		m.steps, m.holes, m.indent = 0, m.holes[:0], indent
		if to, ok := m.match(0, i); ok {
			if !yield(i, to) {
				return
			}
			if first.kind >= tokHole || len(m.pattern) == 1 {
				i = to - 1
			}
		}
	}
}

// match matches the pattern from p against the tokens from t; the end is that of the
// shortest match.
func (m *matcher) match(p, t int) (end int, ok bool) {
	m.steps++
	*m.work--
	if m.steps > mostSteps || *m.work < 0 {
		return 0, false
	}
	if p == len(m.pattern) {
		return t, true
	}
	want := m.pattern[p]
	switch want.kind {
	case tokHoles:
		return m.sequence(p, t, false)
	case tokHole:
		return m.sequence(p, t, true)
	case tokBlock:
		return m.block(p, t)
	}
	// "f($$$, x)" matches f(x), and "f(x, $$$)" as well.
	if want.text == "," && p+1 < len(m.pattern) && m.pattern[p+1].kind == tokHoles {
		if end, ok := m.match(p+2, t); ok {
			return end, true
		}
	}
	if p > 0 && (m.pattern[p-1].text == ":" || m.pattern[p-1].text == "{") {
		for t < len(m.tokens) && m.tokens[t].kind == tokLineEnd {
			t++
		}
	}
	if want.text == ":" && t < len(m.tokens) && m.tokens[t].text == "->" {
		t = m.afterType(t)
	}
	if t >= len(m.tokens) {
		m.ran = true
		return 0, false
	}
	if m.tokens[t].text != want.text && !(want.kind == tokString && sameString(want.text, m.tokens[t].text)) {
		return 0, false
	}
	return m.match(p+1, t+1)
}

// afterType is the colon that ends the type which an arrow begins: "def $F($$$):" finds
// functions with a type as well.
func (m *matcher) afterType(t int) int {
	depth := 0
	for ; t < len(m.tokens) && m.tokens[t].kind != tokLineEnd; t++ {
		switch m.tokens[t].text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case ":":
			if depth == 0 {
				return t
			}
		}
	}
	return t
}

// sequence matches a hole: balanced tokens of one line, one expression only for $NAME.
func (m *matcher) sequence(p, t int, one bool) (int, bool) {
	name := m.pattern[p].text
	if one {
		for _, h := range m.holes {
			if h.name == name && name != "" && name != "_" {
				return m.again(p, t, h)
			}
		}
	} else {
		if end, ok := m.match(p+1, t); ok {
			return end, true
		}
		if p+1 < len(m.pattern) && m.pattern[p+1].text == "," {
			if end, ok := m.match(p+2, t); ok {
				return end, true
			}
		}
	}
	last := p+1 == len(m.pattern)
	depth := 0
	for i := t; i < len(m.tokens); i++ {
		tok := m.tokens[i]
		if tok.kind == tokLineEnd {
			return 0, false
		}
		switch tok.text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth < 0 {
				return 0, false
			}
		case ",", ":", "=":
			if one && depth == 0 {
				return 0, false
			}
		}
		if depth > 0 || last && !m.endsHere(i+1) {
			continue // a hole at the end of the pattern takes the whole expression
		}
		n := len(m.holes)
		if one {
			m.holes = append(m.holes, hole{name, t, i + 1})
		}
		if end, ok := m.match(p+1, i+1); ok {
			return end, true
		}
		m.holes = m.holes[:n]
	}
	m.ran = true
	return 0, false
}

// endsHere says whether an expression ends before token i.
func (m *matcher) endsHere(i int) bool {
	if i >= len(m.tokens) || m.tokens[i].kind == tokLineEnd {
		return true
	}
	switch m.tokens[i].text {
	case ")", "]", "}", ",", ":", ";", "=":
		return true
	}
	return false
}

// again matches a hole whose name stood before: the same tokens.
func (m *matcher) again(p, t int, h hole) (int, bool) {
	n := h.to - h.from
	if t+n > len(m.tokens) {
		return 0, false
	}
	for i := range n {
		if m.tokens[t+i].text != m.tokens[h.from+i].text {
			return 0, false
		}
	}
	return m.match(p+1, t+n)
}

// block skips anything in the block that the match began in.
func (m *matcher) block(p, t int) (int, bool) {
	for i := t; i <= len(m.tokens); i++ {
		if end, ok := m.match(p+1, i); ok {
			return end, true
		}
		if i == len(m.tokens) || m.tokens[i].kind == tokLineEnd && m.tokens[i].indent <= m.indent {
			return 0, false
		}
	}
	return 0, false
}

// bound says what the named holes of the match stand for.
func (m *matcher) bound() string {
	var parts []string
	for _, h := range m.holes {
		if h.name == "" || h.name == "_" {
			continue
		}
		last := m.tokens[h.to-1]
		text := m.src[m.tokens[h.from].at : int(last.at)+len(last.text)]
		if len(text) > 60 {
			text = clip(text, 57) + "..."
		}
		parts = append(parts, fmt.Sprintf("$%s = %s", h.name, strings.Join(strings.Fields(text), " ")))
	}
	return strings.Join(parts, ", ")
}

// sameString compares strings without their kind of quotes.
func sameString(a, b string) bool {
	return strings.Trim(a, `"'`) == strings.Trim(b, `"'`)
}
