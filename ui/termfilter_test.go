package ui

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func filtered(pieces ...string) string {
	var out bytes.Buffer
	f := termFilter{to: &out}
	for _, p := range pieces {
		if n, err := f.Write([]byte(p)); n != len(p) || err != nil {
			panic(err)
		}
	}
	return out.String()
}

// What draws stays as it is; what reaches beyond the screen is gone, in pieces too.
func TestTermFilter(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"text", "a\tb\r\n漢字 … Ü “q”\x07", "a\tb\r\n漢字 … Ü “q”\x07"},
		{"colours and moves", "\x1b[1;31mred\x1b[0m\x1b[2J\x1b[?1049h\x1b7\x1b(0", "\x1b[1;31mred\x1b[0m\x1b[2J\x1b[?1049h\x1b7\x1b(0"},
		{"a title", "a\x1b]0;evil\x07b", "ab"},
		{"the clipboard", "a\x1b]52;c;ZXZpbA==\x1b\\b", "ab"},
		{"DCS, APC, PM, SOS", "\x1bPtmux;x\x1b\\1\x1b_a\x1b\\2\x1b^b\x1b\\3\x1bXc\x1b\\4", "1234"},
		{"eight bits in UTF-8", "\u009d0;evil\u009cx", "x"},
		{"eight bits alone", "\x9d0;evil\x07x\x90q\x9cy", "xy"},
		{"no control within a character", "‐ 😝 \u0090gone\x07", "‐ 😝 "},
		{"an end that is another sequence", "\x1b]0;evil\x1b[31mred", "\x1b[31mred"},
		{"cancelled", "\x1b]0;evil\x18x", "x"},
		{"two escapes", "\x1b\x1b]0;evil\x07x", "x"},
		{"half a character before it", "\xc2\u009d0;evil\x07x", "\xc2x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := filtered(c.in); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if got := filtered(strings.Split(c.in, "")...); got != c.want {
				t.Errorf("byte by byte %q, want %q", got, c.want)
			}
		})
	}
}

// Filtered once is filtered: nothing that was put together again begins a string.
func FuzzTermFilter(f *testing.F) {
	for _, s := range []string{"a\x1b]0;x\x07b", "\x1b\x1b]52;c;\x07", "\xc2\xc2\x9d", "\xe2\x80\x9d\x9d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := filtered(s)
		for _, open := range []string{"\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bX"} {
			if strings.Contains(once, open) {
				t.Fatalf("%q holds %q", once, open)
			}
		}
		// An escape at the end waits for what follows it.
		if twice := filtered(once); !strings.HasPrefix(once, twice) || len(once)-len(twice) > 1 {
			t.Fatalf("%q, filtered again %q", once, twice)
		}
	})
}

// Keys go to the shell as they are; ctrl+] leaves, and what was typed before it counts.
func TestCarryKeys(t *testing.T) {
	var to bytes.Buffer
	left := make(chan struct{})
	carryKeys(strings.NewReader("ls\r\x03\x1b[A\x1d and more"), &to, left)
	<-left
	if to.String() != "ls\r\x03\x1b[A" {
		t.Errorf("%q", to.String())
	}
	to.Reset()
	carryKeys(io.MultiReader(strings.NewReader("a"), strings.NewReader("b")), &to, nil)
	if to.String() != "ab" {
		t.Errorf("%q", to.String())
	}
}
