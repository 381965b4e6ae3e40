package search

import "strings"

// globMatch matches a whole path: * and ? stay within one directory, ** crosses them,
// [a-z] and [!a-z] are classes, {a,b} alternatives.
func globMatch(pattern, name string) bool {
	for _, p := range expandBraces(pattern, 64) {
		if matchGlob(p, name) {
			return true
		}
	}
	return false
}

// longestGlob is how long a glob may be, in bytes: it is tried on every path.
const longestGlob = 256

func isGlob(s string) bool { return len(s) <= longestGlob && strings.ContainsAny(s, "*?[{") }

// expandBraces lists the patterns that {a,b} stands for, most at the most; braces that
// would make more stay as they are.
func expandBraces(pattern string, most int) []string {
	open := strings.IndexByte(pattern, '{')
	if open < 0 || most < 2 {
		return []string{pattern}
	}
	end := strings.IndexByte(pattern[open:], '}')
	if end < 0 {
		return []string{pattern}
	}
	end += open
	var out []string
	alternatives := 1 + strings.Count(pattern[open:end], ",")
	// Once: for each alternative anew the work would double with every brace.
	rests := expandBraces(pattern[end+1:], most/max(alternatives, 2))
	for alt := range strings.SplitSeq(pattern[open+1:end], ",") {
		for _, rest := range rests {
			if len(out) == most {
				return out
			}
			out = append(out, pattern[:open]+alt+rest)
		}
	}
	return out
}

// matchGlob goes back only to the last star of each sort, so that its time is bounded
// by the product of the lengths.
func matchGlob(p, s string) bool {
	var star, starAt = -1, 0 // the last *: where the pattern goes on, and what it took
	var deep, deepAt = -1, 0 // the last **
	i, j := 0, 0
	for j < len(s) || i < len(p) {
		if i < len(p) {
			if strings.HasPrefix(p[i:], "**") {
				i += 2
				if i < len(p) && p[i] == '/' {
					i++ // a/**/b matches a/b
				}
				deep, deepAt, star = i, j, -1
				continue
			}
			if p[i] == '*' {
				i++
				star, starAt = i, j
				continue
			}
			if j < len(s) {
				if n, ok := matchOne(p[i:], s[j]); ok {
					i, j = i+n, j+1
					continue
				}
			}
		}
		if star >= 0 && starAt < len(s) && s[starAt] != '/' {
			starAt++
			i, j = star, starAt
			continue
		}
		if deep >= 0 && deepAt < len(s) {
			deepAt++
			// "**/" stands for whole directories.
			if deep >= 3 && p[deep-1] == '/' {
				n := strings.IndexByte(s[deepAt-1:], '/')
				if n < 0 {
					return false
				}
				deepAt += n
			}
			i, j, star = deep, deepAt, -1
			continue
		}
		return false
	}
	return true
}

// matchOne matches one byte; n is how much of the pattern it took.
func matchOne(p string, c byte) (n int, ok bool) {
	switch p[0] {
	case '?':
		return 1, c != '/'
	case '\\':
		if len(p) > 1 {
			return 2, p[1] == c
		}
	case '[':
		if end := strings.IndexByte(p[1:], ']'); end > 0 {
			return end + 2, inClass(p[1:end+1], c) && c != '/'
		}
	}
	return 1, p[0] == c
}

func inClass(class string, c byte) bool {
	negated := class[0] == '!' || class[0] == '^'
	if negated {
		class = class[1:]
	}
	found := false
	for i := 0; i < len(class); i++ {
		if i+2 < len(class) && class[i+1] == '-' {
			found = found || class[i] <= c && c <= class[i+2]
			i += 2
			continue
		}
		found = found || class[i] == c
	}
	return found != negated
}
