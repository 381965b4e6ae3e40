package search

// term is the hash of a word. Ranking needs no dictionary: two words with one hash
// (about five pairs among 200,000 words) only count as one word.
type term = uint32

const (
	fnvOffset = 2166136261
	fnvPrime  = 16777619
)

// Markers begin the terms that are not words of a text.
const (
	markName  = '='  // the whole name of an entity
	markOwner = '^'  // the whole name of the class that a method belongs to
	markFile  = '/'  // the name of a file without its extension
	markDir   = '\\' // the name of a directory on the path
)

// hashMarked is the term of a marker and a name, whose case and underscores at both
// ends do not count.
func hashMarked(mark byte, name string) term {
	h := (uint32(fnvOffset) ^ uint32(mark)) * fnvPrime
	return hashFolded(h, name)
}

// hashFolded continues h with the letters of name in lower case, without underscores.
func hashFolded(h uint32, name string) term {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c != '_' {
			h = (h ^ uint32(lower(c))) * fnvPrime
		}
	}
	return h
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// Classes of bytes in words.
const (
	byteOther = iota
	byteLower
	byteUpper
	byteDigit
	byteUnder
)

var byteClass = func() (t [256]byte) {
	for c := 'a'; c <= 'z'; c++ {
		t[c] = byteLower
	}
	for c := 'A'; c <= 'Z'; c++ {
		t[c] = byteUpper
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = byteDigit
	}
	t['_'] = byteUnder
	for c := 0x80; c < 0x100; c++ {
		t[c] = byteLower // a letter outside ASCII
	}
	return t
}()

// nextWord is the first identifier or number at or after from: text[start:end].
// At the end of the text start is len(text).
func nextWord(text string, from int) (start, end int) {
	for from < len(text) && byteClass[text[from]] == byteOther {
		from++
	}
	end = from
	for end < len(text) && byteClass[text[end]] != byteOther {
		end++
	}
	return from, end
}

// nextPart is the first part of an identifier at or after from: "HTTPResponse_2"
// has the parts HTTP, Response and 2. At the end start is len(word).
func nextPart(word string, from int) (start, end int) {
	for from < len(word) && (word[from] == '_' || byteClass[word[from]] == byteOther) {
		from++
	}
	if from == len(word) {
		return from, from
	}
	i := from
	if byteClass[word[i]] == byteUpper {
		for i < len(word) && byteClass[word[i]] == byteUpper {
			i++
		}
		// The last capital of a row begins the next part, if one follows it.
		if i-from > 1 && i < len(word) && byteClass[word[i]] == byteLower {
			return from, i - 1
		}
	}
	for i < len(word) && byteClass[word[i]] == byteLower {
		i++
	}
	for i < len(word) && byteClass[word[i]] == byteDigit {
		i++
	}
	return from, i
}

// appendTerms appends the terms of one identifier: of each part, stemmed, and, if it
// has several, of the whole, which comes last.
func appendTerms(into []term, word string) []term {
	parts := 0
	for start, end := nextPart(word, 0); start < len(word); start, end = nextPart(word, end) {
		parts++
		if end-start < 2 && byteClass[word[start]] != byteUpper {
			continue
		}
		into = append(into, hashPart(word[start:end]))
	}
	if parts > 1 {
		into = append(into, hashFolded(fnvOffset, word))
	}
	return into
}

// longestPart is how much of a part counts, in bytes.
const longestPart = 40

// hashPart is the term of one part of an identifier, or of one word of prose.
func hashPart(part string) term {
	var buf [longestPart]byte
	n := copy(buf[:], part)
	for i := range n {
		buf[i] = lower(buf[i])
	}
	h := uint32(fnvOffset)
	for _, c := range stem(buf[:n]) {
		h = (h ^ uint32(c)) * fnvPrime
	}
	return h
}

// stem cuts the endings of plurals and of verbs: "fields", "caching", "cached",
// "caches" and "cache" are found by each other. It may cut too much; both sides of a
// comparison are cut alike.
func stem(w []byte) []byte {
	n := len(w)
	if n > 3 && w[n-1] == 's' && w[n-2] != 's' && w[n-2] != 'u' && w[n-2] != 'i' {
		if n > 4 && w[n-2] == 'e' && w[n-3] == 'i' {
			w = w[:n-2]
			w[len(w)-1] = 'y'
			return w
		}
		w = w[:n-1]
		n--
	}
	switch {
	case n > 5 && w[n-1] == 'g' && w[n-2] == 'n' && w[n-3] == 'i':
		w = undouble(w[:n-3])
	case n > 4 && w[n-1] == 'd' && w[n-2] == 'e':
		w = undouble(w[:n-2])
	}
	if n = len(w); n > 3 && w[n-1] == 'e' {
		w = w[:n-1]
	}
	return w
}

// undouble cuts the second of two equal letters at the end: "stripp" is "strip".
func undouble(w []byte) []byte {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && w[n-1] != 's' && w[n-1] != 'l' {
		return w[:n-1]
	}
	return w
}
