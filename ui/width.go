package ui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// runeWidth is the number of columns of a rune that clean lets through.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case r >= 0x4e00 && r <= 0x9fff, r >= 0xac00 && r <= 0xd7a3, r >= 0x3041 && r <= 0x3096:
		return 2
	case r >= 0x2500 && r <= 0x259f: // box drawing and blocks
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	var buf [utf8.UTFMax]byte
	return ansi.StringWidth(string(buf[:utf8.EncodeRune(buf[:], r)]))
}

// width of clean text without newlines, in columns.
func width(s string) int {
	w := 0
	for i := 0; i < len(s); {
		if s[i] < 0x80 {
			w++
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		w += runeWidth(r)
		i += n
	}
	return w
}

// head is the longest start of s at most w columns wide, and its width.
func head(s string, w int) (string, int) {
	used := 0
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= 0x80 {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		rw := runeWidth(r)
		if used+rw > w {
			return s[:i], used
		}
		used += rw
		i += n
	}
	return s, used
}

// cut shortens s to w columns; a cut is marked by an ellipsis.
func cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if len(s) <= w || width(s) <= w {
		return s
	}
	h, _ := head(s, w-1)
	return h + "…"
}

// pad is cut and filled with spaces on the right: exactly w columns.
func pad(s string, w int) string {
	s = cut(s, w)
	return s + spaces(w-width(s))
}

// padLeft is cut and filled with spaces on the left: exactly w columns.
func padLeft(s string, w int) string {
	s = cut(s, w)
	return spaces(w-width(s)) + s
}

const blanks = "                                                                                "

func spaces(n int) string {
	switch {
	case n <= 0:
		return ""
	case n <= len(blanks):
		return blanks[:n]
	}
	return strings.Repeat(" ", n)
}
