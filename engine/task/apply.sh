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
try "git apply" raw apply --verbose "$patch_file"
try "git apply --3way" raw apply --verbose --3way "$patch_file"
try "git apply --reject" raw apply --verbose --reject "$patch_file"
if [ -n "$ROLLBENCH_LENIENT" ] && command -v patch >/dev/null 2>&1; then
  try "patch" patch --batch --forward --fuzz=5 -p1 -i "$patch_file"
fi
rm -f "$patch_file"
printf '%s\n' "$first"
exit 4
