package ui

import (
	"slices"
	"strings"
	"unicode"
)

// How well a name fits what is typed, the best first.
const (
	fitsWhole  = 1000
	fitsStart  = 999
	fitsParts  = 899 // the beginnings of its words, in their order: "pal" pause-all
	fitsWithin = 799
	fitsSome   = 499 // its letters, in their order
)

// longestTyped bounds what is matched, in characters: the work grows with it.
const longestTyped = 64

// fits says how well a name fits what is typed, 0 for not at all, and which of its
// characters that are. Capitals don't count, but begin words: "QS" QuerySet.
func fits(typed, name string) (score int, at []int) {
	q, n := foldRunes(typed), foldRunes(name)
	switch {
	case len(q) == 0:
		return fitsSome, nil
	case len(q) > len(n) || len(q) > longestTyped:
		return 0, nil
	}
	if slices.Equal(q, n[:len(q)]) {
		if len(q) == len(n) {
			return fitsWhole, upTo(0, len(q))
		}
		return fitsStart, upTo(0, len(q))
	}
	if at := inParts(q, n, partsOf([]rune(name))); at != nil {
		return fitsParts - min(len(n)-len(q), 99), at
	}
	for i := 0; i+len(q) <= len(n); i++ {
		if slices.Equal(q, n[i:i+len(q)]) {
			return fitsWithin - min(i, 99), upTo(i, i+len(q))
		}
	}
	at = make([]int, 0, len(q))
	for i, r := range n {
		if len(at) < len(q) && r == q[len(at)] {
			at = append(at, i)
		}
	}
	if len(at) < len(q) {
		return 0, nil
	}
	return fitsSome - min(at[len(at)-1]-at[0], 299), at
}

func foldRunes(s string) []rune {
	out := []rune(s)
	for i, r := range out {
		out[i] = unicode.ToLower(r)
	}
	return out
}

func upTo(from, to int) []int {
	out := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// partsOf is where the words of a name begin: behind what is no letter or digit, at
// a capital behind a small letter, and where digits begin.
func partsOf(name []rune) []int {
	var out []int
	for i, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			continue
		}
		if i == 0 {
			out = append(out, i)
			continue
		}
		p := name[i-1]
		if !unicode.IsLetter(p) && !unicode.IsDigit(p) || unicode.IsUpper(r) && !unicode.IsUpper(p) || unicode.IsDigit(r) && !unicode.IsDigit(p) {
			out = append(out, i)
		}
	}
	return out
}

// inParts spells q from beginnings of parts, in their order; nil where it cannot. A
// place that led nowhere is not tried again.
func inParts(q, name []rune, parts []int) []int {
	dead := map[[2]int]bool{}
	var try func(i, part int) []int
	try = func(i, part int) []int {
		if i == len(q) {
			return []int{}
		}
		if dead[[2]int{i, part}] {
			return nil
		}
		for p := part; p < len(parts); p++ {
			end := len(name)
			if p+1 < len(parts) {
				end = parts[p+1]
			}
			n := 0
			for i+n < len(q) && parts[p]+n < end && name[parts[p]+n] == q[i+n] {
				n++
			}
			for ; n > 0; n-- {
				if rest := try(i+n, p+1); rest != nil {
					return append(upTo(parts[p], parts[p]+n), rest...)
				}
			}
		}
		dead[[2]int{i, part}] = true
		return nil
	}
	return try(0, 0)
}

// mentions reports whether each word typed begins a word of the help: a weak fit,
// for those who know what they want and not how it is called.
func mentions(typed, help string) bool {
	if len([]rune(typed)) < 3 {
		return false
	}
	has := strings.FieldsFunc(strings.ToLower(help), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, w := range strings.Fields(strings.ToLower(typed)) {
		if !slices.ContainsFunc(has, func(h string) bool { return strings.HasPrefix(h, w) }) {
			return false
		}
	}
	return true
}
