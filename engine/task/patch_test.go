package task

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
)

func takePatch(t testing.TB, in *Instance, h *host) []byte {
	t.Helper()
	patch, _, err := in.TakePatch(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	return patch
}

const patchRepo = `
mkdir -p src/deep "sp ace"; echo 'print(1)' >src/a.py; seq 1 40 >src/long.txt; echo gone >src/deep/gone.txt
printf 'one\r\ntwo\r\nthree\r\n' >crlf.txt; printf 'caf\351 \377\376\n' >latin.txt; printf '\000\001\002bin\377' >blob.bin
printf 'no newline' >tail.txt; echo x >"sp ace/fi le.txt"; echo run >tool.sh; ln -s src/a.py link
printf '*.log\nbuild/\n' >.gitignore
commit base
`

// What the policy does, and that the patch of it, applied to a fresh copy,
// gives the same tree.
var patchCases = map[string]string{
	"edit":              "echo 'print(2)' >src/a.py",
	"new file":          "mkdir -p new/dir; echo hi >new/dir/f.txt; : >empty",
	"delete":            "rm src/a.py src/deep/gone.txt",
	"rename":            "git mv src/long.txt moved.txt",
	"rename and edit":   "mv src/long.txt moved.txt; sed -i s/20/twenty/ moved.txt",
	"mode":              "chmod +x tool.sh",
	"mode and edit":     "chmod +x tool.sh; echo more >>tool.sh",
	"crlf edit":         `sed -i 's/two/2/' crlf.txt`,
	"crlf to lf":        `sed -i 's/\r$//' crlf.txt`,
	"new crlf file":     `printf 'a\r\nb\r\n' >new.txt`,
	"autocrlf":          `git config core.autocrlf true; printf 'a\r\nb\r\n' >new.txt; sed -i 's/two/2/' crlf.txt`,
	"attributes":        `printf '* text=auto\n*.bin diff=hex\n' >.gitattributes; printf 'a\r\nb\r\n' >new.txt; printf '\000\003' >blob.bin`,
	"not utf-8":         `printf 'caf\351 \375\n' >latin.txt; printf '\351t\351\n' >"$(printf 'n\351.txt')"`,
	"binary changed":    `printf '\000\001\003bin\376' >blob.bin`,
	"binary new":        `head -c 3000 /dev/zero | tr '\000' '\001' >new.bin; printf '\000' >>new.bin`,
	"binary deleted":    `rm blob.bin`,
	"no newline":        `printf 'still none' >tail.txt`,
	"newline added":     `echo >>tail.txt`,
	"blank in name":     `echo y >"sp ace/fi le.txt"; echo z >"sp ace/new	tab"; echo q >'quo"te'`,
	"link changed":      "ln -sf tool.sh link; ln -s nowhere link2",
	"file to link":      "rm tool.sh; ln -s link tool.sh",
	"file to folder":    "rm tool.sh; mkdir tool.sh; echo x >tool.sh/x",
	"folder to file":    "rm -r src/deep; echo x >src/deep",
	"staged":            "echo 'print(3)' >src/a.py; git add src/a.py; echo 'print(4)' >src/a.py",
	"staged only":       "echo new >staged.txt; git add staged.txt; git rm -q --cached src/a.py",
	"committed":         "echo 'print(3)' >src/a.py; git commit -qam work; echo more >new.txt; git add -A; git commit -qm more",
	"own branch":        "git checkout -q -b work; echo 'print(3)' >src/a.py; git commit -qam work; git checkout -q main; git merge -q work; git branch -D work >/dev/null",
	"history rewritten": "git checkout -q --orphan fresh; echo 'print(5)' >src/a.py; git add -A; git commit -qm all; git branch -D main >/dev/null",
	"intent to add":     "echo x >later.txt; git add -N later.txt",
	"assume unchanged":  "git update-index --assume-unchanged src/a.py; echo 'print(6)' >src/a.py; git update-index --skip-worktree tail.txt; echo x >tail.txt",
	"sparse":            "git config core.sparseCheckout true; echo /src/ >.git/info/sparse-checkout; echo 'print(7)' >src/a.py",
	"odd config":        "git config diff.noprefix true; git config diff.mnemonicPrefix true; git config color.ui always; git config diff.external false; git config diff.context 0; git config core.fileMode false; git config core.quotePath false; git config diff.renames copies; chmod +x tool.sh; echo x >new.txt",
	"nested repository": "mkdir lib; cd lib; git init -q .; git config user.name x; git config user.email x@x; echo n >n.txt; git add n.txt; git commit -qm n; echo m >m.txt",
	"nested empty":      "mkdir lib; cd lib; git init -q .; echo n >n.txt",
	"nested in nested":  "mkdir -p lib/in; cd lib; git init -q .; echo n >n.txt; cd in; git init -q .; echo o >o.txt",
	"nested in tracked": "cd src; git init -q .; echo 'print(8)' >a.py; echo n >n.txt",
	"nested file":       "mkdir lib; echo 'gitdir: /nowhere' >lib/.git; echo n >lib/n.txt",
	"nested worktree":   "git worktree add -q wt; echo n >wt/n.txt",
	"nested submodule":  "mkdir ../other; (cd ../other; git init -q -b main .; git config user.name x; git config user.email x@x; echo o >o; git add o; git commit -qm o); git -c protocol.file.allow=always submodule --quiet add ../other lib 2>/dev/null; git commit -qm sub; echo more >lib/more",
	"odd names":         "n=$(printf 'a\nb\n'); echo 1 >\"$n\"; echo 2 >-rf; echo 3 >'a*[b]?'; echo 4 >':(top)x'; echo 5 >'back\\slash'; echo 6 >'git~1'; mkdir ' lead'; echo 7 >' lead/trail '; echo 8 >\"'\\\"\"; echo 9 >'#x'; echo 10 >'!x'; echo 11 >A; echo 12 >a",
	"names removed":     "mv src/long.txt \"$(printf 'src/l\no\tng')\"; rm 'sp ace/fi le.txt'",
	"hostile config":    "for c in core.worktree=/etc core.bare=true core.fsmonitor=/bin/false core.hooksPath=/nowhere core.attributesFile=../attributes core.excludesFile=../all core.autocrlf=input core.eol=crlf core.safecrlf=true core.symlinks=false core.ignoreCase=true core.quotePath=false core.splitIndex=true core.untrackedCache=true core.bigFileThreshold=1 core.sparseCheckout=true core.sparseCheckoutCone=true core.compression=99 diff.external=/bin/false diff.noprefix=true diff.submodule=log diff.wordRegex=. diff.ignoreSubmodules=none status.showUntrackedFiles=no filter.x.clean=false filter.x.required=true diff.x.textconv=false diff.x.binary=true include.path=../nothing index.version=4 extensions.worktreeConfig=true merge.conflictStyle=zdiff3; do git config -f .git/config ${c%%=*} ${c#*=}; done; echo '*' >../all; printf '[core]\n\tbare = true\n' >.git/config.worktree; echo x >new.txt; echo 'print(2)' >src/a.py; chmod +x tool.sh; rm link; git config -f .git/config --unset core.bare; git config -f .git/config --unset core.worktree; git config -f .git/config --unset extensions.worktreeConfig; rm .git/config.worktree; git config -f .git/config --unset core.compression",
	"own attributes":    "git config filter.x.clean false; git config filter.x.required true; printf '* -diff filter=x ident text eol=crlf working-tree-encoding=UTF-16 export-ignore crlf merge=x\n' >.gitattributes; cp .gitattributes .git/info/attributes; printf '$Id$\r\n' >id.txt; printf 'one\r\n2\r\nthree\r\n' >crlf.txt",
	"replaced":          "git replace -f refs/rollbench/base $(git commit-tree -m x $(git write-tree)); echo 'print(2)' >src/a.py; git rev-parse HEAD >.git/shallow",
	"index broken":      "echo junk >.git/index; echo 'print(2)' >src/a.py; echo x >new.txt",
	"packed":            "git pack-refs --all; git gc -q --prune=now; echo 'print(2)' >src/a.py",
	"linked .git":       "mv .git ../store; ln -s ../store .git; echo 'print(2)' >src/a.py",
	"large":             "seq 1 100000 >big.txt; sed -i 's/^7$/seven/' src/long.txt",
	"index lock":        "touch .git/index.lock; echo 'print(9)' >src/a.py",
	"many at once":      "for i in $(seq 1 300); do echo $i >f$i; done; rm crlf.txt; chmod +x tool.sh; printf '\\000' >new.bin; mv latin.txt l2.txt",
}

func TestPatchRoundTrips(t *testing.T) {
	for name, script := range patchCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, h := openRepo(t, patchRepo)
			h.sh(t, script)
			before := state(t, h)
			patch := takePatch(t, in, h)
			if len(patch) == 0 {
				t.Fatal("the patch is empty")
			}
			if after := state(t, h); after != before {
				t.Errorf("the repository was disturbed:\n%s\nnow\n%s", before, after)
			}
			_, fresh := openRepo(t, patchRepo)
			if err := new(Instance).apply(t.Context(), fresh, patch); err != nil {
				t.Fatalf("%v\n%s", err, patch)
			}
			// Files of nested repositories count, their .git does not.
			h.sh(t, "find . -mindepth 2 -name .git -prune -exec rm -rf {} +")
			if got, want := listing(t, fresh), listing(t, h); got != want {
				t.Errorf("applied:\n%s\nwant:\n%s\npatch:\n%s", got, want, patch)
			}
		})
	}
}

// What an image holds and git ignores becomes part of the patch once the policy has
// changed what is ignored: it is no obstacle to the patch.
func TestPatchOverIgnoredFiles(t *testing.T) {
	const ignoring = patchRepo + "echo built >old.log; mkdir build; echo out >build/out; printf '\\000x' >build/lib.bin; echo here >build/stays"
	for name, script := range map[string]string{
		"no rules":         ": >.gitignore",
		"changed":          ": >.gitignore; echo mine >build/out; echo 'print(2)' >src/a.py; rm src/long.txt; chmod +x tool.sh",
		"one rule less":    "printf '*.log\\n' >.gitignore; echo new >build/new; mv src/deep/gone.txt build/stays",
		"folder to file":   "printf '*.log\\n' >.gitignore; rm -r build; echo x >build",
		"folder to link":   ": >.gitignore; rm -r build; ln -s src build",
		"file to folder":   "printf 'build/\\n' >.gitignore; rm old.log; mkdir old.log; echo x >old.log/x",
		"rules elsewhere":  "printf '!*\\n' >build/.gitignore; printf '*.log\\nbuild/*\\n!build/.gitignore\\n!build/out\\n' >.gitignore; echo 2 >build/out",
		"left as they are": "printf 'src\\n' >>.gitignore; echo 'print(2)' >src/a.py; echo mine >build/out",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, h := openRepo(t, ignoring)
			h.sh(t, script)
			patch := takePatch(t, in, h)
			_, fresh := openRepo(t, ignoring)
			if err := new(Instance).apply(t.Context(), fresh, patch); err != nil {
				t.Fatalf("%v\n%s", err, patch)
			}
			if got, want := fresh.sh(t, "find .git -maxdepth 1 -name 'rollbench*'; git diff --cached --stat refs/rollbench/base"), ""; got != want {
				t.Errorf("left behind: %s", got)
			}
			if name == "left as they are" { // what is ignored is no part of the patch
				h.sh(t, "echo out >build/out")
			}
			if got, want := listing(t, fresh), listing(t, h); got != want {
				t.Errorf("applied:\n%s\nwant:\n%s\npatch:\n%s", got, want, patch)
			}
		})
	}
}

// state is what TakePatch may not change: index, refs, config, objects, files.
func state(t *testing.T, h *host) string {
	t.Helper()
	return h.sh(t, `ls .git/index.lock 2>/dev/null || true; sha1sum .git/index .git/HEAD .git/config; git for-each-ref; find .git/objects -type f | sort | sha1sum`) + listing(t, h)
}

func listing(t *testing.T, h *host) string {
	t.Helper()
	return h.sh(t, `find . -name .git -prune -o \( -type f -o -type l \) -printf '%p %l %y ' -exec sh -c 'test -x "$1" && printf "x "; test -L "$1" || sha1sum <"$1"; echo' sh {} \; | sort`)
}

func TestPatchLeavesOut(t *testing.T) {
	in, h := openRepo(t, patchRepo)
	h.sh(t, "mkdir -p src/__pycache__ .pytest_cache/v build; echo x >src/__pycache__/a.cpython-311.pyc; echo x >old.pyc; echo x >.pytest_cache/v/x; echo x >a.log; echo x >build/out")
	if patch := takePatch(t, in, h); len(patch) != 0 {
		t.Errorf("build leftovers and ignored files are in the patch:\n%s", patch)
	}
	h.sh(t, "echo 'print(2)' >src/a.py; git stash -q")
	if patch := takePatch(t, in, h); len(patch) != 0 {
		t.Errorf("undone work is in the patch:\n%s", patch)
	}
}

func TestTakePatchFails(t *testing.T) {
	in, h := openRepo(t, patchRepo)
	h.sh(t, "git update-ref -d refs/rollbench/base")
	if _, _, err := in.TakePatch(t.Context(), h); !errors.Is(err, ErrNoPatch) || !strings.HasSuffix(err.Error(), "the repository is gone: its base commit was removed") {
		t.Errorf("%v", err)
	}
	h.sh(t, "rm -rf .git")
	if _, _, err := in.TakePatch(t.Context(), h); !errors.Is(err, ErrNoPatch) || !strings.HasSuffix(err.Error(), "the repository is gone: .git was removed") {
		t.Errorf("%v", err)
	}
}

func TestApplyFallsBack(t *testing.T) {
	const fits = "diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-print(1)\n+print(2)\n"
	for name, c := range map[string]struct{ patch, file, want string }{
		"as it is":         {fits, "src/a.py", "print(2)\n"},
		"text before":      {"Here is my patch:\n" + fits, "src/a.py", "print(2)\n"},
		"blank at the end": {fits + "\n\n", "src/a.py", "print(2)\n"},
		"moved lines": {"--- a/src/long.txt\n+++ b/src/long.txt\n@@ -30,3 +30,3 @@\n 9\n-10\n+ten\n 11\n", "src/long.txt",
			strings.Replace(numbers(40), "10\n", "ten\n", 1)},
		"fuzzy context": {"--- a/src/long.txt\n+++ b/src/long.txt\n@@ -18,5 +18,5 @@\n 18\n 19 not quite\n-20\n+twenty\n 21\n 22\n", "src/long.txt",
			strings.Replace(numbers(40), "20\n", "twenty\n", 1)},
		"blank lines cut off": {"diff --git a/blank.txt b/blank.txt\n--- a/blank.txt\n+++ b/blank.txt\n@@ -1,4 +1,4 @@\n a\n-b\n+B\n", "blank.txt", "a\nB\n\n\nc\n"},
	} {
		_, h := openRepo(t, patchRepo+`printf 'a\nb\n\n\nc\n' >blank.txt; commit blank`)
		if err := new(Instance).apply(t.Context(), h, []byte(c.patch)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := os.ReadFile(h.file(c.file))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// numbers is the output of seq 1 n.
func numbers(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

// A patch that does not fit leaves the base state and nothing else.
func TestApplyRefuses(t *testing.T) {
	for name, patch := range map[string]string{
		"wrong context": "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-print(99)\n+print(2)\n",
		"no such file":  "--- a/src/none.py\n+++ b/src/none.py\n@@ -1 +1 @@\n-a\n+b\n",
		"half fits":     "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-print(1)\n+print(2)\n--- a/tail.txt\n+++ b/tail.txt\n@@ -1 +1 @@\n-other\n+b\n",
		"not a diff":    "I changed the file as you asked.\n",
		"outside":       "--- /dev/null\n+++ b/../../evil\n@@ -0,0 +1 @@\n+x\n",
		"into .git":     "diff --git a/.git/hooks/x b/.git/hooks/x\nnew file mode 100755\n--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+x\n",
		"truncated":     "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,3 +1,3 @@\n-print(1)\n",
	} {
		_, h := openRepo(t, patchRepo)
		before := listing(t, h)
		err := new(Instance).apply(t.Context(), h, []byte(patch))
		if !errors.Is(err, errNoApply) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if after := listing(t, h); after != before {
			t.Errorf("%s: left behind\n%s", name, after)
		}
		if _, err := os.Stat(h.Path("/evil")); err == nil {
			t.Errorf("%s: a file was made outside of the repository", name)
		}
	}
}

// The simulated policy edits by the reference patch: edits equal git apply.
func TestEditsEqualThePatch(t *testing.T) {
	for _, name := range []string{"edit", "new file", "delete", "rename", "rename and edit", "crlf edit", "crlf to lf", "no newline", "newline added", "blank in name", "not utf-8"} {
		t.Run(name, func(t *testing.T) {
			in, h := openRepo(t, patchRepo)
			before := workFiles(t, h)
			h.sh(t, patchCases[name])
			ref := Reference{Patch: takePatch(t, in, h), tree: func() (map[string][]byte, error) {
				out := map[string][]byte{}
				for file, text := range before {
					out[file] = []byte(text)
				}
				return out, nil
			}}
			edits, err := ref.Edits()
			if err != nil {
				t.Fatal(err)
			}
			now := maps.Clone(before)
			for _, e := range edits {
				switch {
				case e.Create:
					now[e.Path] = e.New
				case e.Delete:
					delete(now, e.Path)
				default:
					if strings.Count(now[e.Path], e.Old) != 1 {
						t.Fatalf("%q is not once in %s", e.Old, e.Path)
					}
					now[e.Path] = strings.Replace(now[e.Path], e.Old, e.New, 1)
				}
			}
			if want := workFiles(t, h); !maps.Equal(now, want) {
				t.Errorf("got %q\nwant %q", now, want)
			}
		})
	}
}

func TestEditsAreUnique(t *testing.T) {
	text := "a\nb\nc\nx\na\nb\nc\ny\na\nb\nc\n"
	ref := Reference{
		Patch: []byte("--- a/f\n+++ b/f\n@@ -5,3 +5,3 @@\n a\n-b\n+B\n c\n@@ -9,3 +9,4 @@\n a\n-b\n+B\n+BB\n c\n"),
		tree:  func() (map[string][]byte, error) { return map[string][]byte{"f": []byte(text)}, nil },
	}
	edits, err := ref.Edits()
	if err != nil {
		t.Fatal(err)
	}
	if len(edits) != 2 || edits[0].Old != "x\na\nb\nc\ny\n" || edits[1].Old != "y\na\nb\nc\n" {
		t.Errorf("%+v", edits)
	}
	ref.tree = nil
	if edits, err = ref.Edits(); err != nil || len(edits) != 2 || edits[0].Old != "a\nb\nc\n" {
		t.Errorf("without the repository: %+v, %v", edits, err)
	}
}

func TestEditsRefuse(t *testing.T) {
	for want, patch := range map[string]string{
		"not a patch":      "",
		"binary":           "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 0\n",
		"change of mode":   "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
		"renamed file":     "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
		"ends within hunk": "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n",
	} {
		if edits, err := (Reference{Patch: []byte(patch)}).Edits(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", want, edits, err)
		}
	}
}

// Whatever a patch holds: no panic, and hunks say what the lines say.
func FuzzDiff(f *testing.F) {
	f.Add([]byte("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n"))
	f.Add([]byte("diff --git \"a/n\\351.txt\" \"b/n\\351.txt\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/n\\351.txt\"\n@@ -0,0 +1 @@\n+x\n"))
	f.Add([]byte("--- a/x\t2025-01-01\n+++ b/x\n@@ -9999999999999999999 +1 @@\n"))
	f.Add([]byte("@@ -1 +1 @@\n"))
	f.Add([]byte("diff --git a/x b/x\nrename from x\nrename to y\n@@ -0,0 +1,0 @@\n"))
	f.Fuzz(func(t *testing.T, patch []byte) {
		for _, tree := range []func() (map[string][]byte, error){nil, func() (map[string][]byte, error) {
			return map[string][]byte{"x": []byte("a\nb\n"), "y": nil}, nil
		}} {
			edits, err := Reference{Patch: patch, tree: tree}.Edits()
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("error of several lines: %q", err)
			}
			for _, e := range edits {
				if e.Path == "" {
					t.Errorf("an edit without a file: %+v", e)
				}
			}
		}
		heredocDiff(string(patch))
		if len(bytes.TrimSpace(patch)) > 0 {
			applyComplaint(string(patch))
		}
	})
}
