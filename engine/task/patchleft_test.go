package task

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What is left out and told, and that the rest is taken.
func TestPatchTellsWhatItLeavesOut(t *testing.T) {
	in, h := openRepo(t, patchRepo+"cp /bin/true tracked; commit more")
	h.sh(t, `cp /bin/true "pro
gram"; printf '!<arch>\n\000' >lib.a; mkdir lib; git init -q lib; cp /bin/true lib/inner; printf '\000\001' >data.bin; printf '\177ELF is text' >notes
truncate -s 16777217 dump; truncate -s 16777216 text; mkdir .GIT; echo x >.GIT/x; mkdir sub; echo y >sub/.git; cp /bin/false tracked; ln -s dump linked`)
	patch, left, err := in.TakePatch(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(left)
	if want := []string{".GIT/x (a name of git)", "dump (larger than 16 MB)", "lib.a (compiled)", "lib/inner (compiled)", "pro\ngram (compiled)"}; !slices.Equal(left, want) {
		t.Errorf("left out %q, want %q", left, want)
	}
	var files []string
	diffs, err := parseDiff(patch)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range diffs {
		files = append(files, d.newPath)
	}
	slices.Sort(files)
	if want := []string{"data.bin", "linked", "notes", "text", "tracked"}; !slices.Equal(files, want) {
		t.Errorf("taken %q, want %q", files, want)
	}
}

// Files that are ignored are no part of the patch: neither by the repository, nor
// within a repository inside it, by either's rules.
func TestPatchLeavesOutWhatIsIgnored(t *testing.T) {
	in, h := openRepo(t, patchRepo)
	h.sh(t, `mkdir -p lib/build lib/sub lib/__pycache__; git init -q lib; printf '*.o\n!keep.o\nsub/\n' >lib/.gitignore
for f in a.o keep.o b.log c.txt build/x sub/y __pycache__/z.pyc; do echo x >lib/$f; done; echo '/private' >>.git/info/exclude; echo x >private`)
	diffs, err := parseDiff(takePatch(t, in, h))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, d := range diffs {
		files = append(files, d.newPath)
	}
	if want := []string{"lib/.gitignore", "lib/c.txt", "lib/keep.o"}; !slices.Equal(files, want) {
		t.Errorf("%q, want %q", files, want)
	}
}

// What an image has git ignore everywhere stays ignored, whatever becomes of that
// configuration.
func TestPatchKeepsTheImagesExcludes(t *testing.T) {
	in, h := openRepo(t, patchRepo+"echo '*.tmp' >../ignore; git config core.excludesFile ../ignore")
	h.sh(t, "git config --unset core.excludesFile; echo x >a.tmp; echo y >b.txt")
	if patch := string(takePatch(t, in, h)); strings.Contains(patch, "a.tmp") || !strings.Contains(patch, "b.txt") {
		t.Error(patch)
	}
	if err := in.Prepare(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if got := h.sh(t, "grep -c tmp .git/info/exclude"); got != "1" {
		t.Errorf("noted %s times", got)
	}
}

// A repository that git refuses to open has a patch all the same.
func TestPatchOfABrokenRepository(t *testing.T) {
	for name, script := range map[string]string{
		"config":  "echo '[core' >.git/config",
		"version": "git config core.repositoryformatversion 99",
		"format":  "printf '[core]\\nrepositoryformatversion = 1\\n[extensions]\\nnothing = 1\\n' >.git/config",
		"head":    "echo junk >.git/HEAD",
		"refs":    "rm -rf .git/refs/heads .git/logs; echo x >.git/refs/heads",
		"user":    `printf '[core\n' >"$HOME/.gitconfig"`,
		"hook":    `printf '#!/bin/sh\necho hook >src/a.py\n' >.git/hooks/post-index-change; chmod +x .git/hooks/post-index-change`,
		"folder":  "mkdir -p .git/rollbench.patch/x",
	} {
		in, h := openRepo(t, patchRepo)
		h.sh(t, "echo 'print(2)' >src/a.py; echo x >new.txt\n"+script)
		patch := takePatch(t, in, h)
		h.sh(t, `rm -f "$HOME/.gitconfig"`)
		_, fresh := openRepo(t, patchRepo)
		if err := new(Instance).apply(t.Context(), fresh, patch); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, patch)
		}
		if got := fresh.sh(t, "cat src/a.py new.txt"); got != "print(2)\nx" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Random trees, changed at random: the patch gives the changed tree, byte for byte.
func TestRandomPatchesRoundTrip(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := &chaos{rand.New(rand.NewPCG(seed, 1))}
			in := &Instance{ID: "test", Workdir: "/testbed", kind: inPlace{}}
			h, fresh := openHost(t, in), openHost(t, in)
			h.sh(t, gitSetup+"commit base --allow-empty || true")
			for range 25 {
				r.change(t, h.work)
			}
			h.sh(t, `cp -a . "`+fresh.work+`"`)
			for _, one := range []*host{h, fresh} {
				if err := in.Prepare(t.Context(), one); err != nil {
					t.Fatal(err)
				}
			}
			for range 25 {
				r.change(t, h.work)
			}
			patch := takePatch(t, in, h)
			if err := new(Instance).apply(t.Context(), fresh, patch); err != nil {
				t.Fatalf("%v\n%s", err, patch)
			}
			if got, want := listing(t, fresh), listing(t, h); got != want {
				t.Errorf("applied:\n%q\nwant:\n%q\npatch:\n%s", got, want, patch)
			}
		})
	}
}

// chaos changes a folder as nobody would.
type chaos struct{ *rand.Rand }

func (r *chaos) pick(list ...string) string { return list[r.IntN(len(list))] }

// name of a file up to three folders deep, from few enough that changes meet.
func (r *chaos) name() string {
	parts := []string{}
	for range 1 + r.IntN(3) {
		parts = append(parts, r.pick("a", "b", "c", "-x", "sp ace", "new\nline", "tab\t", `quo"te`, `back\slash`, "'", "é", "\xff\xfe", "*", ":(x)", "#", " lead", "trail ", " ", "CON", "git~1", "x.git", "long"+strings.Repeat("g", 200)))
	}
	return filepath.Join(parts...)
}

func (r *chaos) content() []byte {
	var b []byte
	for range r.IntN(60) {
		b = append(b, r.pick("line\n", "crlf\r\n", "\r", "\n", "+plus\n", "-minus\n", "@@ -1 +1 @@\n", "diff --git a/a b/b\n", "\\ No newline at end of file\n", "\xff\xfe", "\x00", "café ", "$Id$\n", strings.Repeat("w", 300), fmt.Sprintln(r.IntN(5)))...)
	}
	return b
}

func (r *chaos) change(t *testing.T, root string) {
	t.Helper()
	name := filepath.Join(root, r.name())
	if r.IntN(12) == 0 {
		name = filepath.Join(root, ".gitattributes")
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	room := func() { // for a file of that name: what is in the way goes
		for dir := filepath.Dir(name); dir != root; dir = filepath.Dir(dir) {
			if st, err := os.Lstat(dir); err == nil && !st.IsDir() {
				must(os.Remove(dir))
			}
		}
		must(os.MkdirAll(filepath.Dir(name), 0o755))
		must(os.RemoveAll(name))
	}
	old, err := os.ReadFile(name)
	st, _ := os.Lstat(name) // nil where there is nothing
	switch op := r.IntN(8); {
	case filepath.Base(name) == ".gitattributes":
		must(os.WriteFile(name, []byte(r.pick("* text=auto eol=crlf\n", "* -diff\n", "a binary\n", "* ident filter=none working-tree-encoding=UTF-16\n")), 0o644))
	case op == 0 && st != nil:
		must(os.RemoveAll(name))
	case op == 1:
		room()
		must(os.Symlink(r.pick("a", "b/c", "/etc/passwd", "no\nwhere"), name))
	case op == 2 && st != nil && st.Mode().IsRegular():
		must(os.Chmod(name, st.Mode()^0o111))
	case op == 3 && err == nil && st.Mode().IsRegular(): // moved, with an edit
		must(os.Remove(name))
		name = filepath.Join(root, r.name())
		room()
		must(os.WriteFile(name, append(old, r.content()...), 0o644))
	case op == 4 && err == nil && st.Mode().IsRegular():
		at := r.IntN(len(old) + 1)
		must(os.WriteFile(name, slices.Concat(old[:at], r.content(), old[at:]), 0o644))
	default:
		room()
		must(os.WriteFile(name, r.content(), 0o644))
	}
}
