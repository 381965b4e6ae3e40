# Runs in the workdir: prints how many bytes the difference to the base state has,
# and then the difference, at most $ROLLBENCH_MAX_LOOK bytes of it. It is what
# takepatch.sh would take now, but for the bytes of binary files. The policy may be
# at work meanwhile, so nothing is written where it looks: git works in a folder of
# its own, beside the repository, with the same files and no configuration.
set -eu
export LC_ALL=C
fail() { echo "rollbench: $*"; exit 3; }
real=${ROLLBENCH_GIT:-$PWD/.git}
[ -d "$real" ] || fail "the repository is gone: .git was removed"
base=$(GIT_DIR="$real" git rev-parse -q --verify "refs/rollbench/base^{commit}") || fail "the repository's base commit is gone"
excludes=$(GIT_DIR="$real" git config --path core.excludesFile) || excludes=
look=
for place in ${TMPDIR:+"$TMPDIR"} /dev/shm /tmp "$real"; do # TMPDIR is set where the machine's own are in sight
  look=$(mktemp -d "$place/.rollbench.XXXXXX" 2>/dev/null) && break
done
[ -n "$look" ] || fail "there is no room for a look"
trap 'rm -rf "$look"' EXIT
trap 'exit 4' HUP INT TERM
ulimit -f 131072 2>/dev/null || true # one large file does not fill the place
mkdir -p "$look/objects/info" "$look/refs" "$look/info"
echo "$real/objects" >"$look/objects/info/alternates"
echo 'ref: refs/heads/look' >"$look/HEAD"
echo '* -text -filter -ident -working-tree-encoding' >"$look/info/attributes"
cp "$real/info/exclude" "$look/info/exclude" 2>/dev/null || true
raw() { # git as if nobody had configured it
  GIT_DIR="$look" GIT_WORK_TREE="$PWD" GIT_OPTIONAL_LOCKS=0 git -c core.autocrlf=false -c core.safecrlf=false -c core.fileMode=true -c core.symlinks=true \
    -c core.sparseCheckout=false -c core.fsmonitor=false -c core.untrackedCache=false -c core.splitIndex=false -c core.quotePath=true -c core.bare=false \
    -c core.bigFileThreshold=4m -c core.excludesFile="$excludes" \
    -c diff.orderFile=/dev/null -c diff.suppressBlankEmpty=false -c diff.interHunkContext=0 "$@"
}
# The policy's index knows which files are as they were: they need not be read.
cp -p "$real/index" "$look/index" 2>/dev/null && raw read-tree -m "$base" 2>/dev/null && ! raw ls-files -v | grep -q '^[a-zS]' ||
  { rm -f "$look/index" "$look/index.lock"; raw read-tree "$base"; }
raw add -u -- . || fail "a changed file cannot be read"
raw ls-files -o --exclude-standard -x __pycache__ -x '*.pyc' -x .pytest_cache -z >"$look/others"
xargs -0 sh -c 'for f; do case $f in
  */) find "./$f" \( -name .git -o -name __pycache__ -o -name .pytest_cache \) -prune -o \( -type f -o -type l \) ! -name "*.pyc" -print0 ;;
  *) printf "%s\0" "$f" ;;
esac; done' sh <"$look/others" >"$look/files"
raw update-index --add -z --stdin <"$look/files" || fail "a new file cannot be read"
raw diff --cached --full-index --no-color --no-ext-diff --no-textconv --ignore-submodules=all --find-renames --unified=3 \
  --diff-algorithm=myers --src-prefix=a/ --dst-prefix=b/ "$base" -- >"$look/patch"
wc -c <"$look/patch"
head -c "$ROLLBENCH_MAX_LOOK" "$look/patch"
