package search

import (
	"slices"
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*.py", "a.py", true}, {"*.py", "a/b.py", false}, {"**/*.py", "a.py", true}, {"**/*.py", "a/b/c.py", true},
		{"a/**", "a/b/c", true}, {"a/**", "b/a/c", false}, {"a/**/c", "a/c", true}, {"a/**/c", "a/x/y/c", true}, {"a/**/c", "a/xc", false},
		{"a?c", "abc", true}, {"a?c", "a/c", false}, {"[a-c]x", "bx", true}, {"[!a-c]x", "bx", false}, {"{a,b}/*.go", "b/x.go", true},
		{"*a*a*a*b", strings.Repeat("a", 200), false}, {"", "", true}, {"*", "", true}, {"**", "a/b", true}, {"**/tests/**", "x/tests/y/z.py", true},
		{"get_*", "get_x", true}, {"[", "[", true},
	} {
		if got := globMatch(c.pattern, c.name); got != c.want {
			t.Errorf("%q %q: %v", c.pattern, c.name, got)
		}
	}
}

// The cases are those of the manual of git: gitignore(5).
func TestIgnore(t *testing.T) {
	ig := newIgnore([]File{
		{".gitignore", []byte("# comment\n*.o\n/top.txt\ndir/\n!keep.o\ndoc/*.txt\n**/cache\nfoo/**\n\\#odd\n")},
		{"sub/.gitignore", []byte("local.txt\n!special.o\n")},
	})
	for path, want := range map[string]bool{
		"a.o": true, "x/y.o": true, "keep.o": false, "top.txt": true, "x/top.txt": false, "dir/a": true, "x/dir/b": true, "dir.txt": false,
		"doc/a.txt": true, "doc/x/a.txt": false, "x/cache/y": true, "foo/a": true, "#odd": true, "sub/local.txt": true, "local.txt": false,
		"sub/special.o": false, "sub/other.o": true, "a.c": false,
	} {
		if got := ig.match(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestParts(t *testing.T) {
	for word, want := range map[string]string{
		"HTTPResponse_2": "HTTP Response 2", "in_bulk": "in bulk", "FilePathField": "File Path Field", "__init__": "init",
		"utf8": "utf8", "Linear1D": "Linear1 D", "x": "x", "": "", "___": "",
	} {
		var got []string
		for start, end := nextPart(word, 0); start < len(word); start, end = nextPart(word, end) {
			got = append(got, word[start:end])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", word, got)
		}
	}
	for a, b := range map[string]string{"caches": "cache", "caching": "cached", "stripped": "strip", "queries": "query", "fields": "Field"} {
		if hashPart(a) != hashPart(b) {
			t.Errorf("%s and %s differ", a, b)
		}
	}
	for a, b := range map[string]string{"class": "clas", "status": "statu"} {
		if hashPart(a) == hashPart(b) {
			t.Errorf("%s and %s are one", a, b)
		}
	}
	if !slices.Equal(appendTerms(nil, "in_bulk"), append(appendTerms(nil, "in"), append(appendTerms(nil, "bulk"), hashFolded(fnvOffset, "inbulk"))...)) {
		t.Error("an identifier is not its parts and the whole")
	}
}

func TestDistance(t *testing.T) {
	var d distanceRows
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"save", "save", 0}, {"save", "Save", 0}, {"sav", "save", 1}, {"saave", "save", 1}, {"svae", "save", 1}, {"sxve", "save", 1},
		{"avse", "save", 2}, {"svea", "save", 2}, {"", "ab", 2},
	} {
		if got := d.distance(c.a, c.b, 5); got != c.want {
			t.Errorf("%s %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestQuestionKnowsFramesAndPaths(t *testing.T) {
	q := newQuestion("Crash\nTraceback (most recent call last):\n  File \"/usr/lib/python3/site-packages/shop/cart.py\", line 14, in add_item\n" +
		"    raise ValueError\nValueError: too many\nSee shop/money.py and base.py:12.\n")
	if len(q.frames) != 2 || q.frames[0] != (frame{"/usr/lib/python3/site-packages/shop/cart.py", 14, "add_item"}) || q.frames[1] != (frame{"base.py", 12, ""}) {
		t.Errorf("frames %+v", q.frames)
	}
	if !slices.Contains(q.paths, "shop/money.py") {
		t.Errorf("paths %q", q.paths)
	}
	if n := sharedTail("shop/cart.py", q.frames[0].path); n != 2 {
		t.Errorf("%d names are shared, want 2", n)
	}
	if n := sharedTail("other/cart.py", "shop/cart.py"); n != 0 {
		t.Errorf("%d names are shared, want 0", n)
	}
}

// The function that a traceback names comes before one that only has more of its words.
func TestTracebackFindsItsFunction(t *testing.T) {
	v := shopView(t)
	got := ids(t, v, named("Something is wrong\nTraceback (most recent call last):\n  File \"/x/shop/cart.py\", line 19, in total\n    return x\nKeyError: 3\n"))
	if len(got) == 0 || got[0] != "shop/cart.py:Cart.total" {
		t.Errorf("got %q", got)
	}
}

func FuzzQuery(f *testing.F) {
	for _, s := range []string{"Cart.total", "callers:Cart", "*_x", "a/b.py:c", "def f(", "except $E: pass", "… $A $A $$$", "class $C($$$", "{a,{b", "[", "\xff$\xfe", "x:::y", "**/**/**"} {
		f.Add(s, s, s)
	}
	var files []File
	for p, c := range shop {
		files = append(files, File{p, []byte(c)})
	}
	base := Build(files)
	f.Fuzz(func(t *testing.T, term, path, pattern string) {
		a := base.View().Query(Query{Terms: []string{term}, Path: path, Pattern: pattern, MaxChars: 3000})
		if a.Text == "" || len(a.Text) > 3000 {
			t.Errorf("an answer of %d characters", len(a.Text))
		}
	})
}

func FuzzIndex(f *testing.F) {
	for p, c := range shop {
		f.Add(p, c)
	}
	f.Fuzz(func(t *testing.T, path, content string) {
		v := Build([]File{{path, []byte(content)}, {".gitignore", []byte(content)}}).View()
		if err := v.Update(path, []byte(content+"\n")); err != nil {
			t.Fatal(err)
		}
		v.Query(Query{Terms: []string{"total", path, content}, Pattern: "def $F($$$): … $X", MaxChars: 2000})
	})
}
