package ui

import (
	"context"
	"strings"
	"testing"

	"rollbench/sessions"
)

type verifierLog struct {
	sessions.Reader
	text string
}

func (v verifierLog) EvalLog(context.Context, sessions.Key) ([]byte, error) {
	return []byte(v.text), nil
}

// pageText is all that a page of few rows shows.
func pageText(p *page) string {
	var all []string
	for _, s := range p.sections {
		for _, b := range s.blocks {
			all = append(all, b.label+" "+b.text)
		}
	}
	return strings.Join(all, "\n")
}

// Signs of tampering: a glyph of one column at the list's right edge, a word of the
// filter, and by name in the transcript's end and over the verifier's output.
func TestTamperingIsShown(t *testing.T) {
	honest := sessions.Trajectory{Key: sessions.Key{Instance: "a"}, State: sessions.Done}
	tampered := honest
	tampered.Tampering = []sessions.Sign{{Kind: "tests", What: "changed \x1b[31mtests/test_a.py"}, {Kind: "look-ahead", Turn: 4, What: "git reflog"}}
	for _, w := range []int{40, 80, 120} {
		was, is := memberRow(honest, columnsFor(w), fakeNow()), memberRow(tampered, columnsFor(w), fakeNow())
		if was.width() != is.width() || strings.Contains(was.text(), tamperGlyph) || !strings.HasSuffix(is.text(), "–"+tamperGlyph+"   ") {
			t.Errorf("%d columns: %q of %d, %q of %d", w, was.text(), was.width(), is.text(), is.width())
		}
	}
	for _, c := range []struct {
		filter string
		want   [2]bool
	}{{"tampered", [2]bool{false, true}}, {"!tampered", [2]bool{true, false}}} {
		if got := [2]bool{matches(honest, parseTerms(c.filter), fakeNow()), matches(tampered, parseTerms(c.filter), fakeNow())}; got != c.want {
			t.Errorf("%s: %v", c.filter, got)
		}
	}
	s := &section{}
	s.ended(tampered)
	p, err := readVerifier(t.Context(), verifierLog{text: "1 passed"}, tampered)
	if err != nil {
		t.Fatal(err)
	}
	for place, text := range map[string]string{"transcript": pageText(onePage(s)), "verifier": pageText(p)} {
		for _, want := range []string{"⚑ signs tests · in the patch: changed tests/test_a.py", "look-ahead · turn 4: git reflog"} {
			if !strings.Contains(text, want) || strings.Contains(text, "\x1b") {
				t.Errorf("%s lacks %q:\n%q", place, want, text)
			}
		}
	}
	if text := pageText(p); !strings.HasSuffix(text, "1 passed") {
		t.Errorf("the output is gone:\n%s", text)
	}
}
