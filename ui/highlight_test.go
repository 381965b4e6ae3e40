package ui

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// lexed writes each piece that is not plain as role‹text›.
func lexed(l lang, text string) string {
	names := map[role]string{keyword: "k", quoted: "q", comment: "c", variable: "v", operator: "o", strong: "s", dim: "d"}
	var b strings.Builder
	from := 0
	for _, p := range lex(l, text) {
		if t := text[from:p.end]; p.r == plain {
			b.WriteString(t)
		} else {
			b.WriteString(names[p.r] + "‹" + t + "›")
		}
		from = p.end
	}
	return b.String() + text[from:]
}

func TestHighlight(t *testing.T) {
	for _, c := range []struct {
		l          lang
		text, want string
	}{
		{shellLang, "ls -l src", "s‹ls› -l src"},
		{shellLang, "cd /repo && git diff | head -n 3 # look", "s‹cd› /repo o‹&&› s‹git› diff o‹|› s‹head› -n 3 c‹# look›"},
		{shellLang, "a#b; # c", "s‹a#b›o‹;› c‹# c›"},
		{shellLang, `echo "in $HOME \" ${x:-y}" 'it'`, `s‹echo› q‹"in ›v‹$HOME›q‹ \" ›v‹${x:-y}›q‹"› q‹'it'›`},
		{shellLang, `echo $1 $? $ "$(pwd | wc)"`, `s‹echo› v‹$1› v‹$?› $ q‹"›o‹$(›s‹pwd› o‹|› s‹wc›o‹)›q‹"›`},
		{shellLang, "x=`date`; echo ok", "v‹x›o‹=`›s‹date›o‹`;› s‹echo› ok"},
		{shellLang, "A=1 B+=2 make", "v‹A›o‹=›1 v‹B+›o‹=›2 s‹make›"},
		{shellLang, "echo A=1", "s‹echo› A=1"},
		{shellLang, "if true; then echo if; fi", "k‹if› s‹true›o‹;› k‹then› s‹echo› ifo‹;› k‹fi›"},
		{shellLang, "for f in *.py; do rm $f; done", "k‹for› f k‹in› *.pyo‹;› k‹do› s‹rm› v‹$f›o‹;› k‹done›"},
		{shellLang, "echo in", "s‹echo› in"},
		{shellLang, "python - <<'EOF' > out\nif x:\n  # y\nEOF\necho", "s‹python› - o‹<<'EOF'› o‹>› out\nd‹if x:\n  # y\n›o‹EOF›\ns‹echo›"},
		{shellLang, "cat <<-A <<B\n\ta\n\tA\nb\nB\nls", "s‹cat› o‹<<-A› o‹<<B›\nd‹\ta\n›o‹\tA›\nd‹b\n›o‹B›\ns‹ls›"},
		{shellLang, "cat <<A\nnever ends", "s‹cat› o‹<<A›\nd‹never ends›"},
		{shellLang, "wc <<< word", "s‹wc› o‹<<<› word"},
		{shellLang, "echo $((1 << 2)) x", "s‹echo› v‹$((1 << 2))› x"},
		{shellLang, "pytest 2>&1 | tail", "s‹pytest› 2o‹>&›1 o‹|› s‹tail›"},
		{shellLang, "echo $'a\\'b' c", "s‹echo› q‹$'a\\'b'› c"},
		{shellLang, "(cd x; ls)", "o‹(›s‹cd› xo‹;› s‹ls›o‹)›"},
		{shellLang, `rm -rf tests && \` + "\n\tpytest", `s‹rm› -rf tests o‹&&› \` + "\n\ts‹pytest›"},
		{pythonLang, "@a.b\ndef f(x): # y\n    return 'z' + \"\"\"\nq\"\"\"", "v‹@a.b›\nk‹def› s‹f›(x): c‹# y›\n    k‹return› q‹'z'› + q‹\"\"\"\nq\"\"\"›"},
		{pythonLang, "x = a @ b # in\ny = 'open\nif not x: pass", "x = a @ b c‹# in›\ny = q‹'open›\nk‹if› k‹not› x: k‹pass›"},
		{jsonLang, "{\n  \"a\": \"x: \\\" 1\",\n  \"b\" : [1, -2.5e3, true, null]\n}", "{\n  v‹\"a\"›: \"x: \\\" 1\",\n  v‹\"b\"› : [k‹1›, k‹-2.5e3›, k‹true›, k‹null›]\n}"},
	} {
		if got := lexed(c.l, c.text); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// checkLexed: the pieces are the text, none is empty, none begins within a character.
func checkLexed(t *testing.T, l lang, text string) {
	t.Helper()
	spans, valid := lex(l, text), utf8.ValidString(text)
	from := 0
	for _, p := range spans {
		if p.end <= from || p.end > len(text) {
			t.Fatalf("%d %q: a piece ends at %d after %d", l, text, p.end, from)
		}
		if p.end < len(text) && valid && !utf8.RuneStart(text[p.end]) {
			t.Fatalf("%d %q: a piece ends within a character, at %d", l, text, p.end)
		}
		from = p.end
	}
	if from != len(text) && (len(text) <= lexMost || from < lexMost-utf8.UTFMax) {
		t.Fatalf("%d %q: the pieces end at %d of %d", l, text, from, len(text))
	}
}

func FuzzHighlight(f *testing.F) {
	for _, s := range []string{"echo \"$(ls `x` ${y} $((1)))\" <<A 'b\nA\n", "def f():\n  '''x\\", `{"a": "\"`, "\\", "$", "<<", "\"漢\\字$漢", "@", "case x in y) z;; esac"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, l := range []lang{noLang, shellLang, pythonLang, jsonLang} {
			if l != noLang {
				checkLexed(t, l, s)
			}
			text := clean(s)
			b := block{lang: l, body: plain, text: text}
			for _, r := range wrap(text, 20) {
				got := ""
				for _, p := range b.row(r, "e") {
					got += p.text
				}
				if got != text[r.from:r.to] {
					t.Fatalf("row %q is drawn %q", text[r.from:r.to], got)
				}
			}
		}
	})
}

// Whatever a command repeats, ten times as much takes about ten times the steps:
// counted in pieces and bounded in size, so that no clock is needed.
func TestHighlightBounds(t *testing.T) {
	for _, unit := range []string{"a", "\"", "'", "$(", "${", "$((", "`", "(", "<<A\n", "<<A ", "\\", "x=", "\"$(", "'''", "\"\"\"", "@", "#", "{\"a\":", "漢"} {
		text := strings.Repeat(unit, (1<<20)/len(unit))
		for _, l := range []lang{shellLang, pythonLang, jsonLang} {
			checkLexed(t, l, text)
			spans := lex(l, text)
			if end := spans[len(spans)-1].end; end > lexMost || end < lexMost-utf8.UTFMax {
				t.Errorf("%d %q…: 1 MB is looked at up to %d", l, unit, end)
			}
		}
	}
	// The rest is drawn as it is.
	b := block{lang: shellLang, body: plain, text: strings.Repeat("ls; ", 1<<20/4)}
	if got := fmt.Sprint(b.row(row{1<<20 - 8, 1 << 20}, "")); got != fmt.Sprint(line{{plain, "ls; ls; "}}) {
		t.Errorf("behind the bound: %v", got)
	}
	if got := b.row(row{0, 4}, ""); len(got) != 3 || got[0] != (seg{strong, "ls"}) {
		t.Errorf("before the bound: %v", got)
	}
}

// A place that is looked for is marked across the borders of pieces.
func TestMarkedPieces(t *testing.T) {
	b := block{lang: shellLang, body: plain, text: "ls; ls; rm"}
	want := line{{strong, "l"}, {chosen, "s"}, {chosen, ";"}, {plain, " "}, {strong, "l"}, {chosen, "s"}, {chosen, ";"}, {plain, " "}, {strong, "rm"}}
	if got := b.row(row{0, 10}, "s;"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func BenchmarkHighlight(b *testing.B) {
	text := strings.Repeat("cd /repo && python -m pytest \"$X\" -q 2>&1 | tail -n 5 # look\n", lexMost/63)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		lex(shellLang, text)
	}
}
