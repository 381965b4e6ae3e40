package simulated

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// quoteJSON writes a JSON string in ASCII only, so that no reply can be cut
// within a character.
func quoteJSON(s string) string {
	return quote(s, func(b *strings.Builder, r rune) {
		if r > 0xffff {
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		} else {
			fmt.Fprintf(b, `\u%04x`, r)
		}
	})
}

// quotePython writes a Python string literal in ASCII only.
func quotePython(s string) string {
	return quote(s, func(b *strings.Builder, r rune) { fmt.Fprintf(b, `\U%08x`, r) })
}

func quote(s string, escape func(*strings.Builder, rune)) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r > '~':
			escape(&b, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// quoteShell makes one word of the shell.
func quoteShell(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+=:,@", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
