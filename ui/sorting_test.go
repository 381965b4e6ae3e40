package ui

import (
	"fmt"
	"strings"
	"testing"
)

// rowsShown are the list's rows in short: an instance, or its members' ids.
func (b *bench) rowsShown() string {
	var out []string
	for _, r := range b.w.list.rows {
		g := b.w.list.groups[r.group]
		if r.member < 0 {
			name, _, _ := strings.Cut(g.instance, "-")
			out = append(out, name)
		} else {
			out = append(out, fmt.Sprint(g.members[r.member].ID))
		}
	}
	return strings.Join(out, " ")
}

// By each column (> goes on to the next), worked out from fakeTrajectories.
func TestSort(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	for _, c := range []struct{ keys, want string }{
		{"", "flask 0 1 2 3 requests 0 1 2 3 sympy 0 1 2 3 xarray 0 1 2 3 数学 0 1 2 3"},
		{">~", "flask 3 2 1 0 requests 3 2 1 0 sympy 3 2 1 0 xarray 3 2 1 0 数学 3 2 1 0"},
		{">~", "数学 0 1 2 3 xarray 0 1 2 3 sympy 0 1 2 3 requests 0 1 2 3 flask 0 1 2 3"},
		{">", "flask 2 3 0 1 sympy 0 1 2 3 xarray 1 3 2 0 数学 0 2 1 3 requests 3 0 1 2"},   // held, running, evaluating, …
		{">", "requests 0 1 2 3 flask 1 0 3 2 xarray 0 1 2 3 sympy 1 2 0 3 数学 0 1 2 3"},   // turns: 50, 22, 22, 19, 2
		{">", "requests 1 0 2 3 sympy 1 2 0 3 xarray 0 1 2 3 flask 3 1 2 0 数学 0 1 2 3"},   // tokens: 32.8k, 16.8k, 15.1k, 14k, 900
		{">>>", "flask 0 1 2 3 requests 2 0 1 3 sympy 0 1 2 3 xarray 0 1 2 3 数学 0 1 2 3"}, // reward: absent ones last
		{"~", "flask 1 0 2 3 requests 0 1 2 3 sympy 0 1 2 3 xarray 0 1 2 3 数学 0 1 2 3"},   // and the other way round, too
		{">", "flask 0 1 2 3 requests 0 1 2 3 sympy 0 1 2 3 xarray 0 1 2 3 数学 0 1 2 3"},
		{"<", "flask 0 1 2 3 requests 2 0 1 3 sympy 0 1 2 3 xarray 0 1 2 3 数学 0 1 2 3"},
	} {
		chosen := b.w.chosenKey()
		b.keys(strings.ReplaceAll(c.keys, "<", "<lt>"))
		if got := b.rowsShown(); got != c.want {
			t.Errorf("after %q, %v: %s\nwant %s", c.keys, b.w.list.sortNote(), got, c.want)
		}
		if got := b.w.chosenKey(); got != chosen {
			t.Errorf("after %q another is chosen: %v", c.keys, got)
		}
	}
}

func TestFilterBounds(t *testing.T) {
	for _, c := range []struct{ filter, want string }{
		{"tokens>16k", "requests 0 1 sympy 1"},
		{"tokens>=16800 !requests", "sympy 1"},
		{"turns<4 turns>0", "sympy 3 数学 0"},
		{"!turns>2 flask", ""},
		{"reward>=1", "flask 0 requests 2"},
		{"reward<1", "flask 1 requests 0 1"},
		{"!reward<1 flask", "flask 0 2 3"}, // absent is within no bound
		{"breaks>0", "xarray 1"},
		{"held", "flask 2 sympy 0 1 2"},
		{"finish_tool", "flask 0 1"},
		{"str_replace_editor", "flask 3 xarray 1"},
		{"reward=0", "flask 1 requests 0 1"},
		{"tokens>much", ""}, // a word
		{"a<b", ""},
	} {
		b := open(t, fakeWhole(), 120, 40, nil)
		b.keys("/" + strings.ReplaceAll(c.filter, "<", "<lt>") + "<enter>")
		if got := b.rowsShown(); got != c.want {
			t.Errorf("%q: %s, want %s", c.filter, got, c.want)
		}
	}
}
