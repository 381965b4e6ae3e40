# Runs in the workdir. ROLLBENCH_COMMIT is the commit the task starts from ("" = HEAD).
# Afterwards refs/rollbench/base is that state and HEAD is at it. With
# ROLLBENCH_CUT nothing that came later can be found: no other ref, remote, tag,
# reflog or stored object.
set -eu
fail() { echo "rollbench: $*"; exit 3; }
command -v git >/dev/null 2>&1 || fail "git is not in the sandbox; the image must have it"
top=$(pwd -P)
[ "$top" != / ] || fail "the workdir is /, which cannot be a repository"
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY
export GIT_NO_REPLACE_OBJECTS=1 # a commit is what its id says

[ ! -f .git ] || fail "the .git of $top is a file, so the history lies elsewhere and cannot be cut; the image must have it in $top"
if [ ! -e .git ]; then
  git init -q .
  fresh=1
else
  fresh=
fi
if ! git rev-parse --git-dir >/dev/null 2>&1; then # owned by somebody else
  git config --global --add safe.directory "$top" 2>/dev/null ||
    git config --system --add safe.directory "$top" || fail "git refuses $top and its configuration cannot be written"
  git rev-parse --git-dir >/dev/null || fail "$top is not a usable git repository"
fi
[ "$(git rev-parse --show-prefix)" = "" ] || fail "$top is inside another repository"
gd=$(git rev-parse --absolute-git-dir)
rm -f "$gd/index.lock"

git config user.name >/dev/null || git config user.name "rollbench"
git config user.email >/dev/null || git config user.email "rollbench@rollbench.invalid"
git config core.pager cat
git config gc.auto 0
git config commit.gpgsign false
git config advice.detachedHead false
git config core.protectNTFS false # names that only other systems cannot have
git config core.protectHFS false
# Working-tree bytes are kept as they are: no line-ending or filter conversion.
mkdir -p "$gd/info"
# What git ignores here by a file of the user's is ignored by the repository, since
# the patch is taken without anybody's configuration.
ignored=$(git config --path core.excludesFile || true)
if [ -f "${ignored:=${XDG_CONFIG_HOME:-${HOME:-}/.config}/git/ignore}" ] && ! grep -qxF "# $ignored" "$gd/info/exclude" 2>/dev/null; then
  { echo "# $ignored"; cat "$ignored"; echo; } >>"$gd/info/exclude"
fi
echo '* -text -filter -ident -working-tree-encoding' >"$gd/info/attributes"

if [ -n "$ROLLBENCH_COMMIT" ]; then
  want=$(git rev-parse -q --verify "$ROLLBENCH_COMMIT^{commit}") || fail "commit $ROLLBENCH_COMMIT is not in $top"
  head=$(git rev-parse -q --verify HEAD || true)
  # An image may hold one set-up commit of its own on top of the base.
  if [ "$head" != "$want" ] &&
    ! { [ "$(git rev-parse -q --verify 'HEAD^' || true)" = "$want" ] && [ "$(git log -1 --format=%s)" = "SWE-bench" ]; }; then
    git reset -q --hard "$want"
  fi
fi

# The index is made anew, or files that it takes for unchanged would keep the
# bytes that a conversion gave them.
if git rev-parse -q --verify HEAD >/dev/null; then git read-tree HEAD; else git read-tree --empty; fi

# What is changed or untracked now belongs to the environment, not to the policy.
export GIT_AUTHOR_NAME=rollbench GIT_AUTHOR_EMAIL=rollbench@rollbench.invalid GIT_AUTHOR_DATE="2000-01-01T00:00:00Z"
export GIT_COMMITTER_NAME=rollbench GIT_COMMITTER_EMAIL=rollbench@rollbench.invalid GIT_COMMITTER_DATE="2000-01-01T00:00:00Z"
if [ -n "$fresh" ] || ! git rev-parse -q --verify HEAD >/dev/null || [ -n "$(git status --porcelain --ignore-submodules=all)" ]; then
  git add -A -- . ':(exclude,glob)**/__pycache__/**' ':(exclude,glob)**/*.pyc' ':(exclude,glob)**/.pytest_cache/**' 2>/dev/null ||
    git add -A -- .
  git commit -q --no-verify --allow-empty -m "State of the environment at the start"
fi
base=$(git rev-parse HEAD)
git update-ref refs/rollbench/base "$base"
echo "rollbench: base $base"
[ -n "$ROLLBENCH_CUT" ] || exit 0

branch=$(git symbolic-ref -q --short HEAD || true)
for remote in $(git remote); do git remote remove "$remote"; done
git for-each-ref --format='delete %(refname)' | grep -v -x -F -e "delete refs/heads/$branch" -e "delete refs/rollbench/base" | git update-ref --no-deref --stdin
rm -rf "$gd/refs/remotes" # a link of a remote's HEAD to what is gone is listed nowhere
git pack-refs --all --prune # no old value of a ref stays behind
# Of git's own files those stay that it cannot do without: others name later
# commits (logs, ORIG_HEAD, BISECT_LOG), or hold texts and objects (COMMIT_EDITMSG,
# rr-cache, lost-found, lfs, bundles).
keep() { # FOLDER NAME...: removes all else in it
  within=$1
  shift
  for entry in "$within"/* "$within"/.[!.]*; do
    for name in "$@"; do [ "${entry##*/}" != "$name" ] || continue 2; done
    rm -rf "$entry"
  done
}
keep_git() { keep "$1" HEAD config config.worktree commondir gitdir description index objects refs packed-refs info hooks shallow modules && keep "$1/info" exclude attributes sparse-checkout; }
keep_git "$gd"
rm -rf "$gd/objects/info/commit-graph" "$gd/objects/info/commit-graphs"

# Submodules have stores of their own. Each keeps what its HEAD leads to.
cut_module() {
  at=$(git --git-dir="$1" rev-parse -q --verify 'HEAD^{commit}' || true)
  if [ -n "$at" ]; then
    echo "$at" >"$1/HEAD"
  else # nothing is checked out, so nothing of it is needed
    rm -rf "$1/objects" "$1/index"
    mkdir -p "$1/objects/info" "$1/objects/pack"
  fi
  rm -rf "$1/refs" "$1/packed-refs" "$1/objects/info/commit-graph" "$1/objects/info/commit-graphs"
  mkdir -p "$1/refs/heads"
  for remote in $(git config -f "$1/config" --get-regexp --name-only '^(remote|branch)\..*\.' | sed 's/\.[^.]*$//' | sort -u); do
    git config -f "$1/config" --remove-section "$remote"
  done
  keep_git "$1"
  rm -f "$1"/objects/pack/*.keep
  [ -z "$at" ] || git --git-dir="$1" -c core.worktree="$top" repack -a -d -q
  rm -f "$1/objects/info/alternates"
  git --git-dir="$1" -c core.worktree="$top" prune --expire=now
}
if [ -d "$gd/modules" ]; then
  find "$gd/modules" -type f -name HEAD | while IFS= read -r head; do
    if [ -d "${head%/HEAD}/objects" ]; then cut_module "${head%/HEAD}"; fi
  done
fi
git ls-files -s | sed -n 's/^160000 [0-9a-f]* 0\t//p' | while IFS= read -r path; do
  if [ -d "$path/.git/objects" ]; then cut_module "$path/.git"; fi
done

# A partial clone lacks what nobody can fetch for it any more: its history ends at the base.
if [ -n "$(find "$gd/objects/pack" -name '*.promisor' | head -n 1)" ]; then
  git rev-parse HEAD >"$gd/shallow"
  rm -f "$gd"/objects/pack/*.promisor
  git config --unset extensions.partialClone || true
fi

# Everything stored must be reachable; else store again what is and drop the rest.
stored=0
for word in $(git count-objects -v | sed -n 's/^count: //p; s/^in-pack: //p'); do stored=$((stored + word)); done
reachable=$(git rev-list --objects HEAD | wc -l)
if [ -e "$gd/objects/info/alternates" ] || [ "$stored" -ne "$reachable" ]; then
  rm -f "$gd"/objects/pack/*.keep
  git repack -a -d -q
  rm -f "$gd/objects/info/alternates"
  git prune --expire=now
fi
