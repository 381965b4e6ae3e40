package task

import (
	"context"
	"errors"
	"strings"
	"testing"

	"rollbench/sandbox"
)

// inPlace is a format whose repository is already in the sandbox.
type inPlace struct{ commit string }

func (p inPlace) lay(context.Context, *Instance, sandbox.Sandbox) (string, error) {
	return p.commit, nil
}

func (p inPlace) verify(context.Context, *Instance, sandbox.Sandbox) (Verdict, error) {
	return Verdict{}, errors.ErrUnsupported
}

func (p inPlace) solve(context.Context, *Instance, sandbox.Sandbox) error {
	return errors.ErrUnsupported
}

const gitSetup = `git init -q -b main . && git config user.name t && git config user.email t@t.invalid
commit() { git add -A && git commit -q -m "$1"; }
`

// openRepo makes a repository with the script and prepares it.
func openRepo(t testing.TB, script string) (*Instance, *host) {
	t.Helper()
	in := &Instance{ID: "test", Workdir: "/testbed", kind: inPlace{}}
	h := openHost(t, in)
	h.sh(t, gitSetup+script)
	if err := in.Prepare(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	return in, h
}

// After Prepare git itself finds nothing of what came after the base commit.
func TestHistoryIsCut(t *testing.T) {
	in := &Instance{ID: "test", Workdir: "/testbed"}
	h := openHost(t, in)
	h.sh(t, gitSetup+`
echo one >f; commit first
echo two >f; commit base
git tag start
echo FIX-IN-HISTORY >f; commit "the fix"
git tag v2; git tag -a -m annotated v3
git branch later; git checkout -q -b other; echo FIX-ON-BRANCH >g; commit "branch fix"
git checkout -q main
echo FIX-IN-STASH >f; git stash -q
git notes add -m FIX-IN-NOTE
git update-ref refs/pull/1/head later
git clone -q --bare . ../origin.git; git remote add origin ../origin.git; git fetch -q origin
echo FIX-DANGLING | git hash-object -w --stdin >../dangling
git gc -q --keep-largest-pack 2>/dev/null; git reset -q --hard HEAD
touch .git/objects/pack/keep.keep; for p in .git/objects/pack/*.pack; do touch "${p%.pack}.keep"; done
`)
	base := h.sh(t, "git rev-parse start")
	fix := h.sh(t, "git rev-parse v2")
	dangling := h.sh(t, "cat ../dangling")
	in.kind = inPlace{commit: base}
	if err := in.Prepare(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	for name, check := range map[string]struct{ script, want string }{
		"head":     {"git rev-parse HEAD", base},
		"file":     {"cat f", "two"},
		"history":  {"git log --format=%s", "base\nfirst"},
		"all":      {"git log --all --format=%s", "base\nfirst"},
		"reflog":   {"git reflog --all", ""},
		"refs":     {"git for-each-ref --format='%(refname)'", "refs/heads/main\nrefs/rollbench/base"},
		"remotes":  {"git remote", ""},
		"stash":    {"git stash list", ""},
		"status":   {"git status --porcelain", ""},
		"fix":      {"git cat-file -e " + fix + " 2>/dev/null && echo there || echo gone", "gone"},
		"dangling": {"git cat-file -e " + dangling + " 2>/dev/null && echo there || echo gone", "gone"},
		"objects":  {"git cat-file --batch-all-objects --batch-check='%(objectname)' | git cat-file --batch | grep -a -c FIX || true", "0"},
		"intact":   {"git fsck --strict --no-dangling 2>&1", ""},
		"leftover": {"grep -r -l -a FIX .git --exclude-dir=objects || true", ""},
	} {
		if got := h.sh(t, check.script); got != check.want {
			t.Errorf("%s: %q, want %q", name, got, check.want)
		}
	}
}

// A shared object store is given up: what it holds could be read.
func TestAlternatesAreCut(t *testing.T) {
	_, h := openRepo(t, `mkdir ../src; (cd ../src; git init -q -b main .; git config user.name t; git config user.email t@t
echo a >f; git add f; git commit -qm one; echo FIX >f; git commit -qam fix)
rm -rf .git; git clone -q --shared ../src .; git config user.name t; git config user.email t@t; git reset -q --hard HEAD^`)
	if got := h.sh(t, "rm -rf ../src; git log --format=%s; git fsck 2>&1; cat f"); got != "one\na" {
		t.Errorf("%q", got)
	}
}

func TestPrepareTwiceIsTheSame(t *testing.T) {
	in, h := openRepo(t, "echo a >f; commit one; echo b >f; echo new >g")
	base := h.sh(t, "git rev-parse refs/rollbench/base HEAD; git status --porcelain")
	if err := in.Prepare(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if again := h.sh(t, "git rev-parse refs/rollbench/base HEAD; git status --porcelain"); again != base {
		t.Errorf("%q, then %q", base, again)
	}
}

// Uncommitted set-up of an image is part of the base, not of the patch.
func TestSetUpBelongsToTheBase(t *testing.T) {
	for name, script := range map[string]string{
		"no repository":      "rm -rf .git; echo a >f; mkdir __pycache__; echo x >__pycache__/a.pyc",
		"no commit":          "echo a >f",
		"changed":            "echo a >f; commit one; echo b >f; rm -f g; echo c >h",
		"staged":             "echo a >f; commit one; echo b >f; git add f",
		"detached":           "echo a >f; commit one; git checkout -q --detach",
		"in a merge":         "echo a >f; commit one; git checkout -q -b x; echo b >f; commit x; git checkout -q main; echo c >f; commit y; git merge x >/dev/null || true",
		"no newline config":  "git config core.autocrlf true; printf 'a\\r\\nb\\n' >f; commit one",
		"converted long ago": "git config core.autocrlf true; printf 'a\\r\\nb\\r\\n' >f; touch -d 2020-01-01 f; commit one; git status",
		"attributes":         "printf '* text=auto\\n' >.gitattributes; printf 'a\\r\\nb\\r\\n' >f; commit one; printf 'a\\r\\nb\\r\\n' >f",
	} {
		in, h := openRepo(t, script)
		if patch := takePatch(t, in, h); len(patch) != 0 {
			t.Errorf("%s: the untouched repository has the patch\n%s", name, patch)
		}
		h.sh(t, "git log -1 --format=%H >/dev/null; echo changed >>f")
		if patch := takePatch(t, in, h); !strings.Contains(string(patch), "+changed") {
			t.Errorf("%s: the patch lacks the change:\n%s", name, patch)
		}
	}
}

func TestPrepareKeepsASetUpCommit(t *testing.T) {
	in := &Instance{ID: "test", Workdir: "/testbed"}
	h := openHost(t, in)
	h.sh(t, gitSetup+"echo a >f; commit base; echo pinned >setup.cfg; commit SWE-bench")
	in.kind = inPlace{commit: h.sh(t, "git rev-parse HEAD^")}
	if err := in.Prepare(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if got := h.sh(t, "cat setup.cfg; git log --format=%s"); got != "pinned\nSWE-bench\nbase" {
		t.Errorf("%q", got)
	}
}

func TestPrepareFails(t *testing.T) {
	in := &Instance{ID: "test", Workdir: "/testbed", kind: inPlace{commit: strings.Repeat("1", 40)}}
	h := openHost(t, in)
	h.sh(t, gitSetup+"echo a >f; commit one")
	err := in.Prepare(t.Context(), h)
	if err == nil || !strings.Contains(err.Error(), "prepare test: commit 1111") || strings.Contains(err.Error(), "\n") {
		t.Errorf("missing commit: %v", err)
	}
	h.sh(t, "git init -q --separate-git-dir ../elsewhere .")
	if err := in.Prepare(t.Context(), h); err == nil || !strings.Contains(err.Error(), "is a file, so the history lies elsewhere") {
		t.Errorf("a repository elsewhere: %v", err)
	}
	h.lost = true
	if err := in.Prepare(t.Context(), h); !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("lost sandbox: %v", err)
	}
	h.lost = false
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := in.Prepare(ctx, h); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The name of a repository is that of its content, so that an edited dataset is not
// taken for the one before.
func TestRepositoryIsNamedByItsContent(t *testing.T) {
	name := func(text string) string {
		in, h := openRepo(t, "printf '"+text+"' >f; commit base; echo untracked >g")
		got, err := in.Repository(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	one := name("fun_1")
	if again := name("fun_1"); again != one {
		t.Errorf("%q and %q are the same", one, again)
	}
	if other := name("fun_2"); other == one {
		t.Errorf("%q names both", one)
	}
}
