package search

import (
	"go/build"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Of 200 names with one or two edits the right entity is among the first three hits in
// at least 95 %. The names are those of Go's standard library, which is there wherever
// the tests run, or of a repository that the environment names.
func TestMisspelt(t *testing.T) {
	bases := map[string]*Base{"standard library": standardLibrary(t)}
	if root := os.Getenv(reposVariable); root != "" {
		s := newSnapshots(root)
		defer s.close()
		for _, name := range []string{"felixxm/django", "sympy/sympy"} {
			bases[name] = s.base(t, name, "HEAD")
		}
	}
	for name, base := range bases {
		found, missed := misspeltFound(base, 200)
		t.Logf("%s: %d of 200 among the first three; not: %v", name, found, missed)
		if found < 190 {
			t.Errorf("%s: only %d of 200 among the first three", name, found)
		}
	}
}

func misspeltFound(base *Base, cases int) (found int, missed []string) {
	r := rand.New(rand.NewPCG(7, 11))
	v := base.View()
	names := definedOnce(base)
	for range cases {
		name := names[r.IntN(len(names))]
		wrong := name
		for range 1 + r.IntN(2) {
			wrong = edit(r, wrong)
		}
		hits, err := v.Hits(Query{Terms: []string{wrong}, Limit: 3})
		if err == nil && slices.ContainsFunc(hits[:min(3, len(hits))], func(h Hit) bool { return h.Name == name }) {
			found++
			continue
		}
		missed = append(missed, name+"→"+wrong)
	}
	return found, missed
}

// definedOnce are the names of classes and functions that stand for one thing, of six
// letters or more: two edits of a shorter one make another name.
func definedOnce(base *Base) []string {
	count := map[string]int{}
	for _, f := range base.files {
		for _, e := range f.ents {
			if isScope(e.Kind) {
				count[e.Name]++
			}
		}
	}
	var out []string
	for n, c := range count {
		if c == 1 && len(n) >= 6 {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// edit leaves out, doubles, changes or swaps one letter.
func edit(r *rand.Rand, s string) string {
	i := r.IntN(len(s) - 1)
	letter := string(rune('a' + r.IntN(26)))
	switch r.IntN(4) {
	case 0:
		return s[:i] + s[i+1:]
	case 1:
		return s[:i] + letter + s[i:]
	case 2:
		return s[:i] + letter + s[i+1:]
	default:
		return s[:i] + s[i+1:i+2] + s[i:i+1] + s[i+2:]
	}
}

func standardLibrary(t *testing.T) *Base {
	t.Helper()
	root := filepath.Join(build.Default.GOROOT, "src")
	var files []File
	for _, dir := range []string{"net/http", "go/types", "encoding/json", "database/sql", "text/template", "os", "time"} {
		names, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil || len(names) == 0 {
			t.Skipf("no source of %s in %s", dir, root)
		}
		for _, n := range names {
			if strings.HasSuffix(n, "_test.go") {
				continue
			}
			data, err := os.ReadFile(n)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, File{dir + "/" + filepath.Base(n), data})
		}
	}
	return Build(files)
}
