package search

import (
	"fmt"
	"strings"
)

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
	if p > 0 && m.mayBreak(p) {
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

// mayBreak says whether a line may end before token p of the pattern: after a colon, and
// between decorators and what they decorate.
func (m *matcher) mayBreak(p int) bool {
	switch m.pattern[p-1].text {
	case ":", "{":
		return true
	}
	switch m.pattern[p].text {
	case "def", "class", "async", "@":
		return true
	}
	return false
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
