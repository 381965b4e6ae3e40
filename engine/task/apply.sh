# Runs in the prepared workdir: applies .git/rollbench.patch, each try from the
# base state. The exit code is 4 when no way of applying it works.
set -u
ulimit -d 4194304 2>/dev/null || true # a few bytes of a binary patch may tell of many (see difference.sh)
export GIT_DIR="${ROLLBENCH_GIT:-$PWD/.git}" GIT_WORK_TREE="$PWD"
patch_file="$GIT_DIR/rollbench.patch"
raw() { git -c core.autocrlf=false -c core.safecrlf=false -c core.fileMode=true -c core.protectNTFS=false -c core.protectHFS=false -c apply.whitespace=nowarn -c apply.ignoreWhitespace=no "$@"; }
undo() { raw reset -q --hard refs/rollbench/base && raw clean -q -f -d; }
try() {
  name=$1
  shift
  if out=$("$@" 2>&1); then
    echo "rollbench: applied by $name"
    rm -f "$patch_file"
    exit 0
  fi
  [ -n "${first:-}" ] || first=$out
  undo || { echo "rollbench: the repository cannot be reset"; exit 3; }
}
# What git ignores in the image is in the way of a file that the patch makes there, once
# the policy has changed what is ignored: it had the same there, and made that of it.
over_ignored() {
  cp "$GIT_DIR/index" "$GIT_DIR/rollbench.index"
  tree=$(export GIT_INDEX_FILE="$GIT_DIR/rollbench.index"; raw apply --cached --verbose "$patch_file" >&2 && raw write-tree)
  code=$?
  rm -f "$GIT_DIR/rollbench.index"
  [ "$code" -eq 0 ] || return
  raw update-index -q --refresh
  raw read-tree --reset -u "$tree" && raw reset -q refs/rollbench/base
}
try "git apply" raw apply --verbose "$patch_file"
try "git apply over what is ignored" over_ignored
try "git apply --3way" raw apply --verbose --3way "$patch_file"
try "git apply --reject" raw apply --verbose --reject "$patch_file"
if [ -n "$ROLLBENCH_LENIENT" ] && command -v patch >/dev/null 2>&1; then
  try "patch" patch --batch --forward --fuzz=5 -p1 -i "$patch_file"
fi
rm -f "$patch_file"
printf '%s\n' "$first"
exit 4
