package task

import (
	"fmt"
	"strings"
	"testing"
)

// hiddenPlaces are where a repository can keep what came after the base.
var hiddenPlaces = map[string]string{
	"refs": "git branch later; git tag v2; git tag -a -m fix v3; git update-ref refs/pull/1/head HEAD\n" +
		"git symbolic-ref refs/heads/alias refs/heads/later\n" +
		"git notes add -m FIX-NOTE HEAD^; git notes --ref=other add -m FIX-NOTE HEAD^\n",
	"packed refs": "git branch later; git tag v2; git tag -a -m fix v3; git update-ref refs/remotes/origin/main HEAD; git pack-refs --all\n",
	"remotes": "git clone -q --bare . ../origin.git; git remote add origin ../origin.git; git fetch -q origin; git remote set-head origin main\n" +
		"git config remote.up.url https://up.invalid/x.git; git config remote.up.pushurl x; git update-ref refs/remotes/up/main HEAD; git config branch.main.remote up; git config branch.main.merge refs/heads/main\n" +
		"git fetch -q . main; test -s .git/FETCH_HEAD\n",
	"reflogs and stashes": "git config core.logAllRefUpdates always; git checkout -q -b x; git commit -q --allow-empty -m FIX-2; git checkout -q main; git branch -q -D x\n" +
		"git reset -q --hard HEAD^; git reset -q --hard ORIG_HEAD; git rev-parse HEAD >.git/ORIG_HEAD\n" +
		"echo FIX-STASH >f; git stash -q; echo FIX-UNTRACKED >u; git stash -q -u\n" +
		"echo FIX-STAGED >f; git add f; git reset -q --hard\n",
	"a replacement":    "git replace HEAD^ HEAD\n",
	"grafts":           "mkdir -p .git/info; echo \"$(git rev-parse HEAD^) $(git rev-parse HEAD)\" >.git/info/grafts\n",
	"a shallow border": "git rev-parse HEAD >.git/shallow\n",
	"files": "for n in AUTO_MERGE BISECT_HEAD CHERRY_PICK_HEAD MERGE_HEAD REBASE_HEAD REVERT_HEAD CUSTOM_HEAD; do git rev-parse HEAD >.git/$n; done; git rev-parse HEAD >.git/BISECT_LOG\n" +
		"echo FIX-MSG >.git/COMMIT_EDITMSG; echo FIX-MSG >.git/MERGE_MSG; echo FIX-MSG >.git/SQUASH_MSG\n" +
		"mkdir -p .git/rr-cache/aa; echo FIX-RR >.git/rr-cache/aa/postimage\n" +
		"git bundle create -q .git/FIX.bundle --all\n" +
		"echo FIX-LOST | git hash-object -w --stdin >/dev/null; git fsck --lost-found >/dev/null; test -d .git/lost-found\n",
	"large files": "mkdir -p .git/lfs/objects/aa/bb; echo FIX >.git/lfs/objects/aa/bb/aabb\n",
	"a link":      "git update-ref refs/remotes/origin/main HEAD; git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main; git update-ref -d refs/remotes/origin/main; git branch later\n",
	"a worktree":  "git worktree add -q ../tree HEAD; git -C ../tree checkout -q -b tree; git -C ../tree commit -q --allow-empty -m FIX-TREE\n",
	"a kept pack": "git branch later; git gc -q; git branch -q -D later\n" +
		"git gc -q; for p in .git/objects/pack/*.pack; do touch \"${p%.pack}.keep\"; done\n",
	"a cruft pack": "git checkout -q -b x; git commit -q --allow-empty -m FIX-CRUFT; git checkout -q main; git branch -q -D x; git reflog expire --expire=now --all; git gc -q --cruft --prune=never 2>/dev/null || git gc -q\n",
	"indexes of packs": "git gc -q; git multi-pack-index write; git commit-graph write --reachable; git repack -q -a -d --write-bitmap-index\n" +
		"git commit-graph write --reachable --split; git commit-graph write --reachable --split\n",
	"a submodule's store": "mkdir -p .git/modules/sub; git clone -q --bare . .git/modules/sub/x; git -C .git/modules/sub/x branch later; git -C .git/modules/sub/x update-ref refs/heads/main HEAD^^\n",
}

// Wherever the fix was kept, git finds nothing of it after Prepare, and neither does
// who reads the files of .git.
func TestEveryPlaceIsCut(t *testing.T) {
	for name, place := range hiddenPlaces {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := &Instance{ID: "test", Workdir: "/testbed"}
			h := openHost(t, in)
			h.sh(t, gitSetup+`
echo zero >f; commit root
echo one >f; commit base
echo FIX >f; echo FIX-FILE >g; commit "FIX of it"
`)
			base, fix := h.sh(t, "git rev-parse HEAD^"), h.sh(t, "git rev-parse HEAD")
			blob := h.sh(t, "git rev-parse HEAD:g")
			h.sh(t, "set -e\n"+place)
			in.kind = inPlace{commit: base}
			if err := in.Prepare(t.Context(), h); err != nil {
				t.Fatal(err)
			}
			gone := func(id string) string {
				return fmt.Sprintf("git cat-file -e %s 2>/dev/null && echo there || echo gone", id)
			}
			for what, check := range map[string]struct{ script, want string }{
				"head":    {"git rev-parse HEAD; cat f; git status --porcelain", base + "\none"},
				"fix":     {gone(fix), "gone"},
				"blob":    {gone(blob), "gone"},
				"refs":    {"git for-each-ref --format='%(refname)'", "refs/heads/main\nrefs/rollbench/base"},
				"log":     {"git log --all --reflog --format=%s", "base\nroot"},
				"remotes": {"git remote; git config --get-regexp '^(remote|branch)\\.' || true", ""},
				"stash":   {"git stash list; git worktree list | wc -l", "1"},
				"lost":    {"git fsck --lost-found --no-reflogs --unreachable 2>/dev/null; ls .git/lost-found 2>/dev/null || true", ""},
				"objects": {"git cat-file --batch-all-objects --batch-check='%(objectname)' | git cat-file --batch | grep -a -c FIX || true", "0"},
				"count":   {"git cat-file --batch-all-objects --batch-check='%(objecttype)' | sort | uniq -c | tr -s ' ' | tr '\\n' ,", "2 blob, 2 commit, 2 tree,"},
				"files":   {"grep -r -l -a -e FIX -e " + fix + " .git || true", ""},
				"intact":  {"git fsck --strict 2>&1; git log -1 --format=%s", "base"},
			} {
				if got := strings.TrimSpace(h.sh(t, check.script)); got != check.want {
					t.Errorf("%s: %q, want %q", what, got, check.want)
				}
			}
		})
	}
}

// Clones that lack some of their history, as images are made of them, hold nothing of
// what came after the base either, are whole as far as they go, and have a patch.
func TestClonesAreCut(t *testing.T) {
	const made = `rm -rf .git; mkdir ../src; (cd ../src; git init -q -b main .; git config user.name t; git config user.email t@t; git config uploadpack.allowFilter true
echo zero >f; git add .; git commit -qm zero; echo one >f; git commit -qam one; echo base >f; git commit -qam base; echo FIX >f; git commit -qam FIX)
git clone -q --no-local %s "file://$(cd ../src; pwd)" .; git config user.name t; git config user.email t@t; git reset -q --hard HEAD^; rm -rf ../src
`
	for options, log := range map[string]string{
		"--filter=blob:none":           "base",
		"--filter=blob:none --depth 3": "base",
		"--depth 2":                    "base",
		"--depth 3":                    "base\none",
		"--single-branch":              "base\none\nzero",
	} {
		in, h := openRepo(t, fmt.Sprintf(made, options))
		for what, check := range map[string]struct{ script, want string }{
			"log":     {"git log --all --reflog --format=%s", log},
			"fixes":   {"git cat-file --batch-all-objects --batch-check='%(objectname)' | git cat-file --batch | grep -a FIX || true", ""},
			"intact":  {"git fsck --strict 2>&1", ""},
			"files":   {"grep -r -l -a FIX .git || true", ""},
			"remotes": {"git remote; git branch -a --format='%(refname)'", "refs/heads/main"},
		} {
			if got := h.sh(t, check.script); got != check.want {
				t.Errorf("%s: %s: %q, want %q", options, what, got, check.want)
			}
		}
		h.sh(t, "echo more >>f")
		if patch := string(takePatch(t, in, h)); !strings.Contains(patch, " base\n+more\n") {
			t.Errorf("%s: %s", options, patch)
		}
	}
}

// A submodule stays as it was checked out, and works; what its store holds beside
// that is gone: in the way git keeps submodules now, in the old one with the store
// in the work tree, and where nothing is checked out.
func TestSubmodulesAreCut(t *testing.T) {
	const made = `
mkdir ../lib; (cd ../lib; git init -q -b main .; git config user.name t; git config user.email t@t; echo old >l; git add l; git commit -qm old
  git tag v1; echo FIX >l; git commit -qam "FIX of lib"; git tag v2; git checkout -q v1)
`
	add := made + `git -c protocol.file.allow=always submodule add -q ../lib sub 2>/dev/null; git -C sub fetch -q --tags; commit base; rm -rf ../lib
`
	for name, c := range map[string]struct{ script, store, want string }{
		"a store apart":   {add, ".git/modules/sub", "old\nold"},
		"an old one":      {add + "rm sub/.git; mv .git/modules/sub sub/.git; git -C sub config --unset core.worktree || git config -f sub/.git/config --unset core.worktree; rm -rf .git/modules", "sub/.git", "old\nold"},
		"not checked out": {add + "git submodule deinit -q -f sub; git symbolic-ref HEAD refs/heads/main; git --git-dir=.git/modules/sub symbolic-ref HEAD refs/heads/none", ".git/modules/sub", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in, h := openRepo(t, "set -e\n"+c.script)
			store := "git --git-dir=" + c.store + " -c core.worktree= "
			if c.want != "" {
				if got := h.sh(t, "cat sub/l; git -C sub log --all --format=%s"); got != c.want {
					t.Errorf("the submodule holds %q", got)
				}
				if got := h.sh(t, "git -C sub status --porcelain; git -C sub remote; git submodule status | cut -c1; git -C sub fsck 2>&1"); strings.TrimSpace(got) != "" {
					t.Errorf("the submodule is %q", got)
				}
			}
			for what, script := range map[string]string{
				"objects": store + "cat-file --batch-all-objects --batch-check='%(objectname)' | while read -r id; do " + store + "cat-file -p $id; done | grep -a FIX || true",
				"refs":    store + "for-each-ref",
				"files":   "grep -r -l -a FIX " + c.store + " || true",
				"changed": "git status --porcelain --ignore-submodules=all",
			} {
				if got := h.sh(t, script); got != "" {
					t.Errorf("%s: %q", what, got)
				}
			}
			if patch := takePatch(t, in, h); len(patch) != 0 {
				t.Errorf("the untouched repository has the patch\n%s", patch)
			}
		})
	}
}
