package tools

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func TestClean(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "a\tb\nc", "a\tb\nc"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"title", "\x1b]0;title\x07x", "x"},
		{"link", "\x1b]8;;http://h\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"device control", "a\x1bPq#0\x1b\\b", "ab"},
		{"charset", "\x1b(Bx", "x"},
		{"two bytes", "\x1b=x\x1bM", "x"},
		{"C1 control sequence", "\u009b31mx", "x"},
		{"unterminated title", "\x1b]0;title\nnext", "0;title\nnext"},
		{"lone escape at the end", "x\x1b", "x"},
		{"sequence cut at the end", "x\x1b[3", "x"},
		{"progress bar", "10%\r50%\r100%\ndone", "100%\ndone"},
		{"progress bar with erase", "10%\r\x1b[K100%\n", "100%\n"},
		{"carriage return at the end of lines", "a\r\nb\r\n", "a\nb\n"},
		{"bar not ended", "10%\r50%\r", "50%"},
		{"backspace", "ab\bc", "ac"},
		{"overstrike", "N\bNA\bA", "NA"},
		{"backspace at the start", "\bx", "x"},
		{"bell, nul, delete", "a\x07\x00\x7fb", "ab"},
		{"invalid utf-8", "a\xffb\xc3", "a\uFFFDb\uFFFD"},
		{"wide", "日本 🙂", "日本 🙂"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Clean([]byte(tt.in)); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestCutMiddle(t *testing.T) {
	note := "<%d>"
	tests := []struct {
		text string
		most int
		want string
		cut  int
	}{
		{"abcdefgh", 8, "abcdefgh", 0},
		{"日本日本日本日本", 8, "日本日本日本日本", 0},
		// The note is at most "<10>": room for 8-4 = 4, head 2, tail 2, 10-4 cut.
		{"abcdefghij", 8, "ab<6>ij", 6},
	}
	for _, tt := range tests {
		if got, cut := cutMiddle(tt.text, tt.most, note); got != tt.want || cut != tt.cut {
			t.Errorf("%q %d, want %q %d", got, cut, tt.want, tt.cut)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "\x1b", "\x1b[", "\x1b]0;x\x07", "\x1b\x1b[mm", "a\rb\r\n", "\u009b1m", "\x1bP\x1b]\x1b\\", "\b\b", "\xff\x9b", "x\r\x1b[Ky"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := Clean(raw)
		if !utf8.ValidString(got) {
			t.Fatalf("invalid UTF-8: %q", got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return isControl(r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Fatalf("control character at %d of %q", i, got)
		}
		if again := Clean([]byte(got)); again != got {
			t.Fatalf("%q became %q", got, again)
		}
		if shown := showControl(string(raw)); strings.ContainsFunc(shown, func(r rune) bool { return isControl(r) && r != '\n' && r != '\t' }) {
			t.Fatalf("shown: %q", shown)
		}
	})
}
