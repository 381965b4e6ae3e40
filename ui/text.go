package ui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// tabWidth of expanded tabs, in columns.
const tabWidth = 4

// clean makes text of a model, a tool or a task safe to draw: escape sequences
// and control characters are removed, tabs are expanded, invalid UTF-8 becomes
// U+FFFD, and characters whose width terminals disagree on are reduced to ones
// they agree on. What is left is printable runes and \n.
func clean(s string) string {
	if isPlain(s) {
		return s
	}
	return settle(strip(s))
}

// strip removes escape sequences and control characters but tabs and newlines,
// and maps every rune to the one that is drawn for it.
func strip(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == 0x1b:
			i += escapeLen(s[i:])
		case c == '\r':
			// A lone carriage return is a progress bar: keep each state on its own row.
			if i+1 < len(s) && s[i+1] != '\n' && s[i+1] != '\r' {
				b.WriteByte('\n')
			}
			i++
		case c < 0x80:
			if c >= 0x20 && c != 0x7f || c == '\n' || c == '\t' {
				b.WriteByte(c)
			}
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r = safeRune(r); r >= 0 {
				b.WriteRune(r)
			}
			i += n
		}
	}
	return b.String()
}

// settle expands tabs and takes marks away that terminals place differently.
func settle(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	col := 0
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '\n':
			b.WriteByte('\n')
			col = 0
			i++
		case c == '\t':
			n := tabWidth - col%tabWidth
			b.WriteString("    "[:n])
			col += n
			i++
		case c < 0x80 && (i+1 == len(s) || s[i+1] < 0x80):
			b.WriteByte(c)
			col++
			i++
		default:
			n, w := settleCluster(&b, s[i:])
			i += n
			col += w
		}
	}
	return b.String()
}

// cleanLine is clean for text that has to stay on one line.
func cleanLine(s string) string {
	s = clean(s)
	if !strings.Contains(s, "\n") {
		return s
	}
	return strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", " ⏎ ")
}

// isPlain is the fast path: most tool output is printable ASCII.
func isPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 && c != '\n' || c > 0x7e {
			return false
		}
	}
	return true
}

// escapeLen is the length of the escape sequence at the start of s. A string
// sequence (OSC, DCS, …) without its end stops at the line's end, so that it
// cannot hide what follows.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return i
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_':
		for i := 2; i < len(s); i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			case s[i] == '\n' || s[i] == 0x1b:
				return i
			}
		}
		return len(s)
	}
	if s[1] >= 0x20 && s[1] < 0x7f {
		return 2
	}
	return 1
}

// maxMarks bounds the runes kept of one grapheme cluster.
const maxMarks = 6

// settleCluster writes the first grapheme cluster of s in its safe form and
// returns how many bytes it took and its width.
func settleCluster(b *strings.Builder, s string) (n, width int) {
	cluster, _ := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	if cluster == "" {
		return 1, 0
	}
	kept := make([]rune, 0, maxMarks)
	for _, r := range cluster {
		if len(kept) < maxMarks {
			kept = append(kept, r)
			width += runeWidth(r)
		}
	}
	if len(kept) > 1 && ansi.StringWidth(string(kept)) != width {
		kept = kept[:1]
		if unicode.Is(unicode.Hangul, kept[0]) { // would join what follows
			kept[0] = utf8.RuneError
		}
		width = runeWidth(kept[0])
	}
	for _, r := range kept {
		b.WriteRune(r)
	}
	return len(cluster), width
}

// safeRune maps a rune to what is drawn for it, -1 for nothing.
func safeRune(r rune) rune {
	switch {
	case r == utf8.RuneError:
		return '\ufffd'
	case r >= 0x80 && r < 0xa0, r == 0xad: // C1 controls, soft hyphen
		return -1
	case r >= 0x1f1e6 && r <= 0x1f1ff: // flags: two letters
		return 'A' + r - 0x1f1e6
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0x1f3fb && r <= 0x1f3ff: // variation, skin tone
		return -1
	case r == 0x2028 || r == 0x2029: // line and paragraph separators
		return ' '
	case unicode.Is(prepended, r): // would melt into whatever is drawn after it
		return utf8.RuneError
	case unicode.Is(unicode.Cf, r), r >= 0xe0000 && r <= 0xe0fff: // joiners, direction marks, tags
		return -1
	}
	return r
}

// prepended are the letters of Unicode's grapheme break class Prepend (15.1);
// the class's format characters are removed with all others.
var prepended = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x0d4e, Hi: 0x0d4e, Stride: 1}},
	R32: []unicode.Range32{
		{Lo: 0x111c2, Hi: 0x111c3, Stride: 1}, {Lo: 0x113d1, Hi: 0x113d1, Stride: 1}, {Lo: 0x1193f, Hi: 0x1193f, Stride: 1},
		{Lo: 0x11941, Hi: 0x11941, Stride: 1}, {Lo: 0x11a3a, Hi: 0x11a3a, Stride: 1}, {Lo: 0x11a84, Hi: 0x11a89, Stride: 1},
		{Lo: 0x11d46, Hi: 0x11d46, Stride: 1}, {Lo: 0x11f02, Hi: 0x11f02, Stride: 1},
	},
}
