# Runs in the workdir, before the repository is prepared. Finds the problem of a
# SWE-smith row: the branch that is named like it (which holds the bug and lacks
# the files of the tests that decide), or makes the same of the row's patch,
# .git/rollbench.bug, on the image's own state. The result is one commit without
# parents, since the one before it would show the bug; refs/rollbench/tests keeps
# the tests until history is cut. ROLLBENCH_HIDDEN holds the files, one a line.
set -eu
fail() { echo "rollbench: $*"; exit 3; }
command -v git >/dev/null 2>&1 || fail "git is not in the sandbox; the image must have it"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
export GIT_AUTHOR_NAME=rollbench GIT_AUTHOR_EMAIL=rollbench@rollbench.invalid GIT_AUTHOR_DATE="2000-01-01T00:00:00Z"
export GIT_COMMITTER_NAME=rollbench GIT_COMMITTER_EMAIL=rollbench@rollbench.invalid GIT_COMMITTER_DATE="2000-01-01T00:00:00Z"
bug=.git/rollbench.bug
found=
for ref in "refs/heads/$ROLLBENCH_BRANCH" "refs/remotes/origin/$ROLLBENCH_BRANCH"; do
  [ -n "$found" ] || found=$(git rev-parse -q --verify "$ref^{commit}" || true)
done
if [ -n "$found" ]; then
  tests=$found
  if [ "$(git log -1 --format=%s "$found")" = "Remove F2P Tests" ]; then tests=$(git rev-parse "$found^"); fi
  tree=$(git rev-parse "$found^{tree}")
else
  export GIT_INDEX_FILE="$PWD/.git/rollbench.index"
  git read-tree HEAD
  git apply --cached --whitespace=nowarn "$bug" 2>&1 || fail "the row's patch does not apply to the image, which has no branch $ROLLBENCH_BRANCH either: the image is of another commit"
  tests=$(git commit-tree "$(git write-tree)" -m "Bug")
  printf '%s\n' "$ROLLBENCH_HIDDEN" | while IFS= read -r file; do
    [ -z "$file" ] || git update-index --force-remove -- "$file"
  done
  tree=$(git write-tree)
  rm -f "$GIT_INDEX_FILE"
  unset GIT_INDEX_FILE
fi
rm -f "$bug"
git update-ref refs/rollbench/tests "$tests"
echo "rollbench: problem $(git commit-tree "$tree" -m "State of the environment at the start")"
