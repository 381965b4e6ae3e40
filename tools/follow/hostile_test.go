package follow

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"rollbench/sandbox"
	"rollbench/search"
)

// ran runs a script in the sandbox.
func ran(t *testing.T, sb sandbox.Sandbox, script string) {
	t.Helper()
	r, err := sb.Exec(t.Context(), sandbox.Command{Script: script})
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("%s: %v %s", script, err, r.Output)
	}
}

// What a policy writes cannot fill the memory of this machine: source has its place
// first, of what is too much the names are found, and room that comes free is used.
func TestChangedFilesThatAreTooMuch(t *testing.T) {
	p, spec := provider(t, sandbox.Local)
	sb := laid(t, p, spec)
	f, err := Start(t.Context(), sb, newBases(t, t.TempDir()), "instance")
	if err != nil {
		t.Fatal(err)
	}
	f.most = 64 << 10
	// 12 files of 7 KiB, one of which alone has the word: 9 of them fit into 64 KiB.
	ran(t, sb, `mkdir data; i=10; while [ $i -lt 22 ]; do head -c 7168 /dev/zero | tr '\0' "$(printf '\\n')" > data/$i.txt; i=$((i+1)); done
echo needle >> data/21.txt; printf 'def made_here():\n    pass\n' > pkg/made.py`)
	want(t, f, "made_here", "pkg/made.py:1-2")
	files, bytes := f.Unread()
	if files != 3 || bytes != 3*7168+7 {
		t.Errorf("%d files of %d bytes are left out, want 3", files, bytes)
	}
	has := func(q search.Query, path string) bool {
		t.Helper()
		v, err := f.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		hits, err := v.Hits(q)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			if h.Path == path {
				return true
			}
		}
		return false
	}
	if has(search.Query{Terms: []string{"needle"}, Kind: "text"}, "data/21.txt") || !has(search.Query{Terms: []string{"data/21.txt"}}, "data/21.txt") {
		t.Error("of the largest file more or less than the name is found")
	}
	ran(t, sb, `rm data/1?.txt`)
	if !has(search.Query{Terms: []string{"needle"}, Kind: "text"}, "data/21.txt") {
		t.Error("the largest file is not read when there is room")
	}
	if files, _ := f.Unread(); files != 0 {
		t.Errorf("%d files are left out", files)
	}
}

// An index whose file is lost or damaged while it is not in memory is replaced, with all
// edits.
func TestAnIndexThatIsLostFromTheDisk(t *testing.T) {
	for name, damage := range map[string]func(string) error{"removed": os.Remove, "cut": func(name string) error { return os.Truncate(name, 40) }} {
		t.Run(name, func(t *testing.T) {
			p, spec := provider(t, sandbox.Local)
			dir := t.TempDir()
			bases, err := NewBases(dir, 1) // only the index that was used last is in memory
			if err != nil {
				t.Fatal(err)
			}
			sb := laid(t, p, spec)
			f, err := Start(t.Context(), sb, bases, "instance")
			if err != nil {
				t.Fatal(err)
			}
			ran(t, sb, `printf 'def function_07_new():\n    pass\n' > pkg/m07.py; rm pkg/m08.py`)
			want(t, f, "function_07_new", "pkg/m07.py:1-2")
			if _, err := Start(t.Context(), laid(t, p, spec), bases, "another"); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(dir + "/*.index")
			if err != nil || len(files) != 2 {
				t.Fatal(files, err)
			}
			for _, name := range files {
				if err := damage(name); err != nil {
					t.Fatal(err)
				}
			}
			ran(t, sb, `printf 'def again():\n    pass\n' >> pkg/m09.py`)
			want(t, f, "function_07_new", "pkg/m07.py:1-2")
			want(t, f, "function_08")
			want(t, f, "function_10", "pkg/m10.py:1-2")
			want(t, f, "again", "pkg/m09.py:3-4")
			ran(t, sb, `rm pkg/m10.py`)
			want(t, f, "function_10")
		})
	}
}

// ids are the places of the first function in a.py, b10.py, b11.py …
func ids(folder string, n int) []string {
	out := []string{folder + "a.py:1-2"}
	for i := range n - 1 {
		out = append(out, fmt.Sprintf("%sb%d.py:1-2", folder, 10+i))
	}
	return out
}

// Further names of files come with the archive that has the first; files that no archive
// holds are not read one by one without end.
func TestManyNamesOfOneFile(t *testing.T) {
	for _, kind := range []sandbox.Kind{sandbox.Local, sandbox.Docker} {
		t.Run(string(kind), func(t *testing.T) {
			p, spec := provider(t, kind)
			sb := laid(t, p, spec)
			f, err := Start(t.Context(), sb, newBases(t, t.TempDir()), "instance")
			if err != nil {
				t.Fatal(err)
			}
			ran(t, sb, `mkdir links; printf 'def linked():\n    pass\n' > links/a.py; for i in $(seq 10 99); do ln links/a.py links/b$i.py; done`)
			before := sb.files.Load()
			changed := func(most int32, count int) {
				t.Helper()
				v, err := f.View(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got, err := v.Changed(); err != nil || len(got) != count {
					t.Errorf("%d of %d files are there, %v", len(got), count, err)
				}
				if n := sb.files.Load() - before; n > most {
					t.Errorf("%d files were read by themselves", n)
				}
			}
			changed(0, 91)
			want(t, f, "linked", ids("links/", 91)[:20]...)
			ran(t, sb, `for i in $(seq 100 399); do echo "def at_$i(): pass" > top_$i.py; done; echo 'def inner(): pass' > links/new.py`)
			changed(0, 392)
			want(t, f, "at_321", "top_321.py:1-1")
			want(t, f, "inner", "links/new.py:1-1")
		})
	}
}
