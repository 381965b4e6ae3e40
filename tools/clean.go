package tools

import (
	"strings"
	"unicode/utf8"
)

// Clean makes a command's output plain text: escape sequences and control
// characters are removed, a progress bar that redraws its line keeps its last
// state only, invalid UTF-8 becomes U+FFFD. Of the control characters only
// newline and tab remain. Clean(Clean(x)) is Clean(x).
func Clean(raw []byte) string {
	var out strings.Builder
	out.Grow(len(raw))
	var line []rune
	redraw := false // a carriage return was seen: the next character starts the line anew
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRune(raw[i:])
		if n := sequence(raw[i:], r); n > 0 {
			i += n
			continue
		}
		i += size
		switch {
		case r == '\n':
			out.WriteString(string(line))
			out.WriteByte('\n')
			line, redraw = line[:0], false
		case r == '\r':
			redraw = true
		case r == '\b':
			if len(line) > 0 && !redraw {
				line = line[:len(line)-1]
			}
		case isControl(r) && r != '\t':
		default:
			if redraw {
				line, redraw = line[:0], false
			}
			line = append(line, r)
		}
	}
	out.WriteString(string(line))
	return out.String()
}

// isControl covers C0, DEL and C1.
func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }

// sequence is the length of the escape sequence that b starts with, or 0.
// One that is not ended properly gives up at the first byte that cannot belong
// to it, so a stray ESC never swallows a line.
func sequence(b []byte, first rune) int {
	switch {
	case first == 0x9b: // C1 forms are two bytes in UTF-8
		return 2 + csi(b[2:])
	case first == 0x90 || first == 0x98 || first >= 0x9d && first <= 0x9f:
		return 2 + stringBody(b[2:])
	case first != 0x1b:
		return 0
	case len(b) == 1:
		return 1
	}
	switch c := b[1]; {
	case c == '[':
		return 2 + csi(b[2:])
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		return 2 + stringBody(b[2:])
	case c >= 0x20 && c <= 0x2f: // intermediates, then one final byte
		i := 1
		for i < len(b) && b[i] >= 0x20 && b[i] <= 0x2f {
			i++
		}
		if i < len(b) && b[i] >= 0x30 && b[i] <= 0x7e {
			i++
		}
		return i
	case c >= 0x30 && c <= 0x7e:
		return 2
	}
	return 1
}

// csi is the length of a control sequence after its introducer.
func csi(b []byte) int {
	i := 0
	for i < len(b) && b[i] >= 0x20 && b[i] <= 0x3f {
		i++
	}
	if i < len(b) && b[i] >= 0x40 && b[i] <= 0x7e {
		i++
	}
	return i
}

// stringBody is the length of an operating system command and the like: to BEL
// or ST. Without either before the line or another sequence begins it is 0: the
// text stays visible, and no byte is looked at again and again.
func stringBody(b []byte) int {
	for i, c := range b {
		switch {
		case c == '\n':
			return 0
		case c == 0x07:
			return i + 1
		case c == 0x1b && i+1 < len(b) && b[i+1] == '\\':
			return i + 2
		case c == 0xc2 && i+1 < len(b) && b[i+1] == 0x9c:
			return i + 2
		case c == 0x1b, c == 0xc2 && i+1 < len(b) && b[i+1] < 0xa0:
			return 0
		}
	}
	return 0
}

// showControl makes control characters of a file visible instead of removing
// them: what the model sees of a line must not lack a part of it.
func showControl(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return r
		case r < 0x20:
			return 0x2400 + r // the block of control pictures has C0's order
		case r == 0x7f:
			return '␡'
		case r > 0x7f && r <= 0x9f:
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
