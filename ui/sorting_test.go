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

// Tags stand behind what there is to say, as much of them as fits.
func TestTags(t *testing.T) {
	for w, want := range map[int]string{20: "finish_tool #odd #b ", 17: "finish_tool #odd…", 15: "finish_tool    ", 11: "finish_tool"} {
		if got := plainText(withTags("finish_tool", plain, []string{"odd", "b"}, w)); got != want {
			t.Errorf("%d columns: %q, want %q", w, got, want)
		}
	}
	if got := plainText(withTags("x", plain, []string{"\x1b[2J"}, 9)); got != "x #      " {
		t.Errorf("%q", got)
	}
}

// By each column (> goes on to the next), worked out from fakeTrajectories.
func TestSort(t *testing.T) {
	f := fakeWhole()
	f.trajs[4].Tags, f.trajs[9].Tags = []string{"odd"}, []string{"a", "odd"} // requests#0, sympy#1
	b := open(t, f, 120, 40, nil)
	for _, c := range []struct{ keys, want string }{
		{"", "flask 0 1 2 3 requests 0 1 2 3 sympy 0 1 2 3 xarray 0 1 2 3 数学 0 1 2 3"},
		{">~", "flask 3 2 1 0 requests 3 2 1 0 sympy 3 2 1 0 xarray 3 2 1 0 数学 3 2 1 0"},
		{">~", "数学 0 1 2 3 xarray 0 1 2 3 sympy 0 1 2 3 requests 0 1 2 3 flask 0 1 2 3"},
		{">", "flask 2 3 0 1 sympy 0 1 2 3 xarray 1 3 2 0 数学 0 2 1 3 requests 3 0 1 2"},   // held, running, evaluating, …
		{">", "requests 0 1 2 3 flask 1 0 3 2 xarray 0 1 2 3 sympy 1 2 0 3 数学 0 1 2 3"},   // turns: 50, 22, 22, 19, 2
		{">", "requests 1 0 2 3 sympy 1 2 0 3 xarray 0 1 2 3 flask 3 1 2 0 数学 0 1 2 3"},   // tokens: 32.8k, 16.8k, 15.1k, 14k, 900
		{">>>", "flask 0 1 2 3 requests 2 0 1 3 sympy 0 1 2 3 xarray 0 1 2 3 数学 0 1 2 3"}, // reward: absent ones last
		{"~", "flask 1 0 2 3 requests 0 1 2 3 sympy 0 1 2 3 xarray 0 1 2 3 数学 0 1 2 3"},   // and the other way round, too
		{">", "requests 1 0 2 3 sympy 1 2 0 3 xarray 0 1 2 3 flask 3 1 2 0 数学 0 1 2 3"},   // share of the budget
		{">", "flask 2 3 0 1 sympy 0 1 2 3 xarray 1 0 2 3 requests 0 1 2 3 数学 0 1 2 3"},   // tool: execute_bash, str_replace_editor, none
		{">", "sympy 3 0 1 2 requests 1 3 2 0 xarray 0 1 2 3 flask 0 1 2 3 数学 0 1 2 3"},   // cancelled, context_…, error_evaluation, finish_tool
		{">", "xarray 1 0 2 3 flask 0 1 2 3 requests 0 1 2 3 sympy 0 1 2 3 数学 0 1 2 3"},   // drift
		{">", "requests 2 0 1 3 sympy 2 0 1 3 flask 0 1 2 3 xarray 0 1 2 3 数学 0 1 2 3"},   // intervened
		{">", "sympy 1 0 2 3 requests 0 1 2 3 flask 0 1 2 3 xarray 0 1 2 3 数学 0 1 2 3"},   // tags: a, odd
		{"~", "requests 0 1 2 3 sympy 1 0 2 3 flask 0 1 2 3 xarray 0 1 2 3 数学 0 1 2 3"},   // none comes last
		{">", "flask 0 1 2 3 requests 0 1 2 3 sympy 0 1 2 3 xarray 0 1 2 3 数学 0 1 2 3"},
		{"<", "sympy 1 0 2 3 requests 0 1 2 3 flask 0 1 2 3 xarray 0 1 2 3 数学 0 1 2 3"},
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
		{"turn=7", "flask 2"},
		{"budget>90%", "requests 0 1"},
		{"budget>=0.5 budget<60%", "sympy 1"},                      // 16.8k of 32.8k
		{"time>6m", "flask 0 1 requests 0 1 2 3 sympy 3 xarray 0"}, // in all 6m05s; the others 41 s in their state
		{"time<45s running", "flask 3 xarray 1 数学 0"},
		{"drift", "xarray 1"},
		{"drift>=1", "xarray 1"},
		{"!drift>0 xarray", "xarray 0 2 3"},
		{"tool=bash held", "flask 2 sympy 0 1 2"},
		{"state=held tool=editor", ""},
		{"instance=flask", "flask 0 1 2 3"},
		{"finish=error", "requests 3 xarray 0"},
		{"mask=context", "requests 1"},
		{"held=breakpoint", "flask 2"},
		{"held=before-eval", "sympy 1"},
		{"!instance=flask state=running", "xarray 1 数学 0"},
		{"tag=odd", "requests 0"},
		{"note=look", "requests 0"},
		{"a<b", ""},
	} {
		f := fakeWhole()
		f.trajs[4].Tags, f.trajs[4].Note = []string{"odd"}, "look again"
		b := open(t, f, 120, 40, nil)
		b.keys("/" + strings.ReplaceAll(c.filter, "<", "<lt>") + "<enter>")
		if got := b.rowsShown(); got != c.want {
			t.Errorf("%q: %s, want %s", c.filter, got, c.want)
		}
	}
}
