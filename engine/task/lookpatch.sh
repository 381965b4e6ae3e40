# Runs in the workdir, after difference.sh: prints how many bytes the difference to the
# base state has, and then the difference, at most $ROLLBENCH_MAX_LOOK bytes of it. It
# is what takepatch.sh would take now, but for the bytes of binary files. The policy
# may be at work meanwhile, so nothing is written where it looks.
large=4m
ulimit -f 131072 2>/dev/null || true # one large file does not fill the place
# TMPDIR is set where the machine's own are in sight.
open_work ${TMPDIR:+"$TMPDIR"} /dev/shm /tmp "$real"
# The policy's index knows which files are as they were: they need not be read.
[ -f "$real/index" ] && cp -p "$real/index" "$work/index" 2>/dev/null && raw read-tree -m "$base" 2>/dev/null && ! raw ls-files -v | grep -q '^[a-zS]' ||
  { rm -f "$work/index" "$work/index.lock"; raw read-tree "$base"; }
index_changes
differ
wc -c <"$work/patch"
head -c "$ROLLBENCH_MAX_LOOK" "$work/patch"
