package source

import "strings"

// nameAt gives the dotted name that ends with the word at i and the index of its
// first token. It begins with its separator if the value of an expression comes
// before it.
func (w *walker) nameAt(i int) (name string, first int) {
	first = i
	apart := false
	for n := 0; n < 64 && w.spend(); n++ {
		sep := w.separator(first)
		if sep < 0 {
			break
		}
		apart = apart || w.toks[first].start != w.toks[first-1].end
		before := sep - 1
		if w.kind(before) != word {
			if w.isSpecial(before) {
				// Vec::<u8>::new: the arguments of a type are not part of its name.
				if open := w.anglesBack(before); open > 1 {
					k := open - 1
					if w.pair(k-1, "::") {
						k -= 2
					}
					if w.kind(k) == word {
						apart = true
						first = k
						continue
					}
				}
			}
			first = sep
			break
		}
		apart = apart || w.toks[before].end != w.toks[sep].start
		first = before
	}
	if !apart {
		return w.src[w.toks[first].start:w.toks[i].end], first
	}
	var b strings.Builder
	for k := first; k <= i; k++ {
		if w.char(k) == '<' {
			k = min(w.angles(k), i) // never past the name
			if w.pair(k, "::") && strings.HasSuffix(b.String(), "::") {
				k += 2
			}
		}
		b.WriteString(w.text(k))
	}
	return b.String(), first
}

// separator is the first token of the "." or "::" or "->" before token i, -1 if
// there is none.
func (w *walker) separator(i int) int {
	switch {
	case w.char(i-1) == '.':
		if w.how.script && w.char(i-2) == '?' && w.toks[i-2].end == w.toks[i-1].start {
			return i - 2
		}
		if w.char(i-2) == '.' {
			return -1 // a range or a spread
		}
		return i - 1
	case i >= 2 && (w.pair(i-2, "::") || w.pair(i-2, "->") && w.how.cpp):
		return i - 2
	}
	return -1
}

// isSpecial says that type arguments may end at i.
func (w *walker) isSpecial(i int) bool { return w.char(i) == '>' && w.char(i-1) != '-' }

// called gives the name before the parenthesis at i and its first token, -1 if
// none is called.
func (w *walker) called(i int) (name string, first, last int) {
	k := i - 1
	if w.isSpecial(k) {
		open := w.anglesBack(k)
		if open < 1 || !w.how.rust && w.toks[k].end != w.toks[i].start {
			return "", -1, -1
		}
		k = open - 1
		if w.pair(k-1, "::") {
			k -= 2
		}
	}
	if w.kind(k) != word {
		return "", -1, -1
	}
	name, first = w.nameAt(k)
	return name, first, k
}

// doc is the comment right before token i, without its signs.
func (w *walker) doc(i int) string {
	t := w.toks[i]
	from := int32(0)
	if i > 0 {
		from = w.toks[i-1].notes
	}
	n := t.notes
	if n == from || w.notes[n-1].last < t.line-1 {
		return ""
	}
	first := n - 1
	for first > from && strings.HasPrefix(w.src[w.notes[first].start:], "//") &&
		strings.HasPrefix(w.src[w.notes[first-1].start:], "//") && w.notes[first-1].last >= w.notes[first].line-1 {
		first--
	}
	// What ends the line of the token before is about that one.
	for first < n && i > 0 && w.notes[first].line == w.toks[i-1].last {
		first++
	}
	if first == n {
		return ""
	}
	return uncomment(w.src[w.notes[first].start:w.notes[n-1].end])
}

// fileDoc is the comment that the file begins with, unless it belongs to the
// first definition.
func (w *walker) fileDoc() string {
	if len(w.notes) == 0 || len(w.toks) > 0 && w.toks[0].notes == 0 {
		return ""
	}
	n := 0
	for n+1 < len(w.notes) && strings.HasPrefix(w.src[w.notes[n].start:], "//") &&
		strings.HasPrefix(w.src[w.notes[n+1].start:], "//") && w.notes[n+1].line == w.notes[n].last+1 {
		n++
	}
	if len(w.toks) > 0 && (int32(n) >= w.toks[0].notes || w.notes[n].last == w.toks[0].line-1) {
		return ""
	}
	return uncomment(w.src[w.notes[0].start:w.notes[n].end])
}

// uncomment takes the signs of comments off every line.
func uncomment(s string) string {
	if strings.IndexByte(s, '\n') < 0 {
		return strings.TrimSpace(strings.TrimSuffix(strings.TrimLeft(s, "/*!"), "*/"))
	}
	block := strings.HasPrefix(s, "/*")
	s = strings.TrimSuffix(s, "*/")
	var b strings.Builder
	b.Grow(len(s))
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "/") {
			line = strings.TrimLeft(line, "/*!")
		} else if block {
			line = strings.TrimLeft(line, "*")
		}
		line = strings.TrimPrefix(line, " ")
		if line != "" || b.Len() > 0 {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return strings.TrimSpace(b.String())
}
