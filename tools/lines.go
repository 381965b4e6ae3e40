package tools

import (
	"fmt"
	"slices"
	"strings"
)

// splitLines are the lines of text without their ends; a final newline does
// not begin another line.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func countLines(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// matchLines are the line numbers (from 1) at which old begins in text. Places
// may overlap, as "aa" is twice in "aaa": then an edit is not unique either.
func matchLines(text, old string) []int {
	var lines []int
	line, from := 1, 0
	for {
		i := strings.Index(text[from:], old)
		if i < 0 {
			return lines
		}
		line += strings.Count(text[from:from+i], "\n")
		lines = append(lines, line)
		if text[from+i] == '\n' {
			line++
		}
		from += i + 1
	}
}

func numbers(lines []int) string {
	const most = 20
	var words []string
	for _, n := range lines[:min(len(lines), most)] {
		words = append(words, fmt.Sprint(n))
	}
	if len(lines) > most {
		words = append(words, "…")
	}
	return strings.Join(words, ", ")
}

// noMatch explains why old_str was not found: the nearest lines help the model
// more than the bare fact.
func noMatch(file, text, old string) error {
	base := fmt.Sprintf("old_str is not in %s, so nothing was changed", file)
	if numbered(old) {
		return fmt.Errorf("%s; it seems to contain the line numbers of a view: leave out the numbers and the tab after them", base)
	}
	at, exact := nearest(text, old)
	if at < 0 {
		return fmt.Errorf("%s; view the file and copy the text exactly", base)
	}
	why := "the most similar lines are"
	if exact {
		why = "these lines differ from it in white space only"
	}
	lines := splitLines(text)
	end := min(len(lines), at+min(max(1, len(splitLines(old))), 12))
	return fmt.Errorf("%s; %s:\n%s", base, why, numberLines(lines, max(0, at-1), min(len(lines), end+1)))
}

// numbered reports whether every line of old looks like a line of a view.
func numbered(old string) bool {
	lines := splitLines(old)
	for _, l := range lines {
		number, _, tab := strings.Cut(l, "\t")
		digits := strings.TrimLeft(number, " ")
		if !tab || digits == "" || strings.Trim(digits, "0123456789") != "" {
			return false
		}
	}
	return len(lines) > 0
}

// nearest finds where (line index) old most likely was meant to be, by its
// longest line; exact says that all lines there differ in white space only.
func nearest(text, old string) (at int, exact bool) {
	const mostLines = 50000 // longer files are searched up to here
	want := splitLines(old)
	anchor, longest := -1, ""
	for i, l := range want {
		if l = strings.TrimSpace(l); len(l) > len(longest) {
			anchor, longest = i, l
		}
	}
	if anchor < 0 {
		return -1, false
	}
	have := splitLines(text)
	best, score, grams := -1, 0.5, bigrams(longest)
	for i, l := range have[:min(len(have), mostLines)] {
		l = strings.TrimSpace(l)
		if l == longest && sameButSpace(have, want, i-anchor) {
			return i - anchor, true
		}
		// Lines of very different length cannot reach the score: skip the work.
		if len(l) > 3*len(longest) || 3*len(l) < len(longest) {
			continue
		}
		if s := dice(grams, bigrams(l)); s > score {
			best, score = i, s
		}
	}
	if best < 0 {
		return -1, false
	}
	return max(0, best-anchor), false
}

func sameButSpace(have, want []string, at int) bool {
	if at < 0 || at+len(want) > len(have) {
		return false
	}
	for i, l := range want {
		if strings.Join(strings.Fields(l), " ") != strings.Join(strings.Fields(have[at+i]), " ") {
			return false
		}
	}
	return true
}

// bigrams are the sorted pairs of neighbouring bytes of s, at most 400.
func bigrams(s string) []uint16 {
	n := min(len(s)-1, 400)
	if n < 1 {
		return nil
	}
	grams := make([]uint16, n)
	for i := range grams {
		grams[i] = uint16(s[i])<<8 | uint16(s[i+1])
	}
	slices.Sort(grams)
	return grams
}

// dice is how alike two sorted bags are: 0 nothing in common, 1 the same.
func dice(a, b []uint16) float64 {
	if len(a)+len(b) == 0 {
		return 0
	}
	common := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			common, i, j = common+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b))
}
