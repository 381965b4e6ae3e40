package search

import (
	"cmp"
	"slices"
	"strings"
)

// question is a free text made ready for ranking.
type question struct {
	words  []weightedTerm // heaviest first once prepared
	frames []frame
	paths  []string // paths of files that the text names
}

type weightedTerm struct {
	term   term
	weight float64
}

// frame is a place that a traceback names.
type frame struct {
	path string
	line int
	name string
}

// newQuestion reads an issue, a commit message or some words. Its first line is the
// title.
func newQuestion(text string) question {
	var q question
	seen := map[term]float64{}
	for part := range parts(text) {
		q.read(part, seen)
	}
	q.places(text)
	for t, w := range seen {
		q.words = append(q.words, weightedTerm{t, w * (weights.k3 + 1) / (w + weights.k3)})
	}
	slices.SortFunc(q.words, func(a, b weightedTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.term, b.term))
	})
	return q
}

func (q *question) read(p part, seen map[term]float64) {
	var buf []term
	text := p.text
	var before [2]string // the words before this one, the nearest last
	ended := 0
	for start, end := nextWord(text, 0); start < len(text); start, end = nextWord(text, end) {
		word := text[start:end]
		if !p.code {
			if strings.TrimLeft(text[ended:start], " -") != "" {
				before = [2]string{}
			}
			q.phrases(before, word, p.weight, seen)
			before[0], before[1] = before[1], word
			ended = end
		}
		if len(word) < 2 && byteClass[word[0]] != byteUpper || isStopWord(word) {
			continue
		}
		w := p.weight
		symbol := isSymbol(text, start, end)
		if symbol && !p.code {
			w *= weights.symbol
		}
		buf = appendTerms(buf[:0], word)
		several := len(buf) > 1
		for i, t := range buf {
			if several && i == len(buf)-1 {
				seen[t] += w * weights.whole
			} else {
				seen[t] += w
			}
		}
		seen[hashMarked(markName, word)] += w * weights.exactName
		seen[hashMarked(markOwner, word)] += w * weights.exactOwner
		seen[hashMarked(markFile, word)] += w * weights.exactFile
		seen[hashMarked(markDir, word)] += w * weights.exactDir
	}
}

// phrases counts two and three words of prose in a row as one identifier: "filtered
// relation" may mean FilteredRelation, "select for update" select_for_update.
func (q *question) phrases(before [2]string, word string, weight float64, seen map[term]float64) {
	for i := range before {
		if before[i] == "" {
			continue
		}
		joined := strings.Join(append(slices.Clone(before[i:]), word), "_")
		seen[hashFolded(fnvOffset, joined)] += weight * weights.phrase
		seen[hashMarked(markName, joined)] += weight * weights.phrase * weights.exactName
		seen[hashMarked(markOwner, joined)] += weight * weights.phrase * weights.exactOwner
	}
}

// isSymbol says whether the word at text[start:end] is written as code is: with an
// underscore or a capital inside, or beside a dot or a parenthesis.
func isSymbol(text string, start, end int) bool {
	word := text[start:end]
	for i := 1; i < len(word); i++ {
		if word[i] == '_' || byteClass[word[i]] == byteUpper && byteClass[word[i-1]] == byteLower {
			return true
		}
	}
	if word[0] == '_' {
		return true
	}
	if end+1 < len(text) {
		if text[end] == '(' {
			return true
		}
		if text[end] == '.' && byteClass[text[end+1]] != byteOther {
			return true
		}
	}
	return start > 1 && text[start-1] == '.' && byteClass[text[start-2]] != byteOther
}

// stopWords are words of English that say nothing of code, and those of the forms that
// issues are written in.
var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`
		the an and or of to in is it its for on at as by be with that this from are was were
		will would should could can may might must not but if then than so when while where
		which what who how why there here we you he she they them our your their my me i us
		have has had do does did done doing been being am also any all some one no into out
		about after before because just only very more most much many other such same own
		up down over under again now use used using uses like get gets got make makes made
		want need needs see e.g eg ie etc via please thanks thank hi hello well still
		however instead really think know way thing things something anything
		issue bug bugs feature request expected actual behavior behaviour description
		reproduce steps version versions environment additional context information
		python3 pip install installed linux windows macos ubuntu`) {
		m[w] = true
	}
	return m
}()

func isStopWord(word string) bool {
	if len(word) > 14 {
		return false
	}
	var buf [14]byte
	n := copy(buf[:], word)
	for i := range n {
		buf[i] = lower(buf[i])
	}
	return stopWords[string(buf[:n])]
}
