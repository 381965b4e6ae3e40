# Runs in the workdir: writes the difference to the base state to
# .git/rollbench.patch. The working tree, the index and the object store that
# the policy sees stay as they are. $ROLLBENCH_GIT is a folder to use instead of .git.
set -eu
export LC_ALL=C
fail() { echo "rollbench: $*"; exit 3; }
gd=${ROLLBENCH_GIT:-$PWD/.git}
[ -d "$gd" ] || fail "the repository is gone: .git was removed"
export GIT_DIR="$gd" GIT_WORK_TREE="$PWD"
base=$(git rev-parse -q --verify "refs/rollbench/base^{commit}") || fail "the repository's base commit is gone"
tmp="$GIT_DIR/rollbench.$$"
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/objects"
export GIT_OBJECT_DIRECTORY="$tmp/objects" GIT_ALTERNATE_OBJECT_DIRECTORIES="$GIT_DIR/objects" GIT_INDEX_FILE="$tmp/index"
raw() { # git as if nobody had configured it
  git -c core.autocrlf=false -c core.safecrlf=false -c core.fileMode=true -c core.symlinks=true -c core.sparseCheckout=false \
    -c core.fsmonitor=false -c core.untrackedCache=false -c core.splitIndex=false -c core.quotePath=true -c core.bare=false \
    -c diff.orderFile=/dev/null -c diff.suppressBlankEmpty=false -c diff.interHunkContext=0 "$@"
}
mkdir -p "$GIT_DIR/info"
echo '* -text -filter -ident -working-tree-encoding' >"$GIT_DIR/info/attributes"
raw read-tree "$base"
raw add -u -- . || fail "a changed file cannot be read"
# Untracked files; a folder that is a repository of its own is listed with a
# slash and opened up: its files count, its .git does not.
raw ls-files -o --exclude-standard -x __pycache__ -x '*.pyc' -x .pytest_cache -z >"$tmp/others"
xargs -0 sh -c 'for f; do case $f in
  */) find "./$f" \( -name .git -o -name __pycache__ -o -name .pytest_cache \) -prune -o \( -type f -o -type l \) ! -name "*.pyc" -print0 ;;
  *) printf "%s\0" "$f" ;;
esac; done' sh <"$tmp/others" >"$tmp/files"
raw update-index --add -z --stdin <"$tmp/files" || fail "a new file cannot be read"
raw diff --cached --binary --full-index --no-color --no-ext-diff --no-textconv --ignore-submodules=all --find-renames --unified=3 \
  --diff-algorithm=myers --src-prefix=a/ --dst-prefix=b/ "$base" -- >"$tmp/patch"
size=$(wc -c <"$tmp/patch")
[ "$size" -le "$ROLLBENCH_MAX_PATCH" ] || fail "the patch has $size bytes, more than $ROLLBENCH_MAX_PATCH"
mv -f "$tmp/patch" "$GIT_DIR/rollbench.patch"
