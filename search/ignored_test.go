package search

import (
	"path/filepath"
	"slices"
	"testing"
)

// What .gitignore leaves out of a base stays out of its views, also when the base comes
// from disk and where the rules exclude themselves.
func TestIgnoredFilesStayOut(t *testing.T) {
	b := Build([]File{
		{".gitignore", []byte("*.gen.py\nbuild/\n.gitignore\n")},
		{"sub/.gitignore", []byte("*\n!kept.py\n")},
		{"build/.gitignore", []byte("!b.py\n")},
		{"a.py", []byte("def a():\n    pass\n")}, {"build/b.py", []byte("def b():\n    pass\n")},
		{"x.gen.py", []byte("def x():\n    pass\n")}, {"sub/kept.py", []byte("def kept():\n    pass\n")},
	})
	name := filepath.Join(t.TempDir(), "index")
	if err := writeBase(name, b); err != nil {
		t.Fatal(err)
	}
	again, err := readBase(name)
	if err != nil {
		t.Fatal(err)
	}
	for from, base := range map[string]*Base{"built": b, "read": again} {
		v := base.View()
		for _, p := range []string{"build/b.py", "build/deep/new.py", "x.gen.py", "sub/new.py", "new.py", "sub/kept.py", "a.py"} {
			if err := v.Update(p, []byte("def fresh():\n    pass\n")); err != nil {
				t.Fatal(err)
			}
		}
		hits, err := v.Hits(Query{Terms: []string{"fresh"}, Kind: "function"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range hits {
			got = append(got, h.Path)
		}
		slices.Sort(got)
		if want := []string{"a.py", "new.py", "sub/kept.py"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", from, got, want)
		}
	}
}
