# Runs in the workdir, after difference.sh: writes the difference to the base state to
# rollbench.patch beside it, and tells what was left out. The working tree, the index
# and the object store that the policy sees stay as they are.
large=512m
open_work "$real" /tmp
raw read-tree "$base"
index_changes
differ --binary
size() { wc -c <"$work/patch"; }
if [ "$(size)" -gt "$ROLLBENCH_MAX_PATCH" ]; then # new files that are large are rather results than work
  raw diff --cached --name-only --diff-filter=A --no-renames -z "$base" -- |
    xargs -0 sh -c 'for f; do [ -L "./$f" ] || printf "./%s\0" "$f"; done' sh |
    xargs -0 sh -c '[ $# -eq 0 ] || find "$@" -prune -type f -size +2048 -print0' sh >"$work/large"
  xargs -0 sh -c 'for f; do printf "larger than 1 MB, in too large a patch\0%s\0" "${f#./}"; done' sh <"$work/large" >>"$work/left"
  raw update-index --force-remove -z --stdin <"$work/large"
  differ --binary
  [ "$(size)" -le "$ROLLBENCH_MAX_PATCH" ] || none "the patch has $(size) bytes, more than $ROLLBENCH_MAX_PATCH"
fi
rm -rf "$real/rollbench.patch"
mv -f "$work/patch" "$real/rollbench.patch"
printf 'rollbench-left-out\n'
cat "$work/left"
