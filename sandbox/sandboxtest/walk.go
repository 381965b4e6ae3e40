package sandboxtest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"rollbench/sandbox"
)

// Walk expects that every way of changing a file shows in the next listing.
func Walk(t *testing.T, sb sandbox.Sandbox) {
	says(t, sb, `mkdir -p w/pkg/.git/objects w/.git w/'we ird' w/.hid; cd w
printf 12345 > pkg/a.py; printf xx > 'we ird/b *[?].py'; printf 1 > .hid/.c; printf g > .git/config; printf g > pkg/.git/objects/x
ln -s pkg/a.py link; ln -s / root; mkfifo pipe; touch -d '2001-01-01 00:00:00' pkg/a.py; printf nl > 'new
line'`)
	before := walk(t, sb, "w", ".git")
	want := []string{".hid/.c 1", "new\nline 2", "pkg/a.py 5", "we ird/b *[?].py 2"}
	if got := sizes(before); !slices.Equal(got, want) {
		t.Fatalf("listed %q, want %q", got, want)
	}
	if i := slices.IndexFunc(before, func(e sandbox.Entry) bool { return e.Path == "pkg/a.py" }); before[i].Mod/1e9 != 978307200 {
		t.Errorf("time of pkg/a.py: %d", before[i].Mod)
	}
	if got := sizes(walk(t, sb, "w")); len(got) != 6 {
		t.Errorf("without names to skip: %q", got)
	}
	for _, c := range []struct{ name, script, path string }{
		{"write with the same size and time", "printf 54321 > pkg/a.py; touch -d '2001-01-01 00:00:00' pkg/a.py", "pkg/a.py"},
		{"moved here", "printf 99999 > other; touch -d '2001-01-01 00:00:00' other; mv other pkg/a.py", "pkg/a.py"},
		{"new", "printf n > new", "new"},
	} {
		entry := func(list []sandbox.Entry) sandbox.Entry {
			for _, e := range list {
				if e.Path == c.path {
					return e
				}
			}
			return sandbox.Entry{}
		}
		was := entry(walk(t, sb, "w"))
		says(t, sb, "cd w; "+c.script)
		if now := entry(walk(t, sb, "w")); now == was && !was.Fresh || now.Path == "" {
			t.Errorf("%s: was %+v, now %+v", c.name, was, now)
		}
	}
	says(t, sb, "rm -rf w/pkg")
	if got := sizes(walk(t, sb, "w")); slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "pkg/") }) {
		t.Errorf("removed files are listed: %q", got)
	}
	if _, err := sb.Walk(t.Context(), "/testbed/none", nil); !errors.Is(err, sandbox.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
}

func walk(t *testing.T, sb sandbox.Sandbox, dir string, skip ...string) []sandbox.Entry {
	t.Helper()
	list, err := sb.Walk(t.Context(), dir, skip)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// sizes are "PATH SIZE", sorted.
func sizes(list []sandbox.Entry) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.Path+" "+string(rune('0'+e.Size)))
	}
	slices.Sort(out)
	return out
}
