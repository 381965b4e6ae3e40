# Runs in the workdir of a task whose result may lie anywhere: keeps the state of the
# workdir in a store of its own, $ROLLBENCH_GIT, so that what the policy changes there
# can be seen. Nothing is changed in the workdir, nor in a repository that it may be.
# The exit code is 5 where that cannot be: without git, at /, in a folder that cannot be
# written, and where there is too much.
set -eu
export LC_ALL=C
no() { rm -rf "$ROLLBENCH_GIT"; exit 5; }
command -v git >/dev/null 2>&1 || exit 5
top=$(pwd -P)
[ "$top" != / ] || exit 5
mkdir "$ROLLBENCH_GIT" 2>/dev/null || exit 5
[ "$(find . -xdev -name .git -prune -o -type f -print 2>/dev/null | head -n 20001 | wc -l)" -le 20000 ] || no
size=$(du -skx . 2>/dev/null) || no
[ "${size%%[!0-9]*}" -le 524288 ] || no
export GIT_DIR="$ROLLBENCH_GIT" GIT_WORK_TREE="$top" GIT_CONFIG_NOSYSTEM=1 HOME="$ROLLBENCH_GIT"
unset GIT_INDEX_FILE GIT_OBJECT_DIRECTORY
git init -q . >/dev/null 2>&1 || no
mkdir -p "$GIT_DIR/info"
echo '* -text -filter -ident -working-tree-encoding' >"$GIT_DIR/info/attributes"
git config gc.auto 0
export GIT_AUTHOR_NAME=rollbench GIT_AUTHOR_EMAIL=rollbench@rollbench.invalid GIT_AUTHOR_DATE="2000-01-01T00:00:00Z"
export GIT_COMMITTER_NAME=rollbench GIT_COMMITTER_EMAIL=rollbench@rollbench.invalid GIT_COMMITTER_DATE="2000-01-01T00:00:00Z"
git -c core.autocrlf=false -c core.safecrlf=false -c advice.addEmbeddedRepo=false add -A -- . \
  ':(exclude,glob)**/__pycache__/**' ':(exclude,glob)**/*.pyc' ':(exclude,glob)**/.pytest_cache/**' >/dev/null 2>&1 || no
tree=$(git write-tree) || no
base=$(git commit-tree -m "State of the environment at the start" "$tree" </dev/null) || no
git update-ref refs/rollbench/base "$base" || no
