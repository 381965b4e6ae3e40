package ui

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// visible shows what clean would take away: control characters as their signs
// (␛ for escape), what has no sign, is not drawn, or is no UTF-8 as its number
// in ⟨⟩. Line ends stay, so that the text can be read. The result is clean.
func visible(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			b.WriteString(visibleByte(c))
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "⟨%02x⟩", c)
		case safeRune(r) != r:
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return clean(b.String())
}

// visibleByte is an ASCII character, controls by their signs.
func visibleByte(c byte) string {
	switch {
	case c == '\n':
		return "\n"
	case c == '\t':
		return "⇥"
	case c == 0x7f:
		return "␡"
	case c < 0x20:
		return string(rune(0x2400 + int(c)))
	}
	return string(rune(c))
}

// visibleCell is visible for a piece that stands in a cell of its own: spaces and
// line ends show as well.
func visibleCell(s string) string {
	s = strings.ReplaceAll(visible(s), "\n", "⏎")
	return strings.ReplaceAll(s, " ", "·")
}

// visibleJSON escapes what a terminal would not show within JSON text, as JSON
// does: the text stays valid and means the same.
func visibleJSON(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/16)
	for _, r := range s {
		switch {
		case r < 0x20 && r != '\n', r == 0x7f, r != utf8.RuneError && r >= 0x80 && safeRune(r) != r:
			if r > 0xffff {
				hi, lo := utf16.EncodeRune(r)
				fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		default:
			b.WriteRune(r)
		}
	}
	return clean(b.String())
}
