package source

import (
	"strings"
	"unicode/utf8"
)

// unify takes off the byte order mark and makes every line end "\n", as CPython
// does, so that scanners know one line end only. Most sources pass unchanged.
func unify(src string) string {
	src = strings.TrimPrefix(src, "\ufeff")
	if strings.IndexByte(src, '\r') < 0 {
		return src
	}
	src = strings.ReplaceAll(src, "\r\n", "\n")
	return strings.ReplaceAll(src, "\r", "\n")
}

// decodePython applies the coding cookie of PEP 263 where it matters.
func decodePython(src string) string {
	switch cookie(src) {
	case "", "utf8":
		return src
	case "shiftjis", "sjis", "cp932", "mskanji", "932", "big5", "cp950", "950",
		"gbk", "cp936", "936", "gb18030", "big5hkscs", "johab":
		// The second byte of a pair may be a backslash or a bracket.
		return dropPairs(src)
	}
	if utf8.ValidString(src) {
		return src
	}
	return fromLatin1(src)
}

// cookie gives the encoding that the first two lines name, in small letters and
// without dashes.
func cookie(src string) string {
	for range 2 {
		line, rest, _ := strings.Cut(src, "\n")
		text := strings.TrimLeft(line, " \t\f")
		if text != "" && text[0] != '#' {
			return ""
		}
		if _, after, found := strings.Cut(text, "coding"); found && after != "" && (after[0] == ':' || after[0] == '=') {
			after = strings.TrimLeft(after[1:], " \t")
			n := 0
			for n < len(after) && (isWord[after[n]] && after[n] < 0x80 || after[n] == '-' || after[n] == '.') {
				n++
			}
			return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(after[:n]))
		}
		src = rest
	}
	return ""
}

// fromLatin1 makes one character of each byte.
func fromLatin1(src string) string {
	var b strings.Builder
	b.Grow(len(src) + len(src)/8)
	for i := range len(src) {
		b.WriteRune(rune(src[i]))
	}
	return b.String()
}

// dropPairs replaces each two-byte character by U+FFFD: what it means is not
// needed, where it ends is.
func dropPairs(src string) string {
	var b strings.Builder
	b.Grow(len(src) + len(src)/8)
	for i := 0; i < len(src); i++ {
		if src[i] > 0x80 && i+1 < len(src) && src[i+1] >= 0x40 {
			b.WriteRune(utf8.RuneError)
			i++
			continue
		}
		b.WriteByte(src[i])
	}
	return b.String()
}

// isWord marks the bytes of identifiers; those of other scripts are taken whole.
var isWord = func() (t [256]bool) {
	for c := range t {
		t[c] = c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
	}
	return t
}()

// startsWord says that an identifier can begin with c.
func startsWord(c byte) bool { return isWord[c] && (c < '0' || c > '9') }
