package answer

import (
	"regexp"
	"strings"
	"unicode"
)

// punctuation is ASCII's.
const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

var simpleBox = regexp.MustCompile(`\\boxed\{([^}]+)\}`)

// normalMatch is the form in which exact match compares: \boxed{} opened, lower
// case, punctuation deleted, the words a, an, the dropped, blanks squeezed; in
// this order.
func normalMatch(text string) string {
	return strings.Join(strings.Fields(dropArticles(unpunctuated(opened(text)))), " ")
}

func opened(text string) string { return strings.ToLower(simpleBox.ReplaceAllString(text, "$1")) }

func unpunctuated(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(punctuation, r) {
			return -1
		}
		return r
	}, text)
}

// dropArticles: a word ends where a letter, digit or underscore of any alphabet
// does.
func dropArticles(text string) string {
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_' }
	var b strings.Builder
	for text != "" {
		end := strings.IndexFunc(text, func(r rune) bool { return !inWord(r) })
		if end < 0 {
			end = len(text)
		}
		if w := text[:end]; w == "a" || w == "an" || w == "the" {
			b.WriteByte(' ')
		} else {
			b.WriteString(w)
		}
		text = text[end:]
		next := strings.IndexFunc(text, inWord)
		if next < 0 {
			next = len(text)
		}
		b.WriteString(text[:next])
		text = text[next:]
	}
	return b.String()
}

// ExactMatch reports whether a reply is one of the targets, as the question
// answering sets compare.
func ExactMatch(reply string, targets []string) bool {
	given := normalMatch(reply)
	for _, target := range targets {
		wanted := normalMatch(target)
		if wanted == "" { // "The The", "A", "?": else any article would be right
			if wholeMatch(target) == wholeMatch(reply) {
				return true
			}
			continue
		}
		if wanted == given {
			return true
		}
	}
	return false
}

// wholeMatch is the form of a text of which normalMatch leaves nothing: with its
// articles, and with its punctuation where it has nothing else.
func wholeMatch(text string) string {
	words := strings.Fields(unpunctuated(opened(text)))
	if len(words) == 0 {
		words = strings.Fields(opened(text))
	}
	return strings.Join(words, " ")
}

// F1 is the overlap of the sets of words of a reply and a target, the best over
// the targets: twice precision times recall through their sum.
func F1(reply string, targets []string) float64 {
	best := 0.0
	for _, target := range targets {
		best = max(best, f1(reply, target))
	}
	return best
}

func f1(reply, target string) float64 {
	reply, target = normalF1(reply), normalF1(target)
	var given, wanted map[string]bool
	if hasChinese(target) {
		given, wanted = characters(reply), characters(target)
	} else {
		given, wanted = set(strings.Fields(reply)), set(strings.Fields(target))
	}
	if len(given) == 0 || len(wanted) == 0 {
		return 0
	}
	common := 0
	for w := range given {
		if wanted[w] {
			common++
		}
	}
	if common == 0 {
		return 0
	}
	precision, recall := float64(common)/float64(len(given)), float64(common)/float64(len(wanted))
	return 2 * precision * recall / (precision + recall)
}

func set(words []string) map[string]bool {
	s := map[string]bool{}
	for _, w := range words {
		s[w] = true
	}
	return s
}

// normalF1: Python's True and False are yes and no, punctuation is blank.
func normalF1(text string) string {
	switch text {
	case "True":
		text = "yes"
	case "False":
		text = "no"
	}
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune(punctuation, r) {
			return ' '
		}
		return r
	}, text)
	return strings.ToLower(strings.Join(strings.Fields(text), " "))
}

func hasChinese(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r >= 0x4e00 && r <= 0x9fff || r >= 0x3400 && r <= 0x4dbf || r >= 0xf900 && r <= 0xfaff
	})
}

// characters of a Chinese text are its words, and so are its whole numbers.
func characters(text string) map[string]bool {
	s := map[string]bool{}
	number := ""
	for _, r := range text + " " {
		if unicode.IsDigit(r) {
			number += string(r)
		} else if number != "" {
			s[number], number = true, ""
		}
		if !strings.ContainsRune("0123456789，。 ,.-", r) {
			s[string(r)] = true
		}
	}
	return s
}
