# Runs in the workdir, after difference.sh: writes the difference to the base state to
# rollbench.patch beside it, and tells what was left out. The working tree, the index
# and the object store that the policy sees stay as they are.
large=512m
open_work "$real" /tmp
raw read-tree "$base"
index_changes
differ --binary
size=$(wc -c <"$work/patch")
[ "$size" -le "$ROLLBENCH_MAX_PATCH" ] || fail "the patch has $size bytes, more than $ROLLBENCH_MAX_PATCH"
rm -rf "$real/rollbench.patch"
mv -f "$work/patch" "$real/rollbench.patch"
printf 'rollbench-left-out\n'
cat "$work/left"
