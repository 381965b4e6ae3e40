# How the workdir differs from the base state: what takepatch.sh and lookpatch.sh
# begin with. git works in a folder of its own, $work, on the objects of the
# repository but without its index, refs, configuration, hooks and attributes: those
# are the policy's, which may have changed or broken them.
set -eu
export LC_ALL=C
# Git takes whole files into memory, which the policy may have made of any size, and
# not every sandbox has a limit: 4 GB for each program, files that are mapped not counted.
ulimit -d 4194304 2>/dev/null || true
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY
fail() { echo "rollbench: $*"; exit 3; }
none() { echo "rollbench: $*"; exit 5; } # by what the policy did: nobody else could
gone() { none "the repository is gone: $*"; }
real=${ROLLBENCH_GIT:-$PWD/.git} # what has the base
[ -d "$real" ] || gone ".git was removed"
# What is no file, a device or a pipe, has no end.
base=
for ref in refs/rollbench/base packed-refs; do
  [ -n "$base" ] || [ ! -f "$real/$ref" ] || base=$(sed -n -e 's/ refs\/rollbench\/base$//p' -e '/^[0-9a-f]*$/p' "$real/$ref" 2>/dev/null | head -n 1 | head -c 64 || true)
done

raw() { # git as if nobody had configured it
  HOME="$work" XDG_CONFIG_HOME="$work" GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1 GIT_OPTIONAL_LOCKS=0 GIT_DIR="$work" GIT_WORK_TREE="$PWD" \
    git -c core.protectNTFS=false -c core.protectHFS=false -c core.bigFileThreshold="$large" -c diff.ignoreSubmodules=all "$@"
}

# open_work FOLDER...: makes $work in the first that has room for it.
open_work() {
  work=
  for place; do
    work=$(mktemp -d "$place/.rollbench.XXXXXX" 2>/dev/null) && break
  done
  [ -n "$work" ] || fail "there is no room to work in"
  exec 2>"$work/said" # git's warnings are nobody's; told is how it ended
  trap '[ $? -eq 0 ] || tail -c 2000 "$work/said"; rm -rf "$work"' EXIT
  trap 'exit 4' HUP INT TERM
  mkdir -p "$work/objects/info" "$work/refs" "$work/info"
  echo "$real/objects" >"$work/objects/info/alternates"
  echo 'ref: refs/heads/none' >"$work/HEAD"
  echo '* -text -filter -ident -working-tree-encoding !diff' >"$work/info/attributes"
  [ ! -f "$real/info/exclude" ] || head -c 1048576 "$real/info/exclude" >"$work/info/exclude" 2>/dev/null || true
  [ "${#base}" -ne 64 ] || printf '[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n' >"$work/config"
  raw cat-file -e "$base^{tree}" 2>/dev/null || gone "its base commit was removed"
  for what in "-size +32768:is larger than 16 MB" "! -type f:is no file"; do # git would wait for what comes of it, or read it whole
    found=$(find . -name .git -prune -o \( -name .gitignore -o -name .gitattributes \) ${what%%:*} ! -type l ! -type d -print 2>/dev/null | head -n 1)
    [ -z "$found" ] || gone "$found ${what#*:}"
  done
}

# new_files lists those that count, each with ./ before it. A folder that is a
# repository of its own is listed by git with a slash and opened up: its files count
# as if it were none, its .git does not. What is left out is in $work/left: reason
# and name.
new_files() {
  raw ls-files -o --exclude-standard -x __pycache__ -x '*.pyc' -x .pytest_cache -z >"$work/others"
  xargs -0 sh -c 'for f; do case $f in */) ;; *) printf "./%s\0" "$f" ;; esac; done' sh <"$work/others" >"$work/found"
  xargs -0 sh -c 'for f; do case $f in */)
    find "./$f" \( -name .git -o -name __pycache__ -o -name .pytest_cache \) -prune -o \( -type f -o -type l \) ! -name "*.pyc" -print0 ;;
  esac; done' sh <"$work/others" >"$work/inside"
  # Four words each: the last three of what ignores a file, or nothing, and the file.
  if [ -s "$work/inside" ]; then
    raw check-ignore --no-index -v -n -z --stdin <"$work/inside" | xargs -0 -x -n 100 sh -c '
      while [ $# -gt 0 ]; do case $3 in "" | !*) printf "%s\0" "$4" ;; esac; shift 4; done' sh >>"$work/found"
  fi
  xargs -0 sh -c '[ $# -eq 0 ] || find "$@" -prune -type f -size +32768 -print0' sh <"$work/found" >"$work/huge" # blocks of 512 bytes
  [ ! -s "$work/huge" ] || xargs -0 sh -c '[ $# -eq 0 ] || find "$@" -prune \( ! -type f -o ! -size +32768 \) -print0' sh <"$work/found" >"$work/small"
  [ -s "$work/huge" ] || mv "$work/found" "$work/small"
  xargs -0 sh -c 'for f; do printf "larger than 16 MB\0%s\0" "${f#./}"; done' sh <"$work/huge" >"$work/left"
  xargs -0 sh -c 'for f; do case $f/ in
    */.[gG][iI][tT]/*) printf "a name of git\0%s\0" "${f#./}" >&3 ;;
    *) if [ -r "$f" ] || [ -L "$f" ]; then printf "%s\0" "$f"; else printf "not to be read\0%s\0" "${f#./}" >&3; fi ;;
  esac; done' sh <"$work/small" 3>>"$work/left" >"$work/files"
}

# index_changes makes the index what the workdir holds.
index_changes() {
  raw add -u -- . || none "a changed file cannot be read"
  new_files
  raw update-index --add --replace -z --stdin <"$work/files" || fail "a new file cannot be read"
  # Programs and libraries that were compiled (ELF) or put together (ar).
  raw diff --cached --numstat --diff-filter=A --no-renames --no-textconv -z "$base" -- | xargs -0 sh -c 'for f; do case $f in "-	-	"*)
    f=${f#-	-	}
    case $(head -c 7 "./$f" 2>/dev/null | tr -d "\000") in "$(printf "\177ELF")"* | "!<arch>") printf "%s\0" "$f"; printf "compiled\0%s\0" "$f" >&3 ;; esac ;;
  esac; done' sh 3>>"$work/left" >"$work/compiled"
  raw update-index --force-remove -z --stdin <"$work/compiled"
}

# differ prints the difference. git cannot read its own name of a binary file below a
# folder whose name begins or ends with a blank, unless it is in quotes.
differ() {
  raw diff --cached --full-index --no-color --no-ext-diff --no-textconv --ignore-submodules=all --find-renames "$@" "$base" -- >"$work/patch" ||
    none "git cannot tell the difference: what was changed is too large for it"
  ! grep -a -q '^diff --git a/.*\( /\|/ \)' "$work/patch" ||
    sed -i 's#^diff --git a/\(.*\) b/\1$#diff --git "a/\1" "b/\1"#' "$work/patch"
}
