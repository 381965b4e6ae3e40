package ui

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "ls -la\n", "ls -la\n"},
		{"colour", "\x1b[31mred\x1b[0m", "red"},
		{"title", "a\x1b]0;owned\x07b", "ab"},
		{"clipboard", "a\x1b]52;c;ZWNobw==\x1b\\b", "ab"},
		{"unfinished string hides one line at most", "a\x1b]0;rest\nnext", "a\nnext"},
		{"cursor", "\x1b[2J\x1b[Hx", "x"},
		{"private", "\x1b[?1049hx", "x"},
		{"short escape", "\x1b7x\x1bc", "x"},
		{"C1 as UTF-8", "a\u009b31mb", "a31mb"},
		{"C1 as a byte", "a\x9b31mb", "a\ufffd31mb"},
		{"controls", "a\x00\x07\x08b\x7f", "ab"},
		{"tab", "a\tb", "a   b"},
		{"tab at the stop", "abcd\te", "abcd    e"},
		{"tab after newline", "abc\n\tx", "abc\n    x"},
		{"progress bar", "10%\r20%\r\nend", "10%\n20%\nend"},
		{"direction override", "a\u202eb", "ab"},
		{"zero width", "a\u200b\ufeffb", "ab"},
		{"flag", "🇩🇪", "DE"},
		{"skin tone", "👍🏽", "👍"},
		{"family", "👩\u200d👧", "👩👧"},
		{"heart", "❤\ufe0f", "❤"},
		{"accent", "e\u0301", "e\u0301"},
		{"CJK", "漢字", "漢字"},
		{"bad UTF-8", "a\xffb", "a\ufffdb"},
		{"lone escape", "a\x1b", "a"},
	} {
		if got := clean(c.in); got != c.want {
			t.Errorf("%s: clean(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

func TestCutAndPad(t *testing.T) {
	for _, c := range []struct {
		in   string
		w    int
		want string
	}{
		{"abc", 5, "abc  "}, {"abcdef", 5, "abcd…"}, {"漢字漢", 5, "漢字…"}, {"漢字漢", 4, "漢… "}, {"", 2, "  "}, {"abc", 0, ""}, {"abc", 1, "…"},
	} {
		if got := pad(c.in, c.w); got != c.want {
			t.Errorf("pad(%q, %d) = %q, want %q", c.in, c.w, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in   string
		w    int
		want []string
	}{
		{"", 5, []string{""}},
		{"abc\n\ndef\n", 5, []string{"abc", "", "def"}},
		{"abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"the dot in", 7, []string{"the dot", "in"}},
		{"the dotty", 7, []string{"the dot", "ty"}}, // the space is in the first half
		{"ab cdef gh", 6, []string{"ab cde", "f gh"}},
		{"abcd efgh", 6, []string{"abcd", "efgh"}},
		{"漢字漢字", 5, []string{"漢字", "漢字"}},
		{"漢", 1, []string{"漢"}},
	} {
		var got []string
		for _, r := range wrap(c.in, c.w) {
			got = append(got, c.in[r.from:r.to])
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("wrap(%q, %d) = %q, want %q", c.in, c.w, got, c.want)
		}
	}
}

// FuzzScreen: whatever a model or a tool says, a row is as wide as it should
// be and holds no escape but our own colours.
func FuzzScreen(f *testing.F) {
	for _, s := range []string{
		"", "plain", "\x1b[31mred", "\x1b]0;title\x07", "\x1b]52;c;eA==\x07", "漢字 and 🇩🇪 and 👩‍👩‍👧", "a\tb\r\nc\rd", "e\u0301\u0301\u0301",
		"\xff\xfe", strings.Repeat("x", 300), "\u202eabc", "नमस्ते", "각", "\u1100\u1100", "1\ufe0f\u20e3", "\u0e33\u0e33", "\U000e0041", "#️⃣", "a\u20ddb",
	} {
		f.Add(s, uint8(30))
	}
	th := testTheme("dark")
	f.Fuzz(func(t *testing.T, text string, cols uint8) {
		w := int(cols)%120 + gutter + 4
		safe := clean(text)
		if !utf8.ValidString(safe) {
			t.Fatalf("clean(%q) is not UTF-8", text)
		}
		s := &section{}
		s.add(block{id: "x", label: cleanLine(text), labelRole: call, body: thought, text: safe, fold: 3})
		sc := scroller{}
		rows := sc.render(&th, onePage(s), w, 6, true)
		rows = append(rows, th.edge(w, focused, "╭", "╮", line{{strong, cleanLine(text)}}, line{{dim, cleanLine(text)}}))
		for _, r := range rows {
			if got := ansi.StringWidth(r); got != w {
				t.Fatalf("a row of %q is %d columns wide, want %d: %q", text, got, w, r)
			}
			checkEscapes(t, r)
		}
	})
}

// checkEscapes finds anything but our own SGR sequences.
func checkEscapes(t *testing.T, row string) {
	t.Helper()
	for i := 0; i < len(row); i++ {
		if row[i] != 0x1b {
			if row[i] < 0x20 && row[i] != '\n' || row[i] == 0x7f {
				t.Fatalf("a control character in %q", row)
			}
			continue
		}
		end := strings.IndexByte(row[i:], 'm')
		if end < 3 || row[i+1] != '[' || strings.Trim(row[i+2:i+end], "0123456789;") != "" {
			t.Fatalf("a foreign escape sequence in %q", row)
		}
	}
}

// FuzzSplice: a dialog over any row leaves the row as wide as it was.
func FuzzSplice(f *testing.F) {
	f.Add("漢字漢字漢字", 3)
	f.Add("plain text", 4)
	th := testTheme("dark")
	f.Fuzz(func(t *testing.T, text string, x int) {
		const w = 40
		row := th.fit(line{{good, cleanLine(text)}, {dim, cleanLine(text)}}, w)
		if x < 0 || x > w-6 {
			return
		}
		if got := ansi.StringWidth(splice(row, "[text]", x, w)); got != w {
			t.Fatalf("splice at %d of %q: %d columns", x, row, got)
		}
	})
}
