package ui

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct{ in, want, cell string }{
		{"plain text\n", "plain text\n", "plain·text⏎"},
		{"\x1b[31mred\x1b[0m", "␛[31mred␛[0m", "␛[31mred␛[0m"},
		{"\x1b]0;title\x07", "␛]0;title␇", "␛]0;title␇"},
		{"a\r\n\tb\x00\x7f", "a␍\n⇥b␀␡", "a␍⏎⇥b␀␡"},
		{"漢\u200b\u202e", "漢⟨U+200B⟩⟨U+202E⟩", "漢⟨U+200B⟩⟨U+202E⟩"},
		{"\xe6\xbc", "⟨e6⟩⟨bc⟩", "⟨e6⟩⟨bc⟩"},
		{"\u009b5m", "⟨U+009B⟩5m", "⟨U+009B⟩5m"},
		{"\ufffd", "\ufffd", "\ufffd"}, // what the text really holds
	} {
		if got := visible(c.in); got != c.want {
			t.Errorf("visible %q: %q, want %q", c.in, got, c.want)
		}
		if got := visibleCell(c.in); got != c.cell {
			t.Errorf("cell of %q: %q, want %q", c.in, got, c.cell)
		}
	}
}

// What is made visible within JSON text means the same, and is safe to draw.
func FuzzVisibleJSON(f *testing.F) {
	f.Add(hostile)
	f.Add("\U000e0041\u2028\u200b漢\U0001f468\u200d\U0001f469")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
			return
		}
		text := visibleJSON(strings.TrimSuffix(quote(s), "\n"))
		if text != clean(text) {
			t.Fatalf("%q is not clean: %q", s, text)
		}
		checkEscapes(t, text)
		var back string
		if err := json.Unmarshal([]byte(text), &back); err != nil {
			t.Fatalf("%q: %q is no JSON: %v", s, text, err)
		}
	})
}

// Whatever is shown as visible is clean, and no byte of it is a control.
func FuzzVisible(f *testing.F) {
	f.Add(hostile)
	f.Add("\xff\xfe\x80a\u0301\u0d4e")
	f.Fuzz(func(t *testing.T, s string) {
		for _, text := range []string{visible(s), visibleCell(s)} {
			if text != clean(text) {
				t.Fatalf("%q is not clean: %q", s, text)
			}
			for i := range len(text) {
				if text[i] < ' ' && text[i] != '\n' {
					t.Fatalf("%q holds the byte %x", text, text[i])
				}
			}
		}
		if c := visibleCell(s); strings.ContainsAny(c, " \n") {
			t.Fatalf("the cell of %q is %q", s, c)
		}
	})
}
